/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Service times of controllers and links, measured on the node itself. */

#ifndef COSCHED_CALIBRATE_H
#define COSCHED_CALIBRATE_H

/* Concept
 *
 * One thread on the first core of each LLC domain runs the kernels of kernels.h with strides
 * of 8 to 128 bytes over arrays bound to each NUMA node (thesis 3.2.3).  Nothing else may run:
 * then a request meets no other, and time over requests is a service time.
 *
 *     controller j   runs of the LLC domains at home on j (3.4)
 *     link           what a run over this link alone takes longer than the same run on a
 *                    domain at home on that memory (3.5)
 *
 * The times of reads, writes and prefetches (3.13) come from a regression over the runs.
 * Requests are counted at the controllers; without counters they follow from the kernels (a
 * store reads its line, too) for strides of a line or more, and prefetches cannot be told from
 * reads.  Where a regression is not possible, the mean time stands for all kinds, with a note.
 */

#include <stdbool.h>
#include <stddef.h>

#include "node_agent/calibrate/kernels.h"
#include "node_agent/counters/counters.h"
#include "node_agent/topology/topology.h"

#define CALIBRATE_STRIDES 5
extern const size_t calibrate_strides[CALIBRATE_STRIDES]; /* bytes */

struct calibrate_run {
    double us;     /* best of its repetitions; 0: not run */
    double reads, writes, prefetches; /* requests in that time */
    bool counted;  /* they are counters' */
};

struct calibration {
    size_t llc_domains, numa_nodes;
    struct calibrate_run *run; /* [llc_domains * numa_nodes * KERNELS * STRIDES] */
    double *peak_gb_s;         /* [numa_nodes] of all cores; 0: not measured */
};

struct calibrate_options {
    size_t array_bytes; /* of each of three; a multiple of 4096 */
    int repetitions;    /* >= 1 */
    size_t passes;      /* over the array, at most, at each stride */
    struct counters *counters; /* that count memory requests, or NULL */
    /* What is done, out of TOTAL steps. */
    void (*progress)(void *arg, size_t done, size_t total, const char *what);
    void *arg;
};

struct calibration *calibration_new(size_t llc_domains, size_t numa_nodes);
void calibration_free(struct calibration *calibration); /* takes NULL */

struct calibrate_run *calibration_run(const struct calibration *calibration,
                                      size_t llc_domain, size_t memory,
                                      enum kernel kernel, size_t stride);

/* Run everything on the node of TOPOLOGY.  The calling thread's affinity is put
 * back.  NULL with errno: ENOTSUP (built without libnuma), ENOMEM, EIO (pages
 * are not where they should be, or a kernel's result is wrong), others. */
struct calibration *calibrate(const struct topology *topology,
                              const struct calibrate_options *options,
                              struct errtext *err);

/* Put the times of CALIBRATION into DESCRIPTION, of the same machine.  NOTES
 * (SIZE bytes) says, a line each, what could not be fitted.  -1 with errno
 * ENOTSUP (built without GSL) or ENODATA (nothing was run). */
int calibration_fit(const struct calibration *calibration,
                    struct machine_description *description, char *notes,
                    size_t size, struct errtext *err);

/* Part of the CPUs' time that was not idle between two looks at PROCFS/stat,
 * with WAIT in between, in CPUs (0.5: half a CPU).  Negative: not known. */
double calibrate_busy(const char *procfs, void (*wait)(void *arg), void *arg);

#endif /* COSCHED_CALIBRATE_H */
