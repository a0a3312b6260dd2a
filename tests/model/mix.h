/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Mixes of jobs for the tests of the policies. */

#ifndef TESTS_MIX_H
#define TESTS_MIX_H

#include "tests/model/near.h"

#include "model/policy.h"
#include "tests/support/uniform_machine.h"

#define MAX_CPUS 64
#define MAX_JOBS 8

/* A mix with all that it points to. */
struct mix {
    struct machine *machine;
    struct workload *profile[MAX_JOBS];
    struct policy_job jobs[MAX_JOBS];
    int owner[MAX_CPUS];
    struct policy_input input;
};

static inline void mix_free(struct mix *mix)
{
    for (size_t j = 0; j < MAX_JOBS; j++)
        workload_free(mix->profile[j]);
    machine_free(mix->machine);
}

/* COUNT parallel jobs of rho 0 without bounds on NODES nodes of CORES cores,
 * everything in the pool and nobody's. */
static inline void mix_init(struct mix *mix, size_t nodes, size_t cores,
                            size_t count)
{
    memset(mix, 0, sizeof(*mix));
    mix->machine = machine_new_uniform(nodes, cores, nodes);
    for (size_t cpu = 0; cpu < MAX_CPUS; cpu++)
        mix->owner[cpu] = cpu < nodes * cores ? POLICY_NOBODY : POLICY_NO_CPU;
    for (size_t j = 0; j < count; j++) {
        mix->profile[j] = workload_new(nodes);
        mix->jobs[j] = (struct policy_job){.id = (uint32_t)(100 + j),
                                           .kind = REGION_PARALLEL,
                                           .profile = mix->profile[j],
                                           .min_cores = 1,
                                           .max_cores = MAX_CPUS,
                                           .weight = 1};
    }
    mix->input = (struct policy_input){.machine = mix->machine,
                                       .jobs = mix->jobs,
                                       .job_count = count,
                                       .owner = mix->owner,
                                       .fairness_percent =
                                           POLICY_FAIRNESS_PERCENT};
}

static inline void set_rho(struct mix *mix, size_t job, double rho)
{
    for (size_t m = 0; m < mix->machine->numa_nodes; m++)
        mix->profile[job]->rate[m].mrr_per_us =
            mix->profile[job]->rate[m].read_per_us =
                rho / MACHINE_DEFAULT_SERVICE_US /
                (double)mix->machine->numa_nodes;
}

static inline size_t count_of(const struct mix *mix, const int *owner, int job)
{
    size_t count = 0;

    for (size_t cpu = 0; cpu < mix->machine->cpus; cpu++)
        count += owner[cpu] == job;
    return count;
}

static inline struct policy_decision decided(const char *name, struct mix *mix,
                                      int *owner)
{
    struct policy_decision out = {.owner = owner};

    assert_int_equal(policy_decide(policy_find(name), &mix->input, &out),
                     MODEL_OK);
    return out;
}

static inline void random_jobs(struct mix *mix, struct dice *dice)
{
    for (size_t j = 0; j < mix->input.job_count; j++) {
        struct policy_job *job = &mix->jobs[j];
        set_rho(mix, j, dice_range(dice, 0, 3) ? dice_unit(dice) : 0);
        job->kind = dice_range(dice, 0, 4) ? REGION_PARALLEL : REGION_SERIAL;
        if (dice_range(dice, 0, 3) == 0)
            job->min_cores = dice_range(dice, 1, 6);
        if (dice_range(dice, 0, 3) == 0)
            job->max_cores = job->min_cores + dice_range(dice, 0, 8);
        if (dice_range(dice, 0, 3) == 0)
            job->weight = 0.25 + 4 * dice_unit(dice);
        if (dice_range(dice, 0, 9) == 0)
            job->profile = NULL;
    }
}

/* Holes, a pool of a part of the machine, owners from an earlier decision. */
static inline void random_mix(struct mix *mix, struct dice *dice)
{
    size_t nodes = dice_range(dice, 1, 4), cores = dice_range(dice, 2, 8);
    size_t jobs = dice_range(dice, 1, 6);
    size_t pool = 0;

    mix_init(mix, nodes, cores, jobs);
    random_jobs(mix, dice);
    for (size_t cpu = 0; cpu < nodes * cores; cpu++) {
        if (cpu && dice_range(dice, 0, 9) == 0) {
            mix->machine->llc_domain[cpu] = -1;
            mix->owner[cpu] = POLICY_NO_CPU;
        } else if (cpu && dice_range(dice, 0, 9) == 0) {
            mix->owner[cpu] = POLICY_NO_CPU;
        } else {
            mix->owner[cpu] = (int)dice_range(dice, 0, jobs) - 1;
            pool++;
        }
    }
    if (pool < jobs)
        mix->input.job_count = pool;
    for (size_t cpu = 0; cpu < nodes * cores; cpu++)
        if (mix->owner[cpu] >= (int)mix->input.job_count)
            mix->owner[cpu] = POLICY_NOBODY;
}

#endif /* TESTS_MIX_H */
