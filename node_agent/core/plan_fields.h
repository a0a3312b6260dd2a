/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* All that a plan is made from, each field named once. */

#ifndef COSCHED_PLAN_FIELDS_H
#define COSCHED_PLAN_FIELDS_H

/* Concept
 *
 * A plan depends on the fields of a plan_input and of its jobs that are in these
 * two tables, and on what is known of the jobs' regions.  The tables say where
 * each counts:
 *
 *   PLAN_SIGNED   in the signature: a change calls for a new plan
 *   PLAN_WRITTEN  in a recording: a decision line has it, so that the decision
 *                 can be repeated
 *   PLAN_SAMPLED  the same in a sample line
 *
 * What moves with time alone (done_s, expected_s) and what plans change themselves
 * (the CPUs that a job has, whether it is measured) is not signed.  What policies
 * are told of a job has its own table, model/policy_fields.h.
 */

#include "common/fields.h"
#include "node_agent/core/plan.h"

#define PLAN_SIGNED 1u
#define PLAN_WRITTEN 2u
#define PLAN_SAMPLED 4u

extern const struct field plan_input_fields[]; /* of struct plan_input */
extern const struct field plan_job_fields[];   /* of struct job */
extern const struct field plan_share_fields[]; /* of struct plan_share; written */

/* A number that differs, but for one chance in 2^64, when another plan may come
 * of INPUT.  Where measurements alone call for a new plan in each epoch
 * (plan.periodic), EPOCH is its number, else 0. */
uint64_t plan_signature(const struct plan_input *input, uint64_t epoch);

#endif /* COSCHED_PLAN_FIELDS_H */
