/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a decision works with. */

#include "model/policy/search/workspace.h"

#include <stdlib.h>

#include "model/policy/search/past.h"

static bool allocate(struct policy_workspace *ws)
{
    size_t nodes = ws->machine->cpu_nodes, jobs = ws->max_jobs;

    ws->size = calloc(3 * nodes + ws->machine->cpus + 3 * nodes * jobs +
                          2 * jobs,
                      sizeof(*ws->size));
    ws->jobs = calloc(jobs, sizeof(*ws->jobs));
    ws->profile = calloc(jobs, sizeof(*ws->profile));
    ws->speed = calloc(2 * jobs, sizeof(*ws->speed));
    ws->compute = workload_new(ws->machine->mem_nodes);
    ws->lumped = lumped_new(ws->machine, jobs);
    ws->past = past_new(ws->machine, jobs);
    ws->delay = calloc(nodes * (ws->machine->mem_nodes + jobs + 1),
                       sizeof(*ws->delay));
    ws->room = layout_room_new(nodes, jobs);
    if (!ws->size || !ws->jobs || !ws->profile || !ws->speed ||
        !ws->compute || !ws->lumped || !ws->past || !ws->delay || !ws->room)
        return false;
    layout_delays(ws->machine, ws->delay);
    ws->distance = ws->delay + nodes * ws->machine->mem_nodes;
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
        if (machine->cpu_node[cpu] >= 0)
            ws->size[machine->cpu_node[cpu]]++;
    for (size_t i = 0; i < machine->cpu_nodes; i++) {
        ws->first[i] = used;
        used += ws->size[i];
        ws->size[i] = 0;
    }
    for (size_t cpu = 0; cpu < machine->cpus; cpu++) {
        int node = machine->cpu_node[cpu];
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
    lumped_free(ws->lumped);
    past_free(ws->past);
    workload_free(ws->compute);
    layout_room_free(ws->room);
    free(ws->delay);
    free(ws->speed);
    free(ws->profile);
    free(ws->jobs);
    free(ws->size);
    free(ws);
}
