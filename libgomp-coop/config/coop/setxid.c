/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Handler round glibc's for SIGSETXID (setxid.h).  */

#include "coop.h"
#include "setxid.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "switch.h"

#define SIGSETXID_NR 33 /* glibc's, below the first real-time signal */

/* The kernel's struct sigaction: glibc refuses to hand out this signal.  */
struct kernel_sigaction
{
  void (*handler) (int, siginfo_t *, void *);
  unsigned long flags;
#ifdef __x86_64__
  void (*restorer) (void);
#endif
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

/* One copy at a time: the thread TARGET, a futex, takes over IDS and then
   stores 0.  */
static struct
{
  int lock;
  int target;
  struct ids ids;
} request;

/* All by system calls: glibc's functions would tell all threads again.  */
static void
read_ids (struct ids *ids)
{
  syscall (SYS_getresuid, &ids->user[0], &ids->user[1], &ids->user[2]);
  syscall (SYS_getresgid, &ids->group[0], &ids->group[1], &ids->group[2]);
  ids->ngroups = syscall (SYS_getgroups, NGROUPS_MAX, ids->groups);
}

static void
write_groups (const struct ids *ids)
{
  if (ids->ngroups >= 0)
    syscall (SYS_setgroups, ids->ngroups, ids->groups);
  syscall (SYS_setresgid, ids->group[0], ids->group[1], ids->group[2]);
}

/* Groups need the privilege that the user may lose, or get back.  */
static void
write_ids (const struct ids *ids)
{
  write_groups (ids);
  syscall (SYS_setresuid, ids->user[0], ids->user[1], ids->user[2]);
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
  coop_futex_wake (&request.target, 1);
}

/* Has thread OWNER take over the ids of the calling thread TID.  Both may be
   in the handler at once: who waits, serves.  */
static void
copy_ids (pid_t tid, pid_t owner)
{
  siginfo_t info;

  while (__atomic_exchange_n (&request.lock, 1, __ATOMIC_ACQUIRE))
    {
      serve (tid);
      sched_yield ();
    }
  read_ids (&request.ids);
  coop_store (&request.target, owner);
  memset (&info, 0, sizeof info);
  info.si_signo = SIGSETXID_NR;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid ();
  info.si_value.sival_ptr = &request;
  if (syscall (SYS_rt_tgsigqueueinfo, getpid (), owner, SIGSETXID_NR, &info))
    coop_store (&request.target, 0); /* has ended */
  while (coop_load (&request.target))
    coop_futex_sleep (&request.target, owner);
  coop_store (&request.lock, 0);
}

static __attribute__ ((noinline)) void
handle_setxid (int signo, siginfo_t *info, void *context)
{
  pid_t tid = (pid_t) syscall (SYS_gettid);
  pid_t owner = (pid_t) coop_tls_owner ();
  void *borrowed = __builtin_thread_pointer ();
  struct coop_worker *w = coop_tls_worker ();
  int saved = errno;

  if (info->si_code == SI_QUEUE && info->si_value.sival_ptr == &request)
    serve (tid);
  else if (owner && owner != tid && w && w->own_tp)
    {
      coop_set_thread_pointer (w->own_tp);
      glibc_setxid.handler (signo, info, context);
      coop_set_thread_pointer (borrowed);
      copy_ids (tid, owner);
    }
  else
    glibc_setxid.handler (signo, info, context);
  errno = saved;
}

bool
coop_setxid_wrap (void)
{
  struct kernel_sigaction action;

  if (syscall (SYS_rt_sigaction, SIGSETXID_NR, NULL, &action,
	       sizeof action.mask)
      || !(action.flags & SA_SIGINFO) || !action.handler)
    return false;
  if (action.handler == handle_setxid)
    return true;
  glibc_setxid = action;
  action.handler = handle_setxid;
  return syscall (SYS_rt_sigaction, SIGSETXID_NR, &action, NULL,
		  sizeof action.mask)
	 == 0;
}
