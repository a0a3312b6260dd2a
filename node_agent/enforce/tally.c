/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a job did to caches and memory since somebody last asked. */

#include "node_agent/enforce/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tally *tally_new(size_t nodes)
{
    struct tally *t = calloc(1, sizeof(*t) + nodes * sizeof(t->node[0]));

    if (!t)
        return NULL;
    t->nodes = nodes;
    t->llc_bytes = NAN;
    return t;
}

void tally_add(struct tally *t, const struct loop *loop, double llc_bytes)
{
    t->llc_bytes = llc_bytes;
    if (!loop || loop->cpu_nodes != t->nodes)
        return;
    t->us += loop->total_us;
    for (size_t i = 0; i < t->nodes; i++) {
        struct tally_node *n = &t->node[i];
        n->core_us += (double)loop->cores[i] * loop->total_us;
        n->accesses += loop->llc_accesses[i];
        for (size_t m = 0; m < loop->mem_nodes; m++) {
            const struct loop_requests *r =
                &loop->requests[i * loop->mem_nodes + m];
            n->misses += loop->read_misses[i * loop->mem_nodes + m];
            n->requests += r->read + r->write + r->prefetch;
        }
    }
}

void tally_take(struct tally *t, const size_t *now, struct cache_use *use)
{
    double cores = 0;

    for (size_t i = 0; i < t->nodes; i++)
        cores += (double)now[i];
    for (size_t i = 0; i < t->nodes; i++) {
        const struct tally_node *n = &t->node[i];
        use[i] = (struct cache_use){.cores = (double)now[i],
                                    .accesses = NAN,
                                    .misses = NAN,
                                    .requests = NAN,
                                    .llc_bytes = NAN};
        if (!now[i])
            continue;
        use[i].llc_bytes = t->llc_bytes * (double)now[i] / cores;
        if (!(n->core_us > 0))
            continue;
        use[i].cores = n->core_us / t->us;
        use[i].requests = n->requests / t->us;
        if (!(n->accesses > 0)) /* 0 in a loop: not known */
            continue;
        use[i].accesses = n->accesses / t->us;
        use[i].misses = n->misses / t->us;
    }
    t->us = 0;
    memset(t->node, 0, t->nodes * sizeof(t->node[0]));
}
