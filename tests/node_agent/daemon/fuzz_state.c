/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: the state and its log, as an older, a newer or a broken agent
 * left them; the state alone, or a bundle.
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

static int take(struct state_file *file, struct state *s)
{
    struct errtext err = {""};

    memset(s, 0, sizeof(*s));
    int rc = state_read(file, &s->jobs, &s->pending, &s->node, &err);
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

static json_t *written(struct state_file *file, const struct state *s)
{
    struct errtext err = {""};
    json_error_t error;

    REQUIRE(state_write(file, &s->jobs, &s->pending, &s->node, &err) == 0);
    json_t *root = json_load_file(file->path, JSON_REJECT_DUPLICATES, &error);
    REQUIRE(root != NULL);
    json_object_del(root, "serial"); /* of the file */
    return root;
}

/* Each change can be noted, and read again. */
static void note(struct state_file *file, struct state *s)
{
    struct errtext err = {""};

    for (const struct job *j = s->jobs.first; j; j = j->next)
        REQUIRE(state_note_job(file, j, &err) == 0);
    for (const struct pending *p = s->pending.first; p; p = p->next)
        REQUIRE(state_note_end(file, p->job, p, &err) == 0);
    state_file_close(file);
    clear(s);
    REQUIRE(take(file, s) == 0);
    check(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct state s;
    struct state_file file;
    char path[256];

    snprintf(path, sizeof(path), "%s/state.json", fuzz_files(data, size));
    if (size < 3 || memcmp(data, "== ", 3))
        fuzz_write(fuzz_directory(), "state.json", (const char *)data, size);
    state_file_init(&file, path);
    if (take(&file, &s) == 0) {
        check(&s);
        json_t *first = written(&file, &s);
        clear(&s);
        REQUIRE(take(&file, &s) == 0);
        check(&s);
        json_t *second = written(&file, &s);
        REQUIRE(json_equal(first, second));
        json_decref(first);
        json_decref(second);
        note(&file, &s);
    }
    clear(&s);
    state_file_close(&file);
    return 0;
}
