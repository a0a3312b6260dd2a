/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Kernel threads that the program has created itself (foreign.h).  */

#include "coop.h"
#include "foreign.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpuset.h"
#include "worker.h"

#define TIDS (1u << 22) /* the kernel's PID_MAX_LIMIT */
#define MAX_FOREIGN 4096
#define LOOK_NS 50000000ull /* nested teams come and go more often */
#define TASKS "/proc/self/task"

/* One bit for each thread id; only the pages in use take memory.  */
static uint64_t own[TIDS / 64];
static unsigned own_count;

/* Those of the program, with what is known of their bindings.  */
static struct
{
  pid_t tid;
  bool follows; /* its binding is ours */
} known[MAX_FOREIGN];
static unsigned known_count;
static unsigned long seen_threads; /* of the process, at the last look, */
static unsigned seen_own;	   /* and of the runtime */

static void
count_own (pid_t tid, bool mine)
{
  uint64_t bit = 1ull << tid % 64, *word = &own[tid / 64 % (TIDS / 64)];
  uint64_t old = mine ? __atomic_fetch_or (word, bit, __ATOMIC_RELAXED)
		      : __atomic_fetch_and (word, ~bit, __ATOMIC_RELAXED);
  if (!!(old & bit) != mine)
    __atomic_add_fetch (&own_count, mine ? 1 : -1, __ATOMIC_RELAXED);
}

void
coop_foreign_except_me (void)
{
  count_own ((pid_t) syscall (SYS_gettid), true);
}

void
coop_foreign_include_me (void)
{
  count_own ((pid_t) syscall (SYS_gettid), false);
}

static bool
is_own (pid_t tid)
{
  return coop_peek (&own[tid / 64 % (TIDS / 64)]) >> tid % 64 & 1;
}

/* Has thread TID been seen, and found to need a binding of ours?  */
static bool
follows_already (pid_t tid)
{
  for (unsigned i = 0; i < known_count; i++)
    if (known[i].tid == tid)
      return known[i].follows;
  return false;
}

/* Binds TID to ALLOTTED unless the program has bound it to part of that.
   Returns whether it did.  */
static bool
bind (pid_t tid, const struct cosched_cpuset *allotted, bool follows)
{
  struct cosched_cpuset now;

  memset (&now, 0, sizeof now);
  if (syscall (SYS_sched_getaffinity, tid, sizeof now, &now) < 0)
    return follows;
  bool inherited = cpuset_count (&now) == 1
		   && cpuset_count (&coop_initial_cpus) > 1;
  bool outside = false;
  for (int i = 0; i < COOP_CPUSET_WORDS; i++)
    outside |= now.word[i] & ~allotted->word[i];
  if (!follows && !inherited && !outside)
    return false;
  if (memcmp (&now, allotted, sizeof now))
    cpuset_apply (tid, allotted);
  return true;
}

static void
look_again (const struct cosched_cpuset *allotted)
{
  DIR *tasks = opendir (TASKS);
  struct dirent *entry;
  unsigned n = 0;
  static typeof (known) found;

  if (!tasks)
    return;
  while ((entry = readdir (tasks)) && n < MAX_FOREIGN)
    {
      pid_t tid = atoi (entry->d_name);
      if (tid <= 0 || is_own (tid))
	continue;
      found[n].tid = tid;
      found[n].follows = bind (tid, allotted, follows_already (tid));
      n++;
    }
  closedir (tasks);
  memcpy (known, found, n * sizeof *found);
  known_count = n;
}

void
coop_foreign_tick (uint64_t now)
{
  static uint64_t next;
  struct cosched_cpuset allotted;
  struct stat st;
  unsigned mine = coop_peek (&own_count);

  /* The directory has a link for each thread and two of its own.  */
  if (now < next)
    return;
  next = now + LOOK_NS;
  if (syscall (SYS_newfstatat, AT_FDCWD, TASKS, &st, 0)
      || (st.st_nlink == seen_threads && mine == seen_own)
      || !coop_worker_allotted (&allotted))
    return;
  seen_threads = st.st_nlink;
  seen_own = mine;
  if (st.st_nlink > mine + 2 || known_count)
    look_again (&allotted);
}

void
coop_foreign_follow (void)
{
  struct cosched_cpuset allotted;

  if (known_count == 0 || !coop_worker_allotted (&allotted))
    return;
  for (unsigned i = 0; i < known_count; i++)
    if (!is_own (known[i].tid))
      known[i].follows = bind (known[i].tid, &allotted, known[i].follows);
}

void
coop_foreign_reset (void)
{
  for (unsigned i = 0; i < TIDS / 64 && own_count; i++)
    if (own[i])
      {
	own_count -= (unsigned) __builtin_popcountll (own[i]);
	own[i] = 0;
      }
  own_count = known_count = seen_own = 0;
  seen_threads = 0;
}
