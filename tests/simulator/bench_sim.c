/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How fast virtual time runs. */

/* Usage: bench_sim SOURCE-DIRECTORY FILE.  Prints a table and writes FILE, a
 * JSON list of {name, value, unit, reference, ratio}: simulated seconds per
 * second of CPU time.  The reference is the discrete-event simulation of the
 * same machine's memory, request by request (memsys.h), in the same run: what
 * virtual time would cost without the closed network.  The promise is 120, ten
 * minutes of three jobs on 64 cores in five seconds. */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/log.h"
#include "model/io/machine_json.h"
#include "tests/simulator/memsys.h"
#include "simulator/vnode.h"

#define REFERENCE_EVENTS 300000
#define REFERENCE_RATE 10.0 /* reads per us of computing: a medium program */
#define MOST_NODES 64
#define ENOUGH_S 0.5 /* of CPU time, for one number */

static const struct bench_case {
    const char *name, *machine, *library, *file, *scenario;
} cases[] = {
    {"8 cores, 1 LLC domain, 3 jobs", "uma-1x8", "amd-opteron-6380", "nupoco",
     "05-bt-ft-ep"},
    {"64 cores, 8 LLC domains, 3 jobs", "amd-opteron-6380-8x8",
     "amd-opteron-6380", "nupoco", "05-bt-ft-ep"},
    {"72 cores, 4 LLC domains, 3 jobs", "intel-e7-8870v3-4x18",
     "intel-e7-8870v3", "thesis", "bt-sc-km"},
    {"256 cores, 32 LLC domains, 16 jobs", "amd-epyc-9754-2x128-nps4",
     "amd-opteron-6380", "big", "sixteen-jobs"},
};

static const char *const policies[] = {"native", "batch", "equal", "nupoco",
                                       "moca", "corun"};

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void give_up(const char *why)
{
    fprintf(stderr, "bench_sim: %s\n", why);
    exit(1);
}

/* Virtual seconds of MACHINE's memory per second of CPU time, all cores making
 * requests to all NUMA nodes. */
static double reference(const struct machine *machine)
{
    struct memsys_kinds rate[MOST_NODES] = {0};
    size_t cores[MOST_NODES] = {0};
    struct memsys_job job = {rate};
    struct memsys_config config;
    struct memsys_result result = {0};

    memsys_defaults(&config);
    if (machine->llc_domains > MOST_NODES || machine->numa_nodes > MOST_NODES)
        give_up("too many nodes");
    for (size_t m = 0; m < machine->numa_nodes; m++)
        rate[m].of[MEMSYS_READ] = REFERENCE_RATE / (double)machine->numa_nodes;
    for (size_t c = 0; c < machine->cpus; c++)
        if (machine->llc_domain[c] >= 0)
            cores[machine->llc_domain[c]]++;
    config.machine = machine;
    config.jobs = &job;
    config.job_count = 1;
    config.cores = cores;
    config.warmup_events = REFERENCE_EVENTS / 10;
    config.batch_events = REFERENCE_EVENTS / 2;
    config.min_batches = config.max_batches = 2;
    double begin_s = cpu_s();
    if (memsys_run(&config, &result) != MODEL_OK)
        give_up("the reference does not run");
    double rate_s = result.time_us * 1e-6 / (cpu_s() - begin_s);
    memsys_release(&result);
    return rate_s;
}

/* Virtual seconds of SCENARIO under POLICY per second of CPU time. */
static double simulate(const struct machine *machine,
                       const struct scenario *scenario, const char *policy)
{
    double virtual_s = 0, begin_s = cpu_s(), spent_s;
    char text[64];
    struct vnode_config config;
    struct errtext err = {""};

    vnode_config_init(&config, machine, scenario);
    snprintf(text, sizeof(text), "cosched_policy=%s", policy);
    if (node_options_parse(&config.options, text, &err) < 0)
        give_up(err.text);
    do {
        struct vnode_result *r = vnode_run(&config, &err);
        if (!r)
            give_up(err.text);
        virtual_s += r->makespan_s;
        vnode_result_free(r);
        spent_s = cpu_s() - begin_s;
    } while (spent_s < ENOUGH_S);
    return virtual_s / spent_s;
}

static void run_case(const struct bench_case *c, const char *source, FILE *json,
                     const char **separator)
{
    char path[3][4096];
    struct errtext err = {""};

    snprintf(path[0], sizeof(path[0]), "%s/machines/%s.json", source,
             c->machine);
    snprintf(path[1], sizeof(path[1]), "%s/simulator/scenarios/%s.json", source,
             c->file);
    snprintf(path[2], sizeof(path[2]), "%s/simulator/workloads/%s.json", source,
             c->library);
    struct machine_description *d = machine_json_load(path[0], &err);
    struct scenario_set *set = d ? scenario_load(path[1], path[2], &err) : NULL;
    const struct scenario *s = set ? scenario_find(set, c->scenario) : NULL;
    if (!s)
        give_up(set ? c->scenario : err.text);
    double base = reference(d->machine);
    printf("%s\n", c->name);
    for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++) {
        double rate = simulate(d->machine, s, policies[p]);
        printf("  %-10s %10.0f simulated s per s of CPU, request by request "
               "%.5f\n", policies[p], rate, base);
        fprintf(json, "%s{\"name\": \"%s, %s\", \"value\": %.1f, \"unit\": "
                "\"simulated s per s of CPU\", \"reference\": %.6f, "
                "\"ratio\": %.0f}", *separator, c->name, policies[p], rate,
                base, rate / base);
        *separator = ",\n ";
    }
    scenario_set_free(set);
    machine_description_free(d);
}

int main(int argc, char **argv)
{
    const char *separator = "[";
    FILE *json = argc == 3 ? fopen(argv[2], "w") : NULL;

    log_open(LOG_WARNING, false); /* of the parts of the agent */
    if (!json) {
        perror(argc == 3 ? argv[2] : "usage: bench_sim SOURCE-DIRECTORY FILE");
        return 1;
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        run_case(&cases[i], argv[1], json, &separator);
    fputs("]\n", json);
    if (fclose(json) != 0) {
        perror(argv[2]);
        return 1;
    }
    return 0;
}
