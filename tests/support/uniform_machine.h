/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Machines for tests: all LLC domains alike, all NUMA nodes connected. */

#ifndef COSCHED_UNIFORM_MACHINE_H
#define COSCHED_UNIFORM_MACHINE_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "model/machine.h"

/* LLC_DOMAINS LLC domains of CORES cores each, numbered in blocks, and NUMA_NODES
 * NUMA nodes.  NULL as of machine_new(). */
static inline struct machine *
machine_new_uniform(size_t llc_domains, size_t cores, size_t numa_nodes)
{
    struct machine *m = machine_new(llc_domains * cores, llc_domains, numa_nodes);

    for (size_t cpu = 0; m && cpu < m->cpus; cpu++)
        m->llc_domain[cpu] = (int)(cpu / cores);
    return m;
}

/* Set the route from NODE to MEMORY to the one LINK. */
static inline bool machine_route_one(struct machine *m, size_t node,
                                     size_t memory, size_t link)
{
    struct machine_route *route = &m->route[node * m->numa_nodes + memory];
    size_t *list = malloc(sizeof(*list));

    if (!list)
        return false;
    list[0] = link;
    free(route->link);
    route->link = list;
    route->links = 1;
    return true;
}

/* Give every pair of different NUMA nodes a direct link each way with mean service
 * time SERVICE_US (a fully connected machine). */
static inline enum model_status machine_connect_all(struct machine *m,
                                                    double service_us)
{
    size_t count = m->numa_nodes * (m->numa_nodes - 1);

    if (!(service_us > 0) || !isfinite(service_us) || m->links)
        return MODEL_EINVAL;
    if (count == 0)
        return MODEL_OK;
    m->link_service_us = calloc(count, sizeof(*m->link_service_us));
    if (!m->link_service_us)
        return MODEL_ENOMEM;
    m->links = count;
    for (size_t link = 0; link < count; link++)
        m->link_service_us[link] = service_us;
    /* Link from NUMA node a to b: row a without its diagonal. */
    for (size_t i = 0; i < m->llc_domains; i++)
        for (size_t b = 0; b < m->numa_nodes; b++) {
            size_t a = (size_t)m->local_node[i];
            if (a != b && !machine_route_one(
                              m, i, b, a * (m->numa_nodes - 1) + b - (b > a)))
                return MODEL_ENOMEM;
        }
    return MODEL_OK;
}

#endif /* COSCHED_UNIFORM_MACHINE_H */
