/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* What the environment asks for (docs/architecture.md).

     COSCHED_SOCKET   path of the agent's socket; unset: no agent
     COSCHED_JOB      job id, decimal
     COSCHED_ULTS     tasks per CPU when OMP_NUM_THREADS is unset: 1..64, auto
     COSCHED_MODE     auto, donor, ult, kthread
     COSCHED_VERBOSE  1: a line to stderr when the agent is found or lost
     COSCHED_MEMORY   touch, interleave: before the first region (interleave.h)
     COSCHED_CPUS     set for the program's children (inherit.h)
     COSCHED_STAY_HOME  1, 0, auto: the initial thread keeps its kernel thread
     COSCHED_TEST     for the runtime's own tests (enum coop_test)

   In the mode auto a process without agent is not managed at all, one with an
   agent uses donors, unless the program imports functions that act on kernel
   threads; then it uses kernel threads.  */

#ifndef COOP_SETTINGS_H
#define COOP_SETTINGS_H 1

#include "coop.h"
#include "needs.h"

#pragma GCC visibility push(hidden)

#define COOP_SOCKET_MAX 108 /* bytes in struct sockaddr_un.sun_path */
#define COOP_ULTS_MAX 64    /* largest COSCHED_ULTS */

struct coop_settings
{
  char socket[COOP_SOCKET_MAX]; /* empty: no agent */
  unsigned long job;
  unsigned ults;   /* 0: auto */
  unsigned test;   /* of enum coop_test */
  bool mode_given; /* COSCHED_MODE is something else than auto */
  bool interleave; /* what is touched before the first region */
  bool stay_home;  /* the initial thread, on its kernel thread */
  bool verbose;
  bool warned; /* of an absent agent, at the start of the job */
};

/* What COSCHED_TEST, a variable for the runtime's own tests, forces.  */
enum coop_test
{
  COOP_TEST_BY_KERNEL = 1, /* the kernel sets the thread pointer */
  COOP_TEST_NO_DONORS = 2, /* every second donor cannot be created */
  COOP_TEST_NO_GLIBC = 4,  /* the host lacks what donors need */
  COOP_TEST_NO_RSEQ = 8,
  COOP_TEST_NO_SETXID = 16,
  COOP_TEST_NO_PREEMPT = 32, /* tasks that spin */
  COOP_TEST_NO_LEASE = 64,   /* CPUs never count as others', too */
  COOP_TEST_NEAR = 128	     /* interleaved pages all follow, whatever the agent says */
};

extern struct coop_settings coop_settings;

/* How tasks are backed.  COSCHED_MODE_NONE: unmanaged.  */
extern enum cosched_mode coop_mode;

/* Reads the environment; sets coop_mode and coop_managed.  A bad value is
   reported as libgomp does and ignored.  */
extern void coop_settings_read (void);

/* What the program needs, as of the last look.  */
extern struct coop_needs coop_needs;

/* Looks at the modules that are loaded now; may choose kernel-thread mode.
   Too late once the runtime has started.  */
extern void coop_settings_look (void);

/* Chooses kernel-thread mode for REASON.  */
extern void coop_settings_need_kernel_threads (const char *reason);

/* Why that mode was chosen, or "": a text without quotes.  */
extern const char *coop_settings_why (void);

/* Have modules been loaded since the last look?  */
extern bool coop_settings_stale (void);

/* Looks at modules that have been loaded since, for what counts later, too.  */
extern void coop_settings_look_again (void);

/* May a task that begins tell that another had its storage before?  Looks
   again.  */
extern bool coop_settings_fresh_storage (void);

/* Tasks per CPU for a process that may use CPUS CPUs.  */
extern unsigned coop_settings_ults (unsigned cpus);

/* Prints a line to stderr; coop_say only if COSCHED_VERBOSE is set.  */
extern void coop_complain (const char *format, ...)
    __attribute__ ((format (printf, 1, 2)));
extern void coop_say (const char *format, ...)
    __attribute__ ((format (printf, 1, 2)));

#pragma GCC visibility pop

#endif /* COOP_SETTINGS_H */
