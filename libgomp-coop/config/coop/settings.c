/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Environment variables of the runtime (settings.h).  */

#include "settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "libgomp.h"

#include "needs.h"
#include "switch.h"

#define AUTO_ULTS_MAX 20     /* beyond, a barrier costs more than it saves */
#define IDLE_PERCENT_MAX 5   /* of the core time, waiting at a barrier */
#define HWCAP2_FSGSBASE_BIT 2 /* x86-64: user code may write FS */

struct coop_settings coop_settings;
enum cosched_mode coop_mode;
unsigned char coop_switch_by_kernel;

static void
complain (const char *name, const char *value)
{
  gomp_error ("Invalid value for environment variable %s: %s", name, value);
}

/* An unsigned decimal number in [LOW, HIGH], or DEFAULT_VALUE.  */
static unsigned long
read_number (const char *name, unsigned long low, unsigned long high,
	     unsigned long default_value)
{
  const char *text = getenv (name);
  char *end;
  if (!text || !*text)
    return default_value;
  errno = 0;
  unsigned long n = strtoul (text, &end, 10);
  if (errno || *end || *text < '0' || *text > '9' || n < low || n > high)
    {
      complain (name, text);
      return default_value;
    }
  return n;
}

static enum cosched_mode
read_mode (void)
{
  static const struct
  {
    const char *name;
    enum cosched_mode mode;
  } modes[] = {
    { "auto", COSCHED_MODE_NONE },
    { "donor", COSCHED_MODE_DONOR },
    { "ult", COSCHED_MODE_ULT },
    { "kthread", COSCHED_MODE_KTHREAD },
  };
  const char *text = getenv ("COSCHED_MODE");
  if (!text || !*text)
    return COSCHED_MODE_NONE;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (!strcmp (text, modes[i].name))
      return modes[i].mode;
  complain ("COSCHED_MODE", text);
  return COSCHED_MODE_NONE;
}

static void
read_socket (void)
{
  const char *text = getenv ("COSCHED_SOCKET");
  if (!text)
    return;
  if (strlen (text) >= sizeof coop_settings.socket)
    complain ("COSCHED_SOCKET", text);
  else
    strcpy (coop_settings.socket, text);
}

void
coop_settings_read (void)
{
  const char *text;

  read_socket ();
  coop_settings.job = read_number ("COSCHED_JOB", 1, UINT32_MAX, 0);
  text = getenv ("COSCHED_ULTS");
  if (text && strcmp (text, "auto"))
    coop_settings.ults
	= (unsigned) read_number ("COSCHED_ULTS", 1, COOP_ULTS_MAX, 0);
  text = getenv ("COSCHED_VERBOSE");
  coop_settings.verbose = text && !strcmp (text, "1");
  coop_mode = read_mode ();
  coop_settings.mode_given = coop_mode != COSCHED_MODE_NONE;
#ifdef __x86_64__
  coop_switch_by_kernel = !(getauxval (AT_HWCAP2) & HWCAP2_FSGSBASE_BIT);
#endif
  if (!coop_settings.mode_given && *coop_settings.socket)
    {
      const char *reason = coop_needs_kernel_threads ();
      coop_mode = reason ? COSCHED_MODE_KTHREAD : COSCHED_MODE_DONOR;
      if (reason)
	coop_say ("kernel-thread mode: the program uses %s", reason);
    }
  coop_managed = coop_mode != COSCHED_MODE_NONE;
}

/* Is no more than IDLE_PERCENT_MAX lost when TASKS equal tasks are dealt out
   to any number of CPUs up to CPUS?  */
static bool
folds (unsigned tasks, unsigned cpus)
{
  for (unsigned c = 1; c <= cpus; c++)
    {
      uint64_t room = (uint64_t) c * ((tasks + c - 1) / c);
      if ((room - tasks) * 100 > room * IDLE_PERCENT_MAX)
	return false;
    }
  return true;
}

unsigned
coop_settings_ults (unsigned cpus)
{
  unsigned m = 1;
  if (!coop_managed)
    return 1;
  if (coop_settings.ults)
    return coop_settings.ults;
  /* A switch between kernel threads is too dear to have more than one.  */
  if (!*coop_settings.socket || coop_mode == COSCHED_MODE_KTHREAD)
    return 1;
  while (m < AUTO_ULTS_MAX && !folds (cpus * m, cpus))
    m++;
  return m;
}

void
coop_say (const char *format, ...)
{
  char line[256];
  va_list args;
  if (!coop_settings.verbose)
    return;
  va_start (args, format);
  vsnprintf (line, sizeof line, format, args);
  va_end (args);
  fprintf (stderr, "libgomp: cosched: %s\n", line);
}
