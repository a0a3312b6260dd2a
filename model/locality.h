/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which NUMA node a core asks: where its own thread's data lies. */

#ifndef COSCHED_MODEL_LOCALITY_H
#define COSCHED_MODEL_LOCALITY_H

/* Concept
 *
 * A workload's rates say how often a job asks each NUMA node.  They do not say which of its cores
 * does: all alike, or each thread the data that it touched first itself.  Then a job whose cores
 * lie as its data does uses no link at all.  The locality L of a region is the share of its
 * requests that go to data of the thread's own (0: all cores ask all NUMA nodes alike).
 *
 * With the part d_m of the job's data on NUMA node m and the part c_m of its cores there, a core
 * of node h finds min(1, d_h / c_h) of its thread's data at home: threads stay with their data as
 * long as there are cores for them.  The rest lies where there is more data than cores.  Over all
 * cores node m is asked for d_m, whatever L is; only the links see the difference.
 *
 * L is told by what each LLC domain asks its own NUMA node (MRR_ij, thesis eq. 3.9): it lies
 * between what all-alike and all-own would give.
 */

#include "model/loop.h"
#include "model/machine.h"
#include "model/workload.h"

/* A workload of more than this asks mostly for its threads' own data. */
#define LOCALITY_HIGH 0.5

/* What a core asks for own data: HERE at home, and AWAY for each unit of the spare data elsewhere,
 * where there is more data than cores. */
struct locality_own {
    double here, away;
};

/* Of a core whose NUMA node has DATA and CORES, both as parts of all, CORES > 0; SPARE is the
 * sum of max(0, d_m - c_m).  LOCALITY is in 0..1. */
struct locality_own locality_own(double data, double cores, double spare, double locality);

/* Parts of what a core of NUMA node HOME asks into PART[numa_nodes], sum 1.  DATA[numa_nodes] and
 * CORES[numa_nodes] are the parts d and c of above, each of sum 1, CORES[HOME] > 0; LOCALITY is in
 * 0..1. */
void locality_parts(const double *data, const double *cores, size_t numa_nodes, size_t home,
                    double locality, double *part);

/* How many times as often as the mean of the job's cores one of NUMA node HOME asks each into
 * FACTOR[numa_nodes]: 1 where W's locality is 0 or unknown, when CORES is not looked at, and where
 * the job has no cores at HOME. */
void locality_factors(const struct workload *w, const double *cores, size_t home, double *factor);

/* The locality that LOOP shows on MACHINE, 0..1.  NAN where its cores lie so that it makes hardly
 * any difference: on one NUMA node, or all data on one. */
double locality_measured(const struct machine *machine, const struct loop *loop);

#endif /* COSCHED_MODEL_LOCALITY_H */
