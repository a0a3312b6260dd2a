/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Environment variables of the runtime (settings.h).  */

#include "settings.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libgomp.h"
#include "protocol/tasks_per_cpu.h"

#include "host.h"
#include "switch.h"

struct coop_settings coop_settings;
enum cosched_mode coop_mode;
unsigned char coop_switch_by_kernel;
struct coop_needs coop_needs;

static unsigned long long modules_seen; /* when coop_needs was found out */
static const char *mode_reason;		/* coop_settings_why */

/* By this the agent knows the library wherever it finds it
   (node_agent/enforce/program_elf.h).  */
__asm__ (".pushsection .note.coschedule,\"a\",%note\n"
	 ".balign 4\n"
	 ".long 11, 4, 1\n" /* bytes of name and value, type */
	 ".asciz \"coschedule\"\n"
	 ".balign 4\n"
	 ".long 1\n"
	 ".popsection");

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
  const char *text = secure_getenv (name);
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
  const char *text = secure_getenv ("COSCHED_MODE");
  if (!text || !*text)
    return COSCHED_MODE_NONE;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (!strcmp (text, modes[i].name))
      return modes[i].mode;
  complain ("COSCHED_MODE", text);
  return COSCHED_MODE_NONE;
}

/* What is forced upon the runtime by its tests, words separated by commas.  */
static unsigned
read_test (void)
{
  static const struct
  {
    const char *word;
    unsigned flag;
  } words[] = {
    { "by_kernel", COOP_TEST_BY_KERNEL },
    { "no_donors", COOP_TEST_NO_DONORS },
    { "no_glibc", COOP_TEST_NO_GLIBC },
    { "no_rseq", COOP_TEST_NO_RSEQ },
    { "no_setxid", COOP_TEST_NO_SETXID },
    { "no_preempt", COOP_TEST_NO_PREEMPT },
    { "no_lease", COOP_TEST_NO_LEASE },
    { "near", COOP_TEST_NEAR },
  };
  const char *text = secure_getenv ("COSCHED_TEST");
  unsigned flags = 0;
  while (text && *text)
    {
      size_t length = strcspn (text, ","), i = 0;
      while (i < sizeof words / sizeof *words
	     && (strlen (words[i].word) != length
		 || strncmp (words[i].word, text, length)))
	i++;
      if (i == sizeof words / sizeof *words)
	{
	  complain ("COSCHED_TEST", text);
	  return flags;
	}
      flags |= words[i].flag;
      text += length + (text[length] == ',');
    }
  return flags;
}

/* Should the initial thread stay on its kernel thread?  */
static bool
read_stay_home (void)
{
  const char *text = secure_getenv ("COSCHED_STAY_HOME");
  if (text && (!strcmp (text, "0") || !strcmp (text, "1")))
    return *text == '1';
  if (text && *text && strcmp (text, "auto"))
    complain ("COSCHED_STAY_HOME", text);
  if (coop_needs.home)
    coop_say ("the initial thread stays on its kernel thread: the program "
	      "uses %s",
	      coop_needs.home);
  return coop_needs.home != NULL;
}

static bool
read_interleave (void)
{
  const char *text = secure_getenv ("COSCHED_MEMORY");
  if (text && *text && strcmp (text, "interleave") && strcmp (text, "touch"))
    complain ("COSCHED_MEMORY", text);
  return text && !strcmp (text, "interleave");
}

static void
read_socket (void)
{
  const char *text = secure_getenv ("COSCHED_SOCKET");
  if (!text)
    return;
  if (strlen (text) >= sizeof coop_settings.socket)
    complain ("COSCHED_SOCKET", text);
  else
    strcpy (coop_settings.socket, text);
}

/* Threads of equal real-time priority never make room for one another, so a
   task that waits for one whose kernel thread has the same CPU, be it for a
   millisecond, waits forever.  */
static bool
is_realtime (void)
{
  int policy = sched_getscheduler (0);
  return policy >= 0 && policy != SCHED_OTHER && policy != SCHED_BATCH
	 && policy != SCHED_IDLE;
}

