/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Dynamic loops (dynloop.h).  */

#include "dynloop.h"

#include <string.h>

#define SITES 256
#define FEW 4 /* units for each worker, below which ranges are not worth it */

#define peek(p) __atomic_load_n (p, __ATOMIC_RELAXED)
#define poke(p, v) __atomic_store_n (p, v, __ATOMIC_RELAXED)

/* Sizes at the end of earlier loops.  Places may share an entry: a wrong size
   is corrected by the first few claims.  */
static uint32_t sizes[SITES];

/* Iterations of the loop, which may be 2^64 - 1.  */
static uint64_t
iterations (const struct dynloop_request *q)
{
  uint64_t span = q->down ? q->first - q->stop : q->stop - q->first;
  uint64_t step = q->down ? -q->incr : q->incr;
  return span == 0 ? 0 : (span - 1) / step + 1;
}

static uint64_t
units (const struct dynloop_request *q)
{
  uint64_t n = iterations (q);
  return n == 0 || q->guided ? n : (n - 1) / q->chunk + 1;
}

/* Claims overshoot the end of a range: every thread by one claim at most,
   which is half the loop at most, or the smallest chunk.  */
bool
dynloop_possible (const struct dynloop_request *q)
{
  return q->incr != 0 && q->chunk != 0
	 && units (q) <= DYNLOOP_UNITS_MAX / ((uint64_t) q->team + 1);
}

size_t
dynloop_bytes (const struct dynloop_nodes *nodes)
{
  return sizeof (struct dynloop)
	 + nodes->ranges * sizeof (struct dynloop_range) + DYNLOOP_LINE;
}

static unsigned
site_index (const void *site)
{
  return (unsigned) (((uint64_t) (uintptr_t) site * 0x9e3779b97f4a7c15u) >> 56);
}

static unsigned
divisor (const struct dynloop_request *q, unsigned workers, unsigned total)
{
  uint64_t sharers = workers;
  if (q->guided && q->team > total)
    sharers = ((uint64_t) q->team * workers + total - 1) / total;
  return (unsigned) sharers * 2;
}

void
dynloop_begin (struct dynloop *l, const struct dynloop_request *q,
	       const struct dynloop_nodes *nodes)
{
  uint64_t n = units (q), first_size = UINT64_MAX, done = 0;

  l->first = q->first;
  l->stop = q->stop;
  l->units = n;
  l->step = q->guided ? q->incr : q->incr * q->chunk;
  l->least = !q->guided ? 1 : q->chunk < n ? q->chunk : n;
  l->epoch_ns = q->guided ? DYNLOOP_GUIDED_NS : DYNLOOP_EPOCH_NS;
  l->site = SITES;
  l->ranges = nodes->ranges;
  if (q->monotonic || n / FEW < nodes->total)
    l->ranges = 1;
  if (!q->guided)
    {
      l->site = site_index (q->site);
      first_size = peek (&sizes[l->site]) / 4;
      if (first_size == 0)
	first_size = 1;
    }
  if (l->ranges > 1)
    memcpy (l->range_of, nodes->range_of, sizeof l->range_of);
  if (l->ranges > 1)
    n--;
  for (unsigned i = 0, before = 0; i < l->ranges; i++)
    {
      struct dynloop_range *r = &l->range[i];
      unsigned workers = l->ranges > 1 ? nodes->workers[i] : nodes->total;
      before += workers;
      r->next = done;
      done = (uint64_t) ((unsigned __int128) n * before / nodes->total);
      r->end = done;
      r->size = first_size;
      r->divisor = divisor (q, workers, nodes->total);
      r->last = i == 0 && l->ranges > 1;
    }
}

/* The worker's last chunk, of SIZE units of R, took NS.  */
static void
adapt (struct dynloop_range *r, uint64_t size, uint64_t ns, uint64_t epoch)
{
  uint64_t limit = peek (&r->size);

  if (ns < epoch)
    {
      if (limit < 2 * size)
	poke (&r->size, 2 * size);
    }
  else if (ns > 2 * epoch)
    {
      uint64_t half = size > 1 ? size / 2 : 1;
      if (limit > half)
	poke (&r->size, half);
    }
}

/* Claims units of R; their number, or 0.  */
static uint64_t
take (const struct dynloop *l, struct dynloop_range *r, uint64_t *first,
      bool *measured)
{
  uint64_t next = peek (&r->next);
  if (next >= r->end)
    return 0;
  uint64_t size = (r->end - next) / r->divisor, limit = peek (&r->size);
  *measured = size > l->least;
  if (size > limit)
    size = limit;
  if (size < l->least)
    size = l->least;
  next = __atomic_fetch_add (&r->next, size, __ATOMIC_RELAXED);
  if (next >= r->end)
    return 0;
  *first = next;
  return r->end - next < size ? r->end - next : size;
}

/* Claims from range HOME, else from the one where most remains.  */
static uint64_t
find (struct dynloop *l, unsigned home, unsigned *from, uint64_t *first,
      bool *measured)
{
  uint64_t size = take (l, &l->range[home], first, measured);
  *from = home;
  while (size == 0 && l->ranges > 1)
    {
      uint64_t most = 0;
      for (unsigned i = 0; i < l->ranges; i++)
	{
	  uint64_t next = peek (&l->range[i].next);
	  if (next < l->range[i].end && l->range[i].end - next > most)
	    {
	      most = l->range[i].end - next;
	      *from = i;
	    }
	}
      if (most == 0)
	break;
      size = take (l, &l->range[*from], first, measured);
    }
  if (size == 0 && peek (&l->range[0].last)
      && __atomic_exchange_n (&l->range[0].last, 0, __ATOMIC_RELAXED))
    {
      *first = l->units - 1;
      size = 1;
    }
  return size;
}

/* Keeps the size for the next loop of the place; rarely writes.  */
static void
remember (struct dynloop *l)
{
  uint64_t size = peek (&l->range[0].size);
  if (l->site >= SITES)
    return;
  uint32_t old = peek (&sizes[l->site]);
  if (size > UINT32_MAX)
    size = UINT32_MAX;
  if (size >= 2 * (uint64_t) old || size <= old / 2)
    poke (&sizes[l->site], (uint32_t) size);
}

bool
dynloop_claim (struct dynloop *l, const struct dynloop_claimant *who,
	       uint64_t (*now) (void), uint64_t *start, uint64_t *end)
{
  struct dynloop_clock *c = who->clock;
  unsigned from, home
      = l->ranges > 1 ? l->range_of[who->node % DYNLOOP_RANGES] : 0;
  uint64_t first, ns = 0;
  bool measured = false;

  if (c && who->alone && c->loop == l && c->task == who->task)
    {
      ns = now ();
      adapt (&l->range[c->range], c->size, ns - c->begin_ns, l->epoch_ns);
    }
  uint64_t size = find (l, home, &from, &first, &measured);
  if (c)
    c->loop = NULL;
  if (size == 0)
    {
      remember (l);
      return false;
    }
  if (c && measured)
    {
      c->loop = l;
      c->task = who->task;
      c->size = size;
      c->range = from;
      c->begin_ns = ns ? ns : now ();
    }
  *start = l->first + first * l->step;
  *end = first + size == l->units ? l->stop : *start + size * l->step;
  return true;
}
