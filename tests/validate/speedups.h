/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* One loop on more and more nodes: how well LoopPerf predicts its speedup. */

#ifndef COSCHED_VALIDATE_SPEEDUPS_H
#define COSCHED_VALIDATE_SPEEDUPS_H

/* Concept
 *
 * Each loop is simulated on 1 to all LLC domains of a machine, with service
 * times that depend on the kind of request.  LoopPerf sees of it what counters
 * would see: the profile of one run on one LLC domain (LoopPerf-S), and of one
 * more on all (LoopPerf-T): requests by LLC domain, NUMA node and kind, and how
 * long it took.  What it predicts for the other numbers of nodes is compared
 * with the simulated speedups.  Machines of one LLC domain have no such loop.
 *
 * Best-F sees the profiles of LoopPerf-S and the simulated speedups, too: it has the service times
 * of a machine with which all its loops are predicted best.
 */

#include "tests/validate/truth.h"

#define SPEEDUP_NODES 16    /* most LLC domains of any machine */
#define SPEEDUP_NUMA_NODES 8 /* most NUMA nodes */

/* What counters see of one run. */
struct speedup_profile {
    size_t dop;       /* LLC domains */
    double total_us;  /* wall time */
    double cpu_us;    /* core time in which a core was not stalled */
    double stall_us;  /* core time in which it was */
    double requests[SPEEDUP_NODES][SPEEDUP_NUMA_NODES][MEMSYS_KINDS];
};

enum speedup_method {
    SPEEDUP_S,        /* LoopPerf-S, stations one by one (the papers) */
    SPEEDUP_T,        /* LoopPerf-T, likewise */
    SPEEDUP_CLOSED_S, /* LoopPerf-S by the closed network */
    SPEEDUP_CLOSED_T,
    SPEEDUP_BEST_F, /* S by stations, with one service time for all controllers and one for all
                       links */
    SPEEDUP_METHODS,
};

extern const char *const speedup_method_names[SPEEDUP_METHODS];

struct speedup_case {
    size_t world, loop;
    struct speedup_profile profile[2]; /* on one and on all LLC domains */
    double truth[WORLD_STEPS];         /* simulated speedup over one node */
    double width[WORLD_STEPS];         /* half of its 95 % interval */
    double predicted[SPEEDUP_METHODS][WORLD_STEPS];
    bool known[SPEEDUP_METHODS]; /* predicted at all */
    bool failed;                 /* the simulation, or memory */
};

#define SPEEDUP_CASES (WORLDS * LOOPS)

/* Fill, simulate and predict all cases; returns how many. */
size_t speedups_run(const struct world *worlds, struct speedup_case *cases);

struct speedup_errors {
    double mape[SPEEDUP_METHODS], worst[SPEEDUP_METHODS]; /* percent */
    size_t unknown[SPEEDUP_METHODS]; /* loops without a prediction */
    double noise;
    size_t loops;
};

/* Of those COUNT cases on WORLD, or all if it is WORLDS, over the degrees of
 * parallelism above the first. */
struct speedup_errors speedups_errors(const struct world *worlds,
                                      const struct speedup_case *cases,
                                      size_t count, size_t world);

#endif /* COSCHED_VALIDATE_SPEEDUPS_H */
