/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The simulated node's hardware counters. */

#ifndef COSCHED_SIMULATOR_VIRTUAL_COUNTERS_H
#define COSCHED_SIMULATOR_VIRTUAL_COUNTERS_H

/* Concept
 *
 * A backend "virtual" of node_agent/counters/counters.h that counts exactly what a perfect PMU
 * would: cycles, stalls and misses of each CPU, and requests from each LLC domain to each NUMA
 * node.  With noise, each value read is multiplied by a random factor of mean about 1 and that
 * relative standard error.
 */

#include "node_agent/counters/counters.h"
#include "simulator/random.h"

#define VIRTUAL_CYCLES_PER_US 2500.0

struct virtual_counters;

/* For MACHINE, which must outlive it; RANDOM likewise.  NULL when out of
 * memory. */
struct virtual_counters *virtual_counters_new(const struct machine *machine,
                                              double noise,
                                              struct random *random);

/* What to put into counters_setup.backends: this one and `progress`. */
const struct counters_backend *const *virtual_counters_backends(
    const struct virtual_counters *pmu);

/* What happened on CPU, and from its LLC domain to MEMORY, since the last
 * sample. */
struct sample_cpu *virtual_counters_cpu(struct virtual_counters *pmu, int cpu);
struct sample_memory *virtual_counters_traffic(struct virtual_counters *pmu,
                                               size_t llc_domain, size_t memory);

/* Threads of which the next sample is to tell: to be filled with sample_add_thread(). */
struct sample *virtual_counters_threads(struct virtual_counters *pmu);

/* Takes NULL. */
void virtual_counters_free(struct virtual_counters *pmu);

#endif /* COSCHED_SIMULATOR_VIRTUAL_COUNTERS_H */
