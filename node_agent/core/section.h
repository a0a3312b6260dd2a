/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Sections of a job: what is known of each, and how it gets known. */

#ifndef COSCHED_SECTION_H
#define COSCHED_SECTION_H

/* Concept
 *
 *     unknown ──> clean ──> half ──> known
 *
 * What a section does at the DoPs that it has anyway costs nothing and is
 * always measured: alone on the node, then beside another job, mostly tells
 * all there is to know.  Where hardware counters explain the throughput, one
 * DoP is enough.  A section that has seen one DoP only is probed: `clean`, with
 * as much of the pool as can be had, or `half`, with fewer, whichever tells
 * more (throughput_next()).
 *
 * A probe takes cores from others or from the section itself, so probes have a
 * budget: at no time more than a share (2 %) of the time that the section has
 * run.  Nor is there one where no decision depends on it
 * (throughput_matters()).
 *
 * A known section is still measured.  Its profile is replaced when it turns out
 * different by so much that a decision could depend on it, and what was
 * measured is forgotten when the section drifts: when it has become slower or
 * faster at a DoP than it was.
 *
 * All parallel regions of a job that are too short to be scheduled one by one
 * (cosched_min_section) share one pseudo-section, the folded one.
 *
 * Sections are found by object id and offset and remembered as long as the
 * job lives.  Their number is bounded, because the job names them; beyond
 * SECTION_LIMIT all are folded.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/workload.h"
#include "node_agent/counters/counters.h"

#define SECTION_LIMIT 512

enum section_state {
    SECTION_UNKNOWN,
    SECTION_CLEAN,
    SECTION_HALF,
    SECTION_KNOWN,
};

struct section {
    uint64_t object_id;
    uint64_t offset;
    bool folded;
    enum section_state state;
    struct measure measure;
    struct workload *profile; /* NULL: not known */
    struct counters_fit fit;  /* of the profile; only with it */
    struct counters_fit seen; /* as of the last try; points 0: nothing yet */
    uint64_t fit_time_ns; /* measured time when the last fit was tried */
    size_t dop;           /* measured last, */
    bool probed;          /* in a probe */
    uint64_t run_ns;      /* in which it was seen to run, probes included */
    uint64_t probe_ns;    /* in which it was probed */
    uint64_t probe_left_ns; /* of the present probe; 0: none */
    size_t probe_dop;       /* of the present probe */
    unsigned drifts;
    struct section *next;
};

/* A job's sections. */
struct section_list {
    struct section *first;
    struct section *folded;
    size_t count; /* without the folded one */
};

/* "unknown", "clean", "half", "known". */
const char *section_state_name(enum section_state state);

/* The section of that name in LIST, made if need be; the folded one when LIST
 * is full.  NULL only when out of memory. */
struct section *section_find(struct section_list *list, uint64_t object_id,
                             uint64_t offset);
struct section *section_folded(struct section_list *list);

/* SECTION ran for TIME_NS on DOP cores and did WORK; PROBED: these cores were
 * given to it to measure it.  True when it was found to have drifted. */
bool section_measure(struct section *section, size_t dop, uint64_t time_ns,
                     const double work[COUNTERS_UNITS], bool probed);

/* Forget all that was measured of SECTION, and its profile. */
void section_forget(struct section *section);

/* What probes may cost. */
struct section_budget {
    uint64_t profile_ns; /* cosched_profile: three probes; 0: none */
    double share;        /* cosched_probe: part of a section's time */
};

/* Length of a probe. */
uint64_t section_probe_ns(const struct section_budget *budget);

/* True when SECTION may be probed now: a probe goes on, or fits the budget. */
bool section_may_probe(const struct section *section,
                       const struct section_budget *budget);

/* DoP at which SECTION should be probed now when at most MOST cores can be had:
 * 0 when it may not be, or nothing that matters is to be learned. */
size_t section_wants(const struct section *section, size_t most,
                     const struct section_budget *budget);

/* SECTION is given DOP cores to be probed: it becomes clean, or half when it
 * was measured with more before. */
void section_grant(struct section *section, size_t dop,
                   const struct section_budget *budget);

/* After a sample: move on if enough was measured.  Returns true when the state
 * or the profile changed. */
bool section_advance(struct section *section,
                     const struct counters *counters, uint64_t profile_ns);

/* Free all sections; the list is empty then. */
void section_list_clear(struct section_list *list);

#endif /* COSCHED_SECTION_H */
