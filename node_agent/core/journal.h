/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the agent writes into a recording, and deciding again from one. */

#ifndef COSCHED_JOURNAL_H
#define COSCHED_JOURNAL_H

/* Concept
 *
 * The agent's decisions are a function of what it saw.  journal_*() write both
 * down (docs/counters.md has the lines' members); journal_replay() feeds what was
 * seen to the same code again, attribution, profiles and plans, and compares.
 * So a recording of a site's node shows what a change of that code changes.
 */

#include <stdio.h>

#include "node_agent/counters/counters.h"
#include "node_agent/recording/recording.h"
#include "node_agent/core/plan.h"
#include "protocol/options.h"

struct job_table;
struct observer_look;

/* Start recording into DIR; what is known of the JOBS' sections is forgotten.
 * -1 with errno and ERR as of recorder_start(). */
int journal_start(struct recorder *recorder, const char *dir,
                  const struct topology *topology,
                  const struct counters *counters,
                  const struct node_options *options, struct job_table *jobs,
                  struct errtext *err);

/* An interval.  Nothing unless RECORDER is active; troubles are logged. */
void journal_sample(struct recorder *recorder, const struct sample *sample,
                    const struct observer_look *looks, size_t count,
                    const struct node_options *options);

/* A plan and what it was made from, before it is carried out. */
void journal_decision(struct recorder *recorder, const struct plan_input *input,
                      const struct plan *plan, const char *trigger);

struct journal_result {
    size_t samples, decisions;
    size_t different; /* decisions that come out otherwise now */
};

/* Decide again what was decided in the recording in DIR, with POLICY instead of
 * the recorded ones unless NULL; print each decision that differs, with ALL
 * each one, to OUT (may be NULL).  0, or -1 with errno and ERR. */
int journal_replay(const char *dir, const char *policy, bool all, FILE *out,
                   struct journal_result *result, struct errtext *err);

/* Who wants to know what is in a recording, without deciding anything. */
struct journal_walk {
    /* An interval, after what it tells was learned: each job with its section,
     * or NULL (serial, none or several), and its kind at the last decision. */
    void (*sample)(void *arg, const struct sample *sample,
                   const struct observer_look *looks, size_t count);
    /* The end: all JOBS with their sections and profiles. */
    void (*end)(void *arg, const struct job_table *jobs);
    void *arg;
};

/* Read the recording in DIR for WALK.  0, or -1 with errno and ERR. */
int journal_read(const char *dir, const struct journal_walk *walk,
                 struct errtext *err);

#endif /* COSCHED_JOURNAL_H */
