/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: the state file, as an older, a newer or a broken agent left it.
 *
 * What is accepted is written and read again the same, and each record of it is
 * one line. */

#include "tests/fuzz/fuzz.h"

#include <jansson.h>

#include "node_agent/daemon/state.h"

struct state {
    struct job_table jobs;
    struct pending_list pending;
    struct node_state node;
};

static void clear(struct state *s)
{
    while (s->jobs.first)
        job_remove(&s->jobs, s->jobs.first);
    pending_clear(&s->pending);
    node_state_clear(&s->node);
}

static int take(const char *path, struct state *s)
{
    struct errtext err = {""};

    memset(s, 0, sizeof(*s));
    int rc = state_read(path, &s->jobs, &s->pending, &s->node, &err);
    if (rc < 0) {
        fuzz_refused(&err);
        REQUIRE(!s->jobs.first && !s->jobs.count && !s->pending.first &&
                !s->pending.count);
    }
    return rc;
}

static void check_record(const struct job *job)
{
    char text[RECORD_TEXT_MAX];

    record_format(&job->record, "running", text);
    REQUIRE(strlen(text) < sizeof(text));
    for (const char *c = text; *c; c++)
        REQUIRE((unsigned char)*c >= ' ');
    REQUIRE(job->record.partners <= RECORD_PARTNERS);
    history_expected(&job->history, &job->record);
}

static void check(const struct state *s)
{
    size_t jobs = 0, pending = 0;

    for (const struct job *j = s->jobs.first; j; j = j->next, jobs++) {
        REQUIRE(j->id && job_find(&s->jobs, j->id) == j);
        check_record(j);
    }
    for (const struct pending *p = s->pending.first; p; p = p->next, pending++)
        REQUIRE(p->job && strlen(p->text) < sizeof(p->text));
    REQUIRE(jobs == s->jobs.count && jobs <= JOB_LIMIT);
    REQUIRE(pending == s->pending.count && pending <= PENDING_LIMIT);
}

static json_t *written(const char *path, const struct state *s)
{
    struct errtext err = {""};
    json_error_t error;

    REQUIRE(state_write(path, &s->jobs, &s->pending, &s->node, &err) == 0);
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    REQUIRE(root != NULL);
    return root;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct state s;
    char path[256];

    snprintf(path, sizeof(path), "%s/state.json", fuzz_directory());
    fuzz_write(fuzz_directory(), "state.json", (const char *)data, size);
    if (take(path, &s) == 0) {
        check(&s);
        json_t *first = written(path, &s);
        clear(&s);
        REQUIRE(take(path, &s) == 0);
        check(&s);
        json_t *second = written(path, &s);
        REQUIRE(json_equal(first, second));
        json_decref(first);
        json_decref(second);
    }
    clear(&s);
    return 0;
}
