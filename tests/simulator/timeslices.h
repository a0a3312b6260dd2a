/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Time sharing slice by slice: what timeshare.h is held to. */

#ifndef COSCHED_SIMULATOR_TIMESLICES_H
#define COSCHED_SIMULATOR_TIMESLICES_H

/* Concept
 *
 * A discrete simulation of run queues, for programs that repeat the same between barriers.  It
 * knows no formula of timeshare.h and is some thousand times slower, for tests and tables only.
 *
 * Each job has one thread on each core, where it stays.  A core runs the thread with the least
 * virtual run time, as Linux does, until that has had a slice (uniform in 0.75..1.25 slice_s)
 * while another one was ready.  A thread computes its part, spins for at most spin_s of its core's
 * time, and sleeps until the last one of its job arrives.  A waking thread's run time is set to no
 * less than a slice before the least one on its core, and it takes the core if it has had less than
 * the thread there by a third of a slice.  Each switch costs switch_s, waking wake_s.
 */

#include <stddef.h>
#include <stdint.h>

#include "model/status.h"
#include "simulator/timeshare.h"

struct timeslices_job {
    double gap_s;     /* core time of each thread between barriers */
    double imbalance; /* >= 0: parts are uniform in 1 -+ imbalance */
};

struct timeslices_input {
    const struct timeshare_params *params; /* slice_s, spin_s, wake_s,
                                              switch_s; the rest is unused */
    size_t cores;
    const struct timeslices_job *jobs;
    size_t count; /* 1..8 */
    double time_s; /* to simulate, after a tenth of it to warm up */
    uint64_t seed;
};

/* Simulate INPUT: SPEED[count] is cores' worth of computing.  MODEL_EINVAL for
 * values out of range, MODEL_ENOMEM. */
enum model_status timeslices_run(const struct timeslices_input *input,
                                 double *speed);

#endif /* COSCHED_SIMULATOR_TIMESLICES_H */
