/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters that take long to open keep nobody waiting. */

#include "tests/support/unit.h"

#include <unistd.h>

#include "node_agent/daemon/opening.h"
#include "tests/support/uniform_machine.h"

/* A backend that opens once it may. */
static int gate[2];
static bool works;
static int closed;

static int gate_open(const struct counters_setup *setup, void **state, struct errtext *err)
{
    char byte;

    (void)setup;
    *state = NULL;
    assert_int_equal(read(gate[0], &byte, 1), 1);
    return works ? 0 : errtext_set(err, EACCES, "the gate is locked");
}

static void gate_close(void *state)
{
    (void)state;
    closed++;
}

static void gate_describe(const void *state, struct counters_ability *ability)
{
    (void)state;
    (void)ability;
}

static const struct counters_backend slow = {.name = "gate", .help = "", .flags = COUNTERS_STILL,
                                             .open = gate_open, .describe = gate_describe,
                                             .close = gate_close};
static const struct counters_backend *const backends[] = {&slow, &counters_progress, NULL};

struct fixture {
    struct machine *machine;
    struct cosched_cpuset cpus;
    struct counters_setup setup;
    sd_event *event;
    struct opening *opening;
    struct counters *counters;
    char why[1024];
    int done;
};

static void on_done(void *arg, const char *specification, struct counters *counters,
                    const char *why)
{
    struct fixture *f = arg;

    assert_string_equal(specification, "gate");
    f->counters = counters;
    snprintf(f->why, sizeof(f->why), "%s", why);
    f->done++;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->machine = machine_new_uniform(1, 4, 1);
    f->cpus.word[0] = 0xf;
    counters_setup_init(&f->setup, f->machine, &f->cpus);
    f->setup.backends = backends;
    works = true;
    closed = 0;
    *state = f;
    return pipe(gate) < 0 || sd_event_new(&f->event) < 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    counters_close(f->counters);
    sd_event_unref(f->event);
    machine_free(f->machine);
    close(gate[0]);
    close(gate[1]);
    free(f);
    return 0;
}

static void begin(struct fixture *f)
{
    struct errtext err;

    f->opening = opening_new(f->event, "gate", &f->setup, on_done, f, &err);
    assert_non_null(f->opening);
    /* The loop has nothing to do, and is not held up. */
    assert_int_equal(sd_event_run(f->event, 0), 0);
    assert_int_equal(f->done, 0);
}

static void end(struct fixture *f)
{
    assert_int_equal(write(gate[1], "x", 1), 1);
    while (!f->done)
        assert_true(sd_event_run(f->event, UINT64_MAX) >= 0);
    opening_free(f->opening);
}

static void test_slow(void **state)
{
    struct fixture *f = *state;

    begin(f);
    end(f);
    assert_non_null(f->counters);
    assert_non_null(strstr(counters_names(f->counters), "gate"));
    assert_int_equal(f->done, 1);
}

static void test_fails(void **state)
{
    struct fixture *f = *state;

    works = false;
    begin(f);
    end(f);
    assert_null(f->counters);
    assert_non_null(strstr(f->why, "the gate is locked"));
}

/* Nobody wants it any more: it is closed, and nobody is told. */
static void test_unwanted(void **state)
{
    struct fixture *f = *state;

    begin(f);
    assert_int_equal(write(gate[1], "x", 1), 1);
    opening_free(f->opening);
    assert_int_equal(f->done, 0);
    assert_int_equal(closed, 1);
}

static void test_which(void **state)
{
    (void)state;
    assert_true(opening_is_slow("auto"));
    assert_true(opening_is_slow("likwid:events.json"));
    assert_false(opening_is_slow("progress"));
    assert_false(opening_is_slow("perf"));
}

UNIT(test_opening)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_slow, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unwanted, setup, teardown),
        cmocka_unit_test(test_which),
    };

    return cmocka_run_group_tests_name("test_opening", tests, NULL, NULL);
}
