/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What really happens: loops on machines, simulated. */

#ifndef COSCHED_VALIDATE_TRUTH_H
#define COSCHED_VALIDATE_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/simulator/memsys.h"
#include "tests/validate/loops.h"
#include "tests/validate/worlds.h"

#define TRUTH_JOBS 4
#define TRUTH_WINDOW 64 /* miss registers of a last-level cache per NUMA
                           node: more than its cores need */

/* How the memory behaves. */
struct truth_variant {
    const char *name;
    enum memsys_law law;
    size_t window;
    bool by_kind; /* service times of writes and prefetches differ */
};

/* Simulate JOBS loops with RATES[JOBS] on CORES[llc_domains * JOBS] of WORLD,
 * their requests spread evenly over all NUMA nodes. */
enum model_status truth_run(const struct world *world,
                            const struct loop_rates *rates, size_t jobs,
                            const size_t *cores,
                            const struct truth_variant *variant, uint64_t seed,
                            struct memsys_result *result);

/* Call WORK(ARG, I) for I in 0 .. COUNT - 1 on all cores, and report progress
 * under the name TITLE on standard error. */
void truth_parallel(const char *title, size_t count,
                    void (*work)(void *arg, size_t i), void *arg);

/* Print the table of loops with the rates that give them their scalings. */
int truth_calibrate(void);

#endif /* COSCHED_VALIDATE_TRUTH_H */
