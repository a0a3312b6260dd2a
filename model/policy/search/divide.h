/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Divide the pool's cores among jobs step by step, best step first. */

#ifndef COSCHED_MODEL_DIVIDE_H
#define COSCHED_MODEL_DIVIDE_H

/* Concept
 *
 * Every greedy policy is the same loop: each job starts with its minimum, then
 * one unit after the other goes to the job that a score function prefers,
 * until the pool is used up or no job may grow (thesis algorithm 2).  The unit
 * is a whole LLC domain where the pool has at least as many as there are parallel
 * jobs, else a core.
 */

#include <stddef.h>

#include "model/policy.h"

/* Number of CPUs in the pool of INPUT. */
size_t divide_pool(const struct policy_input *input);

/* Unit of allocation in cores, >= 1. */
size_t divide_unit(const struct policy_input *input);

/* Value of giving job JOB its next cores, now that it would have
 * cores[JOB] of them; the job with the highest value gets them (the first one
 * of equals).  ARG is the caller's. */
typedef double (*divide_score_f)(void *arg, const size_t *cores, size_t job);

/* Fill cores[job_count]. */
void divide(const struct policy_input *input, divide_score_f score, void *arg,
            size_t *cores);

/* Called before each step with the division so far. */
typedef void (*divide_begin_f)(void *arg, const size_t *cores);

/* divide() for scores that depend on the division before the step: BEGIN sees
 * it once, where SCORE is asked for each job. */
void divide_from(const struct policy_input *input, divide_begin_f begin,
                 divide_score_f score, void *arg, size_t *cores);

/* divide() for many jobs.  Scores are of whole divisions.  A job's gain by its next cores is taken
 * to shrink as the others get theirs, as it mostly does where all use the same memory, so only the
 * most promising job is asked again, until one keeps its promise (lazy greedy; Minoux 1978). */
void divide_lazy(const struct policy_input *input, divide_score_f score,
                 void *arg, size_t *cores);

#endif /* COSCHED_MODEL_DIVIDE_H */
