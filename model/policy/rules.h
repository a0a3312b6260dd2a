/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The rules that all policies have in common. */

#ifndef COSCHED_MODEL_POLICY_RULES_H
#define COSCHED_MODEL_POLICY_RULES_H

#include "model/policy.h"

/* Make the bounds of JOBS[COUNT] fit a pool of POOL cores: serial regions
 * have one core, nobody more than the pool, and minima that do not fit
 * together are all one. */
void bounds_fit(struct policy_job *jobs, size_t count, size_t pool);

/* Fairness.  Of K jobs, each should have at least 1/K, less the margin, of the
 * speed that it is predicted to have alone; a weight below the mean lowers
 * that share in proportion.  Units of allocation move from the job with most
 * to spare to the one that is furthest below, while that helps.  Nothing
 * happens while a profile is unknown.  *MOVED receives the cores that changed
 * hands, *JOB who got the last of them. */
void fairness_apply(const struct policy_input *input,
                    struct policy_proposal *proposal, size_t *moved,
                    size_t *job);

/* Turn SPEED[job_count], of each job alone, into the least that is fair: 0
 * without a bound. */
void fairness_bounds(const struct policy_input *input, double *speed);

/* Hysteresis: a division is not changed for less than predictions err, as data stay where cores
 * leave.  HAVE[llc_domains * job_count], the present layout, is worth NOW (NAN: cannot stay),
 * PROPOSAL, cores and layout, is worth NEXT.  Where NEXT exceeds NOW by no more than the option
 * says PROPOSAL becomes HAVE, and says so; but not where it takes no core from anybody. */
void hysteresis_hold(const struct policy_input *input, const size_t *have, double now,
                     double next, struct policy_proposal *proposal);

/* The same by POLICY's value(), when the situation is that of the last decision. */
void hysteresis_apply(const struct policy *policy, const struct policy_input *input,
                      struct policy_proposal *proposal);

/* OUT->relative_speed: predicted speeds relative to those alone where OUT puts the jobs; where
 * nothing can be predicted, the part of its cores that a job has.  Called after the policy's
 * value() and explain(); uses the workspace's `have`, `trial`, `alone` and `speed`. */
void relative_speed_fill(const struct policy_input *input, const struct policy_decision *out);

/* "job 12: 11 cores, job 13: 5 cores", or when there are many "16 jobs: 3 to 12
 * cores", into TEXT; returns its length. */
size_t policy_describe(const struct policy_input *input, const size_t *cores,
                       char *text, size_t size);

/* Append to TEXT[SIZE], a string, what FORMAT says; cut off where it is full. */
__attribute__((format(printf, 3, 4))) void policy_append(char *text, size_t size,
                                                         const char *format, ...);

#endif /* COSCHED_MODEL_POLICY_RULES_H */
