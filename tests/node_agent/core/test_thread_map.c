/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Thread-node tables of jobs, and where their threads are held because of them. */

#include "tests/support/unit.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "node_agent/core/enforcer.h"
#include "node_agent/core/mapper.h"
#include "node_agent/core/process.h"
#include "node_agent/core/task_maps.h"
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
    thread_map_add(map, &(struct sample_thread){PID, tid, 0}, row);
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
    struct thread_map *map = thread_map_new(NODES, ROWS_OF_THREADS);
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
    struct thread_map *map = thread_map_new(NODES, ROWS_OF_THREADS);
    struct cosched_cpuset all = cpus_of("0-7");
    static const double none[NODES];

    dead = 0;
    assert_false(thread_map_due(map, MAPPING_CRITICAL, &all));
    for (pid_t t = 0; t < 8; t++)
        thread_map_add(map, &(struct sample_thread){PID, PID + t, 0}, none);
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
        size_t row = sample_add_thread(s, &(struct sample_thread){PID, PID + t, 0});
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

/* ---- tasks -------------------------------------------------------------- */

#define TASKS 8
#define STACK(t) (UINT64_C(0x7f0000000000) + ((uint64_t)(t) << 23))

/* Task T asks NODE, on any thread. */
static void add_row(struct sample *s, int t, size_t node, double requests)
{
    size_t row = sample_add_thread(
        s, &(struct sample_thread){getpid(), getpid() + t % 3, STACK(t) + 0x8f00});

    s->thread_requests[row * NODES + node] = requests;
}

/* Rows are of stacks, whatever thread they were seen on; a few frames deeper is the same stack. */
static void test_stacks(void **state)
{
    const struct fixture *f = *state;
    struct thread_map *map = thread_map_new(NODES, ROWS_OF_STACKS);
    struct cosched_home home[TASKS];
    double row[NODES] = {0};

    row[2] = THREAD_KNOWN - 1; /* too little, unless the rows below are one */
    thread_map_add(map, &(struct sample_thread){PID, PID, STACK(1) + 100}, row);
    thread_map_add(map, &(struct sample_thread){PID, PID + 1, STACK(1) - 100}, row);
    thread_map_add(map, &(struct sample_thread){PID, PID, STACK(2) - 100}, row);
    thread_map_add(map, &(struct sample_thread){PID, PID, STACK(2) + 100}, row);
    row[2] = 1e6;
    thread_map_add(map, &(struct sample_thread){PID, PID, 0}, row); /* its stack is not known */
    struct thread_map_made made = made_for(f, map, "0-7");
    assert_int_equal(made.threads, 2);
    json_decref(made.rounds);
    assert_int_equal(thread_map_homes(map, f->topology, 5, home, TASKS), 2);
    assert_true(home[0].stack == STACK(1) + 100 && home[1].stack == STACK(2) - 100);
    assert_true(home[0].region == 5 && home[0].domain == 2 && home[1].domain == 2);
    assert_int_equal(thread_map_homes(map, f->topology, 5, home, 1), 1);
    thread_map_free(map);
}

/* This process, with two regions, as one of the first job. */
static struct process *attach(struct fixture *f, struct tracked *tracked)
{
    struct process *p = process_attach(f->jobs[0], getpid(), f->topology, NS_PER_S, NULL);

    assert_non_null(p);
    assert_int_equal(
        number_map_put(&f->jobs[0]->tracked_by_pid, (uint64_t)getpid(), tracked), 0);
    p->view->ready = p->previous->ready = true;
    p->view->used = p->previous->used = 2;
    p->part = cpus_of("0-7");
    return p;
}

static void is_in(struct process *p, uint32_t region)
{
    p->view->region = p->previous->region = region;
}

/* The home of task T in REGION, as its process reads it; -1: none. */
static int home_of(const struct process *p, int t, uint16_t region)
{
    size_t size = COSCHED_HOMES_OFFSET + sizeof(struct cosched_homes);
    char *page = mmap(NULL, size, PROT_READ, MAP_SHARED, allotment_fd(p->allotment), 0);
    const struct cosched_homes *homes = (const void *)(page + COSCHED_HOMES_OFFSET);
    int domain = -1;

    assert_ptr_not_equal(page, MAP_FAILED);
    assert_true(!homes->count || homes->magic == COSCHED_HOMES_MAGIC);
    for (uint32_t i = 0; i < homes->count; i++)
        if (homes->home[i].region == region &&
            homes->home[i].stack >> 23 == STACK(t) >> 23)
            domain = homes->home[i].domain;
    munmap(page, size);
    return domain;
}

static void epoch(struct fixture *f, enum mapper_rule rule, struct decisions *decisions)
{
    mapper_epoch(&f->table, rule, "equal", f->topology, decisions, 1, 1);
}

/* Each region has a table and a map of its own, and there is one of all; one is made in an
 * epoch; other CPUs, other homes, and back again; no policy that maps, no homes. */
