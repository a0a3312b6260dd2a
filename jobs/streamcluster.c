/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* streamcluster: memory-bound, with serial phases; medians of a stream of points. */

#include "jobs/program.h"
#include "jobs/random.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { DIMENSIONS = 128, GROUPS = 16, CANDIDATES = 48 };

static const uint64_t seed = 314159265;

/* The k-median problem as a facility location: a median costs OPENING, a point its distance to
 * its median.  Points come in chunks; each chunk is clustered by local search (Guha et al.,
 * "Clustering Data Streams", 2000; the kernel of PARSEC's streamcluster): a random candidate is
 * opened if that saves more than it costs, and medians are closed that are not worth theirs.
 * What the candidate would save is a pass over all points; the decision is serial. */
typedef float position[DIMENSIONS];

struct chunk {
    long n;
    position *point;   /* [n] */
    int *median;       /* [n] the point's own, an index into open */
    float *cost;       /* [n] distance to it */
    long open[GROUPS * 8]; /* points that are medians */
    int medians;
};

static const double opening = 2000;

static float distance(const float *a, const float *b)
{
    float sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int d = 0; d < DIMENSIONS; d++)
        sum += (a[d] - b[d]) * (a[d] - b[d]);
    return sum;
}

/* Points of chunk NUMBER: around GROUPS places that the number decides. */
static void read_chunk(struct chunk *c, long number)
{
#pragma omp parallel for schedule(static)
    for (long i = 0; i < c->n; i++) {
        uint64_t group = (uint64_t)(number * GROUPS + i % GROUPS);
        uint64_t place = random_skip(seed, group * DIMENSIONS);
        uint64_t state = random_skip(seed, (UINT64_C(1) << 40) +
                                               (uint64_t)(number * c->n + i) * DIMENSIONS);

        for (int d = 0; d < DIMENSIONS; d++)
            c->point[i][d] = (float)(4 * random_next(&place) + random_next(&state));
    }
}

/* All points to the first one. */
static void begin(struct chunk *c)
{
    c->open[0] = 0;
    c->medians = 1;
#pragma omp parallel for schedule(static)
    for (long i = 0; i < c->n; i++) {
        c->median[i] = 0;
        c->cost[i] = distance(c->point[i], c->point[0]);
    }
}

/* What is saved by a median at CANDIDATE, not counting its cost. */
static double saving(const struct chunk *c, long candidate)
{
    double saved = 0;

#pragma omp parallel for schedule(static) reduction(+ : saved)
    for (long i = 0; i < c->n; i++) {
        float d = distance(c->point[i], c->point[candidate]);

        if (d < c->cost[i])
            saved += (double)(c->cost[i] - d);
    }
    return saved;
}

static void open_median(struct chunk *c, long candidate)
{
    int number = c->medians++;

    c->open[number] = candidate;
#pragma omp parallel for schedule(static)
    for (long i = 0; i < c->n; i++) {
        float d = distance(c->point[i], c->point[candidate]);

        if (d < c->cost[i]) {
            c->cost[i] = d;
            c->median[i] = number;
        }
    }
}

/* Serial, as in the original: medians without points go. */
static void close_medians(struct chunk *c)
{
    int number[GROUPS * 8], kept = 0;
    long members[GROUPS * 8] = {0};

    for (long i = 0; i < c->n; i++)
        members[c->median[i]]++;
    for (int k = 0; k < c->medians; k++) {
        number[k] = kept;
        if (members[k])
            c->open[kept++] = c->open[k];
    }
    c->medians = kept;
    for (long i = 0; i < c->n; i++)
        c->median[i] = number[c->median[i]];
}

static void cluster(struct chunk *c, long number)
{
    uint64_t state = random_skip(seed, (UINT64_C(1) << 44) + (uint64_t)number * CANDIDATES);

    read_chunk(c, number);
    begin(c);
    for (int k = 0; k < CANDIDATES; k++) {
        /* Every third is of the next group, so that each group has its turn. */
        long at = (long)(random_next(&state) * (double)(c->n / GROUPS)) * GROUPS;
        long candidate = k % 3 ? (at + (long)(random_next(&state) * GROUPS)) : at + k / 3;

        if (saving(c, candidate) > opening)
            open_median(c, candidate);
    }
    close_medians(c);
}

/* Serial: each point is with its group; those looked at are at their nearest median. */
static void verify(struct program *p, const struct chunk *c)
{
    const long every = 61;
    long wrong = 0, strangers = 0;

    for (long i = 0; i < c->n; i++)
        strangers += c->open[c->median[i]] % GROUPS != i % GROUPS;
    for (long i = 0; i < c->n; i += every) {
        float least = INFINITY;

        for (int k = 0; k < c->medians; k++) {
            float d = distance(c->point[i], c->point[c->open[k]]);

            least = d < least ? d : least;
        }
        wrong += !(fabsf(c->cost[i] - least) <= 1e-3f * least + 1e-6f);
    }
    if (wrong)
        program_fail(p, "%ld of %ld points are not at their nearest median", wrong,
                     (c->n + every - 1) / every);
    if (strangers)
        program_fail(p, "%ld of %ld points are in the wrong group", strangers, c->n);
}

int main(int argc, char **argv)
{
    static const struct {
        char size_class;
        long points, chunks;
    } sizes[] = {{'S', 2048, 4}, {'W', 16384, 4}, {'A', 131072, 8}, {'B', 262144, 16},
                 {'C', 1048576, 16}};
    struct program p = {
        .name = "streamcluster",
        .summary = "Medians of a stream of points; memory-bound, with serial phases.",
    };
    struct chunk c;
    int size = 0;

    if (program_parse(&p, argc, argv))
        return p.status;
    while (sizes[size].size_class != p.size_class)
        size++;
    c.n = sizes[size].points;
    c.point = program_alloc(&p, (size_t)c.n, sizeof(*c.point));
    c.median = program_alloc(&p, (size_t)c.n, sizeof(*c.median));
    c.cost = program_alloc(&p, (size_t)c.n, sizeof(*c.cost));
    p.steps = sizes[size].chunks;
    program_start(&p);
    do
        for (long i = 0; i < p.steps && !p.reason[0]; i++) {
            cluster(&c, i);
            verify(&p, &c);
        }
    while (program_again(&p));
    free(c.point);
    free(c.median);
    free(c.cost);
    return program_finish(&p, omp_get_max_threads(), "mpoints_per_s",
                          1e-6 * (double)c.n * (double)(p.steps * p.done) / p.time);
}
