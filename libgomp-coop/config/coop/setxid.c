/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Handler round glibc's for SIGSETXID (setxid.h).  */

#include "coop.h"
#include "setxid.h"

#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "preempt.h"
#include "switch.h"

/* The kernel's struct sigaction: glibc refuses to hand out this signal.  */
struct kernel_sigaction
{
  void (*handler) (int, siginfo_t *, void *);
  unsigned long flags;
  void (*restorer) (void);
  uint64_t mask;
};

struct ids
{
  uid_t user[3]; /* real, effective, saved */
  gid_t group[3];
  long ngroups;
  gid_t groups[NGROUPS_MAX];
};

static struct kernel_sigaction glibc_setxid;

/* The thread TARGET, a futex, takes over IDS and then stores 0.  glibc has only
   one caller at a time, and only the caller asks.  */
static struct
{
  int target;
  struct ids ids;
} request;

/* Not by glibc's functions, which would tell all threads again.  Nor may errno
   be touched: on a parked donor it belongs to the task that runs elsewhere.  */
static long
call (long number, const void *a, const void *b, const void *c)
{
  return coop_syscall (number, (long) a, (long) b, (long) c, 0);
}

static void
read_ids (struct ids *ids)
{
  call (SYS_getresuid, &ids->user[0], &ids->user[1], &ids->user[2]);
  call (SYS_getresgid, &ids->group[0], &ids->group[1], &ids->group[2]);
  ids->ngroups = coop_syscall (SYS_getgroups, NGROUPS_MAX,
			       (long) ids->groups, 0, 0);
}

static void
write_groups (const struct ids *ids)
{
  if (ids->ngroups >= 0)
    coop_syscall (SYS_setgroups, ids->ngroups, (long) ids->groups, 0, 0);
  coop_syscall (SYS_setresgid, ids->group[0], ids->group[1], ids->group[2], 0);
}

/* Groups need the privilege that the user may lose, or get back.  */
static void
write_ids (const struct ids *ids)
{
  write_groups (ids);
  coop_syscall (SYS_setresuid, ids->user[0], ids->user[1], ids->user[2], 0);
  write_groups (ids);
}

/* Takes over the ids if thread TID is asked to.  */
static void
serve (pid_t tid)
{
  if (coop_load (&request.target) != tid)
    return;
  write_ids (&request.ids);
  coop_store (&request.target, 0);
  coop_syscall (SYS_futex, (long) &request.target, FUTEX_WAKE_PRIVATE, 1, 0);
}

/* Has thread OWNER take over the ids of the calling thread.  */
static void
copy_ids (pid_t owner)
{
  siginfo_t info;

  read_ids (&request.ids);
  coop_store (&request.target, owner);
  memset (&info, 0, sizeof info);
  info.si_signo = COOP_SIGSETXID;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid ();
  info.si_value.sival_ptr = &request;
  if (coop_syscall (SYS_rt_tgsigqueueinfo, info.si_pid, owner, COOP_SIGSETXID,
		    (long) &info))
    coop_store (&request.target, 0); /* has ended */
  while (coop_load (&request.target))
    coop_syscall (SYS_futex, (long) &request.target, FUTEX_WAIT_PRIVATE, owner,
		  0);
}

/* Did thread TID interrupt itself, by tgkill (pid, TID, SIGSETXID)?  Then its
   task is the caller, whose control block glibc has passed over.  */
static bool
is_caller (const ucontext_t *context, pid_t tid)
{
#ifdef __x86_64__
  const greg_t *r = context->uc_mcontext.gregs;
  return (pid_t) r[REG_RSI] == tid && (int) r[REG_RDX] == COOP_SIGSETXID;
#elif defined __aarch64__
  const unsigned long long *r = context->uc_mcontext.regs;
  return (pid_t) r[1] == tid && (int) r[2] == COOP_SIGSETXID;
#endif
}

static __attribute__ ((noinline)) void
handle_setxid (int signo, siginfo_t *info, void *context)
{
  if (coop_preempt_serve (info, context))
    return;
  pid_t tid = (pid_t) coop_syscall (SYS_gettid, 0, 0, 0, 0);
  pid_t owner = (pid_t) coop_tls_owner ();
  void *borrowed = __builtin_thread_pointer ();
  struct coop_worker *w = coop_tls_worker ();

  /* It will change: the compiler must not look it up again later.  */
  __asm volatile ("" : "+r"(borrowed));
  if (info->si_code == SI_QUEUE && info->si_value.sival_ptr == &request)
    serve (tid);
  else if (owner && owner != tid && w && w->own_tp)
    {
      coop_set_thread_pointer (w->own_tp);
      glibc_setxid.handler (signo, info, context);
      coop_set_thread_pointer (borrowed);
      if (is_caller (context, tid))
	copy_ids (owner);
    }
  else
    glibc_setxid.handler (signo, info, context);
}

bool
coop_setxid_leave_alternate (void)
{
  struct kernel_sigaction action;

  if (syscall (SYS_rt_sigaction, COOP_SIGSETXID, NULL, &action,
	       sizeof action.mask)
      || action.handler != handle_setxid)
    return false;
  action.flags &= ~(unsigned long) SA_ONSTACK;
  return syscall (SYS_rt_sigaction, COOP_SIGSETXID, &action, NULL,
		  sizeof action.mask)
	 == 0;
}

bool
coop_setxid_wrap (void)
{
  struct kernel_sigaction action;

  if (syscall (SYS_rt_sigaction, COOP_SIGSETXID, NULL, &action,
	       sizeof action.mask)
      || !(action.flags & SA_SIGINFO) || !action.handler)
    return false;
  if (action.handler == handle_setxid)
    return true;
  glibc_setxid = action;
  action.handler = handle_setxid;
  /* A handler of the program's that leaves by longjmp must not leave this.  */
  action.mask = ~0ull;
  return syscall (SYS_rt_sigaction, COOP_SIGSETXID, &action, NULL,
		  sizeof action.mask)
	 == 0;
}
