/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* The entry points of LLVM's and Intel's OpenMP run-time libraries (libomp,
   libiomp5) on top of libgomp.

   Compilers of the LLVM family call __kmpc_* functions where GCC calls GOMP_*
   functions; programs of both call omp_*.  These files translate the former to
   the latter, so that one library, and one team of threads, serves both in one
   process.  What is here works with and without an agent: whatever is special
   to that is in the GOMP_* functions.

   region (struct kmp_region)
     What a thread keeps for the innermost parallel region that it is in: the
     loop it runs, how it reduces.  It lies on the stack of the thread, as
     regions are entered by a call; that of a serialized region, which has a
     begin and an end, does not.

   thread (struct kmp_thread)
     What belongs to an OpenMP thread, created by its first call of ours and
     found in coop_tls.  Compiled code hands around its number, the gtid, which
     is the least that is free when the thread gets it, and different from
     omp_get_thread_num.  We rarely need it: the thread that calls is known.

   team (struct kmp_team)
     What the threads of a team share; created by the first use, kept in the
     barrier of the team, ends with it.

   Exported functions have the names of libomp's; kmp.map gives them libomp's
   symbol version.  Internal ones are hidden.  */

#ifndef KMP_KMP_H
#define KMP_KMP_H 1

#include "libgomp.h"

#include "coop.h"

typedef int32_t kmp_int32;
typedef uint32_t kmp_uint32;
typedef int64_t kmp_int64;
typedef uint64_t kmp_uint64;

/* A place in the program; only its flags matter to us.  */
typedef struct
{
  kmp_int32 reserved_1;
  kmp_int32 flags;
  kmp_int32 reserved_2;
  kmp_int32 reserved_3;
  const char *source;
} ident_t;

#define KMP_IDENT_ATOMIC_REDUCE 0x10

typedef kmp_int32 kmp_critical_name[8];

/* The outlined body of a region: gtid, number in the team, shared variables. */
typedef void (*kmpc_micro) (kmp_int32 *gtid, kmp_int32 *tid, ...);

#pragma GCC visibility push(hidden)

/* A loop whose threads ask for chunks (kmp_dispatch.c).  */
struct kmp_loop
{
  unsigned char state;	    /* 0: no loop */
  unsigned char row;	    /* how it is handed out */
  bool part_last;	    /* not a part, or the last part of another one */
  unsigned long long trips; /* iterations, numbered from 0 */
  unsigned long long chunk;
  unsigned long long lower;  /* variable of the first iteration, */
  unsigned long long step;   /* and what is added for the next ones */
  unsigned long long next;   /* static: next iteration of this thread, */
  unsigned long long stride; /* and distance to the one after its chunk */
  const void *site;	    /* place in the program */
};

struct kmp_region
{
  struct kmp_region *outer;
  struct kmp_loop loop;
  unsigned reduction;		 /* enum kmp_reduction, while inside one */
  unsigned doacross_count;	 /* loops begun */
  struct kmp_doacross *doacross; /* the loop it runs, or NULL */
};

struct kmp_thread
{
  struct kmp_region *region; /* innermost */
  kmp_int32 gtid;
  bool initial; /* the first thread of the process */
  /* What the next region shall have; 0: nothing said.  */
  unsigned num_threads, proc_bind, num_teams, thread_limit;
  struct kmp_region serial;	   /* outside of all regions */
  struct kmp_region *spare;	   /* for the next serialized one, or NULL */
  struct kmp_private *private;	   /* threadprivate variables, by address */
  void *blocks;			   /* free ones, for tasks (kmp_task.h), */
  unsigned blocks_count;	   /* and how many */
};

struct kmp_team
{
  void *copyprivate; /* what the thread of a single region hands out */
  int doacross_lock;
  struct kmp_doacross *doacross; /* loops that threads are in */
};

/* The first call of a thread: creates its kmp_thread.  */
extern struct kmp_thread *kmp_thread_begin (void);

/* Frees the current thread's, if it has one.  */
extern void kmp_thread_end (void);

static inline struct kmp_thread *
kmp_thread (void)
{
  struct kmp_thread *t = coop_tls_kmp ();
  return __builtin_expect (t != NULL, 1) ? t : kmp_thread_begin ();
}

/* That of the current team, which must not be NULL.  */
extern struct kmp_team *kmp_team (void);

static inline unsigned
kmp_team_size (void)
{
  struct gomp_team *team = gomp_thread ()->ts.team;
  return team ? team->nthreads : 1;
}

static inline void
kmp_region_enter (struct kmp_thread *t, struct kmp_region *r)
{
  r->loop.state = 0;
  r->doacross_count = 0;
  r->doacross = NULL;
  r->outer = t->region;
  t->region = r;
}

/* A call of fork_call or fork_teams.  */
struct kmp_fork
{
  kmpc_micro fn;
  int argc;
  void **argv;
};

/* What GOMP_parallel is given to run, with a kmp_fork.  */
extern void kmp_fork_main (void *fork);

/* The function that stands for a region which runs FN (DATA).  */
static inline void (*kmp_fork_function (void (*fn) (void *),
					void *data)) (void *)
{
  return fn == kmp_fork_main ? (void (*) (void *)) ((struct kmp_fork *) data)->fn
			     : fn;
}

/* Calls FN (GTID, TID, ARGV[0], ..., ARGV[ARGC - 1]) (invoke-CPU.S).  */
extern void kmp_invoke (kmpc_micro fn, kmp_int32 *gtid, kmp_int32 *tid,
			long argc, void **argv);

#pragma GCC visibility pop

#endif /* KMP_KMP_H */
