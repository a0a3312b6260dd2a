/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* When the jobs of a mix will end, for a given division of the cores. */

#ifndef COSCHED_MODEL_POLICY_COMPLETION_H
#define COSCHED_MODEL_POLICY_COMPLETION_H

/* Concept
 *
 * The jobs run at their predicted speeds until the first one ends; its cores go to the others,
 * which then run at new speeds, and so on.  If the work left is not known, a job is taken to have
 * as much left as the others on average, measured by its time alone; if nothing is known, times
 * are relative to a job's time alone.
 *
 * The first three ends are predicted so; after that a core of each job stays as fast as before.
 *
 * A job of weight 2 counts as twice the work for the makespan, and as two jobs for the average
 * turnaround.
 */

#include "model/policy.h"

struct completion {
    const struct policy_input *in;
    bool known;                   /* somebody's remaining work is */
    bool all_known;               /* everybody's is */
    bool average;                 /* objective: turnaround, else makespan */
    double alone[POLICY_MAX_JOBS]; /* speed with all that it may have */
    double work[POLICY_MAX_JOBS];  /* left, core-seconds or relative */
    bool bets;                     /* lengths are guessed: the next ones count */
    size_t shares[POLICY_MAX_JOBS]; /* equal ones */
    double equal[POLICY_MAX_JOBS];  /* speeds with them */
    double floor[POLICY_MAX_JOBS]; /* speeds that jobs should have */
    double regret;                 /* part of the time that may be lost */
    size_t predictions;           /* made so far */
    /* of the last completion_time() */
    double end[POLICY_MAX_JOBS];
    double first[POLICY_MAX_JOBS]; /* speeds until the first one ends */
    size_t start[POLICY_MAX_JOBS]; /* cores until then */
    double mean; /* of the ends */
    double time; /* the objective */
    /* scratch */
    double left[POLICY_MAX_JOBS], speed[POLICY_MAX_JOBS];
    size_t cores[POLICY_MAX_JOBS];
    size_t living[POLICY_MAX_JOBS], count; /* jobs that have not ended, in order */
};

/* EVALUATIONS, or less with more than three jobs, whose predictions take longer. */
size_t completion_evaluations(const struct policy_input *input, double evaluations);

/* Begin for INPUT, for which predict_begin() has succeeded. */
void completion_begin(struct completion *completion,
                      const struct policy_input *input, bool average);

/* The objective (makespan or weighted average turnaround) of the division CORES,
 * which is not the workspace's `trial`. */
double completion_time(struct completion *completion, const size_t *cores);

/* The same for LAYOUT, cores of each job on each LLC domain; what comes after the
 * first end is placed as usual.  NAN where a job has no core. */
double completion_layout(struct completion *completion, const size_t *layout);

/* The options of a policy that say what completion_floor() takes as LOSS and as
 * REGRET. */
#define COMPLETION_LOSS_OPTION                                                    \
    {"loss", "by how much a job may be predicted slower than with equal shares "  \
     "while jobs' lengths are unknown", 0.1, 0, 1, NULL}
#define COMPLETION_REGRET_OPTION                                                  \
    {"regret", "by how much all may be done later than with equal shares if the "    \
     "unknown lengths suit these best", 0.02, 0, 1, NULL}

/* Bound bets: completion_cost() penalises layouts in which
 *   - a job is slower than with equal shares (of which CORES are whole ones) by more than the part
 *     LOSS; 1: no bound;
 *   - all would be done later than with equal shares by more than the part REGRET, if the jobs were
 *     just so long that equal shares let them end together: a job that gets less then goes on with
 *     the cores of the others, as far as it may, at a speed between its first one and that alone.
 * Nothing happens where all remaining work is known, as the objective then says who may be slower.
 * LAYOUT is work space, and not the workspace's `have`. */
void completion_floor(struct completion *completion, const size_t *cores, double loss,
                   double regret, size_t *layout);

/* What searches minimise: the objective of the last completion and, where that is about the same,
 * the jobs' mean end.  Breaking a bound of completion_floor() is worse than any gain, and speeds
 * below FAIR are worse than that. */
double completion_cost(struct completion *completion, const double *fair);

/* The same as completion_time() when the parallel jobs run one after the other, in the given ORDER,
 * each with all it may have beside the serial ones. */
double completion_turns(const struct completion *completion, const size_t *order);

/* The order that is best for the average: by time alone per weight if all is
 * known, else that of arrival.  ORDER has job_count entries. */
void completion_order(const struct completion *completion, size_t *order);

#endif /* COSCHED_MODEL_POLICY_COMPLETION_H */
