/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the core saw and decided, for a recording. */

#ifndef COSCHED_JOURNAL_H
#define COSCHED_JOURNAL_H

/* Concept
 *
 * The agent's decisions are a function of what it saw.  The core passes both to a
 * journal.  node_agent/recording/ writes it (docs/counters-reference.md lists the
 * members) and can repeat the decisions (recording/journal_replay.h).
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/errtext.h"

struct counters;
struct job_table;
struct node_options;
struct observer_reading;
struct plan;
struct plan_input;
struct recorder;
struct sample;
struct topology;

/* Start recording into DIR; what is known of the regions of JOBS is forgotten.  -1 with errno and
 * ERR as of recorder_start(). */
int journal_start(struct recorder *recorder, const char *dir,
                  const struct topology *topology,
                  const struct counters *counters,
                  const struct node_options *options, struct job_table *jobs,
                  struct errtext *err);

/* True while something is recorded; false for NULL. */
bool journal_active(const struct recorder *recorder);

/* Record an interval, if RECORDER is active; errors are logged. */
void journal_sample(struct recorder *recorder, const struct sample *sample,
                    const struct observer_reading *readings, size_t count,
                    const struct node_options *options);

/* A plan and what it was made from, before it is carried out. */
void journal_decision(struct recorder *recorder, const struct plan_input *input,
                      const struct plan *plan, const char *trigger);

#endif /* COSCHED_JOURNAL_H */
