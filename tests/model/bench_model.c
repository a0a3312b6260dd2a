/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How long predictions and decisions take, and how that grows. */

/* Usage: bench_model FILE.  Prints a table and writes FILE, a JSON list of
 * {name, value, unit, reference, ratio}.  A decision's reference is the 1.8 ms
 * that NuPoCo's takes on 64 cores of 8 nodes (papers/README.md), a
 * placement's the 1.5 ms of its algorithm 3, an
 * evolution's the 17.3 ms of MOCA's 200 generations on 16 cores of 4 nodes. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model/policy/search/placement.h"
#include "model/policy.h"
#include "model/policy/search/evolution.h"
#include "model/policy/search/workspace.h"
#include "model/aggregated_mva.h"
#include "tests/support/median.h"
#include "tests/support/uniform_machine.h"

#define REFERENCE_US 1800.0
#define PLACEMENT_REFERENCE_US 1500.0
#define MOCA_REFERENCE_US 17300.0
#define MOCA_GENERATIONS 200
#define BATCHES 25
#define BATCH_US 400.0 /* long enough for the clock, short enough to wait */
#define MAX_CPUS 1024
#define MAX_NODES 256

enum { NUPOCO, CORUN, POLICIES };
static const char *const names[POLICIES] = {"nupoco", "corun"};

struct bench {
    struct machine *machine;
    struct workload *profile[POLICY_MAX_JOBS];
    struct policy_job jobs[POLICY_MAX_JOBS];
    double weight[POLICY_MAX_JOBS];
    int before[MAX_CPUS], after[MAX_CPUS];
    size_t cores[MAX_NODES * POLICY_MAX_JOBS];
    size_t count;
    struct aggregated_mva *network;
    struct policy_workspace *workspace;
    struct policy_state *state[POLICIES];
    struct chromosome_space space;
    struct evolution *evolution;
};

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* NODES LLC domains of CORES cores as in the papers' machines, a NUMA node and
 * direct links to all others each; COUNT jobs of rho 0 to 0.7. */
static void init(struct bench *b, size_t nodes, size_t cores, size_t count)
{
    *b = (struct bench){.count = count};
    b->machine = machine_new_uniform(nodes, cores, nodes);
    if (!b->machine || machine_connect_all(b->machine, 0.002) != MODEL_OK)
        abort();
    for (size_t cpu = 0; cpu < nodes * cores; cpu++)
        b->before[cpu] = POLICY_NOBODY;
    for (size_t j = 0; j < count; j++) {
        b->profile[j] = workload_new_rho(nodes, 0.7 * (double)j / (double)count,
                                         MACHINE_DEFAULT_SERVICE_US);
        b->weight[j] = 1;
        b->jobs[j] = (struct policy_job){.id = (uint32_t)j + 1,
                                         .kind = REGION_PARALLEL,
                                         .profile = b->profile[j],
                                         .min_cores = 1,
                                         .max_cores = nodes * cores,
                                         .weight = 1};
    }
    for (size_t i = 0; i < nodes; i++)
        b->cores[i * count + i * count / nodes] = cores;
    b->network = aggregated_new(b->machine, count);
    b->workspace = policy_workspace_new(b->machine, count);
    for (size_t p = 0; p < POLICIES; p++)
        if (!(b->state[p] = policy_state_new(policy_find(names[p]),
                                             b->machine)))
            abort();
    if (!b->network || !b->workspace)
        abort();
    aggregated_prepare(b->network, (const struct workload *const *)b->profile,
                       count);
}

/* All cores in the pool, one each at least. */
static void init_evolution(struct bench *b)
{
    static size_t pool[MAX_NODES], min[POLICY_MAX_JOBS], max[POLICY_MAX_JOBS];

    for (size_t i = 0; i < b->machine->llc_domains; i++)
        pool[i] = machine_node_cpus(b->machine, i);
    for (size_t j = 0; j < b->count; j++) {
        min[j] = b->jobs[j].min_cores;
        max[j] = b->jobs[j].max_cores;
    }
    b->space = (struct chromosome_space){
        .machine = b->machine,
        .jobs = b->count,
        .pool = pool,
        .profile = (const struct workload *const *)b->profile,
        .weight = b->weight,
        .min = min,
        .max = max,
        .form = MOCA_CONSISTENT,
    };
    if (!(b->evolution = evolution_new(b->machine)))
        abort();
}

static void release(struct bench *b)
{
    evolution_free(b->evolution);
    for (size_t p = 0; p < POLICIES; p++)
        policy_state_free(b->state[p]);
    for (size_t j = 0; j < b->count; j++)
        workload_free(b->profile[j]);
    policy_workspace_free(b->workspace);
    aggregated_free(b->network);
    machine_free(b->machine);
}

static bool predict(struct bench *b)
{
    double speed[POLICY_MAX_JOBS];

    aggregated_predict(b->network, b->cores, speed);
    return true;
}

static bool decide_with(struct bench *b, size_t which)
{
    struct policy_input input = {.machine = b->machine,
                                 .jobs = b->jobs,
                                 .job_count = b->count,
                                 .owner = b->before,
                                 .workspace = b->workspace,
                                 .state = b->state[which]};
    struct policy_decision out = {.owner = b->after};

    return policy_decide(policy_find(names[which]), &input, &out) == MODEL_OK;
}

