/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Regions and the report page (region.h).  */

#include "region.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libgomp.h"

#include "allot.h"
#include "hint.h"
#include "near.h"
#include "preempt.h"
#include "settings.h"
#include "worker.h"

#define CACHE 64 /* entries that map functions to regions */
#define COUNTED_NS 1000000 /* a region so long counts who waited at its end */
#define FNV_BASIS 0xcbf29ce484222325ull
#define FNV_PRIME 0x100000001b3ull

struct cosched_report *coop_report;

/* Protects the table's growth; taken once per function and cache conflict.  */
static int table_lock;

/* Of the owner alone, as are a region's entries and time.  */
static void (*functions[COSCHED_MAX_REGIONS]) (void *);
static struct
{
  void (*fn) (void *);
  unsigned index;
} cache[CACHE];

/* Written for each region, and so in a line that no worker reads while it has work.  */
static struct
{
  /* The initial thread whose region is reported; others' regions at the same
     time are not.  Who puts itself here where NULL was has what the owner has.  */
  struct gomp_thread *owner;

  /* What coop_report->region says: the truth is here, since a page may be mapped
     in the moment in which a region begins.  */
  unsigned region;
} __attribute__ ((aligned (COOP_LINE))) current = { NULL, COSCHED_REGION_SERIAL };

/* The region that began last, which is what workers count for: it stays in their caches
   while the same region begins again and again.  */
static unsigned latest = COSCHED_REGION_SERIAL;

static void
set_current (unsigned index)
{
  __atomic_store_n (&current.region, index, __ATOMIC_RELAXED);
  coop_store (&coop_report->region, index);
}

void
coop_region_start (void)
{
  if (!*coop_settings.socket || coop_report)
    return;
  void *p = mmap (NULL, sizeof (struct cosched_report),
		  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return;
  coop_report = p;
  coop_report->region = COSCHED_REGION_SERIAL;
}

int
coop_region_map (int fd)
{
  struct cosched_report saved;

  if (!coop_report || !coop_allot_is_safe (fd, sizeof saved))
    return -1;
  /* A region that becomes known meanwhile would be in one page, and its number
     in the other, which the agent takes for garbage.  */
  coop_lock (&table_lock);
  saved = *coop_report;
  void *p = mmap (coop_report, sizeof saved, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_FIXED, fd, 0);
  if (p == MAP_FAILED)
    {
      coop_unlock (&table_lock);
      return -1;
    }
  saved.magic = 0;
  saved.version = COSCHED_LAYOUT_VERSION;
  saved.size = sizeof saved;
  saved.pid = (uint32_t) getpid ();
  saved.mode = coop_mode;
  saved.interleaved = coop_near_is_possible ();
  saved.applied_generation = 0;
  *coop_report = saved;
  coop_unlock (&table_lock);
  coop_store (&coop_report->magic, COSCHED_REPORT_MAGIC);
  return 0;
}

void
coop_region_reset (void)
{
  table_lock = 0;
  current.owner = NULL;
  current.region = latest = COSCHED_REGION_SERIAL;
  memset (functions, 0, sizeof functions);
  memset (cache, 0, sizeof cache);
  if (coop_report)
    munmap (coop_report, sizeof *coop_report);
  coop_report = NULL;
}

/* ---- Names.  ---- */

struct place
{
  uintptr_t address;
  uint64_t object_id, offset;
};

/* The first 8 bytes of the build id among the notes from P to END, or 0.  */
static uint64_t
build_id (const char *p, const char *end)
{
  while (p + sizeof (ElfW (Nhdr)) <= end)
    {
      const ElfW (Nhdr) *note = (const void *) p;
      const char *name = p + sizeof *note;
      const char *data = name + ((note->n_namesz + 3) & ~3u);
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4
	  && !memcmp (name, "GNU", 4) && note->n_descsz >= 8
	  && data + 8 <= end)
	{
	  uint64_t id = 0;
	  for (int i = 0; i < 8; i++)
	    id = id << 8 | (unsigned char) data[i];
	  return id;
	}
      p = data + ((note->n_descsz + 3) & ~3u);
    }
  return 0;
}

static uint64_t
hash_path (const char *path)
{
  char self[4096];
  uint64_t h = FNV_BASIS;
  if (!*path)
    {
      ssize_t n = readlink ("/proc/self/exe", self, sizeof self - 1);
      self[n < 0 ? 0 : n] = '\0';
      path = self;
    }
  for (; *path; path++)
    h = (h ^ (unsigned char) *path) * FNV_PRIME;
  return h;
}

