/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* What fuzz_agent.c needs of libgomp's own header.  */

#ifndef COSCHED_FUZZ_LIBGOMP_H
#define COSCHED_FUZZ_LIBGOMP_H

struct gomp_thread
{
  struct
  {
    unsigned level;
  } ts;
};

struct gomp_task_icv
{
  unsigned long nthreads_var;
};

extern struct gomp_task_icv gomp_global_icv;
extern struct gomp_thread *gomp_thread (void);

#endif
