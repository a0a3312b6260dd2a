/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Plans in which a job is measured. */

#ifndef COSCHED_PLAN_PROBES_H
#define COSCHED_PLAN_PROBES_H

/* Concept
 *
 * A policy knows of a job what was measured, so now and then a job gets cores to be measured on:
 *
 *   clean    a new job the whole pool, alone (cosched_profile=clean)
 *   cores    one job at a time as many as its region has not been measured on; the policy divides
 *            the rest
 *   alone    all of them while the others wait, where the policy knows turns
 *   caches   half of those that the policy gives it of each LLC domain, as how often threads miss
 *            depends on how many share a cache (model/cache_power.h), which often never changes;
 *            who can use them has the others, and takes what the job leaves of the caches, as after
 *            a decision
 *
 * What each may cost is said in region.h.
 */

#include "node_agent/core/planner.h"

/* Before the policy is asked: a probe of caches that goes on, or a clean one: true. */
bool plan_before_policy(struct planner *p, struct plan *plan);

/* Choose whom to profile and bind its DoP by minimum and maximum.  The job
 * that is being profiled goes on, so that two never take turns at it. */
void plan_profiling(struct planner *p, struct plan *plan);

/* For a policy of turns: what is known of each job alone.  Measure one alone if one is to be:
 * true.  It is done when nothing else is to be measured, as the model's numbers come first. */
bool plan_alone(struct planner *p, struct plan *plan);

/* After the policy has decided: probe how a job uses caches, if one is to be. */
void plan_caches(struct planner *p, struct plan *plan);

#endif /* COSCHED_PLAN_PROBES_H */
