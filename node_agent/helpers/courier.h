/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Brings a batch of final records into Slurm's accounting, and reads them back. */

#ifndef COSCHED_COURIER_H
#define COSCHED_COURIER_H

/* Concept
 *
 * A process for one batch: it may wait for the accounting, hang or be killed, and nobody waits
 * for it but the records that it has.  It reads them as lines of JSON ("job", "end", "text"; with
 * "told" and "boot" what an earlier courier had found) from standard input and answers by lines:
 *
 *   {"age":S,"boot":T}              slurmctld keeps ended jobs for so long, and began then; absent
 *                                   when it does not answer
 *   {"job":N,"end":S}               the accounting has the record, and the run's end
 *   {"job":N,"end":S,"settled":true}  and slurmctld, of "boot", has forgotten the run
 *   {"job":N,"end":S,"error":TEXT}  not so far: the run has not ended there, or is not known
 *   {"refused":TEXT}                there is no accounting
 *   {"away":TEXT}                   the accounting does not answer; nothing is known of those
 *                                   that have no line
 *
 * A batch of n costs n changes, and a number of requests that hardly depends on n (dbd_change.h,
 * controller.h, sacct_look.h).
 */

#define COURIER_BATCH 512 /* records at a time */

/* Do all that.  Returns the exit status. */
int courier(void);

#endif /* COSCHED_COURIER_H */
