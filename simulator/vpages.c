/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The interleaved pages of a simulated job. */

#include "simulator/vpages.h"

#include <math.h>
#include <stdlib.h>

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

/* Is it time? */
static bool begins(struct vpages *p, uint32_t said)
{
    double share = (said - 1.) / COSCHED_NEAR_WHOLE;

    if (!said || p->rest_s > 0)
        return false;
    for (size_t k = 0; k < p->nodes; k++)
        p->goal[k] = cosched_near_part(p->mean, (unsigned)k, share, 1 / (double)p->nodes);
    p->took_s = 0;
    return cosched_near_off(p->at, p->goal, (unsigned)p->nodes) > COSCHED_NEAR_OFF;
}

void vpages_advance(struct vpages *p, const double *cpus, size_t count, uint32_t said,
                    double seconds)
{
    cosched_near_average(p->mean, cpus, (unsigned)p->nodes, seconds);
    p->rest_s -= seconds;
    if (!p->moving && !(p->moving = begins(p, said)))
        return;
    double left = p->gib * cosched_near_off(p->at, p->goal, (unsigned)p->nodes);
    double movers = ceil((double)count / COSCHED_NEAR_CPUS);
    double part = left > 0 ? fmin(1, seconds * movers * VPAGES_GIB_S / left) : 1;
    for (size_t k = 0; k < p->nodes; k++)
        p->at[k] += part * (p->goal[k] - p->at[k]);
    p->took_s += seconds;
    p->moving = part < 1;
    p->rest_s = COSCHED_NEAR_REST * p->took_s;
    p->version++;
}

double vpages_rest(const struct vpages *p)
{
    return p->moving ? 1 - 1. / COSCHED_NEAR_CPUS : 1;
}
