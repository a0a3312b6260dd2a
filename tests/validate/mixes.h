/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Several loops at a time: how well the model predicts each one's speed. */

#ifndef COSCHED_VALIDATE_MIXES_H
#define COSCHED_VALIDATE_MIXES_H

/* Concept
 *
 * A case is one to four loops on a machine: each loop alone at each degree of
 * parallelism, and seeded random mixes, in which either each job has whole LLC
 * domains or the jobs share the cores of each.  The model is told the loops'
 * rates and the machine, the simulation tells what speeds come of it; the
 * error of a method is the mean over cases and jobs of the relative difference
 * (MAPE, thesis 3.16).
 */

#include <stdio.h>

#include "tests/validate/truth.h"

#define MIXES 24          /* random ones per machine */
#define MIX_LLC_DOMAINS 16  /* most of any machine */

enum mix_method {
    MIX_LINEARIZER, /* closed_solve() */
    MIX_SCHWEITZER,
    MIX_HIERARCHY, /* system_solve(), classes kept apart */
    MIX_AVERAGE,   /* system_solve() with the papers' average rate */
    MIX_METHODS,
};

extern const char *const mix_method_names[MIX_METHODS];

struct mix {
    size_t world;
    size_t jobs;
    size_t loop[TRUTH_JOBS];
    struct loop_rates rates[TRUTH_JOBS];
    size_t cores[MIX_LLC_DOMAINS * TRUTH_JOBS];
    uint64_t seed;
    double truth[TRUTH_JOBS]; /* simulated speed, cores' worth */
    double width[TRUTH_JOBS]; /* half of its 95 % interval */
    double predicted[MIX_METHODS][TRUTH_JOBS];
    double truth_utilisation; /* of the system: NuUtil (thesis 4.7) */
    double utilisation[MIX_METHODS];
    double busiest; /* utilisation of the busiest controller, simulated */
    uint64_t events;
    bool failed;
};

/* Fill MIX[] with all loops alone on WORLDS at all degrees of parallelism;
 * returns how many, at most MIXES_ALONE. */
#define MIXES_ALONE (WORLDS * WORLD_STEPS * LOOPS)
size_t mixes_alone(const struct world *worlds, struct mix *mix);

/* Fill MIX[WORLDS * MIXES] with the random ones. */
void mixes_random(const struct world *worlds, struct mix *mix);

/* Simulate and predict COUNT cases. */
void mixes_run(const char *title, const struct world *worlds,
               const struct truth_variant *variant, struct mix *mix,
               size_t count);

/* Errors of a set of cases. */
struct mix_errors {
    double mape[MIX_METHODS], worst[MIX_METHODS]; /* of speeds, percent */
    double utilisation[MIX_METHODS]; /* mean error of NuUtil, percent */
    double noise; /* mean half width of the simulation, percent */
    size_t jobs;
};

/* Of those COUNT cases that are on WORLD, or all if it is WORLDS. */
struct mix_errors mixes_errors(const struct mix *mix, size_t count,
                               size_t world);

#endif /* COSCHED_VALIDATE_MIXES_H */
