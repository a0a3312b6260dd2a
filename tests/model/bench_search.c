/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How good the divisions are that policies find. */

/* Usage: bench_search FILE.  Random mixes of two to four jobs, each 50 to 150 s
 * long alone, run to their end on the papers' machines as the closed network of
 * the whole memory (model/analysis/closed.h) has it, which no policy uses; the policy
 * decides again when a job ends.  Prints a table and writes FILE, a JSON list of
 * {name, value, unit, reference, ratio}: the geometric mean of the total time,
 * with that of one job after the other as reference.  Numbers but for the last
 * column, CPU time of a decision, are the same on every machine. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/analysis/closed.h"
#include "model/policy.h"
#include "model/analysis/system.h"
#include "tests/support/uniform_machine.h"

#define MIXES 100
#define MAX_JOBS 4
#define MAX_NODES 8
#define MAX_CPUS 72

struct candidate {
    const char *policy, *options;
};

static const struct candidate candidates[] = {
    {"equal", ""},
    {"greedy", ""},
    {"moca", ""},
    {"moca", "generations:200"},
    {"corun", ""},
};

#define CANDIDATES (sizeof(candidates) / sizeof(candidates[0]))

struct mix {
    size_t nodes, size, jobs;
    struct machine *machine;
    struct workload *profile[MAX_JOBS];
    double work[MAX_JOBS];  /* core-seconds of computing */
    double alone[MAX_JOBS]; /* cores' worth of computing */
    double batch_s;
};

struct score {
    double time, worst; /* sum of logarithms, and the largest, of batch */
    double throughput, utilisation; /* of the first division, sums */
    double us;
    size_t decisions;
};

