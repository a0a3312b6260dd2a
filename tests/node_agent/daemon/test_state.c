/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The state file: what is written is read back; garbage is set aside. */

#include "tests/support/unit.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "node_agent/daemon/state.h"
#include "protocol/cpulist.h"

struct fixture {
    char directory[64];
    char path[128];
    struct state_file file;
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
    state_file_init(&f->file, f->path);
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
    state_file_close(&f->file);
    snprintf(command, sizeof(command), "rm -rf %s", f->directory);
    int rc = system(command);
    free(f);
    return rc;
}

static void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fchmod(fileno(out), 0600), 0);
    fclose(out);
}

static struct job *sample_job(struct fixture *f)
{
    struct job *job = job_add(&f->jobs, 17);

    job->uid = 1000;
    job->restarts = 2;
    job->memory_mb = 4000;
    strcpy(job->name, "a \"name\" with \\ and \xc3\xa4");
    strcpy(job->options_text, "policy=equal,min_cores=2");
    assert_int_equal(job_options_parse(&job->options, job->options_text, NULL),
                     0);
    job->granted.word[0] = 0xf0f;
    job->cooperative = true;
    job->record.core_s = 12.5;
    job->record.energy_j = 250.25;
    job->record.decisions = 7;
    job->record.moves = 9;
    job->record.granted = 16;
    job->record.rho = 0.25;
    job->record.profiled = true;
    job->record.total.steps = 500;
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
    assert_non_null(pending_add(&f->pending, 5, 1700000000, "text=1", NULL));
    assert_int_equal(
        state_write(&f->file, &f->jobs, &f->pending, &f->node, &err), 0);
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    clear(f);
    assert_int_equal(
        state_read(&f->file, &f->jobs, &f->pending, &f->node, &err), 0);
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
    assert_true(job->record.total.steps == 500);
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
    char command[4096];

    snprintf(command, sizeof(command),
             "cp %s/tests/node_agent/daemon/state-0.1.json %s",
             getenv("abs_top_srcdir"), f->path);
    assert_int_equal(system(command), 0);
    assert_int_equal(chmod(f->path, 0600), 0);
    assert_int_equal(
        state_read(&f->file, &f->jobs, &f->pending, &f->node, NULL), 0);
    struct job *job = job_find(&f->jobs, 17);
    assert_non_null(job);
    assert_string_equal(job->options.policy, "equal");
    assert_int_equal(job->record.total.regions, 3);
    assert_int_equal(job->record.partner[0], 18);
    assert_true(job->cooperative && job->weight == 2.5);
    assert_int_equal(job->history.runs, 5);
    assert_string_equal(f->pending.first->text, "text=1");
}

static void test_node(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(
        state_write(&f->file, &f->jobs, &f->pending, &f->node, NULL), 0);
    assert_int_equal(
        state_read(&f->file, &f->jobs, &f->pending, &f->node, NULL), 0);
    assert_null(f->node.drained);
    assert_null(f->node.scheduler_parameters);
    f->node.drained = strdup("");
    f->node.drained_uid = 7;
    f->node.drained_wall_ns = 123;
    f->node.scheduler_parameters = strdup("cosched_epoch@a=1s");
    f->node.partitions = strdup("a,b");
    assert_int_equal(
        state_write(&f->file, &f->jobs, &f->pending, &f->node, NULL), 0);
    clear(f);
    assert_int_equal(
        state_read(&f->file, &f->jobs, &f->pending, &f->node, NULL), 0);
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
        write_file(f->path, texts[i]);
        clear(f);
        assert_int_equal(
            state_read(&f->file, &f->jobs, &f->pending, &f->node, &err), 0);
        assert_int_equal(f->pending.count, i);
    }
}

