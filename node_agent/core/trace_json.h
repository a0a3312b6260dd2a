/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A trace as text for Perfetto and chrome://tracing. */

#ifndef COSCHED_TRACE_JSON_H
#define COSCHED_TRACE_JSON_H

/* Concept
 *
 * Chrome trace event JSON, which Perfetto, coschedplot and coschedreport read.  Times are in
 * microseconds, CLOCK_MONOTONIC.  Processes are groups of tracks:
 *
 *   CPUs         a track for each with the job that had it, in the job's colour
 *   jobs         a track for each with what it did; counters: cores, predicted speed relative to
 *                that alone, barriers a second, cores whose workers spin, as at barriers
 *   decisions    each as an instant, with its reason
 *   utilisation  counters: CPUs that jobs hold, cores' worth of computing, each controller and
 *                link as the model has it
 */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "common/errtext.h"

/* What of it to write. */
struct trace_view {
    uint32_t job;            /* 0: all */
    uint64_t now_ns;         /* it ends here */
    const json_t *decisions; /* as in the reply to "explain"; NULL: none */
    double epoch_s;          /* their times are this later than those of the trace */
};

/* Write VIEW of the trace (trace.h), whose shared memory is FD, to OUT. It may grow
 * meanwhile.  0; -1 with errno EPROTO (FD is no trace), that of reading FD, or of
 * writing, with OUT's error set. */
int trace_json(int fd, const struct trace_view *view, FILE *out, struct errtext *err);

#endif /* COSCHED_TRACE_JSON_H */
