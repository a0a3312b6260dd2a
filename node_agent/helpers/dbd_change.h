/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Writes records into the accounting, through slurmdbd. */

#ifndef COSCHED_DBD_CHANGE_H
#define COSCHED_DBD_CHANGE_H

#include "node_agent/helpers/parcel.h"

/* Concept
 *
 * slurmctld takes no updates of ended jobs, so slurmdbd is asked to change its
 * own record of the run, by one request for each.  A run of a requeued job is
 * chosen by its end and state.
 *
 * This is done in processes of their own, which may die: Slurm's plugin for
 * that, loaded without slurmctld's symbols, has calls that cannot be resolved,
 * and makes one when its connection breaks while it waits for an answer.  What
 * has come of the changes is read back anyway.
 *
 * libslurm and slurmdbd both send a message as its size and then its body, with
 * Nagle's algorithm: each body would wait for a delayed acknowledgement of its
 * size, 44 ms.  So our end sends at once, and acknowledges at once.
 */

/* Is a record to be written for P? */
bool dbd_change_wanted(const struct parcel *p);

/* Write all that have to be of COUNT PARCELS. */
void dbd_change_all(const struct parcel *parcels, size_t count);

#endif /* COSCHED_DBD_CHANGE_H */
