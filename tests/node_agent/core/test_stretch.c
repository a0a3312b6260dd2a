/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* When a job lends its cores: how many its threads want, and for how long. */

#include "tests/support/unit.h"

#include "common/clock.h"
#include "node_agent/core/enforcer.h"
#include "node_agent/core/job.h"
#include "node_agent/core/stretch.h"

#define LOOK_NS (10 * NS_PER_MS)
#define BEGIN_NS (1000 * NS_PER_S)

/* What the enforcer says. */
static uint64_t cpu_ns, waited_ns;
static size_t asked; /* how long threads have waited */

uint64_t __wrap_enforcer_cpu_ns(const struct job *job);
uint64_t __wrap_enforcer_waited_ns(const struct job *job);

uint64_t __wrap_enforcer_cpu_ns(const struct job *job)
{
    (void)job;
    return cpu_ns;
}

uint64_t __wrap_enforcer_waited_ns(const struct job *job)
{
    (void)job;
    asked++;
    return waited_ns;
}

struct stage {
    struct job job;
    uint64_t now_ns;
    uint64_t since_ns; /* as last said */
};

static int set_up(void **state)
{
    struct stage *s = calloc(1, sizeof(*s));

    s->now_ns = BEGIN_NS;
    cpu_ns = waited_ns = 3 * NS_PER_S;
    asked = 0;
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

/* Look every LOOK_NS for TIME_NS, in which threads run on CORES and WAITING others
 * want to. */
static void look(struct stage *s, uint64_t time_ns, double cores, double waiting)
{
    for (uint64_t t = 0; t < time_ns; t += LOOK_NS) {
        s->now_ns += LOOK_NS;
        if (cpu_ns != STRETCH_UNKNOWN)
            cpu_ns += (uint64_t)(cores * (double)LOOK_NS);
        waited_ns += (uint64_t)(waiting * (double)LOOK_NS);
        s->since_ns = stretch_look(&s->job, s->now_ns);
    }
}

/* ---- what a job wants ----------------------------------------------------- */

/* Who tells nothing, is stopped, or loses processes with their time wants nothing
 * that is known. */
static void test_unknown(void **state)
{
    struct stage *s = *state;
    bool *stopped[] = {&s->job.parked, &s->job.suspended};

    cpu_ns = STRETCH_UNKNOWN;
    look(s, NS_PER_S, 0, 0);
    assert_int_equal(s->since_ns, 0);
    cpu_ns = 0;
    look(s, NS_PER_S, 1, 0);
    assert_int_not_equal(s->since_ns, 0);
    cpu_ns -= NS_PER_S / 2;
    look(s, LOOK_NS, 1, 0);
    assert_int_equal(s->since_ns, 0);
    look(s, NS_PER_S, 1, 0);
    assert_int_not_equal(s->since_ns, 0);
    cpu_ns = STRETCH_UNKNOWN;
    look(s, LOOK_NS, 1, 0);
    assert_int_equal(s->since_ns, 0);
    for (size_t i = 0; i < 2; i++) {
        cpu_ns = 0;
        *stopped[i] = true;
        look(s, NS_PER_S, 0, 0);
        assert_int_equal(s->since_ns, 0);
        *stopped[i] = false;
    }
}

/* Two looks in a moment are one. */
static void test_soon(void **state)
{
    struct stage *s = *state;

    look(s, NS_PER_S, 1, 0);
    uint64_t since_ns = s->since_ns;
    cpu_ns += 900 * NS_PER_MS;
    assert_int_equal(stretch_look(&s->job, s->now_ns + NS_PER_MS), since_ns);
    assert_false(s->job.stretch.several);
}

static void test_one_core(void **state)
{
    struct stage *s = *state;

    look(s, 2 * LOOK_NS + STRETCH_WINDOW_NS - LOOK_NS, 1, 0);
    assert_int_equal(s->since_ns, 0); /* not for long enough */
    look(s, LOOK_NS, 1, 0);
    /* The first look sees where it stands, the second that it is quiet. */
    assert_int_equal(s->since_ns, BEGIN_NS + 2 * LOOK_NS);
    look(s, NS_PER_S, 0.3, 0.5);
    assert_int_equal(s->since_ns, BEGIN_NS + 2 * LOOK_NS);
    assert_false(s->job.stretch.several);
}

/* Several are seen at the next look, and two at the end of a window at last. */
static void test_several(void **state)
{
    struct stage *s = *state;

    look(s, NS_PER_S, 1, 0);
    look(s, LOOK_NS, 8, 0);
    assert_int_equal(s->since_ns, 0);
    assert_true(s->job.stretch.several);
    look(s, 2 * LOOK_NS + STRETCH_WINDOW_NS, 1, 0);
    assert_int_not_equal(s->since_ns, 0);
    look(s, 2 * STRETCH_WINDOW_NS, 1.5, 0);
    assert_int_equal(s->since_ns, 0);
}

/* Threads that the kernel keeps waiting want their cores, too; of one that takes
 * cores nobody asks that. */
static void test_waiting(void **state)
{
    struct stage *s = *state;

    look(s, NS_PER_S, 1, 7);
    assert_int_equal(s->since_ns, 0);
    assert_false(s->job.stretch.several);
    assert_true(asked > 0);
    asked = 0;
    look(s, NS_PER_S, 8, 0);
    assert_int_equal(asked, 0);
    assert_int_equal(s->since_ns, 0);
    look(s, NS_PER_S, 1, 0);
    assert_int_not_equal(s->since_ns, 0);
    assert_in_range(asked, 1, (size_t)(NS_PER_S / STRETCH_WINDOW_NS) + 1);
    waited_ns = 0; /* the waits of threads that have ended */
    look(s, 2 * STRETCH_WINDOW_NS, 1, 0);
    assert_int_not_equal(s->since_ns, 0);
}

/* Where the kernel counts in ticks of 10 ms, one thread may have two of them in a
 * look, and none in the next. */
static void test_ticks(void **state)
{
    struct stage *s = *state;

    look(s, NS_PER_S, 1, 0);
    for (size_t i = 0; i < 100; i++) {
        look(s, LOOK_NS, i % 2 ? 0 : 2, 0);
        assert_int_not_equal(s->since_ns, 0);
    }
}

/* Threads that meet at barriers every 20 ms, and all sleep between, are no serial stretch. */
static void test_barriers(void **state)
{
    struct stage *s = *state;

    for (size_t i = 0; i < 100; i++) {
        look(s, LOOK_NS, 8, 0);
        look(s, LOOK_NS, i % 3, 0);
        assert_int_equal(s->since_ns, 0);
    }
}

/* ---- lending -------------------------------------------------------------- */

static bool note(struct stage *s, uint64_t after_ns, bool serial)
{
    s->now_ns += after_ns;
    if (!serial)
        s->since_ns = 0;
    else if (!s->since_ns)
        s->since_ns = s->now_ns;
    return stretch_note(&s->job, s->since_ns, s->now_ns);
}

/* A stretch of LENGTH_NS: for how long cores were lent in it. */
static uint64_t lent_in(struct stage *s, uint64_t length_ns)
{
    uint64_t lent_ns = 0;

    for (uint64_t t = 0; t < length_ns; t += NS_PER_MS)
        lent_ns += note(s, NS_PER_MS, true) ? NS_PER_MS : 0;
    assert_false(note(s, NS_PER_MS, false));
    return lent_ns;
}

/* Not at once, and not any more as soon as it is over. */
static void test_lending(void **state)
{
    struct stage *s = *state;

    assert_false(note(s, NS_PER_S, false));
    assert_false(note(s, 0, true));
    assert_false(note(s, STRETCH_PATIENCE_NS - 1, true));
    assert_false(stretch_due(&s->job, s->since_ns, s->now_ns));
    assert_true(stretch_due(&s->job, s->since_ns, s->now_ns + 1));
    assert_true(note(s, 1, true));
    assert_false(stretch_due(&s->job, s->since_ns, s->now_ns)); /* it does */
    assert_true(note(s, NS_PER_S, true));
    assert_false(note(s, 0, false));
}

/* Stretches that end when cores have just been lent are waited for no more; long ones have them
 * lent all the same, and soon as quickly as ever. */
static void test_patience(void **state)
{
    struct stage *s = *state;
    uint64_t lent_ns = 0;

    for (size_t i = 0; i < 100; i++)
        lent_ns += lent_in(s, STRETCH_PATIENCE_NS * 3 / 2);
    assert_in_range(lent_ns, 1, STRETCH_PATIENCE_NS);
    assert_in_range(lent_in(s, 300 * NS_PER_MS), 250 * NS_PER_MS, 300 * NS_PER_MS);
    lent_in(s, 300 * NS_PER_MS);
    assert_in_range(lent_in(s, 300 * NS_PER_MS), 285 * NS_PER_MS, 295 * NS_PER_MS);
    /* There is an end to it. */
    for (uint64_t ns = STRETCH_PATIENCE_NS; ns < NS_PER_S; ns += NS_PER_MS)
        lent_in(s, ns);
    assert_true(s->job.stretch.patience_ns <= STRETCH_PATIENCE_MOST_NS);
    assert_true(lent_in(s, STRETCH_PATIENCE_MOST_NS + 10 * NS_PER_MS) > 0);
}

UNIT(test_stretch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_soon, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_core, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_several, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_waiting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ticks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_barriers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lending, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_patience, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("test_stretch", tests, NULL, NULL);
}
