/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Who had which CPU when, for Perfetto and chrome://tracing. */

#ifndef COSCHED_TRACE_H
#define COSCHED_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "common/errtext.h"
#include "protocol/layout.h"

/* Concept
 *
 * A ring of the last TRACE_EVENTS changes.  trace_write() turns it into Chrome trace
 * event JSON: a track per CPU with the job that had it, a counter "cores of job N"
 * and a track with the states of its regions per job.  Times are CLOCK_MONOTONIC in
 * microseconds.
 */

#define TRACE_EVENTS 65536
#define TRACE_STATE 48 /* of a text, with its zero */

struct trace;

/* NULL when out of memory. */
struct trace *trace_new(void);

/* JOB (called NAME) has CPUS, CORES cores, from NOW_NS on. */
void trace_allotment(struct trace *trace, uint64_t now_ns, uint32_t job,
                     const struct cosched_cpuset *cpus, size_t cores);

/* What JOB does from NOW_NS on: TEXT such as "serial" or "malleable +1f40 known",
 * shorter than TRACE_STATE.  For changes only. */
void trace_state(struct trace *trace, uint64_t now_ns, uint32_t job,
                 const char *text);

/* Write the trace of JOB (0: of all) up to NOW_NS into a new memfd, its offset
 * at the start.  -1 with errno. */
int trace_write(const struct trace *trace, uint32_t job, uint64_t now_ns,
                struct errtext *err);

/* Takes NULL. */
void trace_free(struct trace *trace);

#endif /* COSCHED_TRACE_H */
