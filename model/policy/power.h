/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Common rules: energy objectives of jobs, and a power budget of the node. */

#ifndef COSCHED_MODEL_POLICY_POWER_H
#define COSCHED_MODEL_POLICY_POWER_H

/* Concept
 *
 * Where memory is busy, another core adds little speed and all of its power.  Two rules leave cores
 * idle that cost more than they give (NuPoCo section 8):
 *
 *   objective   a job that wants least energy or energy-delay product has as its maximum the number
 *               of cores at which that is predicted to be least when it runs alone.  It pays for an
 *               equal share of the idle node, else the fewest cores would always be best
 *   budget      while a division is predicted to draw more than the node may, the job loses cores
 *               that loses the least speed for each watt; nobody goes below its minimum
 *
 * Both need the machine's power (model/machine.h) and do nothing without.
 */

#include "model/policy.h"

/* Lower the maxima of JOBS, those of INPUT, by their objectives.  predict_begin() must be called
 * again. */
void power_bound(const struct policy_input *input, struct policy_job *jobs);

/* Watts of COUNTS[llc_domains * job_count]; jobs with unknown profiles compute all the time. */
double power_layout(const struct policy_input *input, const size_t *counts);

/* What the budget took. */
struct power_ruling {
    size_t idle;  /* cores */
    double watts; /* predicted with what is left; NAN: power is not known */
};

/* Take cores from PROPOSAL until it keeps the budget. */
void power_apply(const struct policy_input *input, struct policy_proposal *proposal,
                 struct power_ruling *ruling);

/* Append to TEXT[SIZE] what both rules did to PROPOSAL, or that they cannot. */
void power_explain(const struct policy_input *input, const struct policy_proposal *proposal,
                   const struct power_ruling *ruling, char *text, size_t size);

#endif /* COSCHED_MODEL_POLICY_POWER_H */