static int
look_at (struct dl_phdr_info *info, size_t size, void *arg)
{
  struct place *p = arg;
  uint64_t id = 0;
  bool inside = false;
  (void) size;

  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *h = &info->dlpi_phdr[i];
      uintptr_t begin = info->dlpi_addr + h->p_vaddr;
      if (h->p_type == PT_LOAD && p->address - begin < h->p_memsz)
	inside = true;
      else if (h->p_type == PT_NOTE && id == 0)
	id = build_id ((const char *) begin,
		       (const char *) begin + h->p_memsz);
    }
  if (!inside)
    return 0;
  p->object_id = id ? id : hash_path (info->dlpi_name);
  p->offset = p->address - info->dlpi_addr;
  return 1;
}

/* The region of FN, new if need be.  With table_lock held.  */
static unsigned
look_up (void (*fn) (void *))
{
  unsigned used = coop_report->regions_used;
  struct place place = { (uintptr_t) fn, 0, 0 };

  for (unsigned i = 0; i < used; i++)
    if (functions[i] == fn)
      return i;
  if (used >= COSCHED_REGION_OVERFLOW)
    {
      __atomic_store_n (&coop_report->regions_used, COSCHED_MAX_REGIONS,
			__ATOMIC_RELAXED);
      return COSCHED_REGION_OVERFLOW;
    }
  dl_iterate_phdr (look_at, &place);
  functions[used] = fn;
  coop_report->regions[used].object_id = place.object_id;
  coop_report->regions[used].offset = place.offset;
  coop_store (&coop_report->regions_used, used + 1);
  return used;
}

/* The region of FN, by the owner.  */
static unsigned
find (void (*fn) (void *))
{
  unsigned slot = ((uintptr_t) fn >> 4) % CACHE;
  if (__builtin_expect (cache[slot].fn != fn, 0))
    {
      coop_lock (&table_lock);
      cache[slot].index = look_up (fn);
      coop_unlock (&table_lock);
      cache[slot].fn = fn;
    }
  return cache[slot].index;
}

/* ---- Progress.  ---- */

bool
coop_region_active (void)
{
  return coop_region_current () != COSCHED_REGION_SERIAL;
}

unsigned
coop_region_current (void)
{
  return coop_peek (&current.region);
}

static void
add (uint64_t *counter, uint64_t n)
{
  __atomic_fetch_add (counter, n, __ATOMIC_RELAXED);
}

/* By the only one that writes COUNTER.  */
static void
count (uint64_t *counter, uint64_t n)
{
  __atomic_store_n (counter, *counter + n, __ATOMIC_RELAXED);
}

static uint64_t *
counter_of (struct cosched_region *s, enum coop_counter which)
{
  switch (which)
    {
    case COOP_BARRIERS:
      return &s->barriers;
    case COOP_ITERATIONS:
      return &s->iterations;
    default:
      return &s->ults;
    }
}

/* What is to be credited of a counter that was NOW, where *CREDITED has been, which
   follows.  The worker and the monitor may ask at the same time: what one of them gets the
   other does not.  */
