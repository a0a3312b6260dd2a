/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the observer takes a job for of which nothing is attached. */

#include "tests/support/unit.h"

#include "model/machine.h"
#include "common/clock.h"
#include "node_agent/core/enforcer.h"
#include "node_agent/core/observer.h"
#include "node_agent/core/process.h"
#include "node_agent/recording/recording.h"
#include "protocol/cpulist.h"
#include "tests/support/uniform_machine.h"

#define EPOCH_NS (10 * NS_PER_MS)
#define SECOND ((size_t)(NS_PER_S / EPOCH_NS))

/* What the enforcer says, from a window that ended with this epoch. */
static double use;
static uint64_t since_ns;

double __wrap_enforcer_use(const struct job *job, uint64_t *from_ns);

double __wrap_enforcer_use(const struct job *job, uint64_t *from_ns)
{
    (void)job;
    *from_ns = since_ns;
    return use;
}

/* What the processes' CPU clocks say, if they say anything. */
static bool clocks;
static uint64_t cpu_ns;

uint64_t __wrap_enforcer_cpu_ns(const struct job *job);
uint64_t __wrap_enforcer_waited_ns(const struct job *job);

uint64_t __wrap_enforcer_cpu_ns(const struct job *job)
{
    (void)job;
    return clocks ? cpu_ns : STRETCH_UNKNOWN;
}

uint64_t __wrap_enforcer_waited_ns(const struct job *job)
{
    (void)job;
    return 0;
}

struct stage {
    struct machine *machine;
    struct topology *topology;
    struct counters_setup setup;
    struct counters *counters;
    struct recorder *recorder;
    struct observer *observer;
    struct node_options options;
    struct job_table jobs;
    struct job *job;
    uint64_t now_ns;
};

static int set_up(void **state)
{
    struct stage *s = calloc(1, sizeof(*s));
    struct cosched_cpuset cpus;
    struct errtext err = {""};

    assert_int_equal(cpulist_parse("0-3", &cpus, NULL), 0);
    assert_non_null(s->machine = machine_new_uniform(1, 4, 1));
    assert_non_null(s->topology = topology_of_machine(s->machine, &err));
    counters_setup_init(&s->setup, s->machine, &cpus);
    s->setup.sysfs = s->setup.procfs = "/nowhere";
    s->counters = counters_open("progress", &s->setup, NULL, 0, &err);
    assert_non_null(s->counters);
    s->recorder = recorder_new();
    s->observer = observer_new(s->counters, s->topology, s->recorder);
    node_options_init(&s->options);
    assert_int_equal(s->options.attach_ns, NS_PER_S);
    s->job = job_add(&s->jobs, 7);
    assert_non_null(job_add_task(s->job, 0, getpid()));
    s->job->live_since_ns = s->now_ns = 1000 * NS_PER_S;
    s->job->cpus = s->job->target = cpus;
    use = 0;
    since_ns = 0;
    clocks = false;
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *s = *state;

    job_remove(&s->jobs, s->job);
    observer_free(s->observer);
    recorder_free(s->recorder);
    counters_close(s->counters);
    topology_free(s->topology);
    machine_free(s->machine);
    free(s);
    return 0;
}

/* So many epochs, in which the job uses CORES. */
static void epochs(struct stage *s, size_t count, double cores)
{
    use = cores;
    for (size_t i = 0; i < count; i++) {
        s->now_ns += EPOCH_NS;
        since_ns = s->now_ns - 100 * NS_PER_MS;
        cpu_ns += (uint64_t)(cores * (double)EPOCH_NS);
        observer_update(s->observer, &s->jobs, &s->options, s->now_ns);
    }
}

static void assert_serial(const struct stage *s)
{
    assert_int_equal(job_kind(s->job), REGION_SERIAL);
}

static void assert_unpinned(const struct stage *s)
{
    assert_serial(s);
    assert_true(s->job->unpinned);
}

static void assert_pinned(const struct stage *s)
{
    assert_int_equal(s->job->doing, JOB_PINNED);
    assert_true(s->job->held);
    assert_false(s->job->unpinned);
}

static void assert_starts(const struct stage *s)
{
    assert_int_equal(job_state(s->job), JOB_STARTING);
    assert_true(s->job->soon);
    assert_serial(s);
    assert_false(s->job->held);
}

