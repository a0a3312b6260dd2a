/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Ends of jobs. */

#ifndef COSCHED_ENDING_H
#define COSCHED_ENDING_H

/* Concept
 *
 * A job ends by its withdrawal (the epilog, or the note that this left while there was no agent),
 * by a later run of the same job, or because nobody has withdrawn it for very long.  Its processes
 * are detached and its tasks forgotten, ENDING_MOST in a turn of the event loop, after epochs and
 * requests of root: thousands that end with their job delay neither.  Until then nothing more
 * joins it.  Then its record is made, and it is forgotten.
 */

#include <stdint.h>

#define ENDING_MOST 64

struct agent;
struct job;

/* JOB is over.  Of few processes all is done at once; of more when its turn comes. */
void ending_begin(struct agent *agent, struct job *job);

/* The same, all of it now: there is to be another job of its number. */
void ending_finish(struct agent *agent, struct job *job);

/* Nothing of JOB lives, and it never will: its record, and that is all. */
void ending_dead(struct agent *agent, struct job *job);

/* In some epochs: notes of epilogs, and jobs that nobody has withdrawn. */
void ending_look(struct agent *agent, uint64_t now_ns);

#endif /* COSCHED_ENDING_H */
