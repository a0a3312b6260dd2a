/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Threads and teams (kmp.h).  */

#include "coop.h" /* first, for secure_getenv */

#include "kmp.h"

#include <stdlib.h>
#include <string.h>

#include "kmp_control.h"
#include "kmp_private.h"
#include "kmp_task.h"

#undef pthread_setspecific

/* Numbers in use, one bit each.  */
static int numbers_lock;
static unsigned long *numbers;
static unsigned numbers_length;

#define BITS (8 * (unsigned) sizeof (unsigned long))

static kmp_int32
take_number (void)
{
  unsigned i = 0;

  coop_lock (&numbers_lock);
  while (i < numbers_length && !~numbers[i])
    i++;
  if (i == numbers_length)
    {
      unsigned length = 2 * numbers_length + 1;
      numbers = gomp_realloc (numbers, length * sizeof *numbers);
      memset (numbers + i, 0, (length - i) * sizeof *numbers);
      numbers_length = length;
    }
  unsigned bit = (unsigned) __builtin_ctzl (~numbers[i]);
  numbers[i] |= 1ul << bit;
  coop_unlock (&numbers_lock);
  return (kmp_int32) (i * BITS + bit);
}

static void
return_number (kmp_int32 number)
{
  coop_lock (&numbers_lock);
  numbers[(unsigned) number / BITS] &= ~(1ul << (unsigned) number % BITS);
  coop_unlock (&numbers_lock);
}

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool key_valid;
static bool begun; /* there has been a thread */

static void
end_by_key (void *thread)
{
  if (thread == coop_tls.kmp)
    kmp_thread_end ();
}

static void
make_key (void)
{
  key_valid = pthread_key_create (&key, end_by_key) == 0;
}

static void
after_fork (void)
{
  numbers_lock = 0;
}

/* A static schedule is monotonic unless said, so that saying it is left to the
   user; and where the user says nothing, libomp has a static one.  */
static void
set_schedule (struct gomp_task_icv *icv)
{
  const char *given = secure_getenv ("OMP_SCHEDULE");

  if (!given && icv->run_sched_var == GFS_DYNAMIC)
    {
      icv->run_sched_var = GFS_STATIC;
      icv->run_sched_chunk_size = 0;
    }
  else if (given && icv->run_sched_var == (GFS_STATIC | GFS_MONOTONIC)
	   && (given[strspn (given, " \t\n")] | 0x20) != 'm')
    icv->run_sched_var = GFS_STATIC;
}

static void
begin_process (void)
{
  kmp_control_begin ();
  pthread_atfork (NULL, NULL, after_fork);
  set_schedule (&gomp_global_icv);
  set_schedule (gomp_icv (false));
}

struct kmp_thread *
kmp_thread_begin (void)
{
  struct kmp_thread *t = gomp_malloc_cleared (sizeof *t);
  struct coop_ult *u = coop_tls_ult ();

  t->gtid = take_number ();
  t->initial = !__atomic_exchange_n (&begun, true, __ATOMIC_RELAXED);
  if (t->initial)
    begin_process ();
  t->region = &t->serial;
  coop_tls.kmp = t;
  /* A task ends in coop_ult_exit, and may have its worker's storage.  */
  if (u && u->kind == COOP_ULT)
    u->kmp = t;
  else
    {
      pthread_once (&key_once, make_key);
      if (key_valid)
	pthread_setspecific (key, t);
    }
  return t;
}

void
kmp_thread_end (void)
{
  struct kmp_thread *t;

  /* Destructors of threadprivate objects may begin another.  */
  while ((t = coop_tls_kmp ()))
    {
      coop_tls.kmp = NULL;
      kmp_private_free (t);
      return_number (t->gtid);
      kmp_task_thread_end (t);
      free (t->spare);
      free (t);
    }
}

void
kmp_team_free (struct kmp_team *team)
{
  free (team);
}

struct kmp_team *
kmp_team (void)
{
  struct coop_barrier *b
      = coop_barrier (&gomp_thread ()->ts.team->barrier);
  struct kmp_team *team = coop_load (&b->kmp), *none = NULL;

  if (__builtin_expect (team != NULL, 1))
    return team;
  team = gomp_malloc_cleared (sizeof *team);
  if (__atomic_compare_exchange_n (&b->kmp, &none, team, false,
				   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return team;
  free (team);
  return none;
}
