/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which job did what: from a sample of the machine to loop profiles. */

#ifndef COSCHED_ATTRIBUTE_H
#define COSCHED_ATTRIBUTE_H

/* Concept
 *
 * In the interval of a sample each core belonged to at most one job, so what is counted per
 * CPU is its job's.  What a controller or package counts is split:
 *
 *   requests     from `traffic`, by the jobs' shares of the LLC domain's read misses; else
 *                from `memory`, by their shares of the misses to that NUMA node; else from
 *                `group`; else the misses alone
 *   read misses  per CPU.  `local_misses` go to the LLC domain's home node, remote ones to
 *                the others as these were read (or evenly); without locality, as all NUMA
 *                nodes were read (or home)
 *   energy       of a package, by the jobs' cycles there or by their CPUs; idle CPUs carry
 *                their part.  An estimate
 *
 * A controller that counts fewer reads than its jobs missed (counters are not read at the
 * same instant) is taken to have served the misses.
 *
 * Pure: no I/O, no clock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/loop.h"
#include "model/workload.h"
#include "node_agent/counters/counters.h"

struct attribute_job {
    uint32_t id;
    struct cosched_cpuset cpus; /* that it had in the whole interval */
    struct loop *loop;  /* of the interval, made by attribute(), or NULL when
                           nothing can be said; the caller frees it */
    double energy_j;    /* estimate; NAN: not measured */
};

/* Fill in the JOBS for SAMPLE, which is SETUP's.  Jobs without CPUs get
 * nothing.  -1 with errno ENOMEM, and no loops. */
int attribute(const struct counters_setup *setup, const struct sample *sample,
              struct attribute_job *jobs, size_t count);

/* The model's workload from LOOP: rates per microsecond of CPU time, by eq. 3.11-3.12
 * (model/cputime.h) with measured service times, else from stalled cycles, else by 3.12 all the
 * same.  *RHO is the load of the busiest controller by one core.  NULL with errno ENODATA: no CPU
 * time explains the counts, or ENOMEM. */
struct workload *attribute_profile(const struct machine *machine,
                                   bool calibrated, const struct loop *loop,
                                   double *rho);

#endif /* COSCHED_ATTRIBUTE_H */
