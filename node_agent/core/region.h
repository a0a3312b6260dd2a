/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Regions of a job: what is known of each, and how it gets known. */

#ifndef COSCHED_REGION_H
#define COSCHED_REGION_H

/* Concept
 *
 * What a region does at the DoPs that it has anyway is always measured and usually tells enough;
 * with hardware counters one DoP does.  A region seen at one DoP only is probed, on as much of the
 * pool as possible or on less, whichever tells more (throughput_next()).
 *
 * Probes take cores from others or from the region, so they may use a share (2 %) of the time that
 * the region has run, and only where a decision depends on the result (throughput_matters()).
 *
 * Whether jobs should take turns depends on what each does with the whole pool to itself: more
 * than the model says where caches add up or threads of one job spin for each other.  Where no
 * counters tell, that is measured while the others wait.  The pool computes meanwhile, so such a
 * probe is charged for what more cores usually do not gain only.
 *
 * A known region is still measured.  Its profile is replaced when the difference could change a
 * decision; measurements are forgotten when the region drifts, i.e. becomes slower or faster at a
 * DoP.
 *
 * Regions too short to be scheduled one by one (cosched_min_region) share one pseudo-region, the
 * folded one.  Regions are identified by object id and offset and kept as long as the job lives.
 * The job names them, so beyond REGION_LIMIT all are folded.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/policy.h"
#include "model/stall_factor.h"
#include "model/workload.h"
#include "node_agent/core/useful.h"
#include "node_agent/counters/counters.h"

#define REGION_LIMIT 512

struct region {
    uint64_t object_id;
    uint64_t offset;
    bool folded;
    bool known; /* measured for long enough: the profile will hardly change */
    struct measure measure;
    struct workload *profile; /* NULL: not known */
    struct stall_factor stalls; /* of it, as learnt so far */
    struct useful *useful; /* cores, as predicted; NULL: not known */
    struct counters_fit fit;  /* of the profile; only with it */
    size_t decided_cores; /* that it had by the last decision about it (0: none yet), */
    double decided_speed; /* and its predicted speed relative to that alone */
    struct counters_fit seen; /* as of the last try; points 0: nothing yet */
    uint64_t fit_time_ns; /* measured time when the last fit was tried */
    size_t dop;           /* measured last, */
    bool probed;          /* in a probe */
    uint64_t run_ns;      /* in which it was seen to run, probes included */
    uint64_t probe_ns;    /* that its probes are charged for */
    uint64_t probe_left_ns; /* of the present probe; 0: none */
    size_t probe_dop;       /* of the present probe, */
    bool probe_alone;       /* while the other jobs wait, */
    double probe_cost;      /* and what it is charged for, of its time */
    bool asked;  /* what it is called, */
    char *label; /* which is this (hot.h); NULL: not known */
    struct region *next;
};

/* A job's regions. */
struct region_list {
    struct region *first;
    struct region *folded;
    size_t count; /* without the folded one */
    uint64_t cache_ns;      /* of all probes of how it uses caches, */
    uint64_t cache_left_ns; /* of the present one; 0: none */
    struct policy_counted counted; /* observer: of all of them */
};

/* "known", "probed" (while it is not known) or "unknown". */
const char *region_knowledge(const struct region *region);

#define REGION_NAME_MAX 40

/* Write "OBJECT+OFFSET", both hexadecimal, or "short" for the folded one, into
 * NAME and return it. */
const char *region_name(const struct region *region,
                         char name[REGION_NAME_MAX]);

/* The region of that name in LIST, made if need be; the folded one when LIST
 * is full.  NULL only when out of memory. */
struct region *region_find(struct region_list *list, uint64_t object_id,
                             uint64_t offset);
struct region *region_folded(struct region_list *list);

/* REGION ran for TIME_NS on DOP cores and did WORK; PROBED: these cores were
 * given to it to measure it.  True when it was found to have drifted. */
bool region_measure(struct region *region, size_t dop, uint64_t time_ns,
                     const double work[COUNTERS_UNITS], bool probed);

/* Forget all that was measured of REGION, and its profile. */
void region_forget(struct region *region);

/* What probes may cost. */
struct region_budget {
    uint64_t profile_ns; /* cosched_profile: three probes; 0: none */
    double share;        /* cosched_probe: part of a region's time */
};

/* Length of a probe. */
uint64_t region_probe_ns(const struct region_budget *budget);

/* True when REGION may be probed now: a probe goes on, or fits the budget. */
bool region_may_probe(const struct region *region,
                       const struct region_budget *budget);

/* DoP at which REGION should be probed now when at most MOST cores can be had:
 * 0 when it may not be, or nothing that matters is to be learned. */
size_t region_wants(const struct region *region, size_t most,
                     const struct region_budget *budget);

/* What was measured of REGION on fewer cores than WHOLE, at the DoP that it had longest; NULL:
 * nothing.  REGION owns it. */
const struct measure_point *region_usual(const struct region *region, size_t whole);

/* Likewise with the other jobs parked. */
bool region_may_probe_alone(const struct region *region,
                            const struct region_budget *budget);

/* True when REGION should be probed now on WHOLE cores, all that it could have if the other
 * jobs waited: a sixth of cosched_profile at least, and as much as `share` allows of its time. */
bool region_wants_alone(const struct region *region, size_t whole,
                        const struct region_budget *budget);

/* Should the job of LIST have fewer cores on each LLC, so that it is seen how often it misses
 * (model/cache_power.h)?  Until that is known, or has been tried for long, as the budget allows. */
bool region_list_wants_cache(const struct region_list *list, const struct region_budget *budget);

/* And that goes on. */
bool region_list_probes_cache(const struct region_list *list, const struct region_budget *budget);

/* It begins, or did for TIME_NS. */
void region_list_grant_cache(struct region_list *list, const struct region_budget *budget);
void region_list_probed_cache(struct region_list *list, uint64_t time_ns);

/* REGION is given DOP cores to be probed; ALONE: while the others wait. */
void region_grant(struct region *region, size_t dop, bool alone,
                   const struct region_budget *budget);

/* After a sample of REGION of LIST: move on if enough was measured.  Returns true when it became
 * known or the profile changed. */
bool region_advance(struct region *region, const struct region_list *list,
                    const struct counters *counters, uint64_t profile_ns);

/* Its profile takes what was learnt of REGION's stalls, if that could change a decision. */
void region_take_stalls(struct region *region);

/* Time that all of LIST were seen to run. */
uint64_t region_list_run_ns(const struct region_list *list);

/* Free all regions; the list is empty then. */
void region_list_clear(struct region_list *list);

#endif /* COSCHED_REGION_H */
