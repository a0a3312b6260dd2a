/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters: where the profile of a section comes from. */

#ifndef COSCHED_COUNTERS_H
#define COSCHED_COUNTERS_H

/* Concept
 *
 * A backend turns what happened in the time between two samples into a
 * measurement of the section that each job was running, and measurements into
 * the model's workload.  Hardware backends count events on the CPUs that a
 * job had; `progress` needs no hardware: it uses the work that the
 * cooperative runtime reports, at two or more DoPs.
 *
 * The scheduler calls counters_sample() at each epoch and right before it
 * changes an allotment, so that within an interval every job had one CPU set.
 * Backends neither print nor keep pointers into what they were given.
 */

#include <stddef.h>
#include <stdint.h>

#include "model/machine.h"
#include "model/workload.h"
#include "protocol/errtext.h"
#include "protocol/layout.h"

/* Work that a cooperative runtime reports, coarsest last. */
enum counters_unit {
    COUNTERS_ITERATIONS,
    COUNTERS_BARRIERS,
    COUNTERS_ULTS,
    COUNTERS_ENTRIES,
    COUNTERS_UNITS, /* number of units */
};

#define MEASURE_POINTS 8 /* DoPs remembered per section */

/* What was measured of one section, per DoP. */
struct measure_point {
    size_t dop;       /* cores; 0: unused */
    uint64_t time_ns; /* wall time at this DoP */
    double work[COUNTERS_UNITS];
};

struct measure {
    struct measure_point point[MEASURE_POINTS];
};

/* One job in the interval that ends with a sample. */
struct counters_job {
    uint32_t id;
    struct cosched_cpuset cpus; /* that it had */
    size_t dop;                 /* cores among them, > 0 */
    double work[COUNTERS_UNITS]; /* done in its section, from its reports */
    struct measure *measure;     /* of its section, updated by the sample */
};

struct counters;

struct counters_backend {
    const char *name; /* as in status */
    const char *help; /* one line */
    /* Start counting on CPUS of MACHINE.  *STATE is the backend's own.  -1 with
     * errno ENOTSUP and the reason when it cannot work on this node. */
    int (*open)(const struct machine *machine,
                const struct cosched_cpuset *cpus, void **state,
                struct errtext *err);
    /* Add what happened in the last ELAPSED_NS to the jobs' measures. */
    int (*sample)(void *state, struct counters_job *jobs, size_t count,
                  uint64_t elapsed_ns, struct errtext *err);
    /* A workload from MEASURE, using points of at least ENOUGH_NS.  NULL with
     * errno EAGAIN when there is not enough data, EDOM when the data cannot be
     * explained.  *RHO is the effective load of the busiest station. */
    struct workload *(*fit)(void *state, const struct measure *measure,
                            uint64_t enough_ns, double *rho,
                            struct errtext *err);
    void (*close)(void *state);
};

/* All backends, best first, terminated by NULL. */
extern const struct counters_backend *const counters_backends[];
extern const struct counters_backend counters_progress;

/* Open the backend called NAME, or the first that works for "auto"; REASON (may
 * be NULL) says which and why others were passed over.  NULL with errno EINVAL
 * (no such backend) or ENOTSUP. */
struct counters *counters_open(const char *name, const struct machine *machine,
                               const struct cosched_cpuset *cpus,
                               struct errtext *reason, struct errtext *err);
const char *counters_name(const struct counters *counters);
int counters_sample(struct counters *counters, struct counters_job *jobs,
                    size_t count, uint64_t elapsed_ns, struct errtext *err);
struct workload *counters_fit(struct counters *counters,
                              const struct measure *measure,
                              uint64_t enough_ns, double *rho,
                              struct errtext *err);
/* Takes NULL. */
void counters_close(struct counters *counters);

/* The point of MEASURE for DOP, or NULL. */
const struct measure_point *measure_find(const struct measure *measure,
                                         size_t dop);

/* Add TIME_NS and WORK at DOP.  When all points are taken, the one with the
 * least time makes room. */
void measure_add(struct measure *measure, size_t dop, uint64_t time_ns,
                 const double work[COUNTERS_UNITS]);

#endif /* COSCHED_COUNTERS_H */
