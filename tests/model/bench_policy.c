/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* CPU time that each policy takes to decide, and which model decides better. */

/* Usage: bench_policy FILE.  Prints two tables and writes FILE, a JSON list of
 * {name, value, unit, reference, ratio}.
 *
 * Decisions: 256 cores on 32 LLC domains, 16 jobs, with the options' defaults and with an objective
 * and a power budget; the reference is 2 ms.
 *
 * Maps: 256 threads on 32 NUMA nodes; the reference is 100 us.
 *
 * Models: for random mixes on 64 cores of 8 nodes, the division of LLC domains
 * with the least predicted makespan, by the station model (model/analysis/system.h) and
 * by the closed network after Schweitzer (model/analysis/closed.h), with one class per
 * job (model/aggregated_mva.h) and in full.  These divisions, and equal shares, are
 * judged by the closed network after Linearizer, which is
 * 0.3 % from simulation (docs/model/validation.md); the reference is the best
 * division by that judge.  The value is the mean makespan relative to it. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/analysis/closed.h"
#include "model/aggregated_mva.h"
#include "model/mapping.h"
#include "model/policy.h"
#include "model/analysis/system.h"
#include "tests/support/median.h"
#include "tests/support/uniform_machine.h"

#define NODES 8
#define CORES 8
#define MIXES 60
#define MOST_JOBS 3
#define BUDGET_US 2000.0
#define ALL_ON "cost:edp;power:700" /* what else takes time; 256 cores draw some 1100 W */
#define MAPPING_US 100.0

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double chance(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / 16777216.0;
}

static void print(FILE *file, const char *name, double value, const char *unit,
                  double reference)
{
    printf("%-44s %12.4f %-6s %8.4f\n", name, value, unit, value / reference);
    fprintf(file, "%s{\"name\": \"%s\", \"value\": %.6f, \"unit\": \"%s\", "
                  "\"reference\": %.6f, \"ratio\": %.6f}",
            ftell(file) ? ",\n " : "[", name, value, unit, reference,
            value / reference);
}

static struct machine *machine_of(size_t nodes)
{
    struct machine *machine = machine_new_uniform(nodes, 8, nodes);

    if (!machine || machine_connect_all(machine, 0.002) != MODEL_OK)
        abort();
    return machine;
}

/* ---- decisions ---------------------------------------------------------- */

/* Another profile, by a little. */
static void change(struct workload *profile, size_t memories, double factor)
{
    for (size_t m = 0; m < memories; m++) {
        profile->rate[m].mrr_per_us *= factor;
        profile->rate[m].read_per_us *= factor;
    }
}

/* Median time of a decision of POLICY after one of PROFILE has changed, so that
 * what was predicted before does not hold. */
static double decision_us(const struct policy *policy,
                          const struct policy_input *input,
                          struct workload *const *profile)
{
    static int owner[256];
    struct policy_input in = *input;
    double times[25], relative_speed[16];

    for (size_t i = 0; i < 25; i++) {
        struct policy_decision out = {.owner = owner, .relative_speed = relative_speed};
        change(profile[1 + i % (in.job_count - 1)], in.machine->numa_nodes,
               i % 2 ? 1.01 : 1 / 1.01);
        in.state = policy_state_new(policy, in.machine);
        double begin = now_us();
        if (policy_decide(policy, &in, &out) != MODEL_OK)
            return NAN;
        times[i] = now_us() - begin;
        policy_state_free(in.state);
    }
    return median(times, 25);
}

