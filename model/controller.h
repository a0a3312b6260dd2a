/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* DyNUMA's control of one parallel region: samples, prediction, mapping, check. */

#ifndef COSCHED_MODEL_CONTROLLER_H
#define COSCHED_MODEL_CONTROLLER_H

/* Concept
 *
 *     samples ──D iterations──> predict, map ──> check ──1 iteration──> settled
 *        │ too short                │ the default is predicted to be best     │
 *        └──────────────────────────┴──> settled with the default <───────────┘ it was better
 *
 * A region that is executed again and again first runs on all cores, once for each NUMA node, as
 * counters see the requests to one NUMA node at a time.  Then the number of threads is chosen that
 * is predicted to cost least (model/concurrency.h), after it, never before, the NUMA node of each
 * thread (thread mapping arbiter, model/mapping.h).  One iteration checks both; whatever cost less
 * as measured is kept, so a wrong prediction costs one iteration.  Regions whose sequential time is
 * below CONTROLLER_LEAST_S are left alone.
 *
 * With fewer threads each has the parts of several: its row of the thread-node table is the sum of
 * their rows, as a static schedule divides the work in order.
 */

#include "model/concurrency.h"

#define CONTROLLER_LEAST_S 0.1

enum controller_phase { CONTROLLER_SAMPLES, CONTROLLER_CHECKS, CONTROLLER_SETTLED };

/* Why it settled as it did. */
enum controller_reason {
    CONTROLLER_OPEN,      /* it has not */
    CONTROLLER_SHORT,     /* too short: default */
    CONTROLLER_PREDICTED, /* the default is predicted to be best */
    CONTROLLER_WORSE,     /* the choice was measured to cost more: default */
    CONTROLLER_BETTER,    /* the choice was measured to cost less, and is kept */
};

/* What the next iteration should be run with. */
struct controller_plan {
    enum controller_phase phase;
    enum controller_reason reason;
    size_t threads;     /* 1..cores */
    size_t target;      /* samples: the NUMA node whose requests to count */
    const size_t *node; /* [threads] NUMA node of each thread; NULL: the default map */
};

/* Of one thread in a sample iteration, which runs on the core of its number. */
struct controller_thread {
    double cycles, instructions, branch_misses;
    double requests; /* to the plan's target */
};

/* What one iteration did. */
struct controller_iteration {
    double seconds;                         /* > 0 */
    double joules;                          /* above those of the idle node; NAN: not known */
    const struct controller_thread *thread; /* [cores] in a sample iteration, else NULL */
};

struct controller;

/* For a region on the machine of MODEL, which must outlive it; FACTOR[nodes * nodes] as in struct
 * mapping_input.  NULL when out of memory. */
struct controller *controller_new(const struct concurrency_model *model,
                                  enum concurrency_kind kind,
                                  enum concurrency_objective objective, const double *factor);

/* Takes NULL. */
void controller_free(struct controller *controller);

struct controller_plan controller_plan(const struct controller *controller);

/* An iteration has been run as planned.  MODEL_EINVAL: its numbers are not as said there, or the
 * objective needs joules; the controller is then as before.  Nothing happens once settled. */
enum model_status controller_step(struct controller *controller,
                                  const struct controller_iteration *iteration);

#endif /* COSCHED_MODEL_CONTROLLER_H */
