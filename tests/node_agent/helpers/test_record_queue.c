/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The power is cut at each call that the queue of records makes, or a call fails: what it said it
 * keeps is there, what it dropped is not, and it goes on. */

#include "tests/support/unit.h"

#include <sys/stat.h>

#include "node_agent/helpers/record_queue.h"
#include "tests/support/powercut.h"

#define JOBS 8
#define END 1700000000
#define LARGE 40000 /* bytes, so that few records make the file be written anew */

/* What is known of the record of a job. */
struct known {
    const char *kept;  /* text on disk; NULL: none */
    const char *given; /* that it may have instead; NULL: none, */
    bool gone;         /* or it may be gone */
};

static struct known known[JOBS];
static char directory[] = "/tmp/cosched-test.XXXXXX";
static char path[64], large[LARGE + 1];

/* ---- what is left ---------------------------------------------------------------- */

static struct record_queue *open_at(const char *folder)
{
    struct errtext err = {""};
    char name[96];

    snprintf(name, sizeof(name), "%s/records", folder);
    struct record_queue *q = record_queue_open(name, &err);
    assert_non_null(q);
    assert_string_equal(err.text, "");
    return q;
}

static void check_job(const struct record_queue *q, uint32_t job)
{
    const struct queued *r = record_queue_find(q, job, END);
    const struct known *k = &known[job];

    if (!r)
        assert_true(!k->kept || k->gone);
    else if (!(k->kept && strcmp(r->text, k->kept) == 0) &&
             !(k->given && strcmp(r->text, k->given) == 0))
        fail_msg("job %u: %.40s", job, r->text);
}

static void look(const char *folder, void *arg)
{
    struct errtext err = {""};
    struct record_queue *q = open_at(folder);

    (void)arg;
    for (uint32_t job = 1; job < JOBS; job++)
        check_job(q, job);
    /* It goes on. */
    assert_non_null(record_queue_add(q, 1000, END, "after"));
    assert_int_equal(record_queue_sync(q, NULL, &err), 0);
    record_queue_close(q);
    q = open_at(folder);
    for (uint32_t job = 1; job < JOBS; job++)
        check_job(q, job);
    assert_non_null(record_queue_find(q, 1000, END));
    record_queue_close(q);
}

/* ---- a life ------------------------------------------------------------------------ */

static void on_kept(const struct queued *r)
{
    known[r->job].kept = known[r->job].given;
}

static void give(struct record_queue *q, uint32_t job, const char *text)
{
    if (known[job].gone) /* but not for certain */
        known[job] = (struct known){0};
    known[job].given = text;
    assert_non_null(record_queue_add(q, job, END, text));
}

static void drop(struct record_queue *q, uint32_t job)
{
    struct queued *r = record_queue_find(q, job, END);

    known[job].gone = true;
    assert_non_null(r);
    record_queue_remove(q, r);
}

static void sync_queue(struct record_queue *q)
{
    struct errtext err = {""};

    if (record_queue_sync(q, on_kept, &err) == 0)
        for (uint32_t job = 1; job < JOBS; job++)
            if (known[job].gone)
                known[job] = (struct known){0};
    powercut_now();
}

static void live(void)
{
    struct errtext err = {""};
    struct record_queue *q = record_queue_open(path, &err);

    assert_non_null(q);
    powercut_now();
    give(q, 2, "two");
    give(q, 3, "three");
    sync_queue(q);
    give(q, 2, "two again");
    give(q, 4, "four");
    sync_queue(q);
    drop(q, 1);
    sync_queue(q);
    for (int i = 0; i < 8; i++) {
        give(q, 5, large);
        sync_queue(q);
        drop(q, 5);
        give(q, 6, i % 2 ? "six" : "6");
        sync_queue(q);
    }
    drop(q, 3);
    give(q, 7, "seven");
    sync_queue(q);
    sync_queue(q); /* what failed before is mended */
    for (uint32_t job = 1; job < JOBS; job++)
        assert_true(!record_queue_find(q, job, END) == !known[job].kept);
    record_queue_close(q);
}

/* One life, in which call FAILING fails with ERROR; the number of calls. */
static unsigned one_life(bool each, unsigned failing, int error)
{
    static const char before[] = "{\"job\":1,\"end\":1700000000,\"text\":\"one\"}\n"
                                 "{\"job\":2,\"end\":1700000000,\"te";
    char name[96];

    snprintf(name, sizeof(name), "%s.new", path);
    for (int i = 0; i < 2; i++) { /* what a cut has left before */
        FILE *out = fopen(i ? name : path, "w");
        assert_non_null(out);
        assert_true(fputs(before, out) >= 0);
        assert_int_equal(fchmod(fileno(out), 0600), 0);
        assert_int_equal(fclose(out), 0);
    }
    memset(known, 0, sizeof(known));
    known[1].kept = known[1].given = "one";
    powercut_begin(directory, look, NULL, each, failing, error);
    live();
    return powercut_end();
}

static void cuts(void **state)
{
    (void)state;
    assert_true(one_life(true, 0, 0) > 50);
}

static void failures(void **state)
{
    static const int errors[] = {EIO, ENOSPC};
    unsigned calls = 1;

    (void)state;
    for (unsigned failing = 1; failing <= calls; failing++)
        calls = one_life(false, failing, errors[failing % 2]);
    assert_true(calls > 50);
}

UNIT(test_record_queue)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cuts), cmocka_unit_test(failures)};

    if (!mkdtemp(directory))
        return 1;
    memset(large, 'x', LARGE);
    snprintf(path, sizeof(path), "%s/records", directory);
    int failed = cmocka_run_group_tests_name("test_record_queue", tests, NULL, NULL);
    char command[80];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return failed + (system(command) != 0);
}
