/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A job grows while its processes touch new memory, here this one's. */

#include "tests/support/unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node_agent/core/growth.h"
#include "node_agent/core/job.h"
#include "node_agent/core/process.h"

#define BYTES ((size_t)64 << 20)

static void test_growth(void **state)
{
    struct process process = {.pid = getpid()};
    struct job job = {.processes = &process};
    uint64_t now_ns = UINT64_C(1000000000);

    (void)state;
    growth_look(&job, now_ns);
    assert_true(job.growth.grows); /* it has just touched what it has */
    growth_look(&job, now_ns += GROWTH_LOOK_NS);
    assert_false(job.growth.grows);
    char *more = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(more != MAP_FAILED);
    memset(more, 1, BYTES);
    growth_look(&job, now_ns += GROWTH_LOOK_NS / 2);
    assert_false(job.growth.grows); /* too early to look */
    growth_look(&job, now_ns += 2 * GROWTH_LOOK_NS);
    assert_true(job.growth.grows);
    /* To shrink is not to grow, nor is it to touch as much once more. */
    assert_int_equal(madvise(more, BYTES, MADV_DONTNEED), 0);
    growth_look(&job, now_ns += 2 * GROWTH_LOOK_NS);
    assert_false(job.growth.grows);
    memset(more, 1, BYTES);
    growth_look(&job, now_ns += 4 * GROWTH_LOOK_NS);
    assert_false(job.growth.grows);
    munmap(more, BYTES);
    uint64_t look_ns = job.growth.look_ns;
    for (int i = 0; i < 10; i++)
        growth_look(&job, now_ns += GROWTH_LOOK_MOST_NS);
    assert_true(look_ns < job.growth.look_ns && job.growth.look_ns <= GROWTH_LOOK_MOST_NS);
}

/* Nobody is attached, or has gone. */
static void test_unknown(void **state)
{
    struct process gone = {.pid = 1 << 30};
    struct job none = {.processes = NULL}, job = {.processes = &gone};

    (void)state;
    for (uint64_t now_ns = 1; now_ns < 10 * GROWTH_LOOK_MOST_NS; now_ns += GROWTH_LOOK_MOST_NS) {
        growth_look(&none, now_ns);
        growth_look(&job, now_ns);
        assert_false(none.growth.grows || job.growth.grows);
    }
}

UNIT(test_growth)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_unknown),
    };

    return cmocka_run_group_tests_name("test_growth", tests, NULL, NULL);
}
