/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* What the program needs of its threads, as far as its imports tell.

   Donors give a task everything that glibc keeps by thread, but not what the
   kernel does: the owner of a priority-inheriting mutex, the receiver of
   pthread_kill or of a timer, affinity, scheduling policy, hardware counters.
   A program that imports the functions for these is better off with kernel
   threads.

   Only the program itself and those of its libraries count that contain
   parallel regions (they import GOMP_*): other libraries bring many of these
   functions into the process without using them on the program's threads.
   Theirs is also the code in which a task may be preempted (preempt.h).  */

#ifndef COOP_NEEDS_H
#define COOP_NEEDS_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define COOP_CODE_MAX 32 /* a module has one range of code, rarely two */

struct coop_needs
{
  /* What only kernel threads can give: the name of a function, system call or
     library; NULL: nothing.  */
  const char *kernel_threads;
  /* Why the initial thread should stay on its kernel thread, or NULL.  */
  const char *home;
  /* There may be threadprivate variables: tasks must not share storage.  */
  bool own_storage;
  /* The storage of a task that has ended must not be given to another: there
     are thread-local variables, keys or locales that would show it.  */
  bool fresh_storage;
  /* A call that any signal ends early, even one that has a handler of the
     runtime's, or changes what a signal's frame does not hold; NULL: none.  */
  const char *early;
  /* Where the instructions of these modules are.  */
  struct coop_code
  {
    uintptr_t begin;
    size_t size;
  } code[COOP_CODE_MAX];
  unsigned code_count;
};

/* Fills in NEEDS from the modules that are loaded now.  */
extern void coop_needs_look (struct coop_needs *needs);

/* Modules loaded so far, a number that changes with each dlopen.  */
extern unsigned long long coop_needs_modules (void);

#pragma GCC visibility pop

#endif /* COOP_NEEDS_H */
