/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Sections of a job: what is known of each, and how it gets known. */

#ifndef COSCHED_SECTION_H
#define COSCHED_SECTION_H

/* Concept
 *
 *     unknown ──> clean ──> half ──> known
 *
 * A parallel section that is met for the first time is profiled: `clean`, as
 * much of the pool as can be had, then `half` of that, each for the same
 * time.  Two throughputs at two DoPs give its profile, and it is `known`; where
 * hardware counters explain the throughput, `clean` is enough.  Whatever else
 * was measured at different DoPs counts as well, so that a section whose DoP
 * changed for another reason may become known without having been profiled.
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
    uint64_t fit_time_ns; /* measured time when the last fit was tried */
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

/* DoP at which SECTION should be measured next when at most MOST cores can be
 * had: 0 when nothing is to be learned (known, or no second DoP exists). */
size_t section_wants(const struct section *section, size_t most,
                     uint64_t profile_ns);

/* SECTION is given DOP cores to be measured: it becomes clean, or half when it
 * was measured with more before. */
void section_grant(struct section *section, size_t dop, uint64_t profile_ns);

/* Number of DoPs at which SECTION was measured for at least PROFILE_NS. */
size_t section_points(const struct section *section, uint64_t profile_ns);

/* After a sample: move on if enough was measured.  Returns true when the state
 * or the profile changed. */
bool section_advance(struct section *section,
                     const struct counters *counters, uint64_t profile_ns);

/* Free all sections; the list is empty then. */
void section_list_clear(struct section_list *list);

#endif /* COSCHED_SECTION_H */