static void bench_decisions(FILE *file)
{
    struct machine *machine = machine_of(32);
    struct workload *profile[16];
    struct policy_facts facts[16];
    struct policy_job jobs[16];
    int before[256];
    struct policy_input input = {.machine = machine,
                                 .jobs = jobs,
                                 .job_count = 16,
                                 .owner = before,
                                 .workspace = policy_workspace_new(machine, 16)};

    for (size_t cpu = 0; cpu < 256; cpu++)
        before[cpu] = POLICY_NOBODY;
    for (size_t j = 0; j < 16; j++) {
        profile[j] = workload_new_rho(32, 0.04 * (double)j,
                                      MACHINE_DEFAULT_SERVICE_US);
        policy_facts_init(&facts[j]);
        facts[j].remaining = 100 + 37 * (double)(j % 5);
        jobs[j] = (struct policy_job){.id = (uint32_t)j + 1,
                                      .kind = REGION_PARALLEL,
                                      .profile = profile[j],
                                      .min_cores = 1,
                                      .max_cores = 256,
                                      .weight = 1,
                                      .facts = &facts[j]};
    }
    for (size_t all = 0; all < 2; all++)
        for (const struct policy *const *p = policies; *p; p++) {
            char name[64];
            const char *bad;
            double options[POLICY_OPTIONS_MAX];
            policy_options_init(*p, options);
            if (all && policy_options_parse(*p, ALL_ON, options, &bad) != MODEL_OK)
                abort();
            input.options = options;
            for (size_t j = 0; j < 16; j += 2)
                profile[j]->locality = all ? 0.8 : NAN;
            machine->power = (struct machine_power){100, 5, 4, 2.5, 10};
            snprintf(name, sizeof(name), "decision of %s, 256 cores, 16 jobs%s", (*p)->name,
                     all ? ", all on" : "");
            print(file, name, decision_us(*p, &input, profile), "us", BUDGET_US);
        }
    for (size_t j = 0; j < 16; j++)
        workload_free(profile[j]);
    policy_workspace_free(input.workspace);
    machine_free(machine);
}

/* ---- mapping ------------------------------------------------------------ */

/* Median time of a map of 256 threads on 32 nodes of 8 cores.  SKEWED: threads that make many
 * requests make many to each node, so that all nodes want the same ones first. */
static double mapping_us(enum mapping_rule rule, bool skewed)
{
    static double requests[256 * 32], factor[32 * 32], critical[32];
    static size_t cores[32], node[256];
    struct mapping_scratch *scratch = mapping_scratch_new(256, 32);
    struct mapping_input input = {.threads = 256, .nodes = 32, .requests = requests,
                                  .cores = cores, .factor = factor,
                                  .closeness = MAPPING_CLOSENESS};
    struct mapping_result result = {.node = node, .critical = critical};
    unsigned seed = 1;
    double times[25];

    for (size_t j = 0; j < 32; j++)
        cores[j] = 8;
    mapping_factor_uniform(32, 1.5, factor);
    for (size_t n = 0; n < 25; n++) {
        for (size_t i = 0; i < 256 * 32; i++)
            requests[i] = skewed ? (double)(1 + i / 32) + chance(&seed) : chance(&seed);
        double begin = now_us();
        if (mapping_make(rule, &input, scratch, &result) != MODEL_OK)
            return NAN;
        times[n] = now_us() - begin;
    }
    mapping_scratch_free(scratch);
    return median(times, 25);
}

static void bench_mapping(FILE *file)
{
    static const char *const names[] = {"locality", "critical"};

    for (size_t n = 0; n < 4; n++) {
        char name[64];
        snprintf(name, sizeof(name), "map of 256 threads on 32 nodes, %s%s", names[n % 2],
                 n / 2 ? ", skewed" : "");
        print(file, name, mapping_us((enum mapping_rule)(n % 2), n / 2), "us", MAPPING_US);
    }
}

/* ---- models ------------------------------------------------------------- */

enum model { STATION, AGGREGATED, SCHWEITZER, LINEARIZER, MODELS };

struct mix {
    size_t jobs;
    struct workload *profile[MOST_JOBS];
    double work[MOST_JOBS];
    struct system_input input;
    size_t counts[NODES * MOST_JOBS];
    struct aggregated_mva *aggregated;
    double spent_us[MODELS];
    size_t predictions[MODELS];
};

/* Time until the last job ends, with so many NODES_OF each job. */
static double makespan(struct mix *mix, const size_t *nodes_of, enum model by)
{
    struct system_result result;
    double speed[MOST_JOBS], longest = 0, begin = now_us();
    struct closed_result closed = {.job_speed = speed};
    enum model_status status = MODEL_OK;
    size_t node = 0;

    memset(mix->counts, 0, sizeof(mix->counts));
    for (size_t j = 0; j < mix->jobs; j++)
        for (size_t k = 0; k < nodes_of[j]; k++)
            mix->counts[node++ * mix->jobs + j] = CORES;
    if (by == STATION)
        status = system_solve(&mix->input, &result, speed);
    else if (by == AGGREGATED)
        aggregated_predict(mix->aggregated, mix->counts, speed);
    else
        status = closed_solve(by == SCHWEITZER ? NETWORK_SCHWEITZER
                                               : NETWORK_LINEARIZER,
                              &mix->input, &closed);
    mix->spent_us[by] += now_us() - begin;
    mix->predictions[by]++;
    for (size_t j = 0; j < mix->jobs; j++)
        longest = fmax(longest, mix->work[j] / speed[j]);
    return status == MODEL_OK ? longest : INFINITY;
}

