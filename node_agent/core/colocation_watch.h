/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How near to its cores each job's interleaved pages should lie. */

#ifndef COSCHED_COLOCATION_WATCH_H
#define COSCHED_COLOCATION_WATCH_H

/* Concept
 *
 * Processes whose pages a memory policy interleaves move them as their allotment's near share says
 * (protocol/layout.h).  All jobs have the same near share.  The model compares shares for what runs
 * where (model/colocation.h), several times a second; regions and cores change faster than pages
 * can move, so what it finds is averaged over COLOCATION_WATCH_US.  A share is left for another
 * that is better by COLOCATION_WATCH_GAIN: to move pages costs time.  A job alone keeps its share.
 *
 * Nothing is compared while there is a job of several cores whose region, or the region's profile,
 * is not known.  One core counts as one that computes.
 */

#include "model/machine.h"
#include "node_agent/counters/attribute.h"

struct observer_reading;

#define COLOCATION_WATCH_US 2e6
#define COLOCATION_WATCH_LOOK_US 200e3
#define COLOCATION_WATCH_GAIN 0.05

struct colocation_watch;

/* For jobs on MACHINE, which must outlive it and not change.  NULL when out of memory. */
struct colocation_watch *colocation_watch_new(const struct machine *machine);

/* Takes NULL. */
void colocation_watch_free(struct colocation_watch *watch);

/* COUNT jobs did what READINGS say for US, and SHARES have what was counted of them then: sets
 * their near_share.  Without memory nothing changes. */
void colocation_watch_add(struct colocation_watch *watch, const struct observer_reading *readings,
                          const struct attribute_job *shares, size_t count, double us);

#endif /* COSCHED_COLOCATION_WATCH_H */
