/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Profile of one run of a parallel loop. */

#include "model/loop.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Counters of one event are read one after the other; so many more misses than
 * requests are rounding. */
#define MISS_SLACK 1e-9

/* All in one piece: most loops live for one epoch of the agent. */
struct loop *loop_new(size_t llc_domains, size_t numa_nodes)
{
    size_t pairs = llc_domains * numa_nodes;
    size_t doubles = 3 * llc_domains + pairs;
    struct loop *loop = NULL;

    if (!pairs ||
        !(loop = calloc(1, sizeof(*loop) + doubles * sizeof(double) +
                               pairs * sizeof(*loop->requests) +
                               llc_domains * sizeof(*loop->cores))))
        return NULL;
    loop->llc_domains = llc_domains;
    loop->numa_nodes = numa_nodes;
    loop->work = 1;
    loop->requests = (struct loop_requests *)(loop + 1);
    loop->read_misses = (double *)(loop->requests + pairs);
    loop->llc_accesses = loop->read_misses + pairs;
    loop->useful_cycles = loop->llc_accesses + llc_domains;
    loop->stalled_cycles = loop->useful_cycles + llc_domains;
    loop->cores = (size_t *)(loop->stalled_cycles + llc_domains);
    return loop;
}

static bool count_valid(double count)
{
    return count >= 0 && isfinite(count);
}

/* The first bad field of what belongs to the whole loop. */
static enum loop_field check_whole(const struct loop *loop)
{
    if (!loop->llc_domains || !loop->numa_nodes)
        return LOOP_NODES;
    if (loop_cores(loop) == 0)
        return LOOP_CORES;
    if (!(loop->total_us > 0) || !isfinite(loop->total_us))
        return LOOP_TOTAL;
    if (!(loop->work > 0) || !isfinite(loop->work))
        return LOOP_WORK;
    if (!(loop->sync_share >= 0 && loop->sync_share < 1))
        return LOOP_SYNC;
    return LOOP_GOOD;
}

static enum loop_field check_node(const struct loop *loop, size_t i)
{
    if (!count_valid(loop->llc_accesses[i]))
        return LOOP_LLC_ACCESSES;
    if (!count_valid(loop->useful_cycles[i]))
        return LOOP_USEFUL_CYCLES;
    if (!count_valid(loop->stalled_cycles[i]))
        return LOOP_STALLED_CYCLES;
    return LOOP_GOOD;
}

static enum loop_field check_pair(const struct loop *loop, size_t i, size_t j)
{
    const struct loop_requests *r = &loop->requests[i * loop->numa_nodes + j];
    double misses = loop->read_misses[i * loop->numa_nodes + j];
    double most = loop->cores[i] ? INFINITY : 0; /* nobody asks nothing */

    if (!count_valid(r->read) || r->read > most)
        return LOOP_READS;
    if (!count_valid(r->write) || r->write > most)
        return LOOP_WRITES;
    if (!count_valid(r->prefetch) || r->prefetch > most)
        return LOOP_PREFETCHES;
    if (!count_valid(misses) ||
        misses > (r->read + r->write + r->prefetch) * (1 + MISS_SLACK))
        return LOOP_READ_MISSES;
    return LOOP_GOOD;
}

/* Most jobs have cores on few LLC domains of a large machine: true when LLC domain I
 * has none and asked nothing. */
static bool idle(const struct loop *loop, size_t i)
{
    size_t begin = i * loop->numa_nodes, end = begin + loop->numa_nodes;
    bool any = loop->cores[i] > 0;

    for (size_t p = begin; p < end; p++) {
        const struct loop_requests *r = &loop->requests[p];
        any |= !(r->read == 0) | !(r->write == 0) | !(r->prefetch == 0) |
               !(loop->read_misses[p] == 0);
    }
    return !any;
}

enum model_status loop_check(const struct loop *loop,
                             struct loop_problem *problem)
{
    struct loop_problem found = {.field = check_whole(loop)};

    for (size_t i = 0; !found.field && i < loop->llc_domains; i++) {
        size_t asked = idle(loop, i) ? 0 : loop->numa_nodes;
        found = (struct loop_problem){check_node(loop, i), i, 0};
        for (size_t j = 0; !found.field && j < asked; j++)
            found = (struct loop_problem){check_pair(loop, i, j), i, j};
    }
    if (problem && found.field)
        *problem = found;
    return found.field ? MODEL_EINVAL : MODEL_OK;
}

static const struct {
    const char *name;
    int indices;
} fields[] = {
    [LOOP_GOOD] = {"", 0},
    [LOOP_NODES] = {"llc_domains or numa_nodes", 0},
    [LOOP_CORES] = {"cores", 0},
    [LOOP_TOTAL] = {"total_us", 0},
    [LOOP_WORK] = {"work", 0},
    [LOOP_SYNC] = {"sync_share", 0},
    [LOOP_READS] = {"requests.read", 2},
    [LOOP_WRITES] = {"requests.write", 2},
    [LOOP_PREFETCHES] = {"requests.prefetch", 2},
    [LOOP_READ_MISSES] = {"read_misses", 2},
    [LOOP_LLC_ACCESSES] = {"llc_accesses", 1},
    [LOOP_USEFUL_CYCLES] = {"useful_cycles", 1},
    [LOOP_STALLED_CYCLES] = {"stalled_cycles", 1},
};

const char *loop_field_name(enum loop_field field)
{
    return field <= LOOP_STALLED_CYCLES ? fields[field].name : "";
}

int loop_field_indices(enum loop_field field)
{
    return field <= LOOP_STALLED_CYCLES ? fields[field].indices : 0;
}

size_t loop_cores(const struct loop *loop)
{
    size_t cores = 0;

    for (size_t i = 0; i < loop->llc_domains; i++)
        cores += loop->cores[i];
    return cores;
}

size_t loop_active_nodes(const struct loop *loop)
{
    size_t nodes = 0;

    for (size_t i = 0; i < loop->llc_domains; i++)
        nodes += loop->cores[i] > 0;
    return nodes;
}

struct loop_requests loop_requests_to(const struct loop *loop, size_t memory)
{
    struct loop_requests sum = {0};

    for (size_t i = 0; i < loop->llc_domains; i++) {
        const struct loop_requests *r =
            &loop->requests[i * loop->numa_nodes + memory];
        sum.read += r->read;
        sum.write += r->write;
        sum.prefetch += r->prefetch;
    }
    return sum;
}

struct loop_cycles loop_cycles(const struct loop *loop)
{
    struct loop_cycles sum = {0, 0};

    for (size_t i = 0; i < loop->llc_domains; i++) {
        sum.useful += loop->useful_cycles[i];
        sum.stalled += loop->stalled_cycles[i];
    }
    return sum;
}

double loop_intensity(const struct loop *loop)
{
    double requests = 0, cycles = loop_cycles(loop).useful;

    for (size_t m = 0; m < loop->numa_nodes; m++) {
        struct loop_requests r = loop_requests_to(loop, m);
        requests += r.read + r.write + r.prefetch;
    }
    return cycles > 0 ? requests / cycles : NAN;
}

double loop_misses_to(const struct loop *loop, size_t memory)
{
    double sum = 0;

    for (size_t i = 0; i < loop->llc_domains; i++)
        sum += loop->read_misses[i * loop->numa_nodes + memory];
    return sum;
}

void loop_free(struct loop *loop)
{
    free(loop);
}