void
coop_settings_read (void)
{
  const char *text;

  read_socket ();
  coop_settings.job = read_number ("COSCHED_JOB", 1, UINT32_MAX, 0);
  text = secure_getenv ("COSCHED_ULTS");
  if (text && strcmp (text, "auto"))
    coop_settings.ults
	= (unsigned) read_number ("COSCHED_ULTS", 1, COOP_ULTS_MAX, 0);
  text = secure_getenv ("COSCHED_VERBOSE");
  coop_settings.verbose = text && !strcmp (text, "1");
  text = secure_getenv ("COSCHED_WARNED");
  coop_settings.warned = text && strtoul (text, NULL, 10) == coop_settings.job;
  coop_settings.test = read_test ();
  coop_switch_by_kernel = coop_switch_needs_kernel ()
			  || coop_settings.test & COOP_TEST_BY_KERNEL;
  coop_mode = read_mode ();
  coop_settings.mode_given = coop_mode != COSCHED_MODE_NONE;
  if (!coop_settings.mode_given && *coop_settings.socket)
    coop_mode = COSCHED_MODE_DONOR;
  if (coop_mode != COSCHED_MODE_NONE && is_realtime ())
    {
      coop_say ("real-time scheduling policy: not co-scheduled");
      coop_mode = COSCHED_MODE_NONE;
    }
  coop_managed = coop_mode != COSCHED_MODE_NONE;
  if (coop_managed)
    {
      coop_settings_look ();
      coop_settings.stay_home = read_stay_home ();
      coop_settings.interleave = read_interleave ();
    }
}

void
coop_settings_look (void)
{
  coop_needs_look (&coop_needs);
  modules_seen = coop_needs_modules ();
  if (coop_mode == COSCHED_MODE_KTHREAD)
    return;
  const char *lacks = coop_host_lacks ();
  if (lacks)
    coop_settings_need_kernel_threads (lacks);
  else if (coop_needs.kernel_threads && !coop_settings.mode_given)
    {
      coop_mode = COSCHED_MODE_KTHREAD;
      mode_reason = coop_needs.kernel_threads;
      coop_say ("kernel-thread mode: the program uses %s", mode_reason);
    }
}

void
coop_settings_need_kernel_threads (const char *reason)
{
  coop_mode = COSCHED_MODE_KTHREAD;
  mode_reason = reason;
  coop_say ("kernel-thread mode: %s", reason);
}

const char *
coop_settings_why (void)
{
  if (mode_reason)
    return mode_reason;
  return coop_settings.mode_given ? "COSCHED_MODE" : "";
}

bool
coop_settings_stale (void)
{
  return coop_needs_modules () != modules_seen;
}

/* Code that was loaded later joins what is known: handlers read it.  */
static void
add_code (const struct coop_needs *now)
{
  for (unsigned i = 0; i < now->code_count; i++)
    {
      unsigned n = coop_needs.code_count, k = 0;
      while (k < n && coop_needs.code[k].begin != now->code[i].begin)
	k++;
      if (k < n || n == COOP_CODE_MAX)
	continue;
      coop_needs.code[n] = now->code[i];
      coop_store (&coop_needs.code_count, n + 1);
    }
}

void
coop_settings_look_again (void)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  struct coop_needs now;
  unsigned long long modules = coop_needs_modules ();

  if (modules == coop_peek (&modules_seen))
    return;
  pthread_mutex_lock (&lock);
  /* What needs.h says else counts only at the start.  */
  coop_needs_look (&now);
  coop_store (&coop_needs.fresh_storage, now.fresh_storage);
  coop_store (&coop_needs.early, now.early);
  add_code (&now);
  coop_store (&modules_seen, modules);
  pthread_mutex_unlock (&lock);
}

bool
coop_settings_fresh_storage (void)
{
  coop_settings_look_again ();
  return coop_peek (&coop_needs.fresh_storage);
}

unsigned
coop_settings_ults (unsigned cpus)
{
  if (!coop_managed)
    return 1;
  if (coop_settings.ults)
    return coop_settings.ults;
  /* A switch between kernel threads is too dear to have more than one.  */
  if (!*coop_settings.socket || coop_mode == COSCHED_MODE_KTHREAD)
    return 1;
  return cosched_tasks_per_cpu (cpus);
}

static void
say (const char *format, va_list args)
{
  char line[256];
  vsnprintf (line, sizeof line, format, args);
  fprintf (stderr, "libgomp: cosched: %s\n", line);
}

void
coop_complain (const char *format, ...)
{
  va_list args;
  va_start (args, format);
  say (format, args);
  va_end (args);
}

void
coop_say (const char *format, ...)
{
  va_list args;
  va_start (args, format);
  if (coop_settings.verbose)
    say (format, args);
  va_end (args);
}
