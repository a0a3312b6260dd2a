/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Keeps final records until Slurm's accounting has them. */

#ifndef COSCHED_DELIVER_H
#define COSCHED_DELIVER_H

/* Concept
 *
 * The other half of the helper, in a process of its own (coschedd-slurm --records FILE) that never
 * calls libslurm, so that nothing of Slurm keeps it from writing to disk what the agent gives it
 * (record_queue.h).  It starts couriers (courier.h), one at a time, each with all records that
 * are due:
 *
 *   - DELAY_S after the run's end at the earliest: slurmctld's own record, written by a thread that
 *     runs every few seconds, would win
 *   - again and again, with longer pauses, until the accounting shows the record and the run's end.
 *     While the accounting does not answer no record's pauses grow, and all go at once when it is
 *     back
 *   - and then until slurmctld says that it has forgotten the job and sends nothing more to
 *     slurmdbd, and is still the same a minute later: one that restarts before that, or with a
 *     state that it saved before, sends its own record again, as of the job's begin
 *
 * Given up are records of jobs that the accounting does not know for a day, while it and slurmctld
 * answer, and the oldest ones when there are too many; silently those that the accounting had.
 *
 * Where a collector is set ({"cmd":"collector"}), its couriers hand all records that are due over
 * to it (hand_over.h) instead, and what it has taken is done with.
 *
 * Pauses are in monotonic time: a clock that is set neither holds records back nor drops any.
 */

/* Serve standard input, or, with COLLECT, who comes to that port (collector.h), with munged's
 * socket at MUNGE or NULL.  SELF is the program to start as a courier.  Returns the exit status at
 * its end. */
int deliver(const char *self, const char *path, long delay_s, const char *collect,
            const char *munge);

#endif /* COSCHED_DELIVER_H */