/* A task whose pid belongs to another process now is not taken over. */
static void test_reused_pid(void **state)
{
    struct fixture *f = *state;

    struct task *task = job_add_task(sample_job(f), 0, getpid());
    task->start--;
    assert_int_equal(
        state_write(&f->file, &f->jobs, &f->pending, &f->node, NULL), 0);
    clear(f);
    assert_int_equal(
        state_read(&f->file, &f->jobs, &f->pending, &f->node, NULL), 0);
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
        write_file(f->path, bad[i]);
        assert_int_equal(
            state_read(&f->file, &f->jobs, &f->pending, &f->node, &err), -1);
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

    assert_int_equal(
        state_read(&f->file, &f->jobs, &f->pending, &f->node, NULL), 0);
    assert_null(f->jobs.first);
    strcat(f->directory, "/nowhere");
    snprintf(f->path, sizeof(f->path), "%s/state.json", f->directory);
    struct errtext err = {""};
    assert_int_equal(
        state_write(&f->file, &f->jobs, &f->pending, &f->node, &err), -1);
    assert_int_equal(errno, ENOENT);
    *strrchr(f->directory, '/') = '\0';
}

static void test_pending_is_bounded(void **state)
{
    struct fixture *f = *state;
    uint32_t dropped = 0;

    for (uint32_t job = 1; job <= PENDING_LIMIT + 5; job++) {
        assert_non_null(pending_add(&f->pending, job, 1, "x", &dropped));
        assert_int_equal(dropped,
                         job > PENDING_LIMIT ? job - PENDING_LIMIT : 0);
    }
    assert_int_equal(f->pending.count, PENDING_LIMIT);
    assert_int_equal(f->pending.first->job, 6); /* oldest ones went */
    assert_true(pending_remove(&f->pending, 6, 1));
    assert_true(pending_remove(&f->pending, 100, 0));
    assert_false(pending_remove(&f->pending, 101, 2)); /* another run */
    assert_false(pending_remove(&f->pending, 12345, 0));
    assert_non_null(pending_add(&f->pending, 100, 2, "y", &dropped));
    assert_non_null(
        pending_add(&f->pending, 100, 2, "z", &dropped)); /* replaces */
    assert_non_null(
        pending_add(&f->pending, 100, 3, "a", &dropped)); /* another run */
    assert_int_equal(f->pending.count, PENDING_LIMIT);
    assert_int_equal(f->pending.last->end_s, 3);
    assert_true(pending_remove(&f->pending, 100, 3));
    assert_string_equal(f->pending.last->text, "z");
}

/* ---- the log ----------------------------------------------------------------
 */

static void read_again(struct fixture *f)
{
    clear(f);
    state_file_close(&f->file);
    state_file_init(&f->file, f->path);
    assert_int_equal(
        state_read(&f->file, &f->jobs, &f->pending, &f->node, NULL), 0);
}

static char *log_path(const struct fixture *f)
{
    static char path[160];

    snprintf(path, sizeof(path), "%s.log", f->path);
    return path;
}

static void test_log(void **state)
{
    struct fixture *f = *state;
    struct errtext err;

    /* Nothing to append to, so that the caller writes all. */
    struct job *job = sample_job(f);
    assert_int_equal(state_note_job(&f->file, job, &err), -1);
    assert_int_equal(
        state_write(&f->file, &f->jobs, &f->pending, &f->node, &err), 0);
    strcpy(job->name, "renamed");
    assert_int_equal(state_note_job(&f->file, job, &err), 0);
    assert_int_equal(
        state_note_task(&f->file, job_add_task(job, 3, getpid()), &err), 0);
    job = job_add(&f->jobs, 18);
    assert_int_equal(state_note_job(&f->file, job, &err), 0);
    struct task gone = {.job = job, .step = 1, .pid = getpid(), .start = 1};
    assert_int_equal(state_note_task(&f->file, &gone, &err), 0);
    assert_int_equal(state_note_job(&f->file, job_add(&f->jobs, 19), &err), 0);
    read_again(f);
    assert_int_equal(f->jobs.count, 3);
    job = job_find(&f->jobs, 17);
    assert_string_equal(job->name, "renamed");
    assert_true(job_live(job) && job->cooperative &&
                job->record.core_s == 12.5);
    /* Started, though its task is gone: it has ended. */
    assert_true(job_find(&f->jobs, 18)->started &&
                !job_live(job_find(&f->jobs, 18)));
    assert_false(job_find(&f->jobs, 19)->started);

    assert_int_equal(
        state_write(&f->file, &f->jobs, &f->pending, &f->node, &err), 0);
    struct pending *record = pending_add(&f->pending, 18, 7, "final", NULL);
    assert_int_equal(state_note_end(&f->file, 18, record, &err), 0);
    assert_int_equal(state_note_end(&f->file, 19, NULL, &err), 0);
    read_again(f);
    assert_int_equal(f->jobs.count, 1);
    assert_string_equal(f->pending.first->text, "final");
    assert_int_equal(f->pending.first->end_s, 7);
    assert_int_equal(
        state_write(&f->file, &f->jobs, &f->pending, &f->node, &err), 0);
    assert_int_equal(state_note_kept(&f->file, 18, 7, &err), 0);
    read_again(f);
    assert_null(f->pending.first);
}