static void test_tasks(void **state)
{
    struct fixture *f = *state;
    struct mapper *m = mapper_new(NODES);
    struct decisions *decisions = decisions_new();
    struct sample *s = sample_new(8, 4, NODES, 1);
    static struct tracked tracked;
    struct process *p = attach(f, &tracked);

    for (uint32_t region = 0; region < 2; region++) {
        sample_clear(s);
        for (int t = 0; t < TASKS; t++)
            add_row(s, t, (size_t)(region ? 3 - t / 2 : t / 2), region ? 500 : 100);
        is_in(p, region);
        mapper_learn(m, &f->table, s);
    }
    epoch(f, MAPPER_CRITICAL, decisions);
    assert_int_equal(decisions_count(decisions), 1);
    epoch(f, MAPPER_CRITICAL, decisions);
    epoch(f, MAPPER_CRITICAL, decisions);
    epoch(f, MAPPER_CRITICAL, decisions); /* nothing is due */
    assert_int_equal(decisions_count(decisions), 3);
    for (int t = 0; t < TASKS; t++) {
        assert_int_equal(home_of(p, t, 0), t / 2);
        assert_int_equal(home_of(p, t, 1), 3 - t / 2);
        assert_int_equal(home_of(p, t, COSCHED_HOME_ANY), 3 - t / 2);
    }
    p->part = cpus_of("0-3");
    for (int i = 0; i < 3; i++)
        epoch(f, MAPPER_LOCALITY, decisions);
    for (int t = 0; t < TASKS; t++)
        assert_in_range(home_of(p, t, 0), 0, 1);
    assert_int_equal(home_of(p, 7, 1), 0);
    p->part = cpus_of("0-7");
    for (int i = 0; i < 3; i++)
        epoch(f, MAPPER_CRITICAL, decisions);
    assert_int_equal(home_of(p, 7, 0), 3);
    epoch(f, MAPPER_NONE, decisions);
    assert_int_equal(home_of(p, 7, 0), -1);
    process_detach(p);
    number_map_clear(&f->jobs[0]->tracked_by_pid);
    decisions_free(decisions);
    sample_free(s);
    mapper_free(m);
}

/* More regions and tasks than there is room for; regions that are none; a process that is not
 * believed, and one that changed its region meanwhile. */
static void test_task_bounds(void **state)
{
    struct fixture *f = *state;
    struct task_maps *maps = task_maps_new(NODES);
    static struct cosched_home home[COSCHED_MAX_HOMES];
    struct cosched_cpuset all = cpus_of("0-7");
    double row[NODES] = {100, 0, 0, 0};
    struct thread_map_made made;
    size_t which;

    for (uint32_t region = 0; region < 300; region++)
        for (int t = 0; t < 2 * THREAD_ROWS; t++)
            task_maps_add(maps, region < 299 ? region : UINT32_MAX,
                          &(struct sample_thread){PID, PID, STACK(t + 1)}, row);
    size_t count = 0;
    for (; task_maps_due(maps, MAPPING_LOCALITY, &all, &which); count++) {
        assert_int_equal(
            task_maps_make(maps, which, MAPPING_LOCALITY, f->topology, &all, &made), 0);
        assert_int_equal(made.threads, THREAD_ROWS);
        json_decref(made.rounds);
    }
    assert_int_equal(count, TASK_REGIONS + 1);
    assert_int_equal(task_maps_homes(maps, f->topology, home), COSCHED_MAX_HOMES);
    assert_true(task_maps_drop(maps));
    assert_int_equal(task_maps_homes(maps, f->topology, home), 0);
    task_maps_free(maps);

    struct process *p = attach(f, &(struct tracked){0});
    number_map_clear(&f->jobs[0]->tracked_by_pid);
    is_in(p, 1);
    assert_int_equal(process_region(p), 1);
    p->previous->region = 0;
    assert_int_equal(process_region(p), COSCHED_REGION_SERIAL);
    is_in(p, 2);
    assert_int_equal(process_region(p), COSCHED_REGION_SERIAL);
    is_in(p, 1);
    p->view->regions[1].offset = 16;
    assert_false(process_hands_out(p, true, 0, 0));
    p->view->regions[1].iterations = 1;
    assert_true(process_hands_out(p, true, 0, 0));
    assert_true(process_hands_out(p, false, 0, 16));
    assert_false(process_hands_out(p, false, 0, 17));
    p->bad = true;
    assert_int_equal(process_region(p), COSCHED_REGION_SERIAL);
    process_detach(p);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, fake_plan_free)

UNIT(test_thread_map)
{
    const struct CMUnitTest tests[] = {T(test_homes),  T(test_unknown), T(test_owner_comes_later),
                                       T(test_stacks), T(test_tasks),   T(test_task_bounds)};

    return cmocka_run_group_tests_name("test_thread_map", tests, NULL, NULL);
}
