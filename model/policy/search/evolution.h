/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* MOCA's evolution of core allocations. */

#ifndef COSCHED_MODEL_POLICY_EVOLUTION_H
#define COSCHED_MODEL_POLICY_EVOLUTION_H

/* Concept
 *
 * Thesis 4.5.1, figure 4.13.  Of four allocations, at first random ones, two
 * random ones are crossed into two new ones, whose cores then change their job
 * with a small probability.  Of all six, the next generation is
 *
 *   Set1   those with cpu_util and bw_util above their thresholds, by cpu_util
 *   Set2   the others, by cpu_util + bw_util, as far as Set1 has fewer than four
 *
 * Where the papers are silent: crossover cuts both parents at one random core
 * (cores are sorted by LLC domain, so that whole LLC domains are inherited
 * together); a new allocation as good as one that is there is dropped, since
 * four copies of one cannot evolve; allocations outside the jobs' bounds are
 * repaired (chromosome_repair()).
 *
 * The best is never dropped: with the same seed, more generations are at least
 * as good.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/policy/search/chromosome.h"

#define EVOLUTION_POPULATION 4
#define EVOLUTION_GENERATIONS 50

struct evolution_input {
    const struct chromosome_space *space;
    const size_t *start;  /* [llc_domains * jobs] one of the first four, or NULL */
    size_t generations;
    double mutation;      /* probability per core, 0..1 */
    double cpu_threshold; /* of cpu_util */
    double bw_threshold;  /* of bw_util */
    uint64_t seed;
};

struct evolution_result {
    size_t *layout; /* [llc_domains * jobs] the best, the caller's */
    double cpu, bw; /* its worth */
    bool reached;   /* both thresholds are exceeded */
    size_t judged;  /* allocations */
};

struct evolution;

/* Room for evolutions on MACHINE, which must outlive it and not change.  NULL
 * when out of memory. */
struct evolution *evolution_new(const struct machine *machine);

/* Takes NULL. */
void evolution_free(struct evolution *evolution);

/* Evolve.  MODEL_EINVAL as of chromosome_judge_set().  Allocates nothing. */
enum model_status evolution_run(struct evolution *evolution,
                                const struct evolution_input *input,
                                struct evolution_result *result);

/* The same one by one, for who judges otherwise than by the model: begin, then ask and admit until
 * there is no next.  resume() says IN anew, which may differ in pointers, bounds and profiles. */
enum model_status evolution_begin(struct evolution *evolution,
                                  const struct evolution_input *input);
enum model_status evolution_resume(struct evolution *evolution,
                                   const struct evolution_input *input);

/* The next allocation to be judged, into LAYOUT [llc_domains * jobs]; those that have been are
 * passed over.  False: that was the last generation. */
bool evolution_next(struct evolution *evolution, size_t *layout);

/* What evolution_next() asked for, or rather LAYOUT, is worth CPU and BW. */
void evolution_admit(struct evolution *evolution, const size_t *layout, double cpu,
                     double bw);

/* The best so far; something has been admitted. */
void evolution_best(const struct evolution *evolution, struct evolution_result *result);

/* Make LAYOUT keep to the jobs' bounds. */
void evolution_fit(struct evolution *evolution, size_t *layout);

/* Judge LAYOUT in the space of the last evolution, which must still be there;
 * *WORTH gets no genes. */
enum model_status evolution_judge(struct evolution *evolution,
                                  const size_t *layout,
                                  struct chromosome *worth);

#endif /* COSCHED_MODEL_POLICY_EVOLUTION_H */
