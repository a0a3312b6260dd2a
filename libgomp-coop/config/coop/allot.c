/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Reading of the allotment page (allot.h).  */

#include "allot.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cpuset.h"

#define READ_TRIES 64 /* a writer needs less than a microsecond */

bool
coop_allot_is_safe (int fd, size_t size)
{
  struct stat st;
  int seals = fcntl (fd, F_GET_SEALS);

  /* Without the seal another process could shrink the file under us.  */
  return seals >= 0 && seals & F_SEAL_SHRINK
	 && !syscall (SYS_fstat, fd, &st) /* not of glibc 2.33, see glibc.h */
	 && st.st_size >= (off_t) size;
}

/* Bytes of the page that is mapped: there is one at a time.  */
static size_t mapped;

const struct cosched_allotment *
coop_allot_map (int fd)
{
  size_t size = COSCHED_HOMES_OFFSET + sizeof (struct cosched_homes);

  if (!coop_allot_is_safe (fd, size))
    size = sizeof (struct cosched_allotment);
  if (!coop_allot_is_safe (fd, size))
    return NULL;
  void *p = mmap (NULL, size, PROT_READ, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED)
    return NULL;
  mapped = size;
  return p;
}

const struct cosched_homes *
coop_allot_homes (const struct cosched_allotment *page)
{
  return mapped > COSCHED_HOMES_OFFSET
	     ? (const void *) ((const char *) page + COSCHED_HOMES_OFFSET)
	     : NULL;
}

void
coop_allot_unmap (const struct cosched_allotment *page)
{
  if (page)
    munmap ((void *) page, mapped);
}

/* Copies PAGE while its generation is even and does not change.  */
static bool
copy_stable (const struct cosched_allotment *page,
	     struct cosched_allotment *copy)
{
  for (int i = 0; i < READ_TRIES; i++)
    {
      uint32_t before = coop_load (&page->generation);
      if (before % 2 == 0)
	{
	  memcpy (copy, page, sizeof *copy);
	  __atomic_thread_fence (__ATOMIC_ACQUIRE);
	  if (coop_peek (&page->generation) == before)
	    {
	      copy->generation = before;
	      return true;
	    }
	}
      coop_pause ();
    }
  memcpy (copy, page, sizeof *copy);
  return false;
}

static bool
is_valid (const struct cosched_allotment *a)
{
  if (a->magic != COSCHED_ALLOTMENT_MAGIC
      || a->version != COSCHED_LAYOUT_VERSION || a->size != sizeof *a
      || a->lease_ns == 0)
    return false;
  if (a->llc_domains == 0 || a->llc_domains > COSCHED_MAX_CPUS)
    return false;
  for (int cpu = 0; cpu < COSCHED_MAX_CPUS; cpu++)
    if (cpuset_has (&a->granted, cpu) && a->llc_domain[cpu] >= a->llc_domains)
      return false;
  return cpuset_first (&a->granted) >= 0;
}

enum coop_allot_state
coop_allot_read (const struct cosched_allotment *page,
		 struct cosched_allotment *copy, uint64_t now_ns)
{
  bool stable = copy_stable (page, copy);
  uint64_t heartbeat = copy->heartbeat_ns;

  if (copy->magic != COSCHED_ALLOTMENT_MAGIC
      || copy->version != COSCHED_LAYOUT_VERSION)
    return COOP_ALLOT_INVALID;
  if (now_ns > heartbeat && now_ns - heartbeat > copy->lease_ns)
    return COOP_ALLOT_EXPIRED;
  if (!stable)
    return COOP_ALLOT_BUSY;
  if (!is_valid (copy))
    return COOP_ALLOT_INVALID;
  /* What the job was not granted it does not use, whatever the page says.  */
  for (int i = 0; i < COOP_CPUSET_WORDS; i++)
    copy->cpus.word[i] &= copy->granted.word[i];
  return COOP_ALLOT_OK;
}

void
coop_allot_wait (const struct cosched_allotment *page, uint32_t generation,
		 uint64_t ns)
{
  struct timespec t
      = { (time_t) (ns / 1000000000), (long) (ns % 1000000000) };
  syscall (SYS_futex, &page->generation, FUTEX_WAIT, generation, &t, NULL, 0);
}
