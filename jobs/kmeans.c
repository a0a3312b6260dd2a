/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* kmeans: compute-bound with reductions; Lloyd's algorithm. */

#include "jobs/program.h"
#include "jobs/random.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* The shape of the KDD Cup data that kmeans benchmarks use. */
enum { FEATURES = 34, CLUSTERS = 12, STEPS = 20 };

static const uint64_t seed = 314159265;

typedef float features[FEATURES];

struct clustering {
    long n;
    features *point;              /* [n] */
    int *member;                  /* [n] which cluster it belongs to */
    features centre[CLUSTERS];
};

/* Points lie in a ball of radius sqrt(FEATURES) / 2 at most around point I % CLUSTERS, and those
 * are farther from each other, so that the right answer is known. */
static void make_point(long i, float *x)
{
    uint64_t state = random_skip(seed, (uint64_t)i * FEATURES);

    for (int f = 0; f < FEATURES; f++)
        x[f] = (float)random_next(&state) - 0.5f;
    for (int f = (int)(i % CLUSTERS); f < FEATURES; f += CLUSTERS)
        x[f] += 8;
}

static void make(struct program *p, struct clustering *c, long n)
{
    c->n = n;
    c->point = program_alloc(p, (size_t)n, sizeof(*c->point));
    c->member = program_alloc(p, (size_t)n, sizeof(*c->member));
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        make_point(i, c->point[i]);
        c->member[i] = -1;
    }
}

static int nearest(const struct clustering *c, const float *x)
{
    float least = INFINITY;
    int best = 0;

    for (int k = 0; k < CLUSTERS; k++) {
        float distance = 0;

#pragma omp simd reduction(+ : distance)
        for (int f = 0; f < FEATURES; f++)
            distance += (x[f] - c->centre[k][f]) * (x[f] - c->centre[k][f]);
        if (distance < least) {
            least = distance;
            best = k;
        }
    }
    return best;
}

static void step(struct clustering *c)
{
    double sum[CLUSTERS][FEATURES] = {{0}};
    long count[CLUSTERS] = {0};

#pragma omp parallel for schedule(static) reduction(+ : sum, count)
    for (long i = 0; i < c->n; i++) {
        int k = nearest(c, c->point[i]);

        c->member[i] = k;
        count[k]++;
        for (int f = 0; f < FEATURES; f++)
            sum[k][f] += c->point[i][f];
    }
    for (int k = 0; k < CLUSTERS; k++)
        for (int f = 0; f < FEATURES && count[k]; f++)
            c->centre[k][f] = (float)(sum[k][f] / (double)count[k]);
}

/* Serial: a runtime that loses iterations would lose the same ones here. */
static void verify(struct program *p, const struct clustering *c)
{
    double off[CLUSTERS] = {0};
    long wrong = 0;

    for (long i = 0; i < c->n; i++)
        wrong += c->member[i] != i % CLUSTERS;
    if (wrong)
        program_fail(p, "%ld of %ld points are in the wrong cluster", wrong, c->n);
    for (long i = 0; i < c->n; i++)
        off[c->member[i]] += (double)c->point[i][0] - (double)c->centre[c->member[i]][0];
    for (int k = 0; k < CLUSTERS; k++)
        if (!(fabs(off[k]) <= 1e-5 * (double)c->n))
            program_fail(p, "centre %d is not in the middle of its points", k);
}

int main(int argc, char **argv)
{
    static const struct {
        char size_class;
        long points;
    } sizes[] = {{'S', 20000}, {'W', 120000}, {'A', 1000000}, {'B', 4000000}, {'C', 16000000}};
    struct program p = {
        .name = "kmeans",
        .summary = "Clusters of points by Lloyd's algorithm; compute-bound.",
    };
    struct clustering c;
    int size = 0;

    if (program_parse(&p, argc, argv))
        return p.status;
    while (sizes[size].size_class != p.size_class)
        size++;
    make(&p, &c, sizes[size].points);
    p.steps = STEPS;
    program_start(&p);
    do {
        memset(c.member, -1, (size_t)c.n * sizeof(*c.member));
        memcpy(c.centre, c.point, sizeof(c.centre)); /* one of each cluster */
        for (int i = 0; i < STEPS; i++)
            step(&c);
        verify(&p, &c);
    } while (program_again(&p));
    free(c.point);
    free(c.member);
    return program_finish(&p, omp_get_max_threads(), "mpoints_per_s",
                          1e-6 * STEPS * (double)c.n * (double)p.done / p.time);
}
