/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Speedup of a parallel loop on more and more cores, from one or two runs. */

#ifndef COSCHED_MODEL_LOOPPERF_H
#define COSCHED_MODEL_LOOPPERF_H

/* Concept
 *
 * LoopPerf (thesis 3.4) learns from a profile how much a loop computes and what
 * its cores ask of each NUMA node, and predicts its time elsewhere:
 *
 *     time(cores) = cpu_time / cores + stall(cores)               (3.14, 3.15)
 *
 *   S        one profile; rates are the same on any number of LLC domains
 *   T        two profiles, usually on one and on all LLC domains; the rates in
 *            between are on the power law of the number of LLC domains (the
 *            papers: on the straight line), as each adds its cache
 *
 * Where stalled cycles were counted in all profiles (cputime_measured()), each has its own CPU time
 * and stalls, whatever its time says; what is predicted is multiplied by the factor by which the
 * stalls counted in it differ from those predicted for it, as waits overlap and requests have other
 * latencies than service times.  With two profiles both are on lines between them, so that their
 * own times are what they were.
 *
 * With HIERARCHY_CLOSED no time is shorter than the busiest controller or link needs for what is
 * asked of it (the papers have no such bound).  Waits that overlap, and threads that wait for each
 * other, make no difference where that is all of the time.  Where a profile was faster than that
 * (its requests were not spread as is assumed), predictions may be as much faster.
 *
 * Else CPU time comes from the first profile alone (3.11).  That it is the same for
 * the same work on any number of cores is 3.14's assumption; so the second
 * profile's requests are per CPU time of the first, by the work done.
 *
 * The papers leave out synchronisation: time(cores) / (1 - share), the share
 * growing in proportion to the cores (4.11), with two profiles on the line
 * through both.
 */

#include "model/cputime.h"
#include "model/hierarchy.h"

struct loopperf_input {
    const struct machine *machine;
    enum hierarchy_method method;
    const struct loop *first;  /* e.g. on one LLC domain */
    const struct loop *second; /* e.g. on all; NULL: LoopPerf-S */
};

/* What was learnt, and work space: not for two threads at once. */
struct loopperf;

/* Predicted for one unit of work; times are wall times of each thread. */
struct loopperf_time {
    double cpu_us;
    double stall_us;
    double sync_us;
    double total_us;
};

/* Learn INPUT into *OUT, which keeps no pointer to the profiles but one to the
 * machine; free with loopperf_free().  MODEL_EINVAL also when both profiles are
 * on the same number of LLC domains; else as of cputime_solve(). */
enum model_status loopperf_learn(const struct loopperf_input *input,
                                 struct loopperf **out);

/* Predict the time on CORES [llc_domains], at least one in all.  MODEL_EINVAL,
 * MODEL_ENOMEM, MODEL_ENOCONV. */
enum model_status loopperf_predict(struct loopperf *loop, const size_t *cores,
                                   struct loopperf_time *time);

/* Speedup (3.14) of the first 1..COUNT LLC domains, all their cores, over the
 * first one: SPEEDUP[COUNT]; SPEEDUP[0] is 1.  COUNT is at most the machine's
 * LLC domains. */
enum model_status loopperf_curve(struct loopperf *loop, size_t count,
                                 double *speedup);

/* Takes NULL. */
void loopperf_free(struct loopperf *loop);

/* ---- Best-F (thesis 3.5.1) ------------------------------------------------ */

/* How far predictions are off with the service times US of all controllers and of all links;
 * INFINITY where they make no sense of a run, NAN to end the search. */
typedef double (*loopperf_error_f)(void *arg, const double us[2]);

/* Find the service times with the least ERROR: from an eighth to eight times those in US, then on
 * ever finer grids around the best, which US is in the end.  Without LINKS US[1] stays.  False: the
 * search was ended. */
bool loopperf_best_f(loopperf_error_f error, void *arg, bool links, double us[2]);

/* MACHINE serves requests of all kinds in US[0] and passes them on in US[1]. */
void loopperf_set_services(struct machine *machine, const double us[2]);

#endif /* COSCHED_MODEL_LOOPPERF_H */
