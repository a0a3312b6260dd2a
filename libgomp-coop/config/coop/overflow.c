/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Message of a stack overflow (overflow.h).  */

#include "overflow.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "libgomp.h"

#include "stack.h"

#define ALTERNATE_MIN 32768 /* bytes that the handler needs */
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* Below the initial thread's stack the kernel keeps a gap of 1 MiB; who jumps
   over more than this is not recognized.  */
#define INITIAL_REACH ((uintptr_t) 16 << 20)

static struct sigaction previous;
static size_t stack_size; /* OMP_STACKSIZE, or its default */
static bool installed;

static size_t
alternate_size (void)
{
  return ALTERNATE_MIN + (size_t) getauxval (AT_MINSIGSTKSZ);
}

/* ---- What may be called in a handler: no allocation, no locks.  ---- */

struct text
{
  char c[320];
  size_t n;
};

static void
put (struct text *t, const char *s)
{
  while (*s && t->n < sizeof t->c)
    t->c[t->n++] = *s++;
}

static void
put_number (struct text *t, unsigned long n)
{
  char digits[24], *p = digits + sizeof digits;
  *--p = '\0';
  do
    *--p = (char) ('0' + n % 10);
  while (n /= 10);
  put (t, p);
}

/* As one writes it in OMP_STACKSIZE.  */
static void
put_size (struct text *t, size_t bytes)
{
  bool mega = bytes % (1 << 20) == 0;
  put_number (t, mega ? bytes >> 20 : bytes >> 10);
  put (t, mega ? "M" : "K");
}

/* Reads the memory map piece by piece; calls FN for each area until it returns
   true.  ARG is FN's.  */
struct area
{
  uintptr_t begin, end;
  bool usable; /* can be read */
};

static bool
read_areas (bool (*fn) (const struct area *, void *), void *arg)
{
  char buffer[512];
  struct area a = { 0, 0, false };
  enum { BEGIN, END, RIGHTS, REST } part = BEGIN;
  ssize_t n;
  int fd = open ("/proc/self/maps", O_RDONLY | O_CLOEXEC);

  if (fd < 0)
    return false;
  while ((n = read (fd, buffer, sizeof buffer)) > 0)
    for (ssize_t i = 0; i < n; i++)
      {
	char c = buffer[i];
	uintptr_t *number = part == BEGIN ? &a.begin : &a.end;
	if (c == '\n')
	  {
	    a.begin = a.end = 0;
	    part = BEGIN;
	  }
	else if (part == RIGHTS)
	  {
	    a.usable = c == 'r';
	    part = REST;
	    if (fn (&a, arg))
	      {
		close (fd);
		return true;
	      }
	  }
	else if (part == BEGIN && c == '-')
	  part = END;
	else if (part == END && c == ' ')
	  part = RIGHTS;
	else if (part != REST)
	  *number = *number * 16
		    + (uintptr_t) (c <= '9' ? c - '0' : c - 'a' + 10);
      }
  close (fd);
  return false;
}

/* Is ADDRESS in an area without access right below the one that contains
   INSIDE?  Or, for the initial thread, in no area but not far below?  */
struct question
{
  uintptr_t address, inside, reach;
  uintptr_t guard_end; /* 0: ADDRESS has not been found in a guard */
  bool answer;
};

static bool
examine (const struct area *a, void *arg)
{
  struct question *q = arg;
  if (q->address >= a->begin && q->address < a->end)
    {
      if (a->usable)
	return true;
      q->guard_end = a->end;
    }
  if (q->inside < a->begin || q->inside >= a->end)
    return false;
  q->answer = q->reach ? q->address < a->begin
			     && a->begin - q->address < q->reach
		       : q->guard_end == a->begin;
  return true;
}

/* A task, or at home on its kernel thread (home.h).  */
static bool
is_initial (const struct coop_ult *u)
{
  return u->root
	 || (u->kind == COOP_FOREIGN && syscall (SYS_gettid) == getpid ());
}

