/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Service times of controllers and links, measured on the node itself. */

#ifndef COSCHED_CALIBRATE_H
#define COSCHED_CALIBRATE_H

/* Concept
 *
 * All cores of one LLC domain, and then all of the machine, run the kernels of kernels.h with
 * strides of 8 to 128 bytes, each over arrays of its own that are bound to one NUMA node (thesis
 * 3.2.3).  One core alone would measure how long it waits, most of which passes while others are
 * served; but when enough ask for more than a station can do, it serves without a break, and the
 * time over its requests is its service time:
 *
 *     controller j   the most that any LLC domain at home on j, or all together, got (3.4)
 *     link           what LLC domains got from memories that are behind this link alone (3.5)
 *
 * Whether a station was loaded fully is seen from a run on half of the cores, which then gets as
 * much; and a link, from being slower than the memory behind it.  If not, the time is what it takes
 * at most, with a note.
 *
 * The times of reads, writes and prefetches (3.13) come from a regression over the runs.
 * Requests are counted at the controllers; without counters they follow from the kernels (a
 * store reads its line, too) for strides of a line or more, and prefetches cannot be told from
 * reads.  Where a regression is not possible, the mean time stands for all kinds, with a note.
 *
 * Are service times exponential, as the model has them?  Then a station that is never idle serves
 * a Poisson distributed number of requests per unit of time.  So after a run of an LLC domain with
 * its own NUMA node, requests are counted in CALIBRATE_LOOKS short intervals more, while the
 * streams go on (thesis A.1.2, table A.3).
 */

#include <stdbool.h>
#include <stddef.h>

#include "node_agent/calibrate/kernels.h"
#include "node_agent/counters/counters.h"
#include "node_agent/topology/topology.h"

#define CALIBRATE_STRIDES 5
extern const size_t calibrate_strides[CALIBRATE_STRIDES]; /* bytes */

/* As many make the critical value of table A.3: 1.36 / sqrt(51) = 0.19 at the level of 0.05. */
#define CALIBRATE_LOOKS 51

struct calibrate_look {
    double us, requests;
};

struct calibrate_run {
    double us;     /* while all streams ran; of the best of its repetitions; 0: not run */
    double reads, writes, prefetches; /* requests in that time */
    bool counted;  /* they are counters' */
    size_t looks;  /* 0: none were taken */
    struct calibrate_look look[CALIBRATE_LOOKS];
};

struct calibration {
    size_t llc_domains, numa_nodes;
    struct calibrate_run *run; /* of calibration_run() and calibration_half() */
};

struct calibrate_options {
    size_t array_bytes; /* of each of three, of all cores of an LLC domain */
    int repetitions;    /* >= 1 */
    size_t passes;      /* over its arrays, that each core makes at least */
    struct counters *counters; /* that count memory requests, or NULL */
    /* What is done, out of TOTAL steps. */
    void (*progress)(void *arg, size_t done, size_t total, const char *what);
    void *arg;
};

struct calibration *calibration_new(size_t llc_domains, size_t numa_nodes);
void calibration_free(struct calibration *calibration); /* takes NULL */

/* Of the cores of LLC_DOMAIN; of all, if that is calibration->llc_domains. */
struct calibrate_run *calibration_run(const struct calibration *calibration,
                                      size_t llc_domain, size_t memory,
                                      enum kernel kernel, size_t stride);

/* Loads with a stride of a line, by half of these cores. */
struct calibrate_run *calibration_half(const struct calibration *calibration,
                                       size_t llc_domain, size_t memory);

/* GB/s that all cores read from MEMORY; 0: not measured. */
double calibration_peak_gb_s(const struct calibration *calibration, size_t memory);

/* Run everything on the node of TOPOLOGY.  NULL with errno: ENOTSUP (built without libnuma),
 * ENOMEM, EIO (pages are not where they should be, or a kernel's result is wrong), others. */
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
