/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How many cores each job gets: what the policies have in common. */

#ifndef COSCHED_MODEL_SHARES_H
#define COSCHED_MODEL_SHARES_H

#include "model/policy.h"

/* Equal shares in proportion to the jobs' weights. */
void equal_shares(const struct policy_input *input, size_t *cores);

/* Greedy number of cores by predicted system utilisation (thesis algorithm
 * 2), into PROPOSAL.  While a parallel job's profile is unknown there is
 * nothing to predict: the shares are equal. */
void greedy_dop(const struct policy_input *input,
                struct policy_proposal *proposal);

/* System utilisation of COUNTS; NAN while a profile is unknown. */
double greedy_value(const struct policy_input *input, void *memory,
                    const size_t *counts);

/* The utilisations that greedy_dop() left, or whose profile is unknown. */
void greedy_explain(const struct policy_input *input,
                    const struct policy_proposal *proposal, char *text,
                    size_t size);

extern const struct policy policy_nupoco, policy_greedy, policy_equal,
    policy_batch, policy_native, policy_scalability, policy_amdahl,
    policy_best_simple, policy_corun, policy_moca;

#endif /* COSCHED_MODEL_SHARES_H */
