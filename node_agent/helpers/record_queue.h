/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Final records on their way to the accounting, on disk until they are there. */

#ifndef COSCHED_RECORD_QUEUE_H
#define COSCHED_RECORD_QUEUE_H

/* Concept
 *
 * A file of JSON lines: a record ("job", "end", "text"), or that one is delivered (the same
 * without text).  Lines are appended and synced, many at a time; when most of them are history
 * the file is written anew beside and renamed.  A line that is half there, after a crash, counts
 * as none: who gave the record was not told that it is kept, and gives it again.
 *
 * A record is known by its job and the end of its run, so that the same one twice is one.  Where
 * the file cannot be written the records are in memory only, not "kept", and each sync tries
 * again to write all of them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errtext.h"

#define RECORD_QUEUE_COUNT 65536        /* records; the oldest are dropped beyond */
#define RECORD_QUEUE_BYTES (32UL << 20) /* of their texts, likewise */

struct queued {
    struct queued *next, *previous;
    struct queued *same; /* next with the same hash */
    uint32_t job;
    int64_t end_s;  /* epoch seconds of the run's end */
    bool kept;      /* on disk */
    bool told;      /* the agent knows that it was delivered */
    bool under_way; /* a courier has it */
    unsigned tries; /* without the record; if told, while slurmctld knows the job */
    int64_t boot_s; /* of the slurmctld that had forgotten the run at the last look; or 0 */
    int64_t due_ms; /* monotonic: not before */
    int64_t ended_ms; /* monotonic, if told: the end */
    char text[];
};

struct record_queue;

/* Read what is at PATH, and let nobody else have it: waits some seconds for a helper that is about
 * to end.  With ERR->text not empty, the records will not be kept, for that reason.  NULL with ERR
 * when another keeps the file, or out of memory. */
struct record_queue *record_queue_open(const char *path, struct errtext *err);

/* Add a record, or take the known one if it has the same TEXT, else replace it.  NULL when out of
 * memory. */
struct queued *record_queue_add(struct record_queue *queue, uint32_t job, int64_t end_s,
                                const char *text);

/* The record of JOB's run that ended at END_S, or NULL. */
struct queued *record_queue_find(const struct record_queue *queue, uint32_t job, int64_t end_s);

/* Drop RECORD: it is where it should be, or nowhere ever. */
void record_queue_remove(struct record_queue *queue, struct queued *record);

/* The record that has to make room for others, or NULL.  The caller says so and removes it. */
struct queued *record_queue_excess(const struct record_queue *queue);

/* Would one more have to make room? */
bool record_queue_full(const struct record_queue *queue);

/* Put all that was added or removed on disk, and call KEPT for each record that is there now and
 * was not before.  -1 with ERR when it cannot be. */
int record_queue_sync(struct record_queue *queue, void (*kept)(const struct queued *record),
                      struct errtext *err);

/* The oldest; follow `next`. */
struct queued *record_queue_first(const struct record_queue *queue);
size_t record_queue_count(const struct record_queue *queue);

void record_queue_close(struct record_queue *queue);

#endif /* COSCHED_RECORD_QUEUE_H */
