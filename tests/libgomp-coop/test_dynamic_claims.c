/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Dynamic loops by themselves (dynloop.h): each iteration exactly once under
 * random interleavings and among threads, sizes of chunks, ascending order. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#define CMOCKA_DISABLE_DEPRECATION_WARNINGS
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libgomp-coop/config/coop/dynloop.h"

enum { CLAIMANTS = 12, LOOPS = 4000, THREADS = 4, THREAD_LOOPS = 300 };

static uint64_t clock_ns; /* of the simulated claims */

static uint64_t now(void)
{
    return clock_ns;
}

static uint64_t random_state = 20261121;

static uint64_t draw(uint64_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 20) % n;
}

static struct dynloop_nodes random_nodes(void)
{
    struct dynloop_nodes nodes = { .ranges = (unsigned) draw(6) + 1 };

    for (unsigned i = 0; i < nodes.ranges; i++) {
        nodes.workers[i] = (unsigned) draw(4) + 1;
        nodes.total += nodes.workers[i];
    }
    for (unsigned i = 0; i < DYNLOOP_RANGES; i++)
        nodes.range_of[i] = (uint8_t) (i % nodes.ranges);
    return nodes;
}

/* A loop of up to 3000 iterations somewhere in the 2^64 values. */
static struct dynloop_request random_request(uint64_t *iterations)
{
    static const uint64_t steps[] = { 1, 2, 7, 1u << 20, (uint64_t) 1 << 50 };
    uint64_t step = steps[draw(5)];
    uint64_t n = draw(3) ? draw(3000) : draw(5);
    struct dynloop_request q = {
        .first = draw(2) ? draw(1000) - 500 : UINT64_MAX - draw(UINT32_MAX),
        .down = draw(2),
        .guided = draw(2),
        .monotonic = draw(3) == 0,
        .chunk = draw(2) ? 1 : draw(4000) + 1,
        .team = (unsigned) draw(50) + 1,
        .site = (void *) (uintptr_t) draw(1000),
    };

    q.incr = q.down ? -step : step;
    q.stop = q.first + n * q.incr;
    if (n && step > 1 && draw(2)) /* the last step passes the end */
        q.stop -= q.down ? -(draw(step)) : draw(step);
    *iterations = n;
    return q;
}

struct claimed {
    uint64_t start, end;
    unsigned claimant;
};

static uint64_t step_of(const struct dynloop_request *q)
{
    return q->down ? -q->incr : q->incr;
}

static uint64_t distance(const struct dynloop_request *q, uint64_t from,
                         uint64_t to)
{
    return q->down ? from - to : to - from;
}

/* Number of iterations in a chunk. */
static uint64_t length(const struct dynloop_request *q, uint64_t start,
                       uint64_t end)
{
    return (distance(q, start, end) + step_of(q) - 1) / step_of(q);
}

/* Marks the iterations of a chunk in SEEN, which has room for N. */
static void mark(unsigned char *seen, uint64_t n,
                 const struct dynloop_request *q, uint64_t start, uint64_t end)
{
    uint64_t i = distance(q, q->first, start) / step_of(q);
    uint64_t count = length(q, start, end);

    assert_int_equal(distance(q, q->first, start) % step_of(q), 0);
    assert_true(count > 0 && i < n && count <= n - i);
    if (i + count == n)
        assert_true(end == q->stop);
    if (!q->guided && i + count < n)
        assert_int_equal(count % q->chunk, 0);
    for (; count > 0; count--, i++)
        assert_int_equal(seen[i]++, 0);
}

static struct dynloop *begin(void **block, const struct dynloop_request *q,
                             const struct dynloop_nodes *nodes)
{
    *block = malloc(dynloop_bytes(nodes));
    assert_non_null(*block);
    struct dynloop *loop = dynloop_in(*block);
    dynloop_begin(loop, q, nodes);
    return loop;
}

static void run_interleaved(const struct dynloop_request *q,
                            const struct dynloop_nodes *nodes, uint64_t n)
{
    static unsigned char seen[4096];
    struct dynloop_clock clocks[CLAIMANTS] = { 0 };
    uint64_t last[CLAIMANTS] = { 0 };
    bool began[CLAIMANTS] = { 0 };
    unsigned left = CLAIMANTS;
    bool done[CLAIMANTS] = { 0 }, had_last[CLAIMANTS] = { 0 };
    void *block;
    struct dynloop *loop = begin(&block, q, nodes);

    memset(seen, 0, sizeof seen);
    while (left > 0) {
        unsigned i = (unsigned) draw(CLAIMANTS);
        uint64_t start, end;
        struct dynloop_claimant who = {
            .clock = draw(10) ? &clocks[draw(3) ? i : draw(CLAIMANTS)] : NULL,
            .task = &done[i], .alone = draw(4) != 0,
            .node = (unsigned) draw(100),
        };
        clock_ns += draw(60000) + 1;
        if (!dynloop_claim(loop, &who, now, &start, &end)) {
            left -= !done[i];
            done[i] = true;
            continue;
        }
        assert_false(done[i]); /* nothing appears after the end */
        assert_false(had_last[i]); /* code for lastprivate relies on it */
        had_last[i] = end == q->stop;
        mark(seen, n, q, start, end);
        uint64_t at = distance(q, q->first, start);
        if (q->monotonic && began[i])
            assert_true(at > last[i]);
        began[i] = true;
        last[i] = at;
    }
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(seen[i], 1);
    free(block);
}

