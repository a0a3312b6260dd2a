/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How many memory requests regions made in each interval of a recording. */

#ifndef COSCHED_REQUEST_COUNTS_H
#define COSCHED_REQUEST_COUNTS_H

/* Concept
 *
 * The queueing model assumes that requests per unit of time are Poisson distributed (thesis
 * A.1).  The numbers to test come from the intervals of a recording in which each job with
 * cores was in one region from begin to end; intervals of the same regions on as many cores
 * belong together.  There are up to three series:
 *
 *   memory       what each NUMA node served, of all jobs together
 *   job-traffic  of each job, where the kernel counts by job (resctrl)
 *   read-misses  of each job's CPUs, the reads that missed the last-level cache
 *
 * Or the numbers come from a user's file, one a line ("#" begins a comment); or from a calibration
 * (calibrate.h): what a NUMA node `served` while a kernel kept it busy, which is Poisson
 * distributed if its service times are exponential (table A.3).  A "region" is then a kernel with
 * its stride.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/errtext.h"

enum request_metric {
    REQUEST_MEMORY,
    REQUEST_JOB_TRAFFIC,
    REQUEST_READ_MISSES,
    REQUEST_NUMBERS, /* a file's own */
    REQUEST_SERVED,  /* of a calibration */
    REQUEST_METRICS
};

/* As above; "numbers" of a file. */
extern const char *const request_metric_names[REQUEST_METRICS];

struct request_region {
    enum request_metric metric;
    char *name;      /* jobs, their regions and cores; the file's name */
    size_t nodes;    /* NUMA nodes, or 1: all together */
    size_t samples;
    uint64_t *ns;    /* [samples] length of each interval; 0: unknown */
    double *count;   /* [samples * nodes] */
    double coverage; /* least; below 1 some counts are extrapolated */
};

struct request_counts {
    struct request_region *region;
    size_t regions;
    size_t intervals; /* of the recording, or calibration */
    size_t mixed;     /* of them left out: no region, or several, or serial */
};

/* Read PATH: a recording's directory, its record.jsonl, a calibrated machine's description, or a
 * file of numbers.  NULL with errno as from recording_open(), EINVAL or ENOMEM, and ERR. */
struct request_counts *request_counts_read(const char *path,
                                           struct errtext *err);

/* The counts of NODE scaled to intervals of PER_NS (0: the median), rounded, into COUNTS
 * [region->samples]; intervals not within a fifth of the median are left out.  Returns how many
 * there are, and the length in *NS (0: unknown, counts are as they are). */
size_t request_region_counts(const struct request_region *region,
                              size_t node, uint64_t per_ns, double *counts,
                              uint64_t *ns);

/* Takes NULL. */
void request_counts_free(struct request_counts *counts);

#endif /* COSCHED_REQUEST_COUNTS_H */
