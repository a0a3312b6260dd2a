/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a decision works with. */

#include "model/policy/search/workspace.h"

#include <stdlib.h>

#include "model/policy/search/prediction_cache.h"

static bool allocate_lone(struct policy_workspace *ws)
{
    ws->lone = calloc(ws->max_jobs, sizeof(*ws->lone));
    for (size_t j = 0; ws->lone && j < ws->max_jobs; j++)
        if (!(ws->lone[j] = workload_new(ws->machine->numa_nodes)))
            return false;
    return ws->lone;
}

static bool allocate(struct policy_workspace *ws)
{
    size_t nodes = ws->machine->llc_domains, jobs = ws->max_jobs;

    ws->size = calloc(3 * nodes + ws->machine->cpus + 3 * nodes * jobs +
                          2 * jobs,
                      sizeof(*ws->size));
    ws->jobs = calloc(jobs, sizeof(*ws->jobs));
    ws->profile = calloc(jobs, sizeof(*ws->profile));
    ws->speed = calloc(2 * jobs, sizeof(*ws->speed));
    ws->compute = workload_new(ws->machine->numa_nodes);
    ws->aggregated = aggregated_new(ws->machine, jobs);
    ws->predictions = prediction_cache_new(ws->machine, jobs);
    ws->delay = calloc(nodes * (ws->machine->numa_nodes + jobs + 1),
                       sizeof(*ws->delay));
    ws->scratch = layout_scratch_new(nodes, jobs);
    if (!ws->size || !ws->jobs || !ws->profile || !ws->speed ||
        !ws->compute || !ws->aggregated || !ws->predictions || !ws->delay || !ws->scratch ||
        !allocate_lone(ws))
        return false;
    layout_delays(ws->machine, ws->delay);
    ws->distance = ws->delay + nodes * ws->machine->numa_nodes;
    ws->noise = ws->distance + nodes * jobs;
    ws->first = ws->size + nodes;
    ws->pool = ws->first + nodes;
    ws->cpu = ws->pool + nodes;
    ws->have = ws->cpu + ws->machine->cpus;
    ws->layout = ws->have + nodes * jobs;
    ws->fresh = ws->layout + nodes * jobs;
    ws->cores = ws->fresh + nodes * jobs;
    ws->trial = ws->cores + jobs;
    ws->alone = ws->speed + jobs;
    return true;
}

static void sort_cpus(struct policy_workspace *ws)
{
    const struct machine *machine = ws->machine;
    size_t used = 0;

    for (size_t cpu = 0; cpu < machine->cpus; cpu++)
        if (machine->llc_domain[cpu] >= 0)
            ws->size[machine->llc_domain[cpu]]++;
    for (size_t i = 0; i < machine->llc_domains; i++) {
        ws->first[i] = used;
        used += ws->size[i];
        ws->size[i] = 0;
    }
    for (size_t cpu = 0; cpu < machine->cpus; cpu++) {
        int node = machine->llc_domain[cpu];
        if (node >= 0)
            ws->cpu[ws->first[node] + ws->size[node]++] = cpu;
    }
}

struct policy_workspace *policy_workspace_new(const struct machine *machine,
                                              size_t jobs)
{
    struct policy_workspace *ws;

    if (!jobs || machine_check(machine) != MODEL_OK ||
        !(ws = calloc(1, sizeof(*ws))))
        return NULL;
    ws->machine = machine;
    ws->max_jobs = jobs;
    if (!allocate(ws)) {
        policy_workspace_free(ws);
        return NULL;
    }
    sort_cpus(ws);
    return ws;
}

void policy_workspace_free(struct policy_workspace *ws)
{
    if (!ws)
        return;
    aggregated_free(ws->aggregated);
    prediction_cache_free(ws->predictions);
    workload_free(ws->compute);
    for (size_t j = 0; ws->lone && j < ws->max_jobs; j++)
        workload_free(ws->lone[j]);
    free(ws->lone);
    layout_scratch_free(ws->scratch);
    free(ws->delay);
    free(ws->speed);
    free(ws->profile);
    free(ws->jobs);
    free(ws->size);
    free(ws);
}
