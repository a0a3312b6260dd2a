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
#define TRACE_VERSION 3 /* 1: no other events than allotments and states; 2: no waits */
#define TRACE_LOADS 30

struct trace_event {
    uint64_t ns;
    uint32_t job;   /* 0: of the node */
    uint32_t cores; /* one of those below says that another member than CPUS is valid */
    union {
        struct cosched_cpuset cpus;
        char state[TRACE_STATE];
        struct {
            double predicted; /* relative to that alone */
            double barriers;  /* completed so far */
            double waited_s;  /* core-seconds that workers spun for so far, as at barriers */
        } speed;
        struct {
            uint16_t controllers, links; /* at most TRACE_LOADS together */
            float computing;             /* cores' worth */
            float load[TRACE_LOADS]; /* of the controllers, then of the links */
        } use;
    };
};

#define TRACE_IS_STATE UINT32_MAX
#define TRACE_IS_SPEED (UINT32_MAX - 1)
#define TRACE_IS_USE   (UINT32_MAX - 2)

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

/* JOB is as fast as PREDICTED from NOW_NS on, has completed so many BARRIERS, and its workers have
 * spun for WAITED_S core-seconds. */
void trace_speed(struct trace *trace, uint64_t now_ns, uint32_t job, double predicted,
                 double barriers, double waited_s);

/* The node's controllers and links are used as LOAD says (standing.h).  Of more than TRACE_LOADS
 * the first are kept. */
void trace_use(struct trace *trace, uint64_t now_ns, double computing, const double *load,
               size_t controllers, size_t links);

/* Takes NULL. */
void trace_free(struct trace *trace);

#endif /* COSCHED_TRACE_H */
