/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* is: random memory accesses; NPB IS, ranks of integers by counting. */

#include "jobs/program.h"
#include "jobs/random.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 10, CHECKS = 5, LOG2_BUCKETS = 10, BUCKETS = 1 << LOG2_BUCKETS };

static const uint64_t seed = 314159265;

/* Numbers of keys and of their values, and what is published of the keys at INDEX: the first
 * RISING of them have RANK + t - LATE[0] in step t, the others RANK - t + LATE[1]. */
struct problem {
    char size_class;
    int log2_keys, log2_values;
    int rising, late[2];
    int index[CHECKS], rank[CHECKS];
};

static const struct problem problems[] = {
    {'S', 16, 11, 3, {0, 0}, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}},
    {'W', 20, 16, 2, {2, 0}, {357773, 934767, 875723, 898999, 404505},
     {1249, 11698, 1039987, 1043896, 1048018}},
    {'A', 23, 19, 3, {1, 1}, {2112377, 662041, 5336171, 3642833, 4250760},
     {104, 17523, 123928, 8288932, 8388264}},
    {'B', 25, 21, 3, {0, 0}, {812306, 5102857, 26860214, 41869, 18232239},
     {10244, 59149, 99, 33422937, 33135281}},
    {'C', 27, 23, 3, {0, 0}, {44172927, 72999161, 74326391, 129606274, 21736814},
     {61147, 882988, 266290, 133997595, 133525895}},
};

struct sort {
    const struct problem *problem;
    int keys, values, shift; /* key >> shift is its bucket */
    int threads;
    int *key;                /* [keys] */
    int *sorted;             /* [keys] by bucket */
    int *rank;               /* [values] keys that are not larger */
    int (*count)[BUCKETS];   /* [threads] */
    int start[BUCKETS + 1];  /* of each bucket in sorted */
    int first[2 * STEPS + 1]; /* the keys that steps change, as they were */
};

static void make_keys(struct sort *s)
{
#pragma omp parallel
    {
        long threads = omp_get_num_threads(), me = omp_get_thread_num();
        long low = s->keys * me / threads, high = s->keys * (me + 1) / threads;
        uint64_t state = random_skip(seed, 4 * (uint64_t)low);

        for (long i = low; i < high; i++) {
            double x = random_next(&state);

            for (int k = 0; k < 3; k++)
                x += random_next(&state);
            s->key[i] = (int)(s->values / 4 * x);
        }
    }
    memcpy(s->first, s->key, sizeof(s->first));
}

/* Where each thread's part of each bucket begins, from the counts. */
static void place_buckets(struct sort *s)
{
    int sum = 0;

    for (int b = 0; b < BUCKETS; b++) {
        s->start[b] = sum;
        for (int t = 0; t < s->threads; t++) {
            int count = s->count[t][b];

            s->count[t][b] = sum;
            sum += count;
        }
    }
    s->start[BUCKETS] = sum;
}

/* Ranks of the keys of bucket B, which begin at the bucket's start. */
static void rank_bucket(struct sort *s, int b)
{
    int low = b << s->shift, high = (b + 1) << s->shift, sum = s->start[b];

    memset(s->rank + low, 0, (size_t)(high - low) * sizeof(*s->rank));
    for (int i = s->start[b]; i < s->start[b + 1]; i++)
        s->rank[s->sorted[i]]++;
    for (int v = low; v < high; v++)
        s->rank[v] = sum += s->rank[v];
}

/* Both passes over the keys give each thread the same ones: OpenMP promises so of static loops in
 * one region that have as many iterations. */
static void rank_keys(struct sort *s)
{
    memset(s->count, 0, (size_t)s->threads * sizeof(*s->count));
#pragma omp parallel
    {
        int *count = s->count[omp_get_thread_num()];

#pragma omp for schedule(static)
        for (int i = 0; i < s->keys; i++)
            count[s->key[i] >> s->shift]++;
#pragma omp single
        place_buckets(s);
#pragma omp for schedule(static)
        for (int i = 0; i < s->keys; i++)
            s->sorted[count[s->key[i] >> s->shift]++] = s->key[i];
#pragma omp for schedule(dynamic)
        for (int b = 0; b < BUCKETS; b++)
            rank_bucket(s, b);
    }
}

static void check(struct program *p, const struct sort *s, const int *value, int t)
{
    const struct problem *o = s->problem;

    for (int c = 0; c < CHECKS; c++) {
        int right = o->rank[c] + (c < o->rising ? t - o->late[0] : o->late[1] - t);
        int rank = value[c] > 0 ? s->rank[value[c] - 1] : 0;

        if (rank != right)
            program_fail(p, "step %d: rank of %d is %d, not %d", t, value[c], rank, right);
    }
}

/* Serial: put the keys where their ranks say and look whether they are in order. */
static void check_order(struct program *p, struct sort *s)
{
    int disordered = 0;

    for (int i = s->keys - 1; i >= 0; i--) {
        int place = --s->rank[s->key[i]];

        if (place < 0 || place >= s->keys) {
            program_fail(p, "the rank of key %d is %d", i, place);
            return;
        }
        s->sorted[place] = s->key[i];
    }
    for (int i = 1; i < s->keys; i++)
        disordered += s->sorted[i - 1] > s->sorted[i];
    if (disordered)
        program_fail(p, "%d of %d keys are not in order", disordered, s->keys);
}

static void compute(struct program *p, struct sort *s)
{
    memcpy(s->key, s->first, sizeof(s->first));
    for (int t = 1; t <= STEPS; t++) {
        int value[CHECKS];

        s->key[t] = t;
        s->key[t + STEPS] = s->values - t;
        for (int c = 0; c < CHECKS; c++)
            value[c] = s->key[s->problem->index[c]];
        rank_keys(s);
        check(p, s, value, t);
    }
    check_order(p, s);
}

static void make(struct program *p, struct sort *s, const struct problem *problem)
{
    *s = (struct sort){
        .problem = problem,
        .keys = 1 << problem->log2_keys,
        .values = 1 << problem->log2_values,
        .shift = problem->log2_values - LOG2_BUCKETS,
        .threads = omp_get_max_threads(),
    };
    s->key = program_alloc(p, (size_t)s->keys, sizeof(*s->key));
    s->sorted = program_alloc(p, (size_t)s->keys, sizeof(*s->sorted));
    s->rank = program_alloc(p, (size_t)s->values, sizeof(*s->rank));
    s->count = program_alloc(p, (size_t)s->threads, sizeof(*s->count));
    make_keys(s);
}

int main(int argc, char **argv)
{
    struct program p = {
        .name = "is",
        .summary = "NPB IS: ranks of integers; random memory accesses.",
    };
    const struct problem *problem = problems;
    struct sort s;

    if (program_parse(&p, argc, argv))
        return p.status;
    while (problem->size_class != p.size_class)
        problem++;
    make(&p, &s, problem);
    p.steps = STEPS;
    program_start(&p);
    do
        compute(&p, &s);
    while (program_again(&p));
    free(s.key);
    free(s.sorted);
    free(s.rank);
    free(s.count);
    return program_finish(&p, s.threads, "mkeys_per_s",
                          1e-6 * STEPS * s.keys * (double)p.done / p.time);
}
