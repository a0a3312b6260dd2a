/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the controller knows of a job: its weight, and earlier runs. */

#ifndef COSCHED_HISTORY_H
#define COSCHED_HISTORY_H

/* Concept
 *
 * coschedhistory(8) gathers the records (record.h) of each program.  At submission
 * job_submit.lua puts what is known into the job's AdminComment (docs/record.md):
 *
 *   cosched-job/1 weight=2 runs=5 program=cg done_s=95.4 done_spread=0.03 ...
 *
 * Users cannot write there, but the program may have changed.  So the agent works
 * without it, and bounds what it takes from it:
 *
 *   - It only tells how much is left to do.  Policies use that to choose among fair
 *     divisions (model/policy.h); it gives no job more.
 *   - Numbers that differed between earlier runs are not used.
 *   - It is dropped for the rest of the run once the program has done a quarter
 *     more than in any earlier run, is another one, or has other memory demands.
 */

#include <stdbool.h>

#include "node_agent/core/record.h"
#include "common/errtext.h"

#define HISTORY_TAG "cosched-job/1"
#define HISTORY_MIN_RUNS 2 /* fewer say nothing about what differs */

struct history {
    bool known;
    const char *dropped;   /* why it is not believed (any more); NULL: it is */
    unsigned runs;         /* that it is from */
    char program[RECORD_PROGRAM_MAX]; /* "": not known */
    /* NAN: not known. */
    double done_s, done_spread;   /* record's done_s, and its relative spread */
    double steps, steps_spread;   /* parallel regions likewise */
    double rho;
    double alone_s; /* best time alone on a node */
    double weight;  /* that its QOS allows, the user's wish considered; 0: not
                       known.  No matter of earlier runs */
};

/* Nothing is known. */
void history_init(struct history *history);

/* Parse TEXT, an AdminComment.  0; or -1 with errno ENODATA (no line of ours)
 * or EINVAL and ERR (which entry is wrong), and nothing known. */
int history_parse(struct history *history, const char *text,
                  struct errtext *err);

/* Compare with what the job has done so far: drop what does not fit. */
void history_check(struct history *history, const struct record *record);

/* Time that the job will have taken at its end alone on all cores, as record.done_s counts it; 0:
 * not known.  By time if earlier runs agree in it, else by steps if they agree in these. */
double history_expected(const struct history *history,
                        const struct record *record);

#endif /* COSCHED_HISTORY_H */
