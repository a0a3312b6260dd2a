/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the node draws, idle and at work, measured on the node itself. */

#ifndef COSCHED_CALIBRATE_POWER_H
#define COSCHED_CALIBRATE_POWER_H

/* Concept
 *
 * The energy of all packages (counters/energy.h) over time is power, while
 *
 *     idle      no core works:                               idle_w
 *     one       one core of each LLC domain computes:        + domain_w of each, core_w of each
 *     compute   all cores compute, in registers:             + core_w of each other one
 *     chase     all follow a chain through their memory:     stalled cores, few requests
 *     stream    all read their memory:                       stalled cores, many requests
 *
 * The last two differ by requests alone, of which the loads know how many they make (struct
 * machine_power, model/machine.h).  A part that comes out negative is 0, and the others explain
 * what is left; a stalled core draws no more than one that computes.  What is no package nor its
 * memory, as disks and fans, is not in there.
 */

#include "model/machine.h"
#include "node_agent/counters/counters.h"

enum power_load { POWER_IDLE, POWER_ONE, POWER_COMPUTE, POWER_CHASE, POWER_STREAM, POWER_LOADS };

/* Between two looks. */
struct power_window {
    double seconds;
    double requests; /* to memory, of all cores */
};

/* Who has cores work; power_cores, or a test. */
struct power_rig {
    /* Have them do LOAD, and call LOOK(OF) twice meanwhile; *WINDOW: what was between.  -1 with
     * errno and the reason. */
    int (*run)(void *arg, enum power_load load, void (*look)(void *of), void *of,
               struct power_window *window, struct errtext *err);
    void *arg;
};

/* Power of the node of SETUP.  -1 with errno and the reason: ENOTSUP, EACCES and others of
 * counters_powercap (its energy cannot be read), ENODATA (work draws nothing more: a virtual
 * machine's), those of RIG. */
int calibrate_power(const struct counters_setup *setup, const struct power_rig *rig,
                    struct machine_power *power, struct errtext *err);

/* Threads on the cores of SETUP, on BYTES of memory for each LLC domain, looked at for SECONDS. */
struct power_cores {
    const struct counters_setup *setup;
    size_t bytes;
    double seconds;
};

/* As power_rig.run(), ARG: struct power_cores. */
int power_cores_run(void *arg, enum power_load load, void (*look)(void *of), void *of,
                    struct power_window *window, struct errtext *err);

#endif /* COSCHED_CALIBRATE_POWER_H */
