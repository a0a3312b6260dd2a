/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How long the jobs' reads stall them, relative to what the model says. */

#ifndef COSCHED_STALL_WATCH_H
#define COSCHED_STALL_WATCH_H

/* Concept
 *
 * As long as the same regions run on the same cores of each LLC domain, stalled cycles of the jobs
 * are added up; of each STALL_WATCH_US of that the regions' stall factors learn
 * (model/stall_factor.h), and their profiles take what they have learnt.  A region of which nothing
 * was counted has the mean of what all others have learnt since the agent began.  What jobs stall
 * depends on what all of them do: nothing is learnt while there is one of several cores whose
 * region, or the region's profile, is not known.  One core counts as one that computes.
 */

#include "model/machine.h"
#include "node_agent/counters/attribute.h"

struct observer_reading;

#define STALL_WATCH_US 200e3
#define STALL_WATCH_SOME_US 2e6  /* after which their mean counts for half, */
#define STALL_WATCH_MOST_US 60e6 /* and for which it remembers them */

struct stall_watch;

/* For jobs on MACHINE, which must outlive it and not change.  NULL when out of memory. */
struct stall_watch *stall_watch_new(const struct machine *machine);

/* Takes NULL. */
void stall_watch_free(struct stall_watch *watch);

/* COUNT jobs did what READINGS say for US, and SHARES have what was counted of them then.  Without
 * memory nothing is learnt. */
void stall_watch_add(struct stall_watch *watch, const struct observer_reading *readings,
                     const struct attribute_job *shares, size_t count, double us);

#endif /* COSCHED_STALL_WATCH_H */
