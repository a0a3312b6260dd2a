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
 *            between are on the straight line over the number of LLC domains
 *   Best-F   S with one fixed service time for all controllers and one for all
 *            links, whatever the mix: those that err least over a set of loops
 *
 * CPU time comes from the first profile alone (3.11).  That it is the same for
 * the same work on any number of cores is 3.14's assumption; so the second
 * profile's requests are per CPU time of the first, by the work done.
 *
 * Two things that the papers leave out, neutral unless asked for:
 *
 *   synchronisation   time(cores) / (1 - share), the share growing in
 *                     proportion to the cores (4.11), with two profiles on the
 *                     line through both
 *   hyper-threads     `threads` per core compute together `yield` times as fast
 *                     as one, so each of them slower by threads / yield, but
 *                     they stall one by one: the stations have more customers
 *                     with lower rates
 */

#include "model/cputime.h"
#include "model/hierarchy.h"

struct loopperf_input {
    const struct machine *machine;
    enum hierarchy_method method;
    const struct loop *first;  /* e.g. on one LLC domain */
    const struct loop *second; /* e.g. on all; NULL: LoopPerf-S */
    double controller_scale;   /* > 0: Best-F, each controller's plain service
                                  time times this; 0: by the mix (3.13) */
    double link_scale;         /* likewise, both or none */
};

/* Threads per core that runs the loop, in a prediction; profiles count each
 * thread as a core of its own.  {1, 1} without hyper-threads. */
struct loopperf_smt {
    size_t threads; /* >= 1 */
    double yield;   /* 1..threads */
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

/* Predict the time on CORES [llc_domains], at least one in all, each running
 * SMT->threads threads (NULL: one).  MODEL_EINVAL, MODEL_ENOMEM, MODEL_ENOCONV. */
enum model_status loopperf_predict(struct loopperf *loop,
                                   const size_t *cores,
                                   const struct loopperf_smt *smt,
                                   struct loopperf_time *time);

/* Speedup (3.14) of the first 1..COUNT LLC domains, all their cores, over the
 * first one: SPEEDUP[COUNT]; SPEEDUP[0] is 1.  COUNT is at most the machine's
 * LLC domains. */
enum model_status loopperf_curve(struct loopperf *loop, size_t count,
                                 double *speedup);

/* The same for 1..COUNT cores, filling one LLC domain after the other. */
enum model_status loopperf_core_curve(struct loopperf *loop, size_t count,
                                      double *speedup);

/* Takes NULL. */
void loopperf_free(struct loopperf *loop);

/* A loop and its measured speedups, to compare with loopperf_curve(). */
struct loopperf_case {
    const struct loop *profile;
    const double *speedup; /* [nodes] of 1..nodes LLC domains, each > 0 */
    size_t nodes;
};

/* Scales LOW, LOW * step, ..., HIGH in equal ratios, STEPS >= 1 of them. */
struct loopperf_grid {
    double low, high;
    size_t steps;
};

struct loopperf_best {
    double controller_scale;
    double link_scale;
    double mape;  /* percent (3.16), over nodes 2.. of all loops */
    size_t tried; /* pairs of scales for which all loops had a solution */
};

/* Best-F: try all pairs of scales of CONTROLLER and LINK (only one link scale on
 * a machine without links) and keep the one of least MAPE.  MODEL_ENODATA when
 * no pair explains all loops or no loop has two nodes. */
enum model_status loopperf_best_fixed(const struct machine *machine,
                                      enum hierarchy_method method,
                                      const struct loopperf_case *cases,
                                      size_t count,
                                      const struct loopperf_grid *controller,
                                      const struct loopperf_grid *link,
                                      struct loopperf_best *best);

#endif /* COSCHED_MODEL_LOOPPERF_H */
