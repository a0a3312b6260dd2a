/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The fields of a policy's job, and what depends on each. */

#ifndef COSCHED_MODEL_POLICY_FIELDS_H
#define COSCHED_MODEL_POLICY_FIELDS_H

/* Concept
 *
 * A new field of struct policy_job that a decision may depend on has its line
 * here: then it makes another situation (policy/state.h: hysteresis begins anew)
 * or other predictions (policy/search/prediction_cache.h).  Not here are the
 * profile, of which a situation asks whether it is known and a prediction what
 * is in it, and the facts, measurements that are part of neither.
 */

#include "common/fields.h"
#include "model/policy.h"

#define POLICY_SITUATION 1u
#define POLICY_PREDICTION 2u

#define POLICY_JOB(member, where) \
    FIELD(struct policy_job, member, #member, where)

static const struct field policy_job_fields[] = {
    POLICY_JOB(id, POLICY_SITUATION),
    POLICY_JOB(kind, POLICY_SITUATION),
    POLICY_JOB(min_cores, POLICY_SITUATION),
    POLICY_JOB(max_cores, POLICY_SITUATION | POLICY_PREDICTION),
    POLICY_JOB(weight, POLICY_SITUATION),
    POLICY_JOB(region, POLICY_SITUATION),
    POLICY_JOB(objective, POLICY_SITUATION),
    POLICY_JOB(pinned, POLICY_SITUATION | POLICY_PREDICTION),
    POLICY_JOB(threads, POLICY_SITUATION | POLICY_PREDICTION),
    {0}};

#endif /* COSCHED_MODEL_POLICY_FIELDS_H */
