/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the accounting shows of jobs, by sacct. */

#ifndef COSCHED_SACCT_LOOK_H
#define COSCHED_SACCT_LOOK_H

#include "node_agent/helpers/parcel.h"

#define SACCT_SAID_MAX 200

/* Ask once for all of the COUNT (at most COURIER_BATCH) PARCELS, and set what
 * they have of the accounting.  False, with what sacct SAID, when it does not
 * answer. */
bool sacct_look(struct parcel *parcels, size_t count, char said[SACCT_SAID_MAX]);

#endif /* COSCHED_SACCT_LOOK_H */