/* One busy core is a serial job, however long; nobody ever held it. */
static void test_one_core(void **state)
{
    struct stage *s = *state;

    epochs(s, SECOND / 4, 1);
    assert_starts(s);
    epochs(s, 1, 1);
    assert_int_equal(job_state(s->job), JOB_STARTING);
    assert_false(s->job->soon);
    assert_unpinned(s);
    epochs(s, 99 * SECOND, 1);
    assert_unpinned(s);
    epochs(s, 1, 1.2); /* a tick of each of two */
    assert_unpinned(s);
    assert_false(s->job->held);
}

/* Several are pinned, but only when the job has had the time to attach. */
static void test_several(void **state)
{
    struct stage *s = *state;

    epochs(s, SECOND / 4, 4);
    assert_starts(s);
    epochs(s, SECOND / 4, 4);
    assert_serial(s);
    assert_false(s->job->held);
    epochs(s, SECOND, 4);
    assert_pinned(s);
}

/* Who begins to use several later is pinned at once, and is held at once. */
static void test_later(void **state)
{
    struct stage *s = *state;

    epochs(s, 10 * SECOND, 1);
    s->job->unsettled = false;
    epochs(s, 1, 2);
    assert_pinned(s);
    assert_true(s->job->unsettled);
}

/* Pinned jobs that use one core for as long as they may take to attach are let
 * go; a pause does not let them. */
static void test_back(void **state)
{
    struct stage *s = *state;

    epochs(s, 2 * SECOND, 4);
    for (size_t i = 0; i < 5; i++) {
        epochs(s, SECOND - 5, 1);
        assert_pinned(s);
        epochs(s, 1, 4);
    }
    s->job->unsettled = false;
    epochs(s, SECOND + 20, 1);
    assert_unpinned(s);
    assert_true(s->job->unsettled);
    epochs(s, 1, 4);
    assert_pinned(s);
}

/* What was measured before a job could show what it uses does not count, however
 * long nobody looks again. */
static void test_old_measurement(void **state)
{
    struct stage *s = *state;

    epochs(s, 2 * SECOND, 4);
    uint64_t seen_ns = s->now_ns - 100 * NS_PER_MS;
    use = 1;
    for (size_t i = 0; i < 5 * SECOND; i++) {
        s->now_ns += EPOCH_NS;
        since_ns = seen_ns;
        observer_update(s->observer, &s->jobs, &s->options, s->now_ns);
        assert_pinned(s);
    }
    epochs(s, 1, 1);
    assert_unpinned(s);
}

/* Who is held to one core uses one. */
static void test_held_to_one(void **state)
{
    struct stage *s = *state;
    struct cosched_cpuset all = s->job->cpus;

    epochs(s, 2 * SECOND, 4);
    assert_int_equal(cpulist_parse("2", &s->job->cpus, NULL), 0);
    epochs(s, 10 * SECOND, 1);
    assert_pinned(s);
    s->job->cpus = all;
    epochs(s, SECOND - 5, 1);
    assert_pinned(s);
    epochs(s, 20, 1);
    assert_unpinned(s);
}

/* Who is stopped uses none. */
static void test_stopped(void **state)
{
    struct stage *s = *state;
    bool *stopped[] = {&s->job->parked, &s->job->suspended};

    for (size_t i = 0; i < 2; i++) {
        epochs(s, 2 * SECOND, 4);
        *stopped[i] = true;
        epochs(s, 10 * SECOND, 0);
        assert_pinned(s);
        *stopped[i] = false;
        epochs(s, SECOND - 5, 0);
        assert_pinned(s);
        epochs(s, 20, 0);
        assert_unpinned(s);
    }
}

/* ---- by CPU clocks -------------------------------------------------------- */

/* So many epochs in which the clocks say that the job uses CORES; scans have not seen it since it
 * used several. */
static void clock_epochs(struct stage *s, size_t count, double cores)
{
    for (size_t i = 0; i < count; i++) {
        s->now_ns += EPOCH_NS;
        cpu_ns += (uint64_t)(cores * (double)EPOCH_NS);
        observer_update(s->observer, &s->jobs, &s->options, s->now_ns);
    }
}

static void assert_lends(const struct stage *s)
{
    assert_serial(s);
    assert_int_equal(s->job->doing, JOB_SERIAL);
    assert_true(s->job->held);
    assert_false(s->job->unpinned);
    assert_int_equal(cpuset_count(&s->job->lent), 4);
}

/* A pinned job is serial while it uses one core, and pinned as soon as it uses more.  It may go on
 * where it was. */