/* The best division by model BY, into BEST. */
static void choose(struct mix *mix, enum model by, size_t *best)
{
    double least = INFINITY;

    for (size_t a = 1; a < NODES; a++)
        for (size_t b = 1; a + b <= NODES; b++) {
            size_t nodes_of[MOST_JOBS] = {a, b, NODES - a - b};
            if ((mix->jobs == 2) != (a + b == NODES))
                continue;
            double time = makespan(mix, nodes_of, by);
            if (time < least) {
                least = time;
                memcpy(best, nodes_of, sizeof(nodes_of));
            }
        }
}

/* Jobs whose times alone are within a factor of 4. */
static void draw(struct mix *mix, struct machine *machine, unsigned *seed)
{
    size_t all[MOST_JOBS] = {0};
    double alone[MOST_JOBS];

    memset(mix, 0, sizeof(*mix));
    mix->jobs = 2 + (chance(seed) < 0.5);
    mix->aggregated = aggregated_new(machine, mix->jobs);
    for (size_t j = 0; j < mix->jobs; j++)
        mix->profile[j] = workload_new_rho(
            NODES, chance(seed) < 0.3 ? 0.01 : chance(seed),
            MACHINE_DEFAULT_SERVICE_US);
    mix->input = (struct system_input){
        machine, mix->jobs, (const struct workload *const *)mix->profile,
        NULL, mix->counts, MVA_AUTOMATIC};
    if (!mix->aggregated)
        abort();
    aggregated_prepare(mix->aggregated, mix->input.profile, mix->jobs);
    for (size_t j = 0; j < mix->jobs; j++) {
        all[j] = NODES;
        mix->work[j] = 1;
        alone[j] = makespan(mix, all, LINEARIZER);
        mix->work[j] = 0;
        all[j] = 0;
    }
    for (size_t j = 0; j < mix->jobs; j++)
        mix->work[j] = (1 + 3 * chance(seed)) / alone[j];
    memset(mix->predictions, 0, sizeof(mix->predictions));
}

static void bench_models(FILE *file)
{
    static const char *const names[] = {"station model",
                                        "aggregated MVA",
                                        "closed network"};
    static struct mix mix;
    struct machine *machine = machine_of(NODES);
    double sum[MODELS] = {0}, us[MODELS] = {0};
    size_t calls[MODELS] = {0};
    unsigned seed = 1;

    for (size_t i = 0; i < MIXES; i++) {
        size_t best[MOST_JOBS], nodes_of[MOST_JOBS];
        draw(&mix, machine, &seed);
        choose(&mix, LINEARIZER, best);
        double least = makespan(&mix, best, LINEARIZER);
        for (enum model by = STATION; by < LINEARIZER; by++) {
            choose(&mix, by, nodes_of);
            sum[by] += makespan(&mix, nodes_of, LINEARIZER) / least;
            us[by] += mix.spent_us[by];
            calls[by] += mix.predictions[by];
        }
        for (size_t j = 0; j < mix.jobs; j++)
            nodes_of[j] = (NODES + mix.jobs - 1 - j) / mix.jobs;
        sum[LINEARIZER] += makespan(&mix, nodes_of, LINEARIZER) / least;
        for (size_t j = 0; j < mix.jobs; j++)
            workload_free(mix.profile[j]);
        aggregated_free(mix.aggregated);
    }
    for (enum model by = STATION; by < LINEARIZER; by++) {
        char name[64];
        snprintf(name, sizeof(name), "makespan decided by %s", names[by]);
        print(file, name, sum[by] / MIXES, "", 1);
        snprintf(name, sizeof(name), "a prediction by %s", names[by]);
        print(file, name, us[by] / (double)calls[by], "us",
              us[STATION] / (double)calls[STATION]);
    }
    print(file, "makespan of equal shares", sum[LINEARIZER] / MIXES, "", 1);
    machine_free(machine);
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "w") : NULL;

    if (!file) {
        fprintf(stderr, "usage: bench_policy FILE\n");
        return EXIT_FAILURE;
    }
    printf("%-44s %12s %-6s %8s\n", "", "value", "unit", "ratio");
    bench_decisions(file);
    bench_mapping(file);
    bench_models(file);
    fprintf(file, "]\n");
    if (fclose(file) != 0) {
        perror(argv[1]);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
