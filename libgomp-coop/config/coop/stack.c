/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* List and trimming of stacks (stack.h).  */

#include "stack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "membarrier.h"

#define IDLE_NS 1000000000ull /* not run for so long */
#define KEEP 65536	      /* bytes below the stack pointer that stay */
#define LOOKS_PER_TICK 64
#define TRIMS_PER_TICK 8

struct entry
{
  struct coop_ult *ult;
  uint64_t since_ns; /* when it had run last */
  char *low;	     /* NULL: not known yet */
  bool trimmed;	     /* since it ran */
};

/* Names that gdb/coschedule.py knows.  */
struct entry *coop_stack_list;
unsigned coop_stack_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned room;
static unsigned position; /* of the next look */

void
coop_stack_add (struct coop_ult *u)
{
  pthread_mutex_lock (&lock);
  if (coop_stack_count == room)
    {
      unsigned wanted = room ? room * 2 : 64;
      struct entry *p
	  = realloc (coop_stack_list, wanted * sizeof *coop_stack_list);
      if (!p)
	{
	  /* Not on the list: it just is never trimmed.  */
	  u->listed = 0;
	  pthread_mutex_unlock (&lock);
	  return;
	}
      coop_stack_list = p;
      room = wanted;
    }
  struct entry *e = &coop_stack_list[coop_stack_count++];
  memset (e, 0, sizeof *e);
  e->ult = u;
  u->listed = coop_stack_count; /* its index and one */
  pthread_mutex_unlock (&lock);
}

void
coop_stack_remove (struct coop_ult *u)
{
  if (!u->listed)
    return;
  pthread_mutex_lock (&lock);
  struct entry *e = &coop_stack_list[u->listed - 1];
  *e = coop_stack_list[--coop_stack_count];
  e->ult->listed = u->listed;
  u->listed = 0;
  pthread_mutex_unlock (&lock);
}

void
coop_stack_lock (void)
{
  pthread_mutex_lock (&lock);
}

void
coop_stack_unlock (void)
{
  pthread_mutex_unlock (&lock);
}

void
coop_stack_visit (void (*see) (struct coop_ult *u, void *arg), void *arg)
{
  for (unsigned i = 0; i < coop_stack_count; i++)
    see (coop_stack_list[i].ult, arg);
}

void
coop_stack_await (struct coop_ult *u)
{
  while (coop_load (&u->trimming))
    coop_futex_sleep (&u->trimming, 1);
}

bool
coop_stack_bounds (struct coop_ult *u, char **low, char **high)
{
  pthread_attr_t attr;
  void *p;
  size_t size;

  if (u->stack)
    {
      *low = u->stack + COOP_STACK_GUARD;
      *high = u->stack + u->stack_size;
      return true;
    }
  if (pthread_getattr_np (u->pthread, &attr))
    return false;
  bool good = pthread_attr_getstack (&attr, &p, &size) == 0;
  pthread_attr_destroy (&attr);
  *low = p;
  *high = (char *) p + size;
  return good;
}

/* The task of E has not run for long.  */
static void
trim (struct entry *e)
{
  struct coop_ult *u = e->ult;
  char *high;

  if (!e->low && !coop_stack_bounds (u, &e->low, &high))
    return;
  __atomic_store_n (&u->trimming, 1, __ATOMIC_SEQ_CST);
  if (coop_membarrier ())
    {
      uintptr_t page = (uintptr_t) sysconf (_SC_PAGESIZE);
      uintptr_t low = (uintptr_t) e->low;
      uintptr_t sp = (uintptr_t) coop_load (&u->sp);
      uintptr_t end = sp ? (sp - KEEP) & -page : 0;
      if (end > low && sp > KEEP)
	madvise ((void *) low, end - low, MADV_DONTNEED);
    }
  coop_store (&u->trimming, 0);
  coop_futex_wake (&u->trimming, 1);
}

/* Returns true if the stack of E has been trimmed.  */
static bool
look_at (struct entry *e, uint64_t now)
{
  if (coop_peek (&e->ult->ran) || e->since_ns == 0)
    {
      __atomic_store_n (&e->ult->ran, false, __ATOMIC_RELAXED);
      e->since_ns = now;
      e->trimmed = false;
      return false;
    }
  if (e->trimmed || now - e->since_ns < IDLE_NS || e->ult->root
      || !coop_peek (&e->ult->sp) || !coop_membarrier_prepare ())
    return false;
  e->trimmed = true;
  trim (e);
  return true;
}

void
coop_stack_tick (uint64_t now)
{
  unsigned trims = 0;

  if (coop_peek (&coop_stack_count) == 0)
    return;
  /* Who creates or ends tasks now is more important.  */
  if (pthread_mutex_trylock (&lock))
    return;
  unsigned looks
      = coop_stack_count < LOOKS_PER_TICK ? coop_stack_count : LOOKS_PER_TICK;
  for (unsigned i = 0; i < looks && trims < TRIMS_PER_TICK; i++)
    {
      if (position >= coop_stack_count)
	position = 0;
      trims += look_at (&coop_stack_list[position++], now);
    }
  pthread_mutex_unlock (&lock);
}

void
coop_stack_reset (void)
{
  pthread_mutex_init (&lock, NULL);
  coop_stack_count = 0;
  position = 0;
}
