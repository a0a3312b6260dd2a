/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Who had which CPU when. */

#ifndef COSCHED_TRACE_H
#define COSCHED_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "common/errtext.h"
#include "protocol/layout.h"

/* Concept
 *
 * A ring of the last TRACE_EVENTS changes in shared memory.  The agent hands its memory out
 * read-only as it is: to be asked for it costs the agent nothing, however long it is, and
 * nothing is kept for who asks.  The reader copies the ring, keeps what was not overwritten
 * meanwhile and writes the text (trace_json.h).  Times are CLOCK_MONOTONIC.
 */

#define TRACE_EVENTS 65536
#define TRACE_STATE 48 /* of a text, with its zero */

#define TRACE_MAGIC UINT32_C(0x43545243)
#define TRACE_VERSION 1

struct trace_event {
    uint64_t ns;
    uint32_t job;
    uint32_t cores; /* TRACE_IS_STATE: STATE is valid, not CPUS */
    union {
        struct cosched_cpuset cpus;
        char state[TRACE_STATE];
    };
};

#define TRACE_IS_STATE UINT32_MAX

/* The shared memory. */
struct trace_ring {
    uint32_t magic, version;
    uint64_t count; /* events so far; number I is at I % TRACE_EVENTS */
    struct trace_event event[TRACE_EVENTS];
};

struct trace;

/* NULL with errno. */
struct trace *trace_new(void);

/* Descriptor to hand out; stays the trace's.  Nobody else can write to it. */
int trace_fd(const struct trace *trace);

/* JOB has CPUS, CORES cores, from NOW_NS on. */
void trace_allotment(struct trace *trace, uint64_t now_ns, uint32_t job,
                     const struct cosched_cpuset *cpus, size_t cores);

/* What JOB does from NOW_NS on: TEXT such as "serial" or "malleable OBJECT+1f40 known",
 * shorter than TRACE_STATE.  For changes only. */
void trace_state(struct trace *trace, uint64_t now_ns, uint32_t job,
                 const char *text);

/* Takes NULL. */
void trace_free(struct trace *trace);

#endif /* COSCHED_TRACE_H */
