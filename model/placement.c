/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which CPUs a job gets, once it is decided how many. */

#include "model/placement.h"

#include <stdlib.h>
#include <string.h>

struct placing {
    const struct policy_input *in;
    int *owner;
    size_t *have; /* [cpu_nodes * job_count] CPUs per node and job */
    size_t *free; /* [cpu_nodes] CPUs of the pool that nobody has */
};

static size_t *have(struct placing *p, size_t node, size_t job)
{
    return &p->have[node * p->in->job_count + job];
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

    for (size_t cpu = 0; cpu < machine->cpus; cpu++) {
        p->owner[cpu] = p->in->owner[cpu];
        if (p->owner[cpu] >= 0)
            ++*have(p, (size_t)machine->cpu_node[cpu], (size_t)p->owner[cpu]);
        else if (p->owner[cpu] == POLICY_NOBODY)
            p->free[machine->cpu_node[cpu]]++;
    }
}

/* Hand one CPU of NODE from owner FROM to owner TO; the highest one leaves a
 * job, the lowest one joins, so that sets stay contiguous. */
static void move(struct placing *p, size_t node, int from, int to)
{
    const struct machine *machine = p->in->machine;
    size_t found = machine->cpus;

    for (size_t cpu = 0; cpu < machine->cpus; cpu++)
        if (machine->cpu_node[cpu] == (int)node && p->owner[cpu] == from) {
            found = cpu;
            if (to >= 0)
                break;
        }
    if (found == machine->cpus)
        return;
    p->owner[found] = to;
    if (from >= 0)
        --*have(p, node, (size_t)from);
    else
        p->free[node]--;
    if (to >= 0)
        ++*have(p, node, (size_t)to);
    else
        p->free[node]++;
}

/* Give up CPUs of JOB until it has CORES, on its smallest nodes first. */
static void shrink(struct placing *p, size_t job, size_t cores)
{
    for (size_t now = total(p, job); now > cores; now--) {
        size_t smallest = p->in->machine->cpu_nodes;
        for (size_t i = 0; i < p->in->machine->cpu_nodes; i++)
            if (*have(p, i, job) && (smallest == p->in->machine->cpu_nodes ||
                                     *have(p, i, job) <
                                         *have(p, smallest, job)))
                smallest = i;
        move(p, smallest, (int)job, POLICY_NOBODY);
    }
}

/* Take free CPUs for JOB until it has CORES. */
static void grow(struct placing *p, size_t job, size_t cores)
{
    for (size_t now = total(p, job); now < cores; now++) {
        size_t best = p->in->machine->cpu_nodes;
        for (size_t i = 0; i < p->in->machine->cpu_nodes; i++) {
            if (!p->free[i])
                continue;
            if (best == p->in->machine->cpu_nodes ||
                *have(p, i, job) > *have(p, best, job) ||
                (*have(p, i, job) == *have(p, best, job) &&
                 p->free[i] > p->free[best]))
                best = i;
        }
        if (best == p->in->machine->cpu_nodes)
            return;
        move(p, best, POLICY_NOBODY, (int)job);
    }
}

enum model_status placement(const struct policy_input *in, const size_t *cores,
                            int *owner)
{
    size_t nodes = in->machine->cpu_nodes;
    size_t *block = calloc(nodes * in->job_count + nodes, sizeof(*block));
    struct placing p = {.in = in, .owner = owner, .have = block};

    if (!block)
        return MODEL_ENOMEM;
    p.free = block + nodes * in->job_count;
    take_stock(&p);
    for (size_t j = 0; j < in->job_count; j++)
        shrink(&p, j, cores[j]);
    for (size_t j = 0; j < in->job_count; j++)
        grow(&p, j, cores[j]);
    free(block);
    return MODEL_OK;
}

void placement_sketch(const struct policy_input *in, const size_t *cores,
                      size_t *free, size_t *counts)
{
    const struct machine *machine = in->machine;
    size_t node = 0;

    memset(free, 0, machine->cpu_nodes * sizeof(*free));
    memset(counts, 0, machine->cpu_nodes * in->job_count * sizeof(*counts));
    for (size_t cpu = 0; cpu < machine->cpus; cpu++)
        if (in->owner[cpu] != POLICY_NO_CPU)
            free[machine->cpu_node[cpu]]++;
    for (size_t j = 0; j < in->job_count; j++)
        for (size_t rest = cores[j]; rest && node < machine->cpu_nodes;) {
            size_t n = rest < free[node] ? rest : free[node];
            counts[node * in->job_count + j] += n;
            free[node] -= n;
            rest -= n;
            node += free[node] == 0;
        }
}
