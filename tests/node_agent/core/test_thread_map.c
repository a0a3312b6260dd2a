/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Thread-node tables of jobs, and where their threads are held because of them. */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/core/enforcer.h"
#include "node_agent/core/mapper.h"
#include "protocol/cpulist.h"
#include "tests/node_agent/core/fake_plan.h"

#define NODES 4
#define PID 100

static int setup(void **state)
{
    return fake_plan_new(state, "pack:4 [numa] l3:1 core:2 pu:1");
}

static pid_t dead; /* this thread has ended */

static bool lives(const struct sample_thread *thread)
{
    return thread->tid != dead;
}

static struct cosched_cpuset cpus_of(const char *list)
{
    struct cosched_cpuset cpus;

    assert_int_equal(cpulist_parse(list, &cpus, NULL), 0);
    return cpus;
}

static void add(struct thread_map *map, pid_t tid, size_t node, double requests)
{
    double row[NODES] = {1, 1, 1, 1};

    row[node] = requests;
    thread_map_add(map, &(struct sample_thread){PID, tid}, row);
}

static void assert_home(const struct thread_map *map, pid_t tid, const char *cpus, const char *home)
{
    struct cosched_cpuset all = cpus_of(cpus), room;
    char text[64];

    assert_string_equal(
        cpulist_format(thread_map_home(map, tid, &all, &room), text, sizeof(text)), home);
}

static struct thread_map_made made_for(const struct fixture *f, struct thread_map *map,
                                       const char *cpus)
{
    struct thread_map_made made;
    struct cosched_cpuset set = cpus_of(cpus);

    assert_int_equal(thread_map_make(map, MAPPING_CRITICAL, f->topology, &set, lives, &made), 0);
    return made;
}

/* Threads go to their data, come back after a revoke, and share cores when they are more. */
static void test_homes(void **state)
{
    const struct fixture *f = *state;
    struct thread_map *map = thread_map_new(NODES);
    struct cosched_cpuset all = cpus_of("0-7"), some = cpus_of("0-3");

    dead = 0;
    for (pid_t t = 0; t < 8; t++)
        add(map, PID + t, (size_t)(3 - t / 2), 500 + t);
    assert_true(thread_map_due(map, MAPPING_CRITICAL, &all));
    struct thread_map_made made = made_for(f, map, "0-7");
    assert_int_equal(made.threads, 8);
    assert_true(made.local > 0.99);
    assert_true(isnan(made.before));
    assert_int_equal(json_array_size(made.rounds), 8);
    json_decref(made.rounds);
    assert_false(thread_map_due(map, MAPPING_CRITICAL, &all));
    assert_true(thread_map_due(map, MAPPING_LOCALITY, &all));
    for (pid_t t = 0; t < 8; t++)
        assert_home(map, PID + t, "0-7", t < 2 ? "6-7" : t < 4 ? "4-5" : t < 6 ? "2-3" : "0-1");
    assert_home(map, PID + 8, "0-7", "0-7"); /* nothing is known of it */

    assert_home(map, PID, "0-3", "0-3"); /* its home is revoked, */
    assert_true(thread_map_due(map, MAPPING_CRITICAL, &some));
    made = made_for(f, map, "0-3");
    assert_int_equal(made.threads, 8); /* four for each core's node */
    assert_true(made.before < 1.01 && made.local < 0.6);
    json_decref(made.rounds);
    made = made_for(f, map, "0-7"); /* and granted again */
    json_decref(made.rounds);
    assert_home(map, PID, "0-7", "6-7");
    assert_true(thread_map_drop(map));
    assert_false(thread_map_drop(map));
    assert_home(map, PID, "0-7", "0-7");
    thread_map_free(map);
}

/* Little is known of a thread, or of all but one; zero rows; one that has ended; too many. */
static void test_unknown(void **state)
{
    const struct fixture *f = *state;
    struct thread_map *map = thread_map_new(NODES);
    struct cosched_cpuset all = cpus_of("0-7");
    static const double none[NODES];

    dead = 0;
    assert_false(thread_map_due(map, MAPPING_CRITICAL, &all));
    for (pid_t t = 0; t < 8; t++)
        thread_map_add(map, &(struct sample_thread){PID, PID + t}, none);
    assert_false(thread_map_due(map, MAPPING_CRITICAL, &all));
    add(map, PID, 3, 1000);
    struct thread_map_made made = made_for(f, map, "0-7");
    assert_int_equal(made.threads, 0);
    json_decref(made.rounds);
    assert_home(map, PID, "0-7", "0-7");
    add(map, PID + 1, 2, 1000);
    add(map, PID + 2, 2, THREAD_KNOWN - NODES); /* just too little */
    made = made_for(f, map, "0-7");
    assert_int_equal(made.threads, 2);
    json_decref(made.rounds);
    assert_home(map, PID + 1, "0-7", "4-5");
    assert_home(map, PID + 2, "0-7", "0-7");
    add(map, PID + 3, 1, 1000);
    dead = PID + 1;
    made = made_for(f, map, "0-7");
    assert_int_equal(made.threads, 2);
    json_decref(made.rounds);
    assert_home(map, PID + 1, "0-7", "0-7");
    for (pid_t t = 0; t < 2 * THREAD_ROWS; t++)
        add(map, 5000 + t, 1, 100);
    made = made_for(f, map, "0-7");
    assert_in_range(made.threads, 3, THREAD_ROWS);
    json_decref(made.rounds);
    thread_map_free(map);
}

static void begin_sample(struct sample *s, size_t count)
{
    sample_clear(s);
    for (pid_t t = 0; t < (pid_t)count; t++) {
        size_t row = sample_add_thread(s, &(struct sample_thread){PID, PID + t});
        s->thread_requests[row * NODES + (size_t)t % NODES] = 100;
    }
}

/* What a process touched before it was found to be the job's counts, for a while. */
static void test_owner_comes_later(void **state)
{
    struct fixture *f = *state;
    struct mapper *m = mapper_new(NODES);
    struct sample *s = sample_new(8, 4, NODES, 1);
    static struct tracked tracked;
    struct cosched_cpuset all = cpus_of("0-7");

    begin_sample(s, 4);
    mapper_learn(m, &f->table, s);
    assert_null(f->jobs[0]->map);
    assert_int_equal(number_map_put(&f->jobs[0]->tracked_by_pid, PID, &tracked), 0);
    sample_clear(s);
    for (int i = 1; i < MAPPER_PAUSE; i++)
        mapper_learn(m, &f->table, s);
    assert_non_null(f->jobs[0]->map);
    assert_true(thread_map_due(f->jobs[0]->map, MAPPING_CRITICAL, &all));
    number_map_clear(&f->jobs[0]->tracked_by_pid);

    /* Of others nothing stays. */
    begin_sample(s, 4);
    mapper_learn(m, &f->table, s);
    sample_clear(s);
    for (int i = 0; i < MAPPER_PAUSE * MAPPER_RETRIES; i++)
        mapper_learn(m, &f->table, s);
    assert_int_equal(number_map_put(&f->jobs[1]->tracked_by_pid, PID, &tracked), 0);
    for (int i = 0; i < MAPPER_PAUSE; i++)
        mapper_learn(m, &f->table, s);
    assert_null(f->jobs[1]->map);
    number_map_clear(&f->jobs[1]->tracked_by_pid);
    sample_free(s);
    mapper_free(m);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, fake_plan_free)

UNIT(test_thread_map)
{
    const struct CMUnitTest tests[] = {T(test_homes), T(test_unknown), T(test_owner_comes_later)};

    return cmocka_run_group_tests_name("test_thread_map", tests, NULL, NULL);
}
