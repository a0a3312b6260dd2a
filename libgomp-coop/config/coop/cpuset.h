/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Small operations on sets of CPU numbers.  */

#ifndef COOP_CPUSET_H
#define COOP_CPUSET_H 1

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/layout.h"

#define COOP_CPUSET_WORDS (COSCHED_MAX_CPUS / 64)

static inline bool
cpuset_has (const struct cosched_cpuset *s, int cpu)
{
  return cpu >= 0 && cpu < COSCHED_MAX_CPUS
	 && (s->word[cpu / 64] >> cpu % 64 & 1);
}

static inline void
cpuset_add (struct cosched_cpuset *s, int cpu)
{
  s->word[cpu / 64] |= 1ull << cpu % 64;
}

static inline void
cpuset_remove (struct cosched_cpuset *s, int cpu)
{
  s->word[cpu / 64] &= ~(1ull << cpu % 64);
}

static inline unsigned
cpuset_count (const struct cosched_cpuset *s)
{
  unsigned n = 0;
  for (int i = 0; i < COOP_CPUSET_WORDS; i++)
    n += (unsigned) __builtin_popcountll (s->word[i]);
  return n;
}

/* The lowest CPU of S, or -1.  */
static inline int
cpuset_first (const struct cosched_cpuset *s)
{
  for (int i = 0; i < COOP_CPUSET_WORDS; i++)
    if (s->word[i])
      return i * 64 + __builtin_ctzll (s->word[i]);
  return -1;
}

/* Reads a list as "0-3,5"; false if it is none, or has other CPUs than there can be.
   CPUS is not to be used then.  */
static inline bool
cpuset_parse (const char *text, struct cosched_cpuset *cpus)
{
  memset (cpus, 0, sizeof *cpus);
  for (;;)
    {
      char *end;
      if (*text < '0' || *text > '9')
	return false;
      unsigned long first = strtoul (text, &end, 10), last = first;
      if (*end == '-')
	last = strtoul (end + 1, &end, 10);
      if (last < first || last >= COSCHED_MAX_CPUS)
	return false;
      for (unsigned long cpu = first; cpu <= last; cpu++)
	cpuset_add (cpus, (int) cpu);
      if (*end == '\0')
	return true;
      if (*end != ',')
	return false;
      text = end + 1;
    }
}

/* The kernel's form: the same bits.  */
static inline int
cpuset_apply (pid_t tid, const struct cosched_cpuset *s)
{
  return sched_setaffinity (tid, sizeof *s, (const cpu_set_t *) s);
}

#endif /* COOP_CPUSET_H */