static uint64_t
growth (uint64_t now, uint64_t *credited)
{
  uint64_t before = coop_peek (credited);

  while (before < now)
    if (__atomic_compare_exchange_n (credited, &before, now, false,
				     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return now - before;
  return 0;
}

/* Hands W's counters over to the region they belong to.  Invariant: the worker credits what
   it has counted before it takes another region.  So if the region that is read here, after
   the counters, is a later one than theirs, they have been credited.  */
static void
credit (struct coop_worker *w)
{
  uint64_t now[COOP_COUNTERS];

  for (enum coop_counter k = 0; k < COOP_COUNTERS; k++)
    now[k] = coop_load (&w->counted[k]);
  unsigned index = coop_load (&w->region);
  for (enum coop_counter k = 0; k < COOP_COUNTERS; k++)
    {
      uint64_t n = growth (now[k], &w->credited[k]);
      if (n && index < COSCHED_MAX_REGIONS)
	add (counter_of (&coop_report->regions[index], k), n);
    }
}

/* N more of WHICH for the region that runs.  A thread without worker, as the initial one at
   home, counts in the page itself.  */
static void
count_for_region (enum coop_counter which, uint64_t n)
{
  struct coop_worker *w = coop_tls_worker ();
  unsigned index = coop_peek (&latest);

  if (!w)
    {
      if (index < COSCHED_MAX_REGIONS)
	add (counter_of (&coop_report->regions[index], which), n);
      return;
    }
  if (w->region != index)
    {
      credit (w);
      coop_store (&w->region, index);
    }
  coop_store (&w->counted[which], w->counted[which] + n);
}

void
coop_region_count_barrier (void)
{
  if (coop_report && gomp_thread ()->ts.level == 1)
    count_for_region (COOP_BARRIERS, 1);
}

void
coop_region_count_ult (void)
{
  if (coop_report && gomp_thread ()->ts.level == 1)
    count_for_region (COOP_ULTS, 1);
}

void
coop_region_count_iterations (uint64_t n)
{
  if (coop_report && gomp_thread ()->ts.level > 0)
    count_for_region (COOP_ITERATIONS, n);
}

/* ---- Begin and end.  ---- */

static bool
is_owner (void)
{
  return coop_report && coop_peek (&current.owner) == gomp_thread ();
}

void
coop_region_begin (void (*fn) (void *))
{
  struct gomp_thread *none = NULL;

  if (!coop_report
      || !__atomic_compare_exchange_n (&current.owner, &none, gomp_thread (), false,
				       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return;
  unsigned index = find (fn);
  coop_hint_region (index);
  if (latest != index)
    __atomic_store_n (&latest, index, __ATOMIC_RELAXED);
}

void
coop_region_begun (unsigned threads)
{
  if (!is_owner ())
    return;
  coop_report->team = threads;
  coop_report->region_begin_ns = coop_now_ns ();
  count (&coop_report->regions[latest].entries, 1);
  set_current (latest);
}

void
coop_region_count_idle (const struct coop_worker *w, uint64_t now)
{
  unsigned index = coop_region_current ();
  if (!coop_report || index >= COSCHED_MAX_REGIONS)
    return;
  uint64_t since = coop_peek (&coop_report->region_begin_ns);
  uint64_t idle = coop_peek (&w->idle_since_ns), told = coop_peek (&w->idle_told_ns);
  since = since < idle ? idle : since;
  since = since < told ? told : since;
  if (idle && now > since)
    add (&coop_report->regions[index].idle_ns, now - since);
}

void
coop_region_found (struct coop_worker *w)
{
  coop_region_count_idle (w, coop_now_ns ());
  w->idle_since_ns = 0;
}

/* Who found nothing more in the region that ends spins for the next one.  */
static void
count_last_idle (uint64_t now)
{
  for (unsigned i = 0; i < coop_nworkers; i++)
    if (!coop_peek (&coop_workers[i].sleeping))
      coop_region_count_idle (&coop_workers[i], now);
}

void
coop_region_end (void)
{
  if (!is_owner ())
    return;
  unsigned index = coop_region_current ();
  if (index < COSCHED_MAX_REGIONS)
    {
      struct cosched_region *s = &coop_report->regions[index];
      uint64_t now = coop_now_ns (), time = now - coop_report->region_begin_ns;
      count (&s->time_ns, time);
      if (time >= COUNTED_NS)
	count_last_idle (now);
      count_for_region (COOP_BARRIERS, 1); /* the final one */
    }
  set_current (COSCHED_REGION_SERIAL);
  __atomic_store_n (&current.owner, NULL, __ATOMIC_RELEASE);
}

/* ---- For the monitor.  ---- */

void
coop_region_applied (uint32_t generation)
{
  if (!coop_report)
    return;
  coop_report->applied_ns = coop_now_ns ();
  coop_report->workers = coop_worker_running ();
  coop_store (&coop_report->applied_generation, generation);
}

void
coop_region_extra_workers (unsigned count)
{
  if (coop_report)
    add (&coop_report->extra_workers, count);
}

/* Repairs what a new page may have missed.  Loses no race with set_current:
   if the region changes meanwhile, it is stored again.  */
static void
mirror_current (void)
{
  unsigned seen;
  do
    {
      seen = coop_region_current ();
      if (coop_peek (&coop_report->region) == seen)
	return;
      coop_store (&coop_report->region, seen);
      coop_fence ();
    }
  while (coop_region_current () != seen);
}

void
coop_region_tick (void)
{
  uint64_t steals = 0;
  if (!coop_report)
    return;
  for (unsigned i = 0; i < coop_nworkers; i++)
    {
      credit (&coop_workers[i]);
      steals += coop_peek (&coop_workers[i].steals);
    }
  for (unsigned i = 0; i < coop_nspares; i++)
    {
      credit (&coop_workers[COOP_SPARE_FIRST + i]);
      steals += coop_peek (&coop_workers[COOP_SPARE_FIRST + i].steals);
    }
  mirror_current ();
  coop_report->steals = steals;
  coop_report->preempted = coop_peek (&coop_preempted);
  coop_report->workers = coop_worker_running ();
}
