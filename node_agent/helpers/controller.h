/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What slurmctld remembers of runs that are over. */

#ifndef COSCHED_CONTROLLER_H
#define COSCHED_CONTROLLER_H

#include "node_agent/helpers/parcel.h"

/* Concept
 *
 * slurmctld sends its own record of an ended job again when it restarts, as
 * long as it remembers the job.  A run is settled when it does not any more and
 * owes slurmdbd nothing, and when the same slurmctld, which has saved its state
 * since, is still there a minute later: that needs one question for all runs.
 *
 * A job that was requeued has the interim record of its run so far: if it is
 * cancelled while it waits, that would be the record of a run that it never
 * began.  So it gets a final one while it waits; its next run's agent writes
 * its own.
 */

/* How long slurmctld keeps ended jobs, and since when (epoch seconds) it runs.
 * False when it does not answer. */
bool controller_ask(int64_t *age_s, int64_t *boot_s);

/* Settle those of COUNT PARCELS that were told and can be: one request for each
 * of them, or for all if they are many. */
void controller_settle(struct parcel *parcels, size_t count);

/* P's job was requeued: see that slurmctld does not take P's interim record for the next run's.
 * False when it does not answer. */
bool controller_mend_requeued(struct parcel *p);

#endif /* COSCHED_CONTROLLER_H */
