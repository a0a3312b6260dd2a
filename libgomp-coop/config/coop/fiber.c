/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Valgrind and the sanitizers (fiber.h).  */

#include "fiber.h"

#include <stdlib.h>
#include <string.h>

#include "stack.h"
#include "switch.h"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_STACK_REGISTER(low, high) ((void) (low), (void) (high), 0u)
#define VALGRIND_STACK_DEREGISTER(id) ((void) (id))
#endif

/* Present if the program has been compiled with -fsanitize=address or thread.
   In <sanitizer/...> they are not weak.  */
#pragma GCC visibility push(default)
extern void __sanitizer_start_switch_fiber (void **save, const void *bottom,
					    size_t size)
    __attribute__ ((weak));
extern void __sanitizer_finish_switch_fiber (void *save, const void **bottom,
					     size_t *size)
    __attribute__ ((weak));
extern void __asan_unpoison_memory_region (const volatile void *p, size_t size)
    __attribute__ ((weak));
extern void *__tsan_get_current_fiber (void) __attribute__ ((weak));
extern void *__tsan_create_fiber (unsigned flags) __attribute__ ((weak));
extern void __tsan_destroy_fiber (void *fiber) __attribute__ ((weak));
extern void __tsan_switch_to_fiber (void *fiber, unsigned flags)
    __attribute__ ((weak));
#pragma GCC visibility pop

/* What the sanitizers keep of a context that is not running.  */
struct coop_fiber
{
  void *fake_stack;
  const void *bottom;
  size_t size;
  void *tsan;
  unsigned valgrind_id;
};

bool coop_fibers;

static struct coop_fiber schedulers[COOP_MAX_WORKERS];

void
coop_fiber_start (void)
{
  coop_fibers
      = (__sanitizer_start_switch_fiber && __sanitizer_finish_switch_fiber)
	|| (__tsan_get_current_fiber && __tsan_switch_to_fiber
	    && __tsan_create_fiber && __tsan_destroy_fiber);
  if (coop_fiber_valgrind ())
    {
      coop_switch_by_kernel = 1;
      coop_crowded++; /* one thread at a time: nobody should spin */
    }
}

bool
coop_fiber_valgrind (void)
{
  return RUNNING_ON_VALGRIND != 0;
}

void
coop_fiber_create (struct coop_ult *u)
{
  char *low, *high;

  if (__builtin_expect (!coop_fibers && !coop_fiber_valgrind (), 1)
      || !coop_stack_bounds (u, &low, &high))
    return;
  struct coop_fiber *f = calloc (1, sizeof *f);
  if (!f)
    return;
  f->valgrind_id = VALGRIND_STACK_REGISTER (low, high - 1);
  f->bottom = low;
  f->size = (size_t) (high - low);
  u->fiber = f;
  if (!u->stack)
    return; /* a thread of its own, with a name of its own */
  if (__asan_unpoison_memory_region)
    __asan_unpoison_memory_region (low, f->size);
  if (__tsan_create_fiber)
    f->tsan = __tsan_create_fiber (0);
}

void
coop_fiber_destroy (struct coop_ult *u)
{
  struct coop_fiber *f = u->fiber;

  if (!f)
    return;
  VALGRIND_STACK_DEREGISTER (f->valgrind_id);
  if (f->tsan)
    __tsan_destroy_fiber (f->tsan);
  u->fiber = NULL;
  free (f);
}

/* The fiber of W's current context; NULL: it has storage of its own.  */
static struct coop_fiber *
current (struct coop_worker *w)
{
  struct coop_ult *u = w->running;
  if (!u)
    return &schedulers[w->index];
  return u->tp ? NULL : u->fiber;
}

/* What is put away is the storage's; where to is said on arrival.  */
void
coop_fiber_leave (struct coop_worker *w)
{
  struct coop_fiber *f = current (w), *scheduler = &schedulers[w->index];
  const void *bottom;
  size_t size;

  if (!f)
    return;
  if (__sanitizer_start_switch_fiber)
    {
      bool ends = w->running && w->post == COOP_POST_RECLAIM;
      __sanitizer_start_switch_fiber (ends ? NULL : &f->fake_stack, f->bottom,
				      f->size);
      __sanitizer_finish_switch_fiber (NULL, &bottom, &size);
      if (f == scheduler)
	{
	  f->bottom = bottom;
	  f->size = size;
	}
    }
  if (__tsan_switch_to_fiber)
    {
      if (f == scheduler)
	f->tsan = __tsan_get_current_fiber ();
      else
	__tsan_switch_to_fiber (scheduler->tsan, 0);
    }
}

/* The first context of W's storage may be a task instead of the scheduler: that
   of worker 0, where the root blocks.  Until then the storage is as its thread
   began, that is the scheduler's.  */
void
coop_fiber_arrive (struct coop_worker *w)
{
  struct coop_fiber *f = current (w), *scheduler = &schedulers[w->index];
  const void *bottom;
  void *nothing;
  size_t size;

  if (!f || !f->size)
    return;
  if (__sanitizer_start_switch_fiber)
    {
      __sanitizer_start_switch_fiber (&nothing, f->bottom, f->size);
      __sanitizer_finish_switch_fiber (f->fake_stack, &bottom, &size);
      f->fake_stack = NULL;
      if (!scheduler->size)
	{
	  scheduler->bottom = bottom;
	  scheduler->size = size;
	}
    }
  if (__tsan_switch_to_fiber && !scheduler->tsan)
    scheduler->tsan = __tsan_get_current_fiber ();
  if (__tsan_switch_to_fiber && f->tsan)
    __tsan_switch_to_fiber (f->tsan, 0);
}