static bool decide_nupoco(struct bench *b)
{
    return decide_with(b, NUPOCO);
}

static bool decide_corun(struct bench *b)
{
    return decide_with(b, CORUN);
}

static bool evolve(struct bench *b)
{
    struct evolution_input input = {.space = &b->space,
                                    .generations = MOCA_GENERATIONS,
                                    .mutation = 0.05,
                                    .cpu_threshold = 0.7,
                                    .bw_threshold = 0.7,
                                    .seed = 1};
    struct evolution_result result = {.layout = b->cores};

    return evolution_run(b->evolution, &input, &result) == MODEL_OK;
}

/* Equal shares go from CPUs that lie in turn to where their memory is. */
static bool place(struct bench *b)
{
    struct policy_input input = {.machine = b->machine,
                                 .jobs = b->jobs,
                                 .job_count = b->count,
                                 .owner = b->before,
                                 .workspace = b->workspace};
    size_t cores[POLICY_MAX_JOBS], share = b->machine->cpus / b->count;

    placement_begin(&input);
    for (size_t j = 0; j < b->count; j++)
        cores[j] = j % 2 ? share + share / 2 : share - share / 2;
    placement(&input, cores, b->after);
    return true;
}

/* Every third CPU is nobody's; each job's memory is on one NUMA node. */
static void init_placement(struct bench *b)
{
    size_t nodes = b->machine->llc_domains;

    for (size_t cpu = 0; cpu < b->machine->cpus; cpu++)
        b->before[cpu] = cpu % 3 ? (int)(cpu % b->count) : POLICY_NOBODY;
    for (size_t j = 0; j < b->count; j++)
        b->profile[j]->rate[j * 7 % nodes].mrr_per_us += 10;
}

/* Median over batches of the time of one call; negative on failure. */
static double measure(bool (*call)(struct bench *), struct bench *b)
{
    double times[BATCHES], begin = now_us();
    size_t calls = 1;

    if (!call(b))
        return -1;
    double first = now_us() - begin;
    if (first < BATCH_US)
        calls = (size_t)(BATCH_US / first) + 1;
    for (size_t i = 0; i < BATCHES; i++) {
        begin = now_us();
        for (size_t k = 0; k < calls; k++)
            call(b);
        times[i] = (now_us() - begin) / (double)calls;
    }
    return median(times, BATCHES);
}

/* One line of the table and of FILE.  GROWTH is against the line before. */
static void print(FILE *file, const char *what, const size_t *size, double us,
                  double reference, double growth)
{
    char name[80];

    snprintf(name, sizeof(name), "%s, %zu nodes x %zu cores x %zu jobs", what,
             size[0], size[1], size[2]);
    printf("%-48s %12.3f %12.3f %8.4f", name, us, reference, us / reference);
    if (growth > 0)
        printf(" %8.1f", growth);
    printf("\n");
    fprintf(file, "%s{\"name\": \"%s\", \"value\": %.6f, \"unit\": \"us\", "
            "\"reference\": %.6f, \"ratio\": %.6f}",
            ftell(file) ? ",\n " : "[", name, us, reference, us / reference);
}

int main(int argc, char **argv)
{
    static const size_t sizes[][3] = {{1, 16, 2},   {8, 8, 4},    {16, 16, 8},
                                      {32, 16, 16}, {64, 16, 32}, {128, 8, 64}};
    static struct bench b;
    FILE *file = argc == 2 ? fopen(argv[1], "w") : NULL;
    double last[2] = {0};
    int rc = EXIT_SUCCESS;

    if (!file) {
        fprintf(stderr, "usage: bench_model FILE\n");
        return EXIT_FAILURE;
    }
    printf("%-48s %12s %12s %8s %8s\n", "", "us", "reference", "ratio",
           "growth");
    init(&b, 4, 4, 2);
    init_evolution(&b);
    double evolution = measure(evolve, &b);
    rc = evolution < 0 ? EXIT_FAILURE : rc;
    print(file, "MOCA 200 generations", (size_t[]){4, 4, 2}, evolution,
          MOCA_REFERENCE_US, 0);
    release(&b);
    for (size_t i = 0; i < 2; i++) {
        static const size_t size[][3] = {{8, 8, 4}, {32, 8, 16}};
        init(&b, size[i][0], size[i][1], size[i][2]);
        init_placement(&b);
        print(file, "placement", size[i], measure(place, &b),
              PLACEMENT_REFERENCE_US, 0);
        release(&b);
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        init(&b, sizes[i][0], sizes[i][1], sizes[i][2]);
        double one = measure(predict, &b), all = measure(decide_corun, &b);
        if (one < 0 || all < 0) {
            fprintf(stderr, "bench_model: the model failed\n");
            rc = EXIT_FAILURE;
        }
        print(file, "prediction", sizes[i], one, REFERENCE_US, i ? one / last[0] : 0);
        print(file, "decision of corun", sizes[i], all, REFERENCE_US,
              i ? all / last[1] : 0);
        print(file, "decision of nupoco", sizes[i],
              measure(decide_nupoco, &b), REFERENCE_US, 0);
        last[0] = one;
        last[1] = all;
        release(&b);
    }
    fprintf(file, "]\n");
    if (fclose(file) != 0) {
        perror(argv[1]);
        rc = EXIT_FAILURE;
    }
    return rc;
}
