/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How many cores each job gets: what the policies have in common. */

#ifndef COSCHED_MODEL_SHARES_H
#define COSCHED_MODEL_SHARES_H

#include "model/policy.h"

/* The `decide` of the greedy policies: number of cores by predicted system
 * utilisation (thesis algorithm 2).  While a parallel job's profile is unknown
 * there is nothing to predict: the shares are equal and the reason names it. */
enum model_status greedy_dop(const struct policy_input *input, size_t *cores,
                             struct policy_decision *out);

/* The `decide` of policy "equal", in proportion to the jobs' weights. */
enum model_status equal_shares(const struct policy_input *input, size_t *cores,
                               struct policy_decision *out);

/* "job 12: 11 cores, job 13: 5 cores" into TEXT; returns its length. */
size_t policy_describe(const struct policy_input *input, const size_t *cores,
                       char *text, size_t size);

extern const struct policy policy_nupoco, policy_greedy, policy_equal;

#endif /* COSCHED_MODEL_SHARES_H */
