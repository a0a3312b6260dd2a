/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the kernel's time sharing makes of OpenMP programs on the same cores. */

#ifndef COSCHED_SIMULATOR_TIMESHARE_H
#define COSCHED_SIMULATOR_TIMESHARE_H

/* Concept
 *
 * Several jobs have more threads together than there are cores.  Each core has a run queue; a
 * thread runs for a slice, then the next one.  A job gets less than its part of the cores,
 * because its threads meet at barriers and wait for the one whose core has just turned to
 * another job.
 *
 * This is a fluid model of the steady state while each job is in one region; the caller asks
 * again when a region begins or ends.  timeslices.h simulates the same slice by slice, and
 * test_timeshare compares the two.
 *
 * For job j with T threads on C cores:
 *
 *   r       part of time in which a thread of j is runnable: it computes, is stalled on
 *           memory or spins
 *   k       how much slower it is for the other threads on its core, each there with its r:
 *           1 / mean of 1 / (1 + runnable ones), mean over its threads; k_max the same on the
 *           fullest core
 *   q       how long it loses the core when it does, per competitor: a slice, or less where
 *           competitors sleep sooner
 *   g       core time of a thread between two barriers, with stalls and switches
 *   a       2 spin_s / q - 1, within 0..1: part of the threads that spin through the loss of
 *           another one and so keep phases of their own; those that sleep come back with it
 *           and lose their cores together with it the next time, as a gang
 *   N       how often the unluckiest of P = 1 + (T - 1) a threads with independent slices
 *           loses its core in g: whole slices in g, and for the rest of g a chain of two states
 *           at each barrier.  If all have their cores, one loses it with probability
 *             l = 1 - (1 - frac(g/q))^P,
 *           and when it is back each other one is there with probability 1/k; if not all are,
 *           the next barrier waits for them, too
 *   W       time from barrier to barrier:
 *             g (1 + imbalance) + N (k_max - 1) q + wake
 *
 * Its speed is the work between two barriers over W.  A thread at the barrier spins for spin_s
 * of its core's time and then sleeps, so
 *
 *   r = (k g + min(W - k g, k spin_s)) / W
 *
 * closes the fixed point.  Workers of a job in a serial region wait in the same way.
 *
 * Assumptions (docs/evaluation-simulated.md lists them):
 *   - All threads have equal priority and may run on any core; queue lengths differ by one
 *     thread at most.
 *   - A queue that is longer by one moves on after balance_s; an idle core pulls at once.
 *   - Slices of different cores are not aligned and vary by a quarter.
 *   - Where jobs with frequent barriers could run undisturbed or wait for each other's waiting
 *     threads, they wait.
 *   - A thread that wakes gets its core at once if it has had less than its part (CFS, EEVDF).
 *   - A switch costs switch_s and the refill of the core's caches, at most refill_s, which 50
 *     LLC accesses per us or more pay in full.
 *   - Memory is as busy as the cores that compute make it (callback), and threads that have been
 *     moved ask as all cores do in the mean, wherever they touched their data
 *     (virtual_load.wanders).
 *
 * The same serves for a pinned job with more threads than cores: one job on its own.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/status.h"
#include "simulator/scenario.h"

struct timeshare_params {
    double slice_s;     /* of a thread, with one competitor */
    double min_slice_s; /* with many: slice_s * 2 / threads, not less */
    double spin_s;      /* of core time before a waiting thread sleeps;
                           INFINITY: active, 0: passive */
    double wake_s;      /* from the last arrival at a barrier until all sleepers
                           run again, for one thread; more threads: times
                           1 + log2(threads) */
    double barrier_s;   /* the same where all spin */
    double switch_s;    /* direct cost of a switch */
    double refill_s;    /* of the core's own caches, see above */
    double balance_s;   /* until a longer queue has moved */
};

enum timeshare_wait {
    TIMESHARE_DEFAULT, /* stock libgomp without OMP_WAIT_POLICY */
    TIMESHARE_ACTIVE,
    TIMESHARE_PASSIVE,
};

/* Linux' defaults for so many CORES (>= 1) and stock libgomp under WAIT. */
struct timeshare_params timeshare_params(enum timeshare_wait wait,
                                         size_t cores);

struct timeshare_job {
    const struct scenario_region *region;
    size_t threads; /* of its team, >= 1; one runs in a serial region */
    bool sleeps;    /* passive, whatever the parameters say */
};

struct timeshare_rate {
    double speed;     /* cores' worth of computing (of scenario work) */
    double computing; /* cores on which its threads compute or are stalled */
    double spinning;  /* cores that wait actively */
    double runnable;  /* r of a thread of the team */
    double barrier_s; /* W; 0 for a serial region */
};

/* What memory does to them: while job j computes on RUNNING[j] cores, spread
 * evenly over all that there are, fill SHARE[j] with the part of that time in
 * which it is not stalled (0 < share <= 1).  Called a few times by each
 * timeshare_solve(). */
typedef enum model_status (*timeshare_memory_f)(void *arg,
                                                const double *running,
                                                double *share);

struct timeshare_input {
    const struct timeshare_params *params;
    size_t cores;                     /* >= 1, for all jobs */
    const struct timeshare_job *jobs; /* [count] */
    size_t count;                     /* 1..SCENARIO_MAX_JOBS */
    timeshare_memory_f memory;        /* NULL: nobody is ever stalled */
    void *arg;
};

/* Solve INPUT into RATE[count].  MODEL_EINVAL for values out of range, or what
 * the callback returns.  Allocates nothing. */
enum model_status timeshare_solve(const struct timeshare_input *input,
                                  struct timeshare_rate *rate);

#endif /* COSCHED_SIMULATOR_TIMESHARE_H */