/* xorshift64* */
static double dice(void)
{
    static uint64_t state = 88172645463325252u;

    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (double)((state * UINT64_C(0x2545F4914F6CDD1D)) >> 32) /
           4294967296.0;
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Utilisation and speeds of COUNT jobs of PROFILE on CORES. */
static double predict(const struct mix *mix, struct workload *const *profile,
                      size_t count, const size_t *cores, double *speed)
{
    struct system_input in = {
        .machine = mix->machine,
        .jobs = count,
        .profile = (const struct workload *const *)profile,
        .cores = cores,
        .method = MVA_AUTOMATIC,
    };
    struct system_result result;
    struct closed_result closed = {.job_speed = speed};

    if (system_solve(&in, &result, speed) != MODEL_OK ||
        closed_solve(NETWORK_SCHWEITZER, &in, &closed) != MODEL_OK)
        abort();
    return result.utilisation;
}

/* One in four computes only; the others load a controller with 0.003 to 0.9 of
 * its capacity per core and NUMA node, one in three from two NUMA nodes. */
static struct workload *random_profile(const struct mix *mix)
{
    size_t nodes = mix->nodes;
    double rate = dice() < 0.25 ? 0
                                : 0.3 * pow(10, 2.5 * dice() - 2.5) /
                                      MACHINE_DEFAULT_SERVICE_US;
    double reads = 0.3 + 0.7 * dice();
    size_t home = dice() < 0.3 ? (size_t)(dice() * (double)nodes) : nodes;
    struct workload *w = workload_new(nodes);

    if (!w)
        abort();
    for (size_t m = 0; m < nodes; m++) {
        bool near = m == home || m == (home + 1) % nodes;
        double part = home == nodes ? rate
                      : near        ? rate * (double)nodes / 2
                                    : 0;
        w->rate[m] = (struct workload_rate){part, reads * part};
    }
    return w;
}

static void mix_init(struct mix *mix, size_t nodes, size_t size)
{
    *mix = (struct mix){.nodes = nodes, .size = size};
    mix->machine = machine_new_uniform(nodes, size, nodes);
    mix->jobs = 2 + (size_t)(dice() * 3);
    if (!mix->machine || machine_connect_all(mix->machine, 0.002) != MODEL_OK)
        abort();
    for (size_t j = 0; j < mix->jobs; j++) {
        double seconds = 50 + 100 * dice();
        size_t all[MAX_NODES];
        for (size_t i = 0; i < nodes; i++)
            all[i] = size;
        mix->profile[j] = random_profile(mix);
        predict(mix, &mix->profile[j], 1, all, &mix->alone[j]);
        mix->work[j] = mix->alone[j] * seconds;
        mix->batch_s += seconds;
    }
}

static void mix_free(struct mix *mix)
{
    for (size_t j = 0; j < mix->jobs; j++)
        workload_free(mix->profile[j]);
    machine_free(mix->machine);
}

/* A mix under way. */
struct run {
    const struct mix *mix;
    const struct policy *policy;
    struct policy_state *state;
    double options[POLICY_OPTIONS_MAX];
    double rest[MAX_JOBS];  /* work */
    size_t count;           /* jobs that run */
    size_t index[MAX_JOBS]; /* of the mix */
    int owner[MAX_CPUS];
    double time_s;
};

static void decide(struct run *run, struct score *score)
{
    struct policy_job jobs[MAX_JOBS];
    int next[MAX_CPUS];
    struct policy_decision out = {.owner = next};
    struct policy_input in = {.machine = run->mix->machine,
                              .jobs = jobs,
                              .job_count = run->count,
                              .owner = run->owner,
                              .options = run->options,
                              .fairness_percent = POLICY_FAIRNESS_PERCENT,
                              .state = run->state};

    for (size_t j = 0; j < run->count; j++)
        jobs[j] =
            (struct policy_job){.id = (uint32_t)run->index[j] + 1,
                                .kind = REGION_PARALLEL,
                                .profile = run->mix->profile[run->index[j]],
                                .min_cores = 1,
                                .max_cores = run->mix->machine->cpus,
                                .weight = 1};
    double begin = now_us();
    if (policy_decide(run->policy, &in, &out) != MODEL_OK)
        abort();
    score->us += now_us() - begin;
    score->decisions++;
    memcpy(run->owner, next, run->mix->machine->cpus * sizeof(next[0]));
}

/* Predict the present division. */
static double look(const struct run *run, double *speed)
{
    size_t cores[MAX_NODES * MAX_JOBS] = {0};
    struct workload *profile[MAX_JOBS];

    for (size_t cpu = 0; cpu < run->mix->machine->cpus; cpu++)
        if (run->owner[cpu] >= 0)
            cores[cpu / run->mix->size * run->count +
                  (size_t)run->owner[cpu]]++;
    for (size_t j = 0; j < run->count; j++)
        profile[j] = run->mix->profile[run->index[j]];
    return predict(run->mix, profile, run->count, cores, speed);
}

/* Go on until a job ends, and take it out. */
static void advance(struct run *run, const double *speed)
{
    double step = INFINITY;
    size_t left = 0;
    int name[MAX_JOBS];

    for (size_t j = 0; j < run->count; j++)
        step = fmin(step, run->rest[run->index[j]] / speed[j]);
    run->time_s += step;
    for (size_t j = 0; j < run->count; j++) {
        size_t k = run->index[j];
        run->rest[k] -= step * speed[j];
        name[j] = POLICY_NOBODY;
        if (run->rest[k] > 1e-9 * run->mix->work[k]) {
            name[j] = (int)left;
            run->index[left++] = k;
        }
    }
    for (size_t cpu = 0; cpu < run->mix->machine->cpus; cpu++)
        if (run->owner[cpu] >= 0)
            run->owner[cpu] = name[run->owner[cpu]];
    run->count = left;
}

static void run_mix(const struct mix *mix, const struct candidate *candidate,
                    struct score *score)
{
    struct run run = {.mix = mix,
                      .policy = policy_find(candidate->policy),
                      .count = mix->jobs};
    double speed[MAX_JOBS];
    const char *bad;

    policy_options_init(run.policy, run.options);
    run.state = policy_state_new(run.policy, mix->machine);
    if (!run.state || policy_options_parse(run.policy, candidate->options,
                                           run.options, &bad) != MODEL_OK)
        abort();
    memcpy(run.rest, mix->work, sizeof(run.rest));
    for (size_t j = 0; j < mix->jobs; j++)
        run.index[j] = j;
    for (size_t cpu = 0; cpu < mix->machine->cpus; cpu++)
        run.owner[cpu] = POLICY_NOBODY;
    while (run.count) {
        decide(&run, score);
        double utilisation = look(&run, speed);
        if (run.count == mix->jobs && !(run.time_s > 0)) {
            score->utilisation += utilisation / MIXES;
            for (size_t j = 0; j < mix->jobs; j++)
                score->throughput += speed[j] / mix->alone[j] / MIXES;
        }
        advance(&run, speed);
    }
    score->time += log(run.time_s / mix->batch_s) / MIXES;
    score->worst = fmax(score->worst, run.time_s / mix->batch_s);
    policy_state_free(run.state);
}

static void compare(FILE *file, size_t nodes, size_t size)
{
    struct score score[CANDIDATES] = {{0}};

    for (size_t m = 0; m < MIXES; m++) {
        struct mix mix;
        mix_init(&mix, nodes, size);
        for (size_t c = 0; c < CANDIDATES; c++)
            run_mix(&mix, &candidates[c], &score[c]);
        mix_free(&mix);
    }
    printf("%zu LLC domains of %zu cores, %d mixes\n", nodes, size, MIXES);
    printf("  %-36s %8s %8s %10s %11s %8s\n", "", "of batch", "at worst",
           "throughput", "utilisation", "us");
    for (size_t c = 0; c < CANDIDATES; c++) {
        char name[64];
        snprintf(name, sizeof(name), "%s%s%s", candidates[c].policy,
                 *candidates[c].options ? " " : "", candidates[c].options);
        printf("  %-36s %8.4f %8.3f %10.3f %11.2f %8.0f\n", name,
               exp(score[c].time), score[c].worst, score[c].throughput,
               score[c].utilisation,
               score[c].us / (double)score[c].decisions);
        fprintf(file, "%s{\"name\": \"%s, %zu nodes x %zu cores\", "
                "\"value\": %.6f, \"unit\": \"time of batch\", "
                "\"reference\": 1, \"ratio\": %.6f}",
                ftell(file) ? ",\n " : "[", name, nodes, size,
                exp(score[c].time), exp(score[c].time));
    }
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "w") : NULL;

    if (!file) {
        fprintf(stderr, "usage: bench_search FILE\n");
        return EXIT_FAILURE;
    }
    compare(file, 8, 8);
    compare(file, 4, 18);
    fprintf(file, "]\n");
    if (fclose(file) != 0) {
        perror(argv[1]);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
