/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* CPU sets and their text form, the kernel's list format "0-3,8". */

#ifndef COSCHED_CPULIST_H
#define COSCHED_CPULIST_H

#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "common/errtext.h"
#include "protocol/layout.h"

static inline void cpuset_zero(struct cosched_cpuset *set)
{
    memset(set, 0, sizeof(*set));
}

static inline bool cpuset_has(const struct cosched_cpuset *set, int cpu)
{
    return cpu >= 0 && cpu < COSCHED_MAX_CPUS &&
           (set->word[cpu / 64] >> (cpu % 64) & 1);
}

/* CPU must be in 0..COSCHED_MAX_CPUS-1. */
static inline void cpuset_add(struct cosched_cpuset *set, int cpu)
{
    set->word[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

static inline void cpuset_remove(struct cosched_cpuset *set, int cpu)
{
    set->word[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
}

/* Sets are 1024 bits and mostly zero: what is asked of them in each epoch is
 * inline and passes over empty words. */
#define CPUSET_WORDS (COSCHED_MAX_CPUS / 64)

static inline int cpuset_count(const struct cosched_cpuset *set)
{
    int count = 0;

    for (int i = 0; i < CPUSET_WORDS; i++)
        if (set->word[i])
            count += __builtin_popcountll(set->word[i]);
    return count;
}

static inline bool cpuset_equal(const struct cosched_cpuset *a,
                                const struct cosched_cpuset *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static inline bool cpuset_empty(const struct cosched_cpuset *set)
{
    for (int i = 0; i < CPUSET_WORDS; i++)
        if (set->word[i])
            return false;
    return true;
}

static inline void cpuset_or(struct cosched_cpuset *to,
                             const struct cosched_cpuset *from)
{
    for (int i = 0; i < CPUSET_WORDS; i++)
        to->word[i] |= from->word[i];
}

static inline void cpuset_and(struct cosched_cpuset *to,
                              const struct cosched_cpuset *from)
{
    for (int i = 0; i < CPUSET_WORDS; i++)
        to->word[i] &= from->word[i];
}

static inline void cpuset_andnot(struct cosched_cpuset *to,
                                 const struct cosched_cpuset *from)
{
    for (int i = 0; i < CPUSET_WORDS; i++)
        to->word[i] &= ~from->word[i];
}

/* Smallest CPU of SET that is greater than CPU, or -1.  Start with -1. */
static inline int cpuset_next(const struct cosched_cpuset *set, int cpu)
{
    for (cpu++; cpu < COSCHED_MAX_CPUS; cpu = (cpu / 64 + 1) * 64) {
        uint64_t rest = set->word[cpu / 64] >> (cpu % 64);
        if (rest)
            return cpu + __builtin_ctzll(rest);
    }
    return -1;
}

bool cpuset_subset(const struct cosched_cpuset *inner,
                   const struct cosched_cpuset *outer);
bool cpuset_intersects(const struct cosched_cpuset *a,
                       const struct cosched_cpuset *b);

/* Parse "0-3,8" ("" is the empty set).  Returns 0, or -1 with errno EINVAL
 * (syntax) or ERANGE (CPU >= COSCHED_MAX_CPUS) and *SET untouched. */
int cpulist_parse(const char *text, struct cosched_cpuset *set,
                  struct errtext *err);

/* Write the shortest list of SET into TEXT (SIZE bytes; 4096 is always
 * enough).  Returns TEXT; truncated at an entry's boundary if too small. */
char *cpulist_format(const struct cosched_cpuset *set, char *text,
                     size_t size);

/* Thread affinity.  TID 0 is the caller.  0, or -1 with errno. */
int cpuset_get_affinity(pid_t tid, struct cosched_cpuset *set);
int cpuset_set_affinity(pid_t tid, const struct cosched_cpuset *set);

#endif /* COSCHED_CPULIST_H */
