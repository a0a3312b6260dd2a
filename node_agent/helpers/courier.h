/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Brings a batch of final records into Slurm's accounting, and reads them back. */

#ifndef COSCHED_COURIER_H
#define COSCHED_COURIER_H

/* Concept
 *
 * A process for one batch: it may wait for the accounting, hang or be killed, and nobody waits
 * for it but the records that it has.  It reads them as lines of JSON ("job", "end", "text") from
 * standard input and answers each with a line:
 *
 *   {"job":N,"end":S}               the accounting has the record, and the run's end
 *   {"job":N,"end":S,"error":TEXT}  not so far: the run has not ended there, or is not known
 *   {"refused":TEXT}                there is no accounting
 *   {"away":TEXT}                   the accounting does not answer; nothing is known of those
 *                                   that have no line
 *   {"age":S}                       slurmctld keeps ended jobs for so long
 *
 * slurmctld takes no updates of ended jobs, so the accounting is asked to change its own record,
 * through slurmdbd.  An answer of that takes two delayed acknowledgements (88 ms), so a batch is
 * divided among processes with a connection each.  A run of a requeued job is chosen by its end:
 * sacct says which there are.
 */

#define COURIER_BATCH 512 /* records at a time */

/* Do all that.  Returns the exit status. */
int courier(void);

#endif /* COSCHED_COURIER_H */
