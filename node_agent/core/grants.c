/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What jobs may have of what Slurm granted them. */

#include "node_agent/core/grants.h"

#include <stdint.h>

#include "model/policy.h"
#include "protocol/cpulist.h"

size_t grants_owned(const int *owner, size_t cpus, size_t job)
{
    size_t n = 0;

    for (size_t c = 0; c < cpus; c++)
        n += owner[c] == (int)job;
    return n;
}

/* The job with the fewest cores that may have CPU, or POLICY_NOBODY. */
static int poorest(const struct cosched_cpuset *granted, size_t jobs,
                   const int *owner, size_t cpus, int cpu)
{
    int best = POLICY_NOBODY;
    size_t least = SIZE_MAX;

    for (size_t j = 0; j < jobs; j++) {
        size_t n = grants_owned(owner, cpus, j);
        if (cpuset_has(&granted[j], cpu) && n < least) {
            least = n;
            best = (int)j;
        }
    }
    return best;
}

void grants_repair(const struct cosched_cpuset *granted, size_t jobs, int *owner, size_t cpus)
{
    for (size_t c = 0; c < cpus; c++)
        if (owner[c] >= 0 && !cpuset_has(&granted[owner[c]], (int)c)) {
            owner[c] = POLICY_NOBODY;
            owner[c] = poorest(granted, jobs, owner, cpus, (int)c);
        }
    for (size_t j = 0; j < jobs; j++) {
        int from = -1;
        size_t most = 1;
        if (grants_owned(owner, cpus, j))
            continue;
        for (int c = -1; (c = cpuset_next(&granted[j], c)) >= 0;) {
            if ((size_t)c >= cpus || owner[c] == POLICY_NO_CPU)
                continue;
            size_t n = owner[c] == POLICY_NOBODY
                           ? SIZE_MAX
                           : grants_owned(owner, cpus, (size_t)owner[c]);
            if (n > most) {
                most = n;
                from = c;
            }
        }
        if (from >= 0)
            owner[from] = (int)j;
    }
}

void grants_repair_turns(const struct cosched_cpuset *granted, size_t jobs, int *owner,
                         size_t cpus)
{
    for (size_t j = 0; j < jobs; j++) {
        size_t cores = grants_owned(owner, cpus, j);
        for (size_t c = 0; c < cpus; c++)
            if (owner[c] == (int)j && !cpuset_has(&granted[j], (int)c))
                owner[c] = POLICY_NOBODY;
        size_t now = grants_owned(owner, cpus, j);
        for (int c = -1; (c = cpuset_next(&granted[j], c)) >= 0;)
            if (now < cores && (size_t)c < cpus && owner[c] == POLICY_NOBODY) {
                owner[c] = (int)j;
                now++;
            }
    }
}

/* Of GRANTED, what can be given. */
static struct cosched_cpuset may_have(const struct cosched_cpuset *granted, const int *owner)
{
    struct cosched_cpuset may = *granted;

    for (int c = -1; (c = cpuset_next(&may, c)) >= 0;)
        if (owner[c] == POLICY_NO_CPU)
            cpuset_remove(&may, c);
    return may;
}

static void hold(const struct cosched_cpuset *cpus, uint16_t *held)
{
    for (int c = -1; (c = cpuset_next(cpus, c)) >= 0;)
        held[c]++;
}

/* The CPU of CANDIDATES that is HELD by the fewest jobs, the first of such. */
static int least_held(const struct cosched_cpuset *candidates, const uint16_t *held)
{
    int best = -1;

    for (int c = -1; (c = cpuset_next(candidates, c)) >= 0;)
        if (best < 0 || held[c] < held[best])
            best = c;
    return best;
}

void grants_overlap(const struct cosched_cpuset *granted, const size_t *most, size_t jobs,
                    const int *owner, struct cosched_cpuset *share)
{
    uint16_t held[COSCHED_MAX_CPUS] = {0}; /* limited jobs that have a CPU */

    for (size_t j = 0; j < jobs; j++) {
        struct cosched_cpuset may = may_have(&granted[j], owner);
        cpuset_and(&share[j], &may);
        if ((size_t)cpuset_count(&may) <= most[j])
            share[j] = may;
        else if ((size_t)cpuset_count(&share[j]) <= most[j])
            hold(&share[j], held);
        else
            cpuset_zero(&share[j]);
    }
    for (size_t j = 0; j < jobs; j++) {
        struct cosched_cpuset may = may_have(&granted[j], owner);
        cpuset_andnot(&may, &share[j]);
        for (size_t n = (size_t)cpuset_count(&share[j]); n < most[j] && !cpuset_empty(&may);
             n++) {
            int c = least_held(&may, held);
            cpuset_add(&share[j], c);
            cpuset_remove(&may, c);
            held[c]++;
        }
    }
}