static void test_lends(void **state)
{
    struct stage *s = *state;
    struct cosched_cpuset all = s->job->cpus;

    clocks = true;
    epochs(s, 2 * SECOND, 4);
    assert_pinned(s);
    for (size_t i = 0; i < 3; i++) {
        clock_epochs(s, 3, 1);
        assert_pinned(s);
        clock_epochs(s, 5, 1);
        assert_lends(s);
        assert_null(s->job->region);
        /* The scheduler has given the others to others. */
        assert_int_equal(cpulist_parse("2", &s->job->cpus, NULL), 0);
        clock_epochs(s, SECOND / 2, 1);
        assert_lends(s);
        assert_int_equal(observer_glance(&s->jobs, s->now_ns), OBSERVER_NOTHING);
        clock_epochs(s, 1, 4);
        assert_pinned(s);
        s->job->cpus = all;
        clock_epochs(s, 10, 4);
        assert_pinned(s);
    }
}

/* Who has two cores has too little to lend, however little it uses. */
static void test_lends_none(void **state)
{
    struct stage *s = *state;

    clocks = true;
    epochs(s, 2 * SECOND, 4);
    assert_int_equal(cpulist_parse("2-3", &s->job->cpus, NULL), 0);
    clock_epochs(s, 1, 4);
    for (size_t i = 0; i < SECOND; i++) {
        clock_epochs(s, 1, 0.5);
        assert_pinned(s);
        assert_int_equal(observer_glance(&s->jobs, s->now_ns), OBSERVER_NOTHING);
        assert_true(cpuset_empty(&s->job->lent));
    }
}

/* A look between epochs says so, and changes nothing. */
static void test_glance(void **state)
{
    struct stage *s = *state;
    enum observer_glance found = OBSERVER_NOTHING;

    clocks = true;
    assert_int_equal(observer_glance(&s->jobs, s->now_ns), OBSERVER_NOTHING);
    epochs(s, 2 * SECOND, 4);
    for (size_t i = 0; i < SECOND && !found; i++) {
        s->now_ns += EPOCH_NS;
        cpu_ns += EPOCH_NS;
        found = observer_glance(&s->jobs, s->now_ns);
        assert_pinned(s);
    }
    assert_int_equal(found, OBSERVER_SERIAL);
    observer_update(s->observer, &s->jobs, &s->options, s->now_ns);
    assert_lends(s);
    s->now_ns += EPOCH_NS;
    cpu_ns += 4 * EPOCH_NS;
    assert_int_equal(observer_glance(&s->jobs, s->now_ns), OBSERVER_PARALLEL);
    assert_lends(s);
    observer_update(s->observer, &s->jobs, &s->options, s->now_ns);
    assert_pinned(s);
    s->now_ns += EPOCH_NS;
    cpu_ns += 4 * EPOCH_NS;
    assert_int_equal(observer_glance(&s->jobs, s->now_ns), OBSERVER_NOTHING);
    /* Nothing has been decided since it was serial: it still has one core. */
    s->job->serial = true;
    s->now_ns += EPOCH_NS;
    cpu_ns += 4 * EPOCH_NS;
    assert_int_equal(observer_glance(&s->jobs, s->now_ns), OBSERVER_PARALLEL);
    s->job->parked = true;
    for (size_t i = 0; i < SECOND; i++) {
        s->now_ns += EPOCH_NS;
        assert_int_equal(observer_glance(&s->jobs, s->now_ns), OBSERVER_NOTHING);
    }
}

/* After a stretch as long as it may take to attach it is let go. */
static void test_lends_for_long(void **state)
{
    struct stage *s = *state;

    clocks = true;
    epochs(s, 2 * SECOND, 4);
    epochs(s, SECOND / 2, 1);
    assert_lends(s);
    epochs(s, SECOND, 1);
    assert_unpinned(s);
    assert_false(s->job->stretch.lends);
    clock_epochs(s, 1, 4); /* no scan has seen that so far */
    assert_pinned(s);
}

/* Who has not been pinned so far lends nothing. */
static void test_lends_later(void **state)
{
    struct stage *s = *state;

    clocks = true;
    epochs(s, 10 * SECOND, 1);
    assert_unpinned(s);
    assert_false(s->job->held);
    assert_true(cpuset_empty(&s->job->lent));
}

UNIT(test_unattached)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_core, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_several, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_old_measurement, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_held_to_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stopped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lends_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_glance, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lends_for_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lends_later, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("test_unattached", tests, NULL, NULL);
}
