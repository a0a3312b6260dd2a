/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A trace as text for Perfetto and chrome://tracing. */

#ifndef COSCHED_TRACE_JSON_H
#define COSCHED_TRACE_JSON_H

/* Concept
 *
 * Chrome trace event JSON: a track per CPU with the job that had it, a counter
 * "cores of job N" and a track with the states of its regions per job.  Times
 * are in microseconds.
 */

#include <stdint.h>
#include <stdio.h>

#include "common/errtext.h"

/* Write the trace (trace.h) of JOB (0: of all) up to NOW_NS, whose shared
 * memory is FD, to OUT. It may grow meanwhile.  0; -1 with errno EPROTO (FD is
 * no trace), that of reading FD, or of writing, with OUT's error set. */
int trace_json(int fd, uint32_t job, uint64_t now_ns, FILE *out,
               struct errtext *err);

#endif /* COSCHED_TRACE_JSON_H */
