/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which pages move (pages.h).  That they do needs NUMA nodes: tests/emulator/test_emulate.py. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#define CMOCKA_DISABLE_DEPRECATION_WARNINGS
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libgomp-coop/config/coop/coop.h"
#include "libgomp-coop/config/coop/pages.h"

enum { NODES = 4, BLOCKS = 64 };

int coop_lock_slow(int *lock)
{
    return *lock;
}

int coop_create_masked(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                       void *arg)
{
    return pthread_create(thread, attr, fn, arg);
}

/* What comes of BLOCKS blocks, whose page i of block b is where WHERE says, into COUNT. */
static void move(const double *part, int (*where)(int b, int i), unsigned count[NODES],
                 unsigned *moved)
{
    double need[NODES] = {0};
    int at[COOP_PAGES_BLOCK], to[COOP_PAGES_BLOCK];

    memset(count, 0, NODES * sizeof(*count));
    *moved = 0;
    for (int b = 0; b < BLOCKS; b++) {
        for (int i = 0; i < COOP_PAGES_BLOCK; i++)
            at[i] = where(b, i);
        coop_pages_plan(part, need, NODES, at, COOP_PAGES_BLOCK, to);
        for (int i = 0; i < COOP_PAGES_BLOCK; i++) {
            assert_true(to[i] < NODES && (at[i] >= 0 || to[i] < 0));
            assert_true(to[i] < 0 || to[i] != at[i]);
            if (at[i] >= 0)
                count[to[i] >= 0 ? to[i] : at[i]]++;
            *moved += to[i] >= 0;
        }
    }
}

static int in_turn(int b, int i)
{
    (void)b;
    return i % NODES;
}

static int by_block(int b, int i)
{
    (void)i;
    return b % NODES;
}

static int some(int b, int i)
{
    return (i * 7 + b) % 3 ? COOP_PAGE_ELSEWHERE : (i + b) % NODES;
}

/* Each node gets its part, and no more pages move than have to. */
static void test_pages(void **state)
{
    const double half[NODES] = {0.5, 0.5, 0, 0}, odd[NODES] = {0.4, 0.3, 0.2, 0.1};
    const unsigned all = BLOCKS * COOP_PAGES_BLOCK;
    unsigned count[NODES], moved;

    (void)state;
    move(half, in_turn, count, &moved);
    assert_int_equal(count[0], all / 2);
    assert_int_equal(count[3], 0);
    assert_int_equal(moved, all / 2);
    move(odd, in_turn, count, &moved);
    for (int k = 0; k < NODES; k++)
        assert_true(fabs(count[k] - odd[k] * all) <= NODES);
    assert_true(moved <= 0.2 * all + NODES);
}

/* Huge pages move as a whole, and their sums are right. */
static void test_blocks(void **state)
{
    const double odd[NODES] = {0.4, 0.3, 0.2, 0.1}, even[NODES] = {0.25, 0.25, 0.25, 0.25};
    const unsigned all = BLOCKS * COOP_PAGES_BLOCK;
    unsigned count[NODES], moved;

    (void)state;
    move(odd, by_block, count, &moved);
    for (int k = 0; k < NODES; k++) {
        assert_int_equal(count[k] % COOP_PAGES_BLOCK, 0);
        assert_true(fabs(count[k] - odd[k] * all) <= COOP_PAGES_BLOCK);
    }
    move(even, by_block, count, &moved);
    assert_int_equal(moved, 0);
}

/* Pages that are not there, or on nodes of others, do not count. */
static void test_holes(void **state)
{
    const double half[NODES] = {0.5, 0.5, 0, 0};
    unsigned count[NODES], moved;

    (void)state;
    move(half, some, count, &moved);
    assert_true(count[2] + count[3] <= 1 && abs((int)count[0] - (int)count[1]) <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_holes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