static void test_interleaved(void **state)
{
    (void) state;
    for (int i = 0; i < LOOPS; i++) {
        uint64_t n;
        struct dynloop_nodes nodes = random_nodes();
        struct dynloop_request q = random_request(&n);
        assert_true(dynloop_possible(&q));
        run_interleaved(&q, &nodes, n);
    }
}

/* One claimant whose iterations take NS each: the largest chunk. */
static uint64_t largest(const struct dynloop_request *q, uint64_t ns,
                        bool alone)
{
    struct dynloop_nodes nodes = { .ranges = 1, .total = 2, .workers = { 2 } };
    struct dynloop_clock clock = { 0 };
    struct dynloop_claimant who = { &clock, q, alone, 0 };
    uint64_t start, end, most = 0;
    void *block;
    struct dynloop *loop = begin(&block, q, &nodes);

    while (dynloop_claim(loop, &who, now, &start, &end)) {
        uint64_t n = length(q, start, end);
        if (n > most)
            most = n;
        clock_ns += n * ns;
    }
    free(block);
    return most;
}

static void test_sizes(void **state)
{
    struct dynloop_request q = { .stop = 1000000, .incr = 1, .chunk = 1,
                                 .team = 2, .site = "sizes" };

    (void) state;
    /* Longer than the epoch: as the program asked. */
    assert_int_equal(largest(&q, 3 * DYNLOOP_EPOCH_NS, true), 1);
    /* Shorter: the epoch is filled, but not more than twice. */
    uint64_t most = largest(&q, 100, true);
    assert_in_range(most * 100, DYNLOOP_EPOCH_NS / 2, 2 * DYNLOOP_EPOCH_NS);
    /* A quarter of the loop at most, however short. */
    most = largest(&q, 0, true);
    assert_in_range(most, 1000, 250000);
    /* Remembered, but corrected at once. */
    assert_in_range(largest(&q, 100000, true), 2, 250000);
    assert_int_equal(largest(&q, 100000, true), 1);
    /* Not measured while others run on the worker. */
    assert_int_equal(largest(&q, 100, false), 1);
}

static void test_guided(void **state)
{
    struct dynloop_request q = { .stop = 1000000, .incr = 1, .chunk = 1,
                                 .team = 2, .guided = true, .site = "guided" };

    (void) state;
    assert_int_equal(largest(&q, 1, true), 250000);
    q.team = 40;
    assert_int_equal(largest(&q, 1, true), 12500);
    q.chunk = 300000;
    assert_int_equal(largest(&q, 1, true), 300000);
}

/* The longest loops there are; what cannot be handed out is refused. */
static void test_bounds(void **state)
{
    struct dynloop_nodes nodes = { .ranges = 1, .total = 1, .workers = { 1 } };
    struct dynloop_claimant who = { 0 };
    struct dynloop_request q = { .stop = UINT64_MAX, .incr = 1, .team = 4,
                                 .chunk = (uint64_t) 1 << 62, .site = "huge" };
    uint64_t start, end, next = 0;
    void *block;

    (void) state;
    assert_true(dynloop_possible(&q));
    struct dynloop *loop = begin(&block, &q, &nodes);
    while (dynloop_claim(loop, &who, now, &start, &end)) {
        assert_true(start == next && end > start);
        next = end;
    }
    assert_true(next == UINT64_MAX);
    free(block);
    q.chunk = 1;
    assert_false(dynloop_possible(&q));
    q.chunk = 0;
    assert_false(dynloop_possible(&q));
}

/* ---- Among threads.  ---- */

static struct {
    struct dynloop *loop;
    struct dynloop_request q;
    uint64_t n;
    unsigned char seen[4096];
    pthread_barrier_t barrier;
    int twice;
} shared;

static uint64_t ticks(void)
{
    static __thread uint64_t t;
    return t += 1000;
}

static void *claim_all(void *arg)
{
    unsigned id = (unsigned) (uintptr_t) arg;
    struct dynloop_clock clock = { 0 };

    for (int i = 0; i < THREAD_LOOPS; i++) {
        struct dynloop_claimant who = { &clock, arg, true, id };
        uint64_t start, end;
        pthread_barrier_wait(&shared.barrier);
        pthread_barrier_wait(&shared.barrier);
        while (dynloop_claim(shared.loop, &who, ticks, &start, &end)) {
            uint64_t at = distance(&shared.q, shared.q.first, start)
                          / step_of(&shared.q);
            for (uint64_t k = length(&shared.q, start, end); k > 0; k--)
                if (__atomic_fetch_add(&shared.seen[at++], 1,
                                       __ATOMIC_RELAXED))
                    __atomic_store_n(&shared.twice, 1, __ATOMIC_RELAXED);
        }
        pthread_barrier_wait(&shared.barrier);
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[THREADS];

    (void) state;
    assert_int_equal(pthread_barrier_init(&shared.barrier, NULL, THREADS + 1),
                     0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, claim_all,
                                        (void *) i), 0);
    for (int i = 0; i < THREAD_LOOPS; i++) {
        struct dynloop_nodes nodes = random_nodes();
        void *block;
        pthread_barrier_wait(&shared.barrier);
        shared.q = random_request(&shared.n);
        shared.loop = begin(&block, &shared.q, &nodes);
        memset(shared.seen, 0, sizeof shared.seen);
        pthread_barrier_wait(&shared.barrier);
        pthread_barrier_wait(&shared.barrier);
        assert_int_equal(shared.twice, 0);
        for (uint64_t k = 0; k < shared.n; k++)
            assert_int_equal(shared.seen[k], 1);
        free(block);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&shared.barrier);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interleaved),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_guided),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
