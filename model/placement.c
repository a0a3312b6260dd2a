/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which CPUs a job gets, once it is decided how many. */

#include "model/placement.h"

#include <string.h>

#include "model/policy/workspace.h"

struct placing {
    const struct policy_input *in;
    struct policy_workspace *ws;
    int *owner;
};

static size_t *have(struct placing *p, size_t node, size_t job)
{
    return &p->ws->have[node * p->in->job_count + job];
}

static size_t total(struct placing *p, size_t job)
{
    size_t sum = 0;

    for (size_t i = 0; i < p->in->machine->cpu_nodes; i++)
        sum += *have(p, i, job);
    return sum;
}

static void take_stock(struct placing *p)
{
    const struct machine *machine = p->in->machine;

    memset(p->ws->free, 0, machine->cpu_nodes * sizeof(*p->ws->free));
    memset(p->ws->have, 0,
           machine->cpu_nodes * p->in->job_count * sizeof(*p->ws->have));
    for (size_t cpu = 0; cpu < machine->cpus; cpu++) {
        p->owner[cpu] = p->in->owner[cpu];
        if (p->owner[cpu] >= 0)
            ++*have(p, (size_t)machine->cpu_node[cpu], (size_t)p->owner[cpu]);
        else if (p->owner[cpu] == POLICY_NOBODY)
            p->ws->free[machine->cpu_node[cpu]]++;
    }
}

/* Hand COUNT CPUs of NODE from owner FROM to owner TO; the highest ones leave a
 * job, the lowest ones join, so that sets stay contiguous. */
static void move(struct placing *p, size_t node, int from, int to, size_t count)
{
    const size_t *cpu = &p->ws->cpu[p->ws->first[node]];
    size_t size = p->ws->size[node], moved = 0;

    for (size_t k = 0; k < size && moved < count; k++) {
        size_t next = cpu[to >= 0 ? k : size - 1 - k];
        if (p->owner[next] == from) {
            p->owner[next] = to;
            moved++;
        }
    }
    if (to >= 0) {
        p->ws->free[node] -= moved;
        *have(p, node, (size_t)to) += moved;
    } else {
        p->ws->free[node] += moved;
        *have(p, node, (size_t)from) -= moved;
    }
}

/* Give up CPUs of JOB until it has CORES, on its smallest nodes first. */
static void shrink(struct placing *p, size_t job, size_t cores)
{
    size_t nodes = p->in->machine->cpu_nodes;

    for (size_t now = total(p, job); now > cores;) {
        size_t smallest = nodes;
        for (size_t i = 0; i < nodes; i++)
            if (*have(p, i, job) &&
                (smallest == nodes ||
                 *have(p, i, job) < *have(p, smallest, job)))
                smallest = i;
        size_t count = *have(p, smallest, job);
        if (count > now - cores)
            count = now - cores;
        move(p, smallest, (int)job, POLICY_NOBODY, count);
        now -= count;
    }
}

/* Take free CPUs for JOB until it has CORES. */
static void grow(struct placing *p, size_t job, size_t cores)
{
    const size_t *free = p->ws->free;
    size_t nodes = p->in->machine->cpu_nodes;

    for (size_t now = total(p, job); now < cores;) {
        size_t best = nodes;
        for (size_t i = 0; i < nodes; i++) {
            if (!free[i])
                continue;
            if (best == nodes || *have(p, i, job) > *have(p, best, job) ||
                (*have(p, i, job) == *have(p, best, job) &&
                 free[i] > free[best]))
                best = i;
        }
        if (best == nodes)
            return;
        size_t count = free[best] < cores - now ? free[best] : cores - now;
        move(p, best, POLICY_NOBODY, (int)job, count);
        now += count;
    }
}

void placement(const struct policy_input *in, const size_t *cores, int *owner)
{
    struct placing p = {.in = in, .ws = in->workspace, .owner = owner};

    take_stock(&p);
    for (size_t j = 0; j < in->job_count; j++)
        shrink(&p, j, cores[j]);
    for (size_t j = 0; j < in->job_count; j++)
        grow(&p, j, cores[j]);
}

void placement_layout(const struct policy_input *in, const size_t *layout,
                      int *owner)
{
    struct placing p = {.in = in, .ws = in->workspace, .owner = owner};
    size_t jobs = in->job_count;

    take_stock(&p);
    for (size_t c = 0; c < in->machine->cpu_nodes * jobs; c++)
        if (p.ws->have[c] > layout[c])
            move(&p, c / jobs, (int)(c % jobs), POLICY_NOBODY,
                 p.ws->have[c] - layout[c]);
    for (size_t c = 0; c < in->machine->cpu_nodes * jobs; c++)
        if (p.ws->have[c] < layout[c])
            move(&p, c / jobs, POLICY_NOBODY, (int)(c % jobs),
                 layout[c] - p.ws->have[c]);
}

void placement_sketch(const struct policy_input *in, const size_t *cores,
                      size_t *counts)
{
    const size_t *pool = in->workspace->pool;
    size_t nodes = in->machine->cpu_nodes, node = 0, used = 0;

    memset(counts, 0, nodes * in->job_count * sizeof(*counts));
    for (size_t j = 0; j < in->job_count; j++)
        for (size_t rest = cores[j]; rest && node < nodes;) {
            size_t left = pool[node] - used;
            size_t n = rest < left ? rest : left;

            counts[node * in->job_count + j] += n;
            used += n;
            rest -= n;
            if (used == pool[node]) {
                node++;
                used = 0;
            }
        }
}
