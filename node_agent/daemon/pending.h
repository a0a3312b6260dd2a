/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Final records that the helper has not taken over so far. */

#ifndef COSCHED_PENDING_H
#define COSCHED_PENDING_H

/* Concept
 *
 * A record waits here, and in the state, from the end of its job until the helper
 * has it on disk ("kept", slurm_link.h): a moment, unless there is no helper or it
 * cannot write.  A job has one record for each run; the end tells them apart.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node_agent/core/record.h"

/* A final record on its way to Slurm's accounting. */
struct pending {
    uint32_t job;
    uint64_t end_s; /* epoch seconds of the run's end */
    bool sent;      /* to the helper that runs now */
    char text[RECORD_TEXT_MAX];
    struct pending *next;
};

struct pending_list {
    struct pending *first, *last;
    size_t count;
};

#define PENDING_LIMIT 4096 /* the oldest is dropped beyond */

/* Add the record of JOB's run that ended at END_S, or replace it.  NULL when out of
 * memory.  *DROPPED (may be NULL) is the job whose record had to make room, or 0. */
struct pending *pending_add(struct pending_list *list, uint32_t job, uint64_t end_s,
                            const char *text, uint32_t *dropped);

/* Forget the record of JOB's run that ended at END_S (0: of all its runs).  False if
 * there was none. */
bool pending_remove(struct pending_list *list, uint32_t job, uint64_t end_s);

void pending_clear(struct pending_list *list);

#endif /* COSCHED_PENDING_H */
