/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a process has done counts once, however often it attaches. */

#include <unistd.h>

#include "tests/support/unit.h"

#include "node_agent/core/job.h"
#include "node_agent/core/process.h"

struct fixture {
    struct topology *topology;
    struct job_table table;
    struct job *job;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->topology = topology_new(NULL, NULL);
    f->job = job_add(&f->table, 7);
    *state = f;
    return !f->topology || !f->job;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    job_remove(&f->table, f->job);
    topology_free(f->topology);
    free(f);
    return 0;
}

/* This process attaches, and says that it, PID, has begun STEPS of each of REGIONS regions. */
static struct process *attach(struct fixture *f, pid_t pid, unsigned regions, unsigned steps)
{
    struct errtext err;
    struct process *p = process_attach(f->job, getpid(), f->topology, 1000000000, &err);

    assert_non_null(p);
    struct cosched_report *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED,
                                       report_fd(p->report), 0);
    assert_true(page != MAP_FAILED);
    page->version = COSCHED_LAYOUT_VERSION;
    page->size = sizeof(*page);
    page->mode = COSCHED_MODE_ULT;
    page->region = COSCHED_REGION_SERIAL;
    page->pid = (uint32_t)pid;
    page->regions_used = regions;
    for (unsigned i = 0; i < regions; i++) {
        page->regions[i].entries = steps;
        page->regions[i].barriers = 2 * steps;
        page->regions[i].idle_ns = steps * 1000000000ull;
    }
    page->preempted = steps;
    page->magic = COSCHED_REPORT_MAGIC;
    assert_int_equal(process_observe(p, 1, &err), 0);
    munmap(page, sizeof(*page));
    return p;
}

/* P has not ended, but hears of no agent any more. */
static void detach(struct fixture *f, struct process *p)
{
    process_add_totals(p, &f->job->ended);
    job_leave_page(f->job, p->report);
    p->report = NULL;
    process_detach(p);
}

static void assert_totals(const struct fixture *f, const struct process *p, unsigned regions,
                          double steps)
{
    struct record_totals all = f->job->ended;

    process_add_totals(p, &all);
    assert_int_equal(all.regions, regions);
    assert_true(all.steps == steps);
    assert_true(all.barriers == 2 * steps);
    assert_true(all.waited_s == steps);
}

static void test_attached_again(void **state)
{
    struct fixture *f = *state;
    struct process *p = attach(f, getpid(), 2, 5);

    assert_totals(f, p, 2, 10);
    detach(f, p);
    p = attach(f, getpid(), 2, 6); /* with what it had done before */
    assert_totals(f, p, 2, 12);
    detach(f, p);
    p = attach(f, getpid(), 3, 6);
    assert_totals(f, p, 3, 18);
    process_detach(p);
}

/* A page that another process has left says nothing of this one. */
static void test_others(void **state)
{
    struct fixture *f = *state;

    detach(f, attach(f, getpid() + 1, 2, 5));
    struct process *p = attach(f, getpid(), 2, 6);
    assert_totals(f, p, 4, 22);
    process_detach(p);
}

/* The program that a process has executed meanwhile begins at 0. */
static void test_executed(void **state)
{
    struct fixture *f = *state;

    detach(f, attach(f, getpid(), 2, 5));
    struct process *p = attach(f, getpid(), 1, 3);
    assert_totals(f, p, 3, 13);
    process_detach(p);
}

UNIT(test_process)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_attached_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_others, setup, teardown),
        cmocka_unit_test_setup_teardown(test_executed, setup, teardown),
    };

    return cmocka_run_group_tests_name("test_process", tests, NULL, NULL);
}
