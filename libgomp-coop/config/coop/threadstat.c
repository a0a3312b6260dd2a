/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* What the kernel says of a kernel thread (threadstat.h).  */

#include "coop.h"
#include "threadstat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t
read_clock (clockid_t clock)
{
  struct timespec t;
  if (clock_gettime (clock, &t))
    return 0;
  return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* By the clocks that Linux has for each kernel thread and each process.  */
uint64_t
coop_threadstat_used (pid_t tid)
{
  return tid == 0 ? 0 : read_clock (~(clockid_t) tid * 8 + 6);
}

uint64_t
coop_threadstat_process_used (pid_t pid)
{
  return pid == 0 ? 0 : read_clock (~(clockid_t) pid * 8 + 2);
}

bool
coop_threadstat_process_runs (pid_t pid)
{
  char path[32], text[256];
  snprintf (path, sizeof path, "/proc/%ld/stat", (long) pid);
  if (!coop_read_text (path, text, sizeof text))
    return false;
  const char *s = strrchr (text, ')'); /* the end of its name */
  return s && strncmp (s, ") R", 3) == 0;
}

char
coop_threadstat_state (pid_t tid, unsigned long *slept)
{
  static const char state[] = "\nState:\t", count[] = "\nvoluntary_ctxt_switches:\t";
  char path[48], text[4096];
  snprintf (path, sizeof path, "/proc/self/task/%ld/status", (long) tid);
  if (!coop_read_text (path, text, sizeof text))
    return '\0';
  const char *s = strstr (text, state), *c = strstr (text, count);
  if (!s || !c)
    return '\0';
  if (slept)
    *slept = strtoul (c + sizeof count - 1, NULL, 10);
  return s[sizeof state - 1];
}

bool
coop_threadstat_traced (void)
{
  char text[1024];
  if (!coop_read_text ("/proc/self/status", text, sizeof text))
    return true;
  const char *s = strstr (text, "TracerPid:\t");
  return !s || s[11] != '0';
}