static bool
is_overflow (struct coop_ult *u, const void *address)
{
  struct question q = { .address = (uintptr_t) address };

  if (is_initial (u))
    {
      extern char **environ;
      q.inside = (uintptr_t) getauxval (AT_RANDOM); /* high on that stack */
      q.reach = INITIAL_REACH;
    }
  else if (u->kind == COOP_KTHREAD)
    q.inside = (uintptr_t) &coop_tls; /* glibc has it above the stack */
  else
    q.inside = (uintptr_t) (u->stack ? u->stack + u->stack_size - 1
				     : u->stack_top);
  read_areas (examine, &q);
  return q.answer;
}

static void
tell (struct coop_ult *u)
{
  struct text t = { .n = 0 };

  if (is_initial (u))
    {
      struct rlimit limit;
      put (&t, "\nlibgomp: Stack overflow in the program's initial thread");
      if (getrlimit (RLIMIT_STACK, &limit) == 0
	  && limit.rlim_cur != RLIM_INFINITY)
	{
	  put (&t, ", whose stack has ");
	  put_size (&t, limit.rlim_cur);
	}
      put (&t, ": raise its limit (ulimit -s)\n");
    }
  else
    {
      put (&t, "\nlibgomp: Stack overflow in thread ");
      put_number (&t, coop_tls_thread () ? coop_tls_thread ()->ts.team_id : 0);
      put (&t, " of a team: OMP_STACKSIZE is ");
      put_size (&t, stack_size);
      put (&t, ", try OMP_STACKSIZE=");
      put_size (&t, stack_size * 4);
      put (&t, "\n");
    }
  if (write (STDERR_FILENO, t.c, t.n) < 0)
    return;
}

/* Where the program could not write: itself, or the kernel for it, which had a
   signal for a thread whose stack pointer was in the guard already.  */
static const void *
fault_address (const siginfo_t *info, const ucontext_t *context)
{
  return info->si_code == SI_KERNEL ? (const void *) COOP_SP (context)
				    : info->si_addr;
}

static void
handle_fault (int signo, siginfo_t *info, void *context)
{
  int saved = errno;
  struct coop_ult *u = coop_tls_ult ();

  if (info->si_code > 0 && u && (u->kind != COOP_FOREIGN || is_initial (u))
      && is_overflow (u, fault_address (info, context)))
    {
      tell (u);
      /* Nothing can handle this any more: it would need a stack.  */
      struct sigaction action = { .sa_handler = SIG_DFL };
      sigaction (signo, &action, NULL);
    }
  else
    {
      sigaction (signo, &previous, NULL);
      /* Not a fault but sent: it does not come again by itself.  */
      if (info->si_code <= 0)
	syscall (SYS_rt_tgsigqueueinfo, getpid (), syscall (SYS_gettid), signo,
		 info);
    }
  errno = saved;
}

/* ---- Installation.  ---- */

void
coop_overflow_start (void)
{
  struct sigaction action;

  coop_overflow_watch ();
  if (installed || sigaction (SIGSEGV, NULL, &previous))
    return;
  installed = true;
  if (previous.sa_flags & SA_ONSTACK || previous.sa_handler == SIG_IGN)
    return;
  if (pthread_attr_getstacksize (&gomp_thread_attr, &stack_size))
    stack_size = 0;
  memset (&action, 0, sizeof action);
  action.sa_sigaction = handle_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset (&action.sa_mask);
  sigaction (SIGSEGV, &action, NULL);
}

void *
coop_overflow_watch (void)
{
  stack_t now, ours;

  if (sigaltstack (NULL, &now) || !(now.ss_flags & SS_DISABLE))
    return NULL;
  memset (&ours, 0, sizeof ours);
  ours.ss_size = alternate_size ();
  ours.ss_sp = mmap (NULL, ours.ss_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (ours.ss_sp == MAP_FAILED)
    return NULL;
  if (sigaltstack (&ours, NULL) == 0)
    return ours.ss_sp;
  munmap (ours.ss_sp, ours.ss_size);
  return NULL;
}

void
coop_overflow_leave (void *stack)
{
  stack_t none, now;

  if (!stack || sigaltstack (NULL, &now) || now.ss_sp != stack)
    return;
  memset (&none, 0, sizeof none);
  none.ss_flags = SS_DISABLE;
  if (sigaltstack (&none, NULL) == 0)
    munmap (stack, alternate_size ());
}
