/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Moves pages of the process between NUMA nodes (pages.h).  */

#include "coop.h"
#include "pages.h"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_RANGES 16384 /* what is in more mappings stays */
#define MAPS "/proc/self/maps"
#define MODE_FLAGS (MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES)

struct range
{
  uintptr_t begin, end;
};

/* Of a pass over the memory.  Invariant: `running` threads are at it; who starts them writes all
   else before, and `next` is a thread's that holds the lock.  */
static struct
{
  const struct coop_nodes *nodes;
  double part[COOP_PAGES_NODES];
  struct range *range; /* [count] */
  size_t count, next;
  uintptr_t all, taken; /* bytes of all ranges, and of the blocks that threads took */
  uintptr_t page;
  int lock;
  unsigned running;
} pass;

/* ---- Which pages.  ---- */

static unsigned
most_needed (const double *need, unsigned nodes)
{
  unsigned most = 0;

  for (unsigned k = 1; k < nodes; k++)
    if (need[k] > need[most])
      most = k;
  return most;
}

/* Move SIZE pages away from node FROM?  Where they are to go, or COOP_PAGE_ELSEWHERE.  Fewer too
   many may be what the next pages have too few of.  */
static int
send (double *need, unsigned nodes, unsigned from, double size)
{
  if (-need[from] < size)
    return COOP_PAGE_ELSEWHERE;
  unsigned to = most_needed (need, nodes);
  need[from] += size;
  need[to] -= size;
  return (int) to;
}

void
coop_pages_plan (const double *part, double *need, unsigned nodes, const int *at, unsigned count,
		 int *to)
{
  unsigned here[COOP_PAGES_NODES] = { 0 }, all = 0;

  for (unsigned i = 0; i < count; i++)
    if (at[i] >= 0)
      {
	here[at[i]]++;
	all++;
      }
  for (unsigned k = 0; k < nodes; k++)
    need[k] += part[k] * all - here[k];
  bool whole = all == COOP_PAGES_BLOCK && here[at[0]] == all;
  int together = whole ? send (need, nodes, (unsigned) at[0], all) : COOP_PAGE_ELSEWHERE;
  for (unsigned i = 0; i < count; i++)
    to[i] = whole || at[i] < 0 ? together : send (need, nodes, (unsigned) at[i], 1);
}

/* ---- Which memory.  ---- */

/* Has the mapping at ADDRESS the policy of this pass, or none of its own and so the process's?  */
static bool
is_ours (uintptr_t address)
{
  unsigned long mask[COOP_NODE_WORDS];
  int mode;

  memset (mask, 0, sizeof mask);
  if (syscall (SYS_get_mempolicy, &mode, mask, 8 * sizeof mask, address, MPOL_F_ADDR))
    return false;
  return mode == MPOL_DEFAULT
	 || ((mode & ~MODE_FLAGS) == MPOL_INTERLEAVE
	     && memcmp (mask, pass.nodes->mask, sizeof mask) == 0);
}

/* LINE of MAPS: writable, private, of no file, and no stack of the kernel's.  */
static bool
is_anonymous (const char *line, struct range *range)
{
  char *at;

  range->begin = strtoull (line, &at, 16);
  if (*at != '-')
    return false;
  range->end = strtoull (at + 1, &at, 16);
  if (strncmp (at, " rw", 3) != 0 || at[4] != 'p')
    return false;
  for (int field = 0; field < 3; field++) /* permissions, offset, device */
    at = strchr (at + 1, ' ') ? strchr (at + 1, ' ') : at;
  return strtoull (at, &at, 10) == 0 && !strstr (at, "[stack");
}

/* Fills pass.range; false when the list cannot be read.  */
static bool
find_ranges (void)
{
  char text[4096];
  size_t have = 0;
  ssize_t n;
  int fd = open (MAPS, O_RDONLY | O_CLOEXEC);

  if (fd < 0)
    return false;
  pass.count = pass.next = pass.all = pass.taken = 0;
  while ((n = read (fd, text + have, sizeof text - 1 - have)) > 0)
    {
      char *line = text, *end;
      text[have += (size_t) n] = 0;
      for (; (end = strchr (line, '\n')); line = end + 1)
	{
	  struct range *r = &pass.range[pass.count];
	  *end = 0;
	  if (pass.count == MOST_RANGES || !is_anonymous (line, r) || !is_ours (r->begin))
	    continue;
	  pass.all += r->end - r->begin;
	  pass.count++;
	}
      have -= (size_t) (line - text);
      if (have == sizeof text - 1)
	have = 0; /* a path of that length: its line is not one of ours */
      memmove (text, line, have);
    }
  close (fd);
  return n == 0;
}