/* What an agent wrote that died in the middle of it. */
static void test_torn_log(void **state)
{
    struct fixture *f = *state;
    char text[4096], copy[512];

    struct job *job = sample_job(f);
    assert_int_equal(
        state_write(&f->file, &f->jobs, &f->pending, &f->node, NULL), 0);
    long before = (long)f->file.log_size;
    strcpy(job->name, "renamed");
    assert_int_equal(state_note_job(&f->file, job, NULL), 0);
    FILE *in = fopen(log_path(f), "r");
    size_t size = fread(text, 1, sizeof(text) - 1, in);
    fclose(in);
    assert_in_range(size, (size_t)before + 100, sizeof(text) - 2);
    for (size_t n = 0; n <= size; n++) {
        char cut = text[n];
        text[n] = '\0';
        write_file(log_path(f), text);
        text[n] = cut;
        read_again(f);
        assert_non_null(job_find(&f->jobs, 17));
        assert_string_equal(job_find(&f->jobs, 17)->name,
                            n < size ? "a \"name\" with \\ and \xc3\xa4"
                                     : "renamed");
    }
    /* The log of an earlier file: it died between two renames. */
    snprintf(copy, sizeof(copy), "cp %s %s/kept", log_path(f), f->directory);
    assert_int_equal(system(copy), 0);
    strcpy(job_find(&f->jobs, 17)->name, "later");
    assert_int_equal(
        state_write(&f->file, &f->jobs, &f->pending, &f->node, NULL), 0);
    snprintf(copy, sizeof(copy), "cp %s/kept %s", f->directory, log_path(f));
    assert_int_equal(system(copy), 0);
    read_again(f);
    assert_string_equal(job_find(&f->jobs, 17)->name, "later");
    /* Garbage in it. */
    assert_int_equal(
        state_write(&f->file, &f->jobs, &f->pending, &f->node, NULL), 0);
    static const char *const bad[] = {
        "x",
        "[]",
        "{\"job\":{}}",
        "{\"job\":17}",
        "{\"task\":{},\"of\":17}",
        "{\"task\":{\"step\":1,\"pid\":1,\"start\":1},\"of\":99}",
        "{\"ended\":99,\"record\":{}}",
        "{\"kept\":99,\"end\":\"x\"}",
        "null"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(text, sizeof(text), "{\"serial\":%llu}\n%s\n",
                 (unsigned long long)f->file.serial, bad[i]);
        write_file(log_path(f), text);
        read_again(f);
        assert_int_equal(f->jobs.count, 1);
    }
}

/* The cost of a change does not depend on how many there were. */
static void test_log_is_flat(void **state)
{
    struct fixture *f = *state;
    off_t before, cost[2];

    assert_int_equal(
        state_write(&f->file, &f->jobs, &f->pending, &f->node, NULL), 0);
    for (uint32_t job = 10001; job <= 12000; job++) {
        before = f->file.log_size;
        assert_int_equal(state_note_job(&f->file, job_add(&f->jobs, job), NULL),
                         0);
        cost[job > 11000] = f->file.log_size - before;
    }
    assert_in_range(cost[1], cost[0] - 8, cost[0] + 8);
    struct stat st;
    assert_int_equal(stat(log_path(f), &st), 0);
    assert_int_equal(st.st_size, f->file.log_size);
    read_again(f);
    assert_int_equal(f->jobs.count, 2000);
}

/* ---- out of memory -------------------------------------------------------------
 */

