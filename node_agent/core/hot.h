/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The regions of a job in which it spends most of its time, as its record names them. */

#ifndef COSCHED_HOT_H
#define COSCHED_HOT_H

/* Concept
 *
 * A program may have hundreds of regions, and few of them matter.  The record has HOT_MOST at
 * most, with their shares of the time that regions were seen to run:
 *
 *     hot=conj_grad@cg.c:87*0.62,729df73bfc2d7c41+1d80*0.21,short*0.1
 *
 * A name is what the region's user calls it, once the agent was told (daemon/namer.h), else build
 * id and offset.  Users choose names: what could be taken for another entry, or for anything but
 * a name, is "_", and a long one is cut off.
 */

#include <stddef.h>

#include "node_agent/core/record.h"
#include "node_agent/core/region.h"

#define HOT_MOST     3
#define HOT_NAME_MAX 48 /* with its zero */

/* Those of LIST that ran longest into HOT, the first first.  How many. */
size_t hot_regions(const struct region_list *list, struct region *hot[HOT_MOST]);

/* REGION is called LABEL ("conj_grad, cg.c:87"); "": nobody knows.  Once. */
void hot_name(struct region *region, const char *label);

/* Note those of LIST in RECORD; without any what is there stays. */
void hot_note(struct record *record, const struct region_list *list);

#endif /* COSCHED_HOT_H */