/* ---- A thread.  ---- */

/* What one thread works with; too large for a stack of its own.  */
struct work
{
  void *address[COOP_PAGES_BLOCK], *moved[COOP_PAGES_BLOCK];
  int status[COOP_PAGES_BLOCK], at[COOP_PAGES_BLOCK], to[COOP_PAGES_BLOCK];
  int number[COOP_PAGES_BLOCK];
  double need[COOP_PAGES_NODES];
};

static int
index_of (int number)
{
  for (unsigned k = 0; k < pass.nodes->count; k++)
    if (pass.nodes->number[k] == number)
      return (int) k;
  return COOP_PAGE_ELSEWHERE;
}

/* The COUNT pages from BEGIN on.  */
static void
move_block (struct work *w, uintptr_t begin, unsigned count)
{
  unsigned moved = 0;

  for (unsigned i = 0; i < count; i++)
    w->address[i] = (void *) (begin + i * pass.page);
  if (syscall (SYS_move_pages, 0, (unsigned long) count, w->address, NULL, w->status, 0) < 0)
    return;
  for (unsigned i = 0; i < count; i++)
    w->at[i] = index_of (w->status[i]);
  coop_pages_plan (pass.part, w->need, pass.nodes->count, w->at, count, w->to);
  for (unsigned i = 0; i < count; i++)
    if (w->to[i] >= 0)
      {
	w->moved[moved] = w->address[i];
	w->number[moved++] = pass.nodes->number[w->to[i]];
      }
  if (moved)
    syscall (SYS_move_pages, 0, (unsigned long) moved, w->moved, w->number, w->status,
	     MPOL_MF_MOVE);
}

/* The next block of the pass; false: there is none.  */
static bool
take_block (struct range *block)
{
  const uintptr_t size = COOP_PAGES_BLOCK * pass.page;

  coop_lock (&pass.lock);
  while (pass.next < pass.count && pass.range[pass.next].begin >= pass.range[pass.next].end)
    pass.next++;
  bool found = pass.next < pass.count;
  if (found)
    {
      struct range *r = &pass.range[pass.next];
      block->begin = r->begin;
      block->end = (r->begin / size + 1) * size;
      if (block->end > r->end)
	block->end = r->end;
      pass.taken += block->end - r->begin;
      r->begin = block->end;
    }
  coop_unlock (&pass.lock);
  return found;
}

static void *
map (size_t size)
{
  void *p = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  return p == MAP_FAILED ? NULL : p;
}

static void *
mover_main (void *arg)
{
  struct work *w = map (sizeof *w);
  struct range block;

  while (w && take_block (&block))
    move_block (w, block.begin, (unsigned) ((block.end - block.begin) / pass.page));
  if (w)
    munmap (w, sizeof *w);
  __atomic_sub_fetch (&pass.running, 1, __ATOMIC_RELEASE);
  return arg;
}

/* ---- A pass.  ---- */

static bool
start_mover (void)
{
  pthread_t thread;

  __atomic_add_fetch (&pass.running, 1, __ATOMIC_RELAXED);
  int err = coop_create_masked (&thread, NULL, mover_main, NULL);
  if (err)
    __atomic_sub_fetch (&pass.running, 1, __ATOMIC_RELAXED);
  else
    pthread_detach (thread);
  return err == 0;
}

bool
coop_pages_move (const struct coop_nodes *nodes, const double *part, unsigned threads)
{
  if (coop_pages_moving ())
    return false;
  pass.page = (uintptr_t) sysconf (_SC_PAGESIZE);
  pass.nodes = nodes;
  memcpy (pass.part, part, nodes->count * sizeof *part);
  if (!pass.range && !(pass.range = map (MOST_RANGES * sizeof *pass.range)))
    return false;
  if (!find_ranges ())
    return false;
  bool started = false;
  for (unsigned i = 0; i < threads; i++)
    started |= start_mover ();
  return started;
}

bool
coop_pages_moving (void)
{
  return __atomic_load_n (&pass.running, __ATOMIC_ACQUIRE) > 0;
}

void
coop_pages_stop (void)
{
  coop_lock (&pass.lock);
  pass.next = pass.count;
  coop_unlock (&pass.lock);
}

double
coop_pages_done (void)
{
  return pass.all ? (double) pass.taken / pass.all : 1;
}

void
coop_pages_reset (void)
{
  pass.running = 0;
  pass.lock = 0;
}
