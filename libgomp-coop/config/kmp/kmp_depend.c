/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Dependences of explicit tasks, as libgomp wants them: an array with the
   number of each kind, then the addresses by kind, then pointers to objects
   with address and kind for those that come after (GOMP_task).

   Compiled code has evaluated its own dependence objects and iterators.  A
   libgomp that knows no inoutset takes it as inout, and without
   omp_all_memory, such a task runs after all its siblings, at once.  */

#include "kmp_task.h"

#include <stdlib.h>
#include <string.h>

#include "gomp-constants.h"

/* Kinds, bits of kmp_depend_info; inout is in and out.  */
#define DEPEND_OUT 0x2
#define DEPEND_MUTEXINOUTSET 0x4
#define DEPEND_INOUTSET 0x8
#define DEPEND_ALL 0x80

#define HEADER 5
#define SMALL 32

enum
{
  OUT,
  MUTEX,
  IN,
  SET,
  KINDS,
  NONE = KINDS,
  ALL
};

struct list
{
  void **words;
  size_t count[KINDS];
  bool all; /* omp_all_memory, which libgomp does not know */
  void *small[SMALL];
};

/* Two lists, of addresses that may and that cannot be the same.  */
struct source
{
  kmp_int32 count[2];
  const struct kmp_depend_info *info[2];
};

static int
kind_of (const struct kmp_depend_info *d)
{
  if (d->flags == DEPEND_ALL || (uintptr_t) d->address == UINTPTR_MAX)
    return ALL;
  if (!d->address)
    return NONE;
  if (d->flags & DEPEND_OUT)
    return OUT;
  if (d->flags & DEPEND_MUTEXINOUTSET)
    return MUTEX;
  return d->flags & DEPEND_INOUTSET ? SET : IN;
}

#ifdef GOMP_DEPEND_INOUTSET
#define ALL_IS OUT /* of the address NULL */
#define SET_IS SET
#define SET_WORDS 3 /* a pointer and what it points to */
#else
#define ALL_IS ALL
#define SET_IS OUT
#define SET_WORDS 1
#endif

static int
kind_here (const struct kmp_depend_info *d)
{
  int kind = kind_of (d);

  return kind == ALL ? ALL_IS : kind == SET ? SET_IS : kind;
}

static void
count_kinds (struct list *l, const struct source *s)
{
  memset (l->count, 0, sizeof l->count);
  l->all = false;
  for (int i = 0; i < 2; i++)
    for (kmp_int32 j = 0; j < s->count[i]; j++)
      {
	int kind = kind_here (&s->info[i][j]);
	if (kind < KINDS)
	  l->count[kind]++;
	else if (kind == ALL)
	  l->all = true;
      }
}

/* Returns whether there are dependences.  */
static bool
list_begin (struct list *l, const struct source *s)
{
  size_t normal, total, at[KINDS];

  count_kinds (l, s);
  normal = l->count[OUT] + l->count[MUTEX] + l->count[IN];
  total = normal + l->count[SET];
  l->words = l->small;
  if (HEADER + normal + SET_WORDS * l->count[SET] > SMALL)
    l->words = gomp_malloc ((HEADER + normal + SET_WORDS * l->count[SET])
			    * sizeof *l->words);
  l->words[0] = NULL;
  l->words[1] = (void *) total;
  for (int kind = OUT; kind <= IN; kind++)
    l->words[2 + kind] = (void *) l->count[kind];
  at[OUT] = HEADER;
  for (int kind = MUTEX; kind < KINDS; kind++)
    at[kind] = at[kind - 1] + l->count[kind - 1];

  for (int i = 0; i < 2; i++)
    for (kmp_int32 j = 0; j < s->count[i]; j++)
      {
	const struct kmp_depend_info *d = &s->info[i][j];
	int kind = kind_here (d);
	if (kind >= KINDS)
	  continue;
	void **word = &l->words[at[kind]++];
	*word = kind_of (d) == ALL ? NULL : d->address;
#ifdef GOMP_DEPEND_INOUTSET
	if (kind == SET)
	  {
	    /* The objects lie behind all pointers.  */
	    void **object = &l->words[HEADER + total
				      + 2 * (at[SET] - 1 - HEADER - normal)];
	    object[0] = d->address;
	    object[1] = (void *) (uintptr_t) GOMP_DEPEND_INOUTSET;
	    *word = object;
	  }
#endif
      }
  return total > 0;
}

static void
list_end (struct list *l)
{
  if (l->words != l->small)
    free (l->words);
}

kmp_int32
__kmpc_omp_task_with_deps (ident_t *loc, kmp_int32 gtid, struct kmp_task *task,
			   kmp_int32 count, struct kmp_depend_info *info,
			   kmp_int32 count_noalias,
			   struct kmp_depend_info *info_noalias)
{
  struct source source = { { count, count_noalias }, { info, info_noalias } };
  struct list list;
  bool some;

  (void) loc, (void) gtid;
  some = list_begin (&list, &source);
  if (list.all)
    GOMP_taskwait ();
  kmp_task_submit (task, some ? list.words : NULL, list.all);
  list_end (&list);
  return 0;
}

void
__kmpc_omp_wait_deps (ident_t *loc, kmp_int32 gtid, kmp_int32 count,
		      struct kmp_depend_info *info, kmp_int32 count_noalias,
		      struct kmp_depend_info *info_noalias)
{
  struct source source = { { count, count_noalias }, { info, info_noalias } };
  struct list list;

  (void) loc, (void) gtid;
  if (list_begin (&list, &source))
    GOMP_taskwait_depend (list.words);
  if (list.all)
    GOMP_taskwait ();
  list_end (&list);
}

/* With nowait, it waits nevertheless, as libomp does.  */
void
__kmpc_omp_taskwait_deps_51 (ident_t *loc, kmp_int32 gtid, kmp_int32 count,
			     struct kmp_depend_info *info,
			     kmp_int32 count_noalias,
			     struct kmp_depend_info *info_noalias,
			     kmp_int32 nowait)
{
  (void) nowait;
  __kmpc_omp_wait_deps (loc, gtid, count, info, count_noalias, info_noalias);
}
