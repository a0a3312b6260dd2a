/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The last decisions and their reasons, for "explain". */

#ifndef COSCHED_DECISIONS_H
#define COSCHED_DECISIONS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define DECISIONS_KEPT 256
#define DECISION_TEXT 512
#define DECISIONS_SHARES 50000

struct decisions;

/* NULL when out of memory. */
struct decisions *decisions_new(void);

/* Keep DECISION, an object as protocol/replies.md describes it under "explain";
 * its reference is taken.  NULL: out of memory, it only counts. */
void decisions_add(struct decisions *decisions, json_t *decision);

/* Number of decisions added so far, also those that are forgotten. */
size_t decisions_count(const struct decisions *decisions);

/* Decisions, oldest first, that concern JOB (0: all): a new JSON array.  Of the newest as many as
 * make at most SIZE bytes of text (0: all), and DECISIONS_SHARES shares to look through. */
json_t *decisions_json(const struct decisions *decisions, uint32_t job,
                       size_t size);

/* Takes NULL. */
void decisions_free(struct decisions *decisions);

#endif /* COSCHED_DECISIONS_H */
