/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Parking lot (park.h).  */

#include "park.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "dispatch.h"
#include "kthread.h"
#include "runq.h"
#include "settings.h"
#include "ult.h"

#define BUCKETS 128
#define WORDS (COOP_MAX_CPUS / 64)
#define ALL (INT_MAX / 2) /* a count of this or more means all waiters */
#define FOREIGN_TABLE COOP_MAX_CPUS /* one for all foreign threads */

struct bucket
{
  int lock;
  unsigned count;
  struct coop_ult *head, *tail;
  int *uniform; /* what all its tasks wait for, NULL: several words */
} __attribute__ ((aligned (COOP_LINE)));

/* Which tables have waiters in the bucket of one hash value.  */
struct presence
{
  uint64_t word[WORDS + 1]; /* the last one: foreign threads */
} __attribute__ ((aligned (COOP_LINE)));

static struct bucket *tables[COOP_MAX_CPUS + 1];
static struct bucket foreign_table[BUCKETS];
static struct presence presence[BUCKETS];

int
coop_park_table (unsigned index)
{
  tables[FOREIGN_TABLE] = foreign_table;
  if (tables[index])
    return 0;
  void *p = mmap (NULL, sizeof (struct bucket) * BUCKETS,
		  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return -1;
  tables[index] = p;
  return 0;
}

void
coop_park_reset (void)
{
  for (unsigned i = 0; i <= COOP_MAX_CPUS; i++)
    if (tables[i])
      memset (tables[i], 0, sizeof (struct bucket) * BUCKETS);
  memset (presence, 0, sizeof presence);
}

static unsigned
hash (const int *addr)
{
  uintptr_t x = (uintptr_t) addr;
  x ^= x >> 12;
  x ^= x >> 20;
  return (x >> 2) % BUCKETS;
}

static void
mark (unsigned h, unsigned table)
{
  __atomic_fetch_or (&presence[h].word[table / 64], 1ull << table % 64,
		     __ATOMIC_SEQ_CST);
}

static void
unmark (unsigned h, unsigned table)
{
  __atomic_fetch_and (&presence[h].word[table / 64], ~(1ull << table % 64),
		      __ATOMIC_SEQ_CST);
}

static void
enqueue (struct bucket *b, struct coop_ult *u, int *addr)
{
  u->addr = addr;
  u->next = NULL;
  u->ready = 0;
  if (b->count++ == 0)
    b->uniform = addr;
  else if (b->uniform != addr)
    b->uniform = NULL;
  if (b->tail)
    b->tail->next = u;
  else
    b->head = u;
  b->tail = u;
}

void
coop_park (int *addr, int value)
{
  struct coop_ult *u = coop_ult_self ();
  unsigned h = hash (addr);
  unsigned table
      = u->kind == COOP_FOREIGN ? FOREIGN_TABLE : coop_ult_settle (u);
  struct bucket *b = &tables[table][h];

  coop_lock (&b->lock);
  if (b->count == 0)
    mark (h, table);
  if (__atomic_load_n (addr, __ATOMIC_SEQ_CST) != value)
    {
      if (b->count == 0)
	unmark (h, table);
      coop_unlock (&b->lock);
      return;
    }
  enqueue (b, u, addr);
  switch (u->kind)
    {
    case COOP_ULT:
      coop_dispatch_block (u, &b->lock);
      break;
    case COOP_KTHREAD:
      coop_kthread_block (u, &b->lock);
      break;
    case COOP_FOREIGN:
      coop_unlock (&b->lock);
      while (!coop_load (&u->ready))
	coop_futex_sleep (&u->ready, 0);
      break;
    }
}

/* Unlinks up to *COUNT waiters for ADDR from B; returns their list.  */
static struct coop_ult *
unlink_waiters (struct bucket *b, int *addr, int *count,
		struct coop_ult **last, unsigned *taken)
{
  struct coop_ult *first = NULL, **link = &b->head, *before = NULL, *u;

  *taken = 0;
  *last = NULL;
  if (*count >= ALL && b->uniform == addr)
    {
      first = b->head;
      *last = b->tail;
      *taken = b->count;
      *count -= (int) b->count;
      b->head = b->tail = NULL;
      b->count = 0;
      return first;
    }
  while ((u = *link) && *count > 0)
    if (u->addr == addr)
      {
	*link = u->next;
	if (b->tail == u)
	  b->tail = before;
	b->count--;
	--*count;
	++*taken;
	u->next = NULL;
	if (*last)
	  (*last)->next = u;
	else
	  first = u;
	*last = u;
      }
    else
      {
	before = u;
	link = &u->next;
      }
  return first;
}

static void
wake_foreign (struct coop_ult *u)
{
  while (u)
    {
      struct coop_ult *next = u->next;
      coop_store (&u->ready, 1);
      coop_futex_wake (&u->ready, 1);
      u = next;
    }
}

/* As unlink_waiters, of one table.  */
static struct coop_ult *
take_waiters (unsigned table, unsigned h, int *addr, int *count,
	      struct coop_ult **last, unsigned *taken)
{
  struct bucket *b = &tables[table][h];

  coop_lock (&b->lock);
  struct coop_ult *first = unlink_waiters (b, addr, count, last, taken);
  if (b->count == 0)
    unmark (h, table);
  coop_unlock (&b->lock);
  return first;
}

/* Wakes waiters of one table.  Returns how many became ready that need another
   worker.  */
static unsigned
unpark_table (unsigned table, unsigned h, int *addr, int *count)
{
  struct coop_ult *last;
  unsigned taken;
  struct coop_ult *first = take_waiters (table, h, addr, count, &last, &taken);

  if (!first)
    return 0;
  if (table == FOREIGN_TABLE)
    {
      wake_foreign (first);
      return 0;
    }
  return coop_dispatch_hand (&coop_workers[table], first, last, taken);
}

/* Does nobody wait in bucket H of the first WORDS * 64 tables and of the foreign
   one?  Most often so: at barriers tasks wait in batches.  */
static bool
is_deserted (unsigned h, unsigned words)
{
  uint64_t any = coop_load (&presence[h].word[WORDS]);
  for (unsigned k = 0; k < words; k++)
    any |= coop_load (&presence[h].word[k]);
  return any == 0;
}

struct coop_ult *
coop_park_take (int *addr)
{
  struct coop_ult *batches = NULL;
  unsigned h = hash (addr);
  int count = INT_MAX;

  coop_fence ();
  unsigned n = coop_peek (&coop_nworkers);
  for (unsigned i = 0; i < n; i++)
    {
      if (!(coop_load (&presence[h].word[i / 64]) >> i % 64 & 1))
	continue;
      struct coop_ult *last;
      unsigned taken;
      struct coop_ult *u = take_waiters (i, h, addr, &count, &last, &taken);
      if (!u)
	continue;
      u->batch_tail = last;
      u->batch_count = taken;
      u->batch_next = batches;
      batches = u;
    }
  return batches;
}

unsigned
coop_unpark (int *addr, int count)
{
  const int wanted = count;
  static unsigned turn;
  unsigned h = hash (addr), ready = 0, start = 0, words;

  coop_fence ();
  words = (coop_peek (&coop_nworkers) + 63) / 64;
  if (is_deserted (h, words))
    return 0;
  /* Single wake-ups begin at another table each time: no waiter starves.  */
  if (count < ALL && words)
    start = __atomic_fetch_add (&turn, 1, __ATOMIC_RELAXED) % (words * 64);
  for (unsigned i = 0; i <= words && count > 0 && words; i++)
    {
      unsigned k = (start / 64 + i) % words;
      uint64_t m = coop_load (&presence[h].word[k]);
      if (i == 0)
	m &= ~0ull << start % 64;
      else if (i == words)
	m &= ~(~0ull << start % 64);
      for (; m && count > 0; m &= m - 1)
	ready += unpark_table (k * 64 + (unsigned) __builtin_ctzll (m), h,
			       addr, &count);
    }
  if (count > 0 && coop_load (&presence[h].word[WORDS]))
    unpark_table (FOREIGN_TABLE, h, addr, &count);
  if (ready)
    coop_dispatch_ready (ready);
  return (unsigned) (wanted - count);
}
