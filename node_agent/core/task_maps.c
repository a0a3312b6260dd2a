/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Where the tasks of an attached process should run, region by region. */

#include "node_agent/core/task_maps.h"

#include <stdlib.h>

struct task_maps {
    size_t nodes;
    uint16_t region[TASK_REGIONS];             /* [regions] index in the report */
    size_t regions;
    struct thread_map *map[TASK_REGIONS + 1]; /* NULL: nothing is known */
};

struct task_maps *task_maps_new(size_t nodes)
{
    struct task_maps *m = calloc(1, sizeof(*m));

    if (m)
        m->nodes = nodes;
    return m;
}

void task_maps_free(struct task_maps *m)
{
    for (size_t i = 0; m && i <= TASK_REGIONS; i++)
        thread_map_free(m->map[i]);
    free(m);
}

/* The table of REGION; TASK_ALL: it has none of its own. */
static size_t table_of(struct task_maps *m, uint32_t region)
{
    if (region >= COSCHED_REGION_OVERFLOW)
        return TASK_ALL;
    for (size_t i = 0; i < m->regions; i++)
        if (m->region[i] == region)
            return i;
    if (m->regions == TASK_REGIONS)
        return TASK_ALL;
    m->region[m->regions] = (uint16_t)region;
    return m->regions++;
}

static void add(struct task_maps *m, size_t which, const struct sample_thread *thread,
                const double *requests)
{
    if (!m->map[which])
        m->map[which] = thread_map_new(m->nodes, ROWS_OF_STACKS);
    if (m->map[which])
        thread_map_add(m->map[which], thread, requests);
}

void task_maps_add(struct task_maps *m, uint32_t region, const struct sample_thread *thread,
                   const double *requests)
{
    size_t which = table_of(m, region);

    add(m, TASK_ALL, thread, requests);
    if (which != TASK_ALL)
        add(m, which, thread, requests);
}

bool task_maps_due(const struct task_maps *m, enum mapping_rule rule,
                   const struct cosched_cpuset *cpus, size_t *which)
{
    for (size_t i = 0; i <= TASK_REGIONS; i++)
        if (m->map[i] && thread_map_due(m->map[i], rule, cpus)) {
            *which = i;
            return true;
        }
    return false;
}

int task_maps_make(struct task_maps *m, size_t which, enum mapping_rule rule,
                   const struct topology *topology, const struct cosched_cpuset *cpus,
                   struct thread_map_made *made)
{
    return thread_map_make(m->map[which], rule, topology, cpus, NULL, made);
}

uint16_t task_maps_region(const struct task_maps *m, size_t which)
{
    return which == TASK_ALL ? COSCHED_HOME_ANY : m->region[which];
}

bool task_maps_drop(struct task_maps *m)
{
    bool held = false;

    for (size_t i = 0; m && i <= TASK_REGIONS; i++)
        held |= m->map[i] && thread_map_drop(m->map[i]);
    return held;
}

size_t task_maps_homes(const struct task_maps *m, const struct topology *topology,
                       struct cosched_home *home)
{
    size_t count = 0;

    for (size_t i = TASK_REGIONS + 1; m && i-- > 0;)
        if (m->map[i])
            count += thread_map_homes(m->map[i], topology, task_maps_region(m, i), home + count,
                                      COSCHED_MAX_HOMES - count);
    return count;
}
