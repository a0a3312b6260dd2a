/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* When tasks may be preempted (preemptible.h).  */

#include "preemptible.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "libgomp.h"

#include "fiber.h"
#include "needs.h"
#include "settings.h"
#include "threadstat.h"
#include "worker.h"

#define INITIAL_STACK_MAX ((size_t) 1 << 30)

static bool
is_program (uintptr_t pc)
{
  unsigned n = coop_load (&coop_needs.code_count);
  for (unsigned i = 0; i < n; i++)
    if (pc - coop_needs.code[i].begin < coop_needs.code[i].size)
      return true;
  return false;
}

/* The stack of the initial thread.  */
static uintptr_t initial_top;
static size_t initial_size;

/* Is SP in the stack of U?  */
static bool
is_own_stack (const struct coop_ult *u, uintptr_t sp)
{
  return u->root ? initial_top - sp < initial_size
		 : (uintptr_t) u->stack_top - sp < u->stack_size;
}

bool
coop_preemptible_now (const struct coop_worker *w, const ucontext_t *context)
{
  struct coop_ult *u = coop_tls_ult ();

  return is_program (COOP_PC (context)) && u && u->kind == COOP_ULT
	 && u->tls == &coop_tls && w->running == u && coop_tls_worker () == w
	 && is_own_stack (u, COOP_SP (context))
	 && memcmp (&context->uc_sigmask, &coop_worker_signals,
		    sizeof (uint64_t))
		== 0
	 && !(u->root && coop_tls_thread ()->ts.level == 0);
}

/* The kernel puts the program's name above everything.  */
static void
find_initial_stack (void)
{
  struct rlimit limit;

  if (initial_size || getrlimit (RLIMIT_STACK, &limit))
    return;
  initial_top = getauxval (AT_EXECFN);
  if (limit.rlim_cur > INITIAL_STACK_MAX)
    limit.rlim_cur = INITIAL_STACK_MAX;
  coop_store (&initial_size, limit.rlim_cur);
}

/* May tasks be preempted in this mode?  */
static bool
is_allowed (void)
{
  return coop_mode == COSCHED_MODE_DONOR && !coop_fibers && !coop_fiber_valgrind ()
	 && !(coop_settings.test & COOP_TEST_NO_PREEMPT);
}

bool
coop_preemptible_mode (void)
{
  return is_allowed () && !coop_peek (&coop_needs.early);
}

bool
coop_preemptible_program (void)
{
  static bool told;

  if (!is_allowed () || coop_threadstat_traced ())
    return false;
  coop_settings_look_again ();
  find_initial_stack ();
  if (coop_needs.early && !told)
    {
      told = true;
      coop_say ("tasks that spin are not preempted: the program uses %s",
		coop_needs.early);
    }
  return coop_needs.early == NULL;
}
