/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How long a decision takes, against the papers' implementation. */

/* Usage: bench_model FILE.  Prints a table and writes FILE, a JSON list of
 * {name, value, unit, reference, ratio}.  The reference is the 1.8 ms that
 * NuPoCo's DoP decision takes on 64 cores of 8 nodes (papers/README.md). */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model/policy.h"

#define REFERENCE_MS 1.8
#define ROUNDS 25
#define MAX_CPUS 1024
#define MAX_JOBS 64

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median time of one decision of "nupoco", in ms; negative on failure. */
static double decide_ms(size_t cores, size_t nodes, size_t count)
{
    struct machine *machine = machine_new_uniform(nodes, cores / nodes, nodes);
    struct workload *profile[MAX_JOBS];
    struct policy_job jobs[MAX_JOBS];
    int before[MAX_CPUS], after[MAX_CPUS];
    double times[ROUNDS];
    bool failed = machine_connect_all(machine, 0.002) != MODEL_OK;

    for (size_t cpu = 0; cpu < cores; cpu++)
        before[cpu] = POLICY_NOBODY;
    for (size_t j = 0; j < count; j++) {
        profile[j] = workload_new_rho(nodes, 0.7 * (double)j / (double)count,
                                      MACHINE_DEFAULT_SERVICE_US);
        jobs[j] = (struct policy_job){(uint32_t)j + 1, SECTION_PARALLEL,
                                      profile[j], 1, cores, 1};
    }
    struct policy_input input = {machine, jobs, count, before, NULL};
    for (size_t i = 0; i < ROUNDS && !failed; i++) {
        struct policy_decision out = {.owner = after};
        double begin = now_ms();
        failed = policy_decide(policy_find("nupoco"), &input, &out) != MODEL_OK;
        times[i] = now_ms() - begin;
    }
    for (size_t j = 0; j < count; j++)
        workload_free(profile[j]);
    machine_free(machine);
    if (failed)
        return -1;
    qsort(times, ROUNDS, sizeof(times[0]), compare);
    return times[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    static const size_t sizes[][3] = {{16, 1, 2}, {64, 8, 4}, {256, 32, 16}};
    FILE *file = argc == 2 ? fopen(argv[1], "w") : NULL;
    int rc = EXIT_SUCCESS;

    if (!file) {
        fprintf(stderr, "usage: bench_model FILE\n");
        return EXIT_FAILURE;
    }
    printf("%-28s %10s %10s %8s\n", "decision (nupoco)", "ms", "papers ms",
           "ratio");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char name[64];
        double ms = decide_ms(sizes[i][0], sizes[i][1], sizes[i][2]);
        if (ms < 0) {
            fprintf(stderr, "bench_model: the decision failed\n");
            rc = EXIT_FAILURE;
        }
        snprintf(name, sizeof(name), "%zu cores, %zu nodes, %zu jobs",
                 sizes[i][0], sizes[i][1], sizes[i][2]);
        printf("%-28s %10.4f %10.1f %8.4f\n", name, ms, REFERENCE_MS,
               ms / REFERENCE_MS);
        fprintf(file, "%s{\"name\": \"decision, %s\", \"value\": %.6f, "
                "\"unit\": \"ms\", \"reference\": %.1f, \"ratio\": %.6f}",
                i ? ",\n " : "[", name, ms, REFERENCE_MS, ms / REFERENCE_MS);
    }
    fprintf(file, "]\n");
    if (fclose(file) != 0) {
        perror(argv[1]);
        rc = EXIT_FAILURE;
    }
    return rc;
}
