/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Dependences of explicit tasks, as libgomp wants them: an array with the
   number of each kind, then the addresses by kind, then pointers to objects
   with address and kind for those that come after (GOMP_task).

   Compiled code has evaluated its own dependence objects and iterators.

   For a libgomp before that of GCC 13, inoutset is inout, and omp_all_memory is
   all addresses on which siblings depend, and one more, on which then every
   later task depends.  */

#include "kmp_task.h"

#include <stdlib.h>
#include <string.h>

#include "gomp-constants.h"
#include "task.h"

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
  NONE
};

struct list
{
  void **words;
  size_t count[KINDS], at[KINDS]; /* how many, and where the next one goes */
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
  if (!d->address)
    return NONE;
  if (d->flags & DEPEND_OUT)
    return OUT;
  if (d->flags & DEPEND_MUTEXINOUTSET)
    return MUTEX;
  if (!(d->flags & DEPEND_INOUTSET))
    return IN;
#ifdef GOMP_DEPEND_INOUTSET
  return SET;
#else
  return OUT;
#endif
}

static bool
is_all_memory (const struct source *s)
{
  for (int i = 0; i < 2; i++)
    for (kmp_int32 j = 0; j < s->count[i]; j++)
      if (s->info[i][j].flags == DEPEND_ALL
	  || (uintptr_t) s->info[i][j].address == UINTPTR_MAX)
	return true;
  return false;
}

/* Makes room for what COUNT says.  */
static void
list_init (struct list *l)
{
  size_t total = 0, words;

  for (int kind = OUT; kind < KINDS; kind++)
    {
      l->at[kind] = HEADER + total;
      total += l->count[kind];
    }
  /* A set is a pointer to two more words.  */
  words = HEADER + total + 2 * l->count[SET];
  l->words = words > SMALL ? gomp_malloc (words * sizeof *l->words) : l->small;
  l->words[0] = NULL;
  l->words[1] = (void *) total;
  for (int kind = OUT; kind <= IN; kind++)
    l->words[2 + kind] = (void *) l->count[kind];
}

static void
list_add (struct list *l, int kind, void *address)
{
  void **word = &l->words[l->at[kind]++];

  *word = address;
#ifdef GOMP_DEPEND_INOUTSET
  if (kind == SET)
    {
      size_t total = (size_t) l->words[1];
      size_t first = HEADER + total - l->count[SET];
      void **object
	  = &l->words[HEADER + total + 2 * (l->at[SET] - 1 - first)];
      object[0] = address;
      object[1] = (void *) (uintptr_t) GOMP_DEPEND_INOUTSET;
      *word = object;
    }
#endif
}

#ifdef GOMP_DEPEND_INOUTSET

#define ADDRESS_OF_ALL NULL

/* The format without kinds, where libgomp looks for it.  */
static void
list_all_memory (struct list *l)
{
  l->words = l->small;
  l->words[0] = l->words[1] = (void *) 1;
  l->words[2] = NULL;
}

#else

static char all_memory;
static bool all_memory_used;
#define ADDRESS_OF_ALL                                                        \
  (__atomic_load_n (&all_memory_used, MEMMODEL_RELAXED) ? &all_memory : NULL)

static void
list_all_memory (struct list *l)
{
  size_t count = coop_task_addresses (NULL, 0);

  __atomic_store_n (&all_memory_used, true, MEMMODEL_RELAXED);
  memset (l->count, 0, sizeof l->count);
  l->count[OUT] = count + 1;
  list_init (l);
  list_add (l, OUT, &all_memory);
  /* Tasks may have completed.  */
  count = coop_task_addresses (&l->words[l->at[OUT]], count);
  l->words[1] = l->words[2] = (void *) (count + 1);
}

#endif

/* Returns whether there are dependences.  */
static bool
list_begin (struct list *l, const struct source *s)
{
  void *all = ADDRESS_OF_ALL;
  int kind;

  if (is_all_memory (s))
    {
      list_all_memory (l);
      return true;
    }
  memset (l->count, 0, sizeof l->count);
  for (int i = 0; i < 2; i++)
    for (kmp_int32 j = 0; j < s->count[i]; j++)
      if ((kind = kind_of (&s->info[i][j])) != NONE)
	l->count[kind]++;
  l->count[IN] += all != NULL;
  list_init (l);
  for (int i = 0; i < 2; i++)
    for (kmp_int32 j = 0; j < s->count[i]; j++)
      if ((kind = kind_of (&s->info[i][j])) != NONE)
	list_add (l, kind, s->info[i][j].address);
  if (all)
    list_add (l, IN, all);
  return l->words[1] != NULL;
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
  kmp_task_submit (task, some ? list.words : NULL, false);
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
