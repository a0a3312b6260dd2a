/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: the file of records on their way to the accounting.
 *
 * What is read is written, and read again, the same. */

#include "tests/fuzz/fuzz.h"

#include "node_agent/helpers/record_queue.c"

static size_t kept_now;

static void kept(const struct queued *r)
{
    REQUIRE(r->kept);
    kept_now++;
}

static struct record_queue *open_queue(const char *path)
{
    struct errtext err = {""};
    struct record_queue *q = record_queue_open(path, &err);
    size_t count = 0;

    REQUIRE(q != NULL);
    for (struct queued *r = record_queue_first(q); r; r = r->next, count++)
        REQUIRE(r->job && record_queue_find(q, r->job, r->end_s) == r);
    REQUIRE(count == record_queue_count(q));
    return q;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct errtext err = {""};
    char path[256];

    snprintf(path, sizeof(path), "%s/records", fuzz_directory());
    fuzz_empty(fuzz_directory());
    fuzz_write(fuzz_directory(), "records", (const char *)data, size);
    struct record_queue *q = open_queue(path);
    size_t count = record_queue_count(q);
    REQUIRE(record_queue_add(q, 7, 1700000000, "cosched/1 state=final") !=
            NULL);
    struct queued *first = record_queue_first(q);
    uint32_t job = first->job;
    int64_t end_s = first->end_s;
    record_queue_remove(q, first);
    size_t left = record_queue_count(q);
    REQUIRE(left == count || left + 1 == count);
    REQUIRE(record_queue_sync(q, kept, &err) == 0);
    record_queue_close(q);
    q = open_queue(path);
    REQUIRE(record_queue_count(q) == left && !record_queue_find(q, job, end_s));
    record_queue_close(q);
    return 0;
}
