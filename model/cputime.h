/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How long a loop's threads really computed. */

#ifndef COSCHED_MODEL_CPUTIME_H
#define COSCHED_MODEL_CPUTIME_H

/* Concept
 *
 * A thread's time is its CPU time plus the stalls of its read misses (thesis
 * 3.11), and the stalls depend on the request rates, which are per CPU time:
 *
 *     c = f(c),   f(c) = T - sum_ij misses_ij LRT_ij(c) / cores
 *
 * T is total_us less the synchronisation.  The sum is a thread's mean stall:
 * counters count all threads of an LLC domain, which stall at the same time.
 *
 * f grows with c, as rarer requests wait less.  So the papers' iteration (3.12)
 * from c = T, or above, falls towards the greatest fixed point, and if it ever
 * reaches 0 there is none: then the machine is said to be too slow for what the
 * run did in its time.  Five rounds, as in the papers, are within 1 % where
 * stalls are below a third of the time and far off where they are most of it.
 *
 * Here each round steps to the root of the secant through the last two rounds,
 * or of f, whichever goes further.  Stalls are convex in c, hence f concave,
 * hence the secant's root is not below the fixed point either.  Convergence is
 * not a small step but a proof: the result c is accepted when
 *
 *     f(c) <= c   and   f((1 - CPUTIME_TOLERANCE) c) >= (1 - CPUTIME_TOLERANCE) c
 *
 * between which the continuous f has a fixed point.
 *
 * A run may have two: c falls and stalls grow by as much.  Beyond about two
 * thirds of a controller's load HIERARCHY_STATIONS, whose stalls can exceed
 * what all cores together could wait, has the true one below a greater one, and
 * finds the latter as the papers do.  HIERARCHY_CLOSED does not.
 */

#include "model/hierarchy.h"

#define CPUTIME_TOLERANCE 1e-7
#define CPUTIME_ROUNDS 500

struct cputime {
    double cpu_us;   /* of a thread, over the run */
    double stall_us; /* of a thread, likewise: f's T less cpu_us */
    int rounds;      /* that it took */
};

struct cputime_input {
    const struct machine *machine;
    enum hierarchy_method method;
    const struct loop *loop;     /* which ran on the machine */
};

/* Find the CPU time of INPUT's loop.  MODEL_EINVAL when the loop or machine is
 * bad or their nodes differ; MODEL_ENODATA when no CPU time explains the run;
 * MODEL_ENOCONV after CPUTIME_ROUNDS; and what hierarchy_solve() says. */
enum model_status cputime_solve(const struct cputime_input *input,
                                struct cputime *result);

/* From counted cycles instead: T times useful / (useful + stalled).
 * MODEL_ENODATA where the loop has none. */
enum model_status cputime_measured(const struct loop *loop,
                                   struct cputime *result);

#endif /* COSCHED_MODEL_CPUTIME_H */
