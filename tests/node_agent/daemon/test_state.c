/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The state file: what is written is read back; garbage is set aside. */

#include "tests/support/unit.h"

#include <sys/stat.h>

#include "node_agent/daemon/state.h"
#include "protocol/cpulist.h"

struct fixture {
    char directory[64];
    char path[128];
    struct job_table jobs;
    struct pending_list pending;
    struct node_state node;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    strcpy(f->directory, "/tmp/cosched-test.XXXXXX");
    if (!mkdtemp(f->directory))
        return -1;
    snprintf(f->path, sizeof(f->path), "%s/state.json", f->directory);
    *state = f;
    return 0;
}

static void clear(struct fixture *f)
{
    while (f->jobs.first)
        job_remove(&f->jobs, f->jobs.first);
    pending_clear(&f->pending);
    node_state_clear(&f->node);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char command[160];

    clear(f);
    snprintf(command, sizeof(command), "rm -rf %s", f->directory);
    int rc = system(command);
    free(f);
    return rc;
}

static struct job *sample_job(struct fixture *f)
{
    struct job *job = job_add(&f->jobs, 17);

    job->uid = 1000;
    job->restarts = 2;
    job->memory_mb = 4000;
    strcpy(job->name, "a \"name\" with \\ and \xc3\xa4");
    strcpy(job->options_text, "policy=equal,min_cores=2");
    assert_int_equal(
        job_options_parse(&job->options, job->options_text, NULL), 0);
    job->granted.word[0] = 0xf0f;
    job->cooperative = true;
    job->record.core_s = 12.5;
    job->record.energy_j = 250.25;
    job->record.decisions = 7;
    job->record.moves = 9;
    job->record.granted = 16;
    job->record.rho = 0.25;
    job->record.profiled = true;
    job->record.steps = 500;
    record_set_program(&job->record, "/x/ep");
    strcpy(job->history_text, "cosched-job/1 runs=5 done_s=100");
    job->weight = 2.5;
    record_add_partner(&job->record, 18);
    return job;
}

static void test_round_trip(void **state)
{
    struct fixture *f = *state;
    struct errtext err = {""};
    struct stat st;

    struct job *job = sample_job(f);
    assert_non_null(job_add_task(job, 3, getpid()));
    assert_int_equal(pending_add(&f->pending, 5, 1700000000, "text=1"), 0);
    assert_int_equal(state_write(f->path, &f->jobs, &f->pending, &f->node, &err), 0);
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    clear(f);
    assert_int_equal(state_read(f->path, &f->jobs, &f->pending, &f->node, &err), 0);
    job = job_find(&f->jobs, 17);
    assert_non_null(job);
    assert_int_equal(job->uid, 1000);
    assert_int_equal(job->restarts, 2);
    assert_int_equal(job->memory_mb, 4000);
    assert_string_equal(job->name, "a \"name\" with \\ and \xc3\xa4");
    assert_string_equal(job->options.policy, "equal");
    assert_int_equal(job->options.min_cores, 2);
    assert_int_equal(job->granted.word[0], 0xf0f);
    assert_true(job->cooperative);
    assert_true(job->record.core_s == 12.5);
    assert_true(job->record.energy_j == 250.25);
    assert_int_equal(job->record.decisions, 7);
    assert_int_equal(job->record.partner[0], 18);
    assert_int_equal(job->record.moves, 9);
    assert_int_equal(job->record.granted, 16);
    assert_true(job->record.rho == 0.25);
    assert_true(job->record.profiled);
    assert_true(job->record.steps == 500);
    assert_string_equal(job->record.program, "ep");
    assert_int_equal(job->history.runs, 5);
    assert_true(job->weight == 2.5);
    assert_non_null(job->tasks);
    assert_int_equal(job->tasks->pid, getpid());
    assert_int_equal(job->tasks->step, 3);
    assert_true(job_live(job));
    assert_non_null(f->pending.first);
    assert_int_equal(f->pending.first->end_s, 1700000000);
    assert_string_equal(f->pending.first->text, "text=1");
}

/* As version 0.1 wrote it; parallel regions were called sections. */
static void test_old(void **state)
{
    struct fixture *f = *state;
    char path[4096];

    snprintf(path, sizeof(path), "%s/tests/node_agent/daemon/state-0.1.json",
             getenv("abs_top_srcdir"));
    assert_int_equal(
        state_read(path, &f->jobs, &f->pending, &f->node, NULL), 0);
    struct job *job = job_find(&f->jobs, 17);
    assert_non_null(job);
    assert_string_equal(job->options.policy, "equal");
    assert_int_equal(job->record.regions, 3);
    assert_int_equal(job->record.partner[0], 18);
    assert_true(job->cooperative && job->weight == 2.5);
    assert_int_equal(job->history.runs, 5);
    assert_string_equal(f->pending.first->text, "text=1");
}

