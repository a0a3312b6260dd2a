/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The interleaved pages of a simulated job. */

#include "simulator/vpages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/near_share.h"

bool vpages_init(struct vpages *p, size_t nodes, double gib)
{
    *p = (struct vpages){.nodes = nodes, .gib = gib};
    if (!(p->at = calloc(3 * nodes, sizeof(*p->at))))
        return false;
    p->goal = p->at + nodes;
    p->mean = p->goal + nodes;
    for (size_t k = 0; k < nodes; k++)
        p->at[k] = p->mean[k] = 1 / (double)nodes;
    return true;
}

void vpages_release(struct vpages *p)
{
    free(p->at);
    p->at = NULL;
}

/* Should pages move, and to where they did not move anyway? */
static bool find_goal(struct vpages *p, uint32_t said)
{
    unsigned nodes = (unsigned)p->nodes;
    double goal[nodes];

    if (!said)
        return p->moving;
    cosched_near_goal(p->mean, nodes, said, goal);
    if (cosched_near_off(p->moving ? p->goal : p->at, goal, nodes) <= COSCHED_NEAR_OFF)
        return p->moving;
    memcpy(p->goal, goal, sizeof(goal));
    return true;
}

void vpages_advance(struct vpages *p, const double *cpus, size_t count, uint32_t said,
                    double seconds)
{
    cosched_near_average(p->mean, cpus, (unsigned)p->nodes, seconds);
    if (!(p->moving = find_goal(p, said)))
        return;
    double left = p->gib * cosched_near_off(p->at, p->goal, (unsigned)p->nodes);
    double movers = ceil((double)count / COSCHED_NEAR_CPUS);
    double part = left > 0 ? fmin(1, seconds * movers * VPAGES_GIB_S / left) : 1;
    for (size_t k = 0; k < p->nodes; k++)
        p->at[k] += part * (p->goal[k] - p->at[k]);
    p->moving = part < 1;
    p->version++;
}

double vpages_rest(const struct vpages *p)
{
    return p->moving ? 1 - 1. / COSCHED_NEAR_CPUS : 1;
}
