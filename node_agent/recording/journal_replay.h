/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Deciding again what was decided in a recording. */

#ifndef COSCHED_JOURNAL_REPLAY_H
#define COSCHED_JOURNAL_REPLAY_H

/* Concept
 *
 * What core/journal.h recorded is fed to the same code again (attribution, profiles, plans)
 * and compared.  So a recording of a site's node shows what a change of that code changes.
 */

#include <stdbool.h>
#include <stdio.h>

#include "common/errtext.h"

struct job_table;
struct observer_reading;
struct sample;

struct journal_result {
    size_t samples, decisions;
    size_t different; /* decisions that come out otherwise now */
};

/* Repeat the decisions of the recording in DIR, with POLICY instead of the recorded ones unless
 * NULL; print each that differs, with ALL each one, to OUT (may be NULL).  0, or -1 with errno and
 * ERR. */
int journal_replay(const char *dir, const char *policy, bool all, FILE *out,
                   struct journal_result *result, struct errtext *err);

/* A walk through a recording, without deciding anything. */
struct journal_walk {
    /* An interval, after what it tells was learned: each job with its region,
     * or NULL (serial, none or several), and its kind at the last decision. */
    void (*sample)(void *arg, const struct sample *sample,
                   const struct observer_reading *readings, size_t count);
    /* The end: all JOBS with their regions and profiles. */
    void (*end)(void *arg, const struct job_table *jobs);
    void *arg;
};

/* Read the recording in DIR for WALK.  0, or -1 with errno and ERR. */
int journal_read(const char *dir, const struct journal_walk *walk,
                 struct errtext *err);

#endif /* COSCHED_JOURNAL_REPLAY_H */
