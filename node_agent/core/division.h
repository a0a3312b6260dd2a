/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A job's CPUs, divided among its processes. */

#ifndef COSCHED_DIVISION_H
#define COSCHED_DIVISION_H

/* Concept
 *
 * MPI ranks with OpenMP, or programs side by side in one script, are one job with
 * several attached processes.  Each core runs one process at a time:
 *
 *   busy   processes (a parallel region within the last DIVISION_IDLE_NS) get
 *          equal parts, in order of attachment; none more cores than its largest
 *          team, as long as another can use them
 *   idle   processes may use all cores of the job; when one begins a region it
 *          has its part an epoch later
 *
 * A part is contiguous in the order of LLC domains.  With more busy processes than
 * cores each gets one core and shares it with as few others as possible.
 */

#include "node_agent/core/job.h"
#include "node_agent/core/process.h"
#include "node_agent/topology/topology.h"

/* Ranks wait for each other between regions, seldom for so long. */
#define DIVISION_IDLE_NS UINT64_C(500000000)

/* Set part of all processes of JOB from its CPUs (of TOPOLOGY) at NOW_NS. */
void division_make(const struct topology *topology, struct job *job,
                   uint64_t now_ns);

/* Divide COUNT (>= 1) equal things among PARTS (1 to COUNT) parts; part I wants TEAM[I] at most
 * (0: any number) unless some would be left over, and gets at least one.  QUOTA gets the
 * numbers. */
void division_quotas(size_t count, const uint32_t *team, size_t parts,
                     size_t *quota);

#endif /* COSCHED_DIVISION_H */
