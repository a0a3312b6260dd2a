/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Globals and the smallest tools (coop.h).  */

#include "coop.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__thread struct coop_tls coop_tls __attribute__ ((aligned (COOP_LINE)));
struct coop_worker coop_workers[COOP_MAX_WORKERS];
unsigned coop_nworkers;
unsigned coop_nspares;
int coop_crowded;
bool coop_has_far;
bool coop_managed;

uint64_t
coop_now_ns (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* Errno is left alone, not put back: programs may expect it to survive a
   barrier, and on the thread of a donor it is another's once its task is
   ready.  */
void
coop_futex_sleep (int *word, int value)
{
  coop_syscall (SYS_futex, (long) word, FUTEX_WAIT_PRIVATE, value, 0);
}

void
coop_futex_wake (int *word, int count)
{
  coop_syscall (SYS_futex, (long) word, FUTEX_WAKE_PRIVATE, count, 0);
}

void
coop_lock_pause (unsigned *spins)
{
  coop_pause ();
  if (++*spins % 1024 == 0 || coop_peek (&coop_crowded))
    sched_yield ();
}

int
coop_lock_slow (int *lock)
{
  unsigned spins = 0;
  int was;
  while ((was = __atomic_exchange_n (lock, COOP_LOCK_HELD, __ATOMIC_ACQUIRE))
	 == COOP_LOCK_HELD)
    while (coop_peek (lock) == COOP_LOCK_HELD)
      coop_lock_pause (&spins);
  return was;
}

bool
coop_read_text (const char *path, char *text, size_t size)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);

  text[0] = '\0';
  if (fd < 0)
    return false;
  ssize_t n = read (fd, text, size - 1);
  close (fd);
  text[n < 0 ? 0 : n] = '\0';
  return true;
}

int
coop_create_masked (pthread_t *thread, const pthread_attr_t *attr, void *(*fn) (void *), void *arg)
{
  sigset_t all, old;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  int err = pthread_create (thread, attr, fn, arg);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  return err;
}