static void test_node(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(
        state_write(f->path, &f->jobs, &f->pending, &f->node, NULL), 0);
    assert_int_equal(
        state_read(f->path, &f->jobs, &f->pending, &f->node, NULL), 0);
    assert_null(f->node.drained);
    assert_null(f->node.scheduler_parameters);
    f->node.drained = strdup("");
    f->node.drained_uid = 7;
    f->node.drained_wall_ns = 123;
    f->node.scheduler_parameters = strdup("cosched_epoch@a=1s");
    f->node.partitions = strdup("a,b");
    assert_int_equal(
        state_write(f->path, &f->jobs, &f->pending, &f->node, NULL), 0);
    clear(f);
    assert_int_equal(
        state_read(f->path, &f->jobs, &f->pending, &f->node, NULL), 0);
    assert_string_equal(f->node.drained, "");
    assert_int_equal(f->node.drained_uid, 7);
    assert_int_equal(f->node.drained_wall_ns, 123);
    assert_string_equal(f->node.scheduler_parameters, "cosched_epoch@a=1s");
    assert_string_equal(f->node.partitions, "a,b");
}

/* What an older agent did not write is not missed, what a newer one writes in
 * addition does no harm. */
static void test_other_versions(void **state)
{
    static const char *const texts[] = {
        "{\"version\":1,\"jobs\":[],\"pending\":[]}",
        "{\"version\":1,\"jobs\":[],\"moods\":{},\"pending\":[{\"job\":4,"
        "\"end\":1,\"text\":\"t\",\"mood\":2}],\"node\":{\"mood\":[1]}}"};
    struct fixture *f = *state;

    for (size_t i = 0; i < 2; i++) {
        struct errtext err = {""};
        FILE *out = fopen(f->path, "w");
        assert_non_null(out);
        fputs(texts[i], out);
        fclose(out);
        clear(f);
        assert_int_equal(
            state_read(f->path, &f->jobs, &f->pending, &f->node, &err), 0);
        assert_int_equal(f->pending.count, i);
    }
}

/* A task whose pid belongs to another process now is not taken over. */
static void test_reused_pid(void **state)
{
    struct fixture *f = *state;

    struct task *task = job_add_task(sample_job(f), 0, getpid());
    task->start--;
    assert_int_equal(state_write(f->path, &f->jobs, &f->pending, &f->node, NULL), 0);
    clear(f);
    assert_int_equal(state_read(f->path, &f->jobs, &f->pending, &f->node, NULL), 0);
    assert_non_null(job_find(&f->jobs, 17));
    assert_false(job_live(job_find(&f->jobs, 17)));
}

static void test_garbage(void **state)
{
    static const char *const bad[] = {
        "",
        "hello",
        "{}",
        "{\"version\":2,\"jobs\":[],\"pending\":[]}",
        "{\"version\":1,\"jobs\":[{\"job\":1}],\"pending\":[]}",
        "{\"version\":1,\"jobs\":[],\"pending\":[{\"job\":0}]}",
        "{\"version\":1,\"jobs\":[],\"pending\":[],\"node\":{\"drained\":1}}",
        ("{\"version\":1,\"jobs\":[],\"pending\":[],\"node\":"
         "{\"drained\":{\"uid\":1,\"since_ns\":2}}}"),
    };
    struct fixture *f = *state;
    char aside[160];

    snprintf(aside, sizeof(aside), "%s.bad", f->path);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct errtext err = {""};
        FILE *file = fopen(f->path, "w");
        fputs(bad[i], file);
        fclose(file);
        assert_int_equal(state_read(f->path, &f->jobs, &f->pending, &f->node, &err), -1);
        assert_int_equal(errno, EBADMSG);
        assert_non_null(strstr(err.text, "state.json"));
        assert_null(strstr(err.text, ": ;")); /* it says what is wrong */
        assert_null(f->jobs.first);
        assert_null(f->pending.first);
        assert_int_equal(access(f->path, F_OK), -1);
        assert_int_equal(access(aside, F_OK), 0);
    }
}

static void test_no_file(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(state_read(f->path, &f->jobs, &f->pending, &f->node, NULL), 0);
    assert_null(f->jobs.first);
    strcat(f->directory, "/nowhere");
    snprintf(f->path, sizeof(f->path), "%s/state.json", f->directory);
    struct errtext err = {""};
    assert_int_equal(state_write(f->path, &f->jobs, &f->pending, &f->node, &err), -1);
    assert_int_equal(errno, ENOENT);
    *strrchr(f->directory, '/') = '\0';
}

static void test_pending_is_bounded(void **state)
{
    struct fixture *f = *state;

    for (uint32_t job = 1; job <= PENDING_LIMIT + 5; job++)
        assert_int_equal(pending_add(&f->pending, job, 1, "x"), 0);
    assert_int_equal(f->pending.count, PENDING_LIMIT);
    assert_int_equal(f->pending.first->job, 6); /* oldest ones went */
    pending_add(&f->pending, 100, 2, "y"); /* replaces */
    assert_int_equal(f->pending.count, PENDING_LIMIT);
    pending_remove(&f->pending, 12345); /* unknown */
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

UNIT(test_state)
{
    const struct CMUnitTest tests[] = {
        T(test_old), T(test_round_trip), T(test_node),
        T(test_other_versions), T(test_reused_pid),
        T(test_garbage),    T(test_no_file),
        T(test_pending_is_bounded),
    };

    return cmocka_run_group_tests_name("test_state", tests, NULL, NULL);
}