static size_t allocations; /* until one fails; 0: none does */

static void *allocate(size_t size)
{
    return allocations && --allocations == 0 ? NULL : malloc(size);
}

/* One allocation for the text fails: the state is the one before or after. */
static void test_no_memory(void **state)
{
    struct fixture *f = *state;
    bool reached = true;

    for (size_t n = 1; reached; n++) {
        for (int whole = 0; whole < 2; whole++) {
            clear(f);
            struct job *job = sample_job(f);
            job_add_task(job, 3, getpid());
            job_add(&f->jobs, 18);
            pending_add(&f->pending, 5, 1700000000, "text", NULL);
            assert_int_equal(state_write(&f->file, &f->jobs, &f->pending, &f->node, NULL), 0);
            strcpy(job->name, "renamed");
            json_set_alloc_funcs(allocate, free);
            allocations = n;
            int rc = whole ? state_write(&f->file, &f->jobs, &f->pending, &f->node, NULL)
                           : state_note_job(&f->file, job, NULL);
            reached = allocations == 0;
            allocations = 0;
            json_set_alloc_funcs(malloc, free);
            read_again(f);
            job = job_find(&f->jobs, 17);
            assert_non_null(job);
            assert_true(job_live(job) && job->record.partners == 1);
            assert_string_equal(job->name, rc == 0 ? "renamed"
                                                   : "a \"name\" with \\ and \xc3\xa4");
            assert_int_equal(f->jobs.count, 2);
            assert_int_equal(f->pending.count, 1);
        }
    }
}

/* ---- files that are none of ours
 * --------------------------------------------- */

static void make_fifo(const char *path)
{
    assert_int_equal(mkfifo(path, 0600), 0);
}
static void make_directory(const char *path)
{
    assert_int_equal(mkdir(path, 0700), 0);
}
static void make_link(const char *path)
{
    assert_int_equal(symlink("/etc/passwd", path), 0);
}
static void make_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
}
static void make_huge(const char *path)
{
    write_file(path, "");
    assert_int_equal(truncate(path, STATE_BYTES + 1), 0);
}
static void make_open(const char *path)
{
    write_file(path, "{\"version\":1,\"jobs\":[],\"pending\":[]}");
    assert_int_equal(chmod(path, 0666), 0);
}

/* None of them holds the start, and each is replaced by a state. */
static void test_strange_files(void **state)
{
    static void (*const make[])(const char *path) = {make_fifo, make_directory,
                                                     make_link, make_socket,
                                                     make_huge, make_open};
    struct fixture *f = *state;
    struct errtext err;
    char command[256];

    for (size_t i = 0; i < 2 * sizeof(make) / sizeof(make[0]); i++) {
        bool log = i % 2;
        snprintf(command, sizeof(command), "rm -rf %s/*", f->directory);
        assert_int_equal(system(command), 0);
        clear(f);
        sample_job(f);
        assert_int_equal(
            state_write(&f->file, &f->jobs, &f->pending, &f->node, &err), 0);
        clear(f);
        unlink(log ? log_path(f) : f->path);
        make[i / 2](log ? log_path(f) : f->path);
        int rc = state_read(&f->file, &f->jobs, &f->pending, &f->node, &err);
        assert_int_equal(rc, log ? 0 : -1);
        assert_int_equal(f->jobs.count, log ? 1 : 0);
        if (!log) {
            assert_int_equal(errno, EBADMSG);
            assert_non_null(strstr(err.text, "set aside"));
            assert_int_equal(access(f->path, F_OK), -1);
        }
        assert_int_equal(
            state_write(&f->file, &f->jobs, &f->pending, &f->node, &err), 0);
        read_again(f);
    }
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

UNIT(test_state)
{
    const struct CMUnitTest tests[] = {
        T(test_old),         T(test_round_trip),
        T(test_node),        T(test_other_versions),
        T(test_reused_pid),  T(test_garbage),
        T(test_no_file),     T(test_pending_is_bounded),
        T(test_log),         T(test_torn_log),
        T(test_log_is_flat), T(test_no_memory),
        T(test_strange_files),
    };

    return cmocka_run_group_tests_name("test_state", tests, NULL, NULL);
}
