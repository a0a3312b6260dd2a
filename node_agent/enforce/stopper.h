/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Stops processes, and continues what it has stopped, nothing else. */

#ifndef COSCHED_STOPPER_H
#define COSCHED_STOPPER_H

/* Concept
 *
 * Slurm (scontrol suspend) and users stop processes, too, and a process has one
 * state for all. So a process that is stopped already is not the stopper's. One
 * that is stopped by it and then by another has a SIGSTOP pending, which the
 * kernel keeps until a SIGCONT: it is left to the other.  (Not noticed is a
 * SIGSTOP of another that comes before ours has taken effect.)
 *
 *   stop       the pidfd of each process is opened before, and kept until it is
 * continued, so continuing needs no descriptor; what cannot be noted with the
 * supervisor is not stopped
 *   continue   as many as the work that is given suffices for, the others at
 * the next looks; what fails is tried again then, and only success clears the
 * note look       STOPPER_LOOKS processes an epoch, whatever their number: one
 * that another has continued (SIGCONT) is stopped again
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "node_agent/enforce/supervisor.h"

#define STOPPER_LOOKS 64
#define STOPPER_WORK  64 /* of stopping or continuing one (threads.h) */

struct stopper;

/* SUPERVISOR may be NULL. */
struct stopper *stopper_new(struct supervisor *supervisor);

/* Stop process PID, begun at START, for JOB.  1: it was stopped; 0: it is
 * stopped already, or has ended; -1 with errno: it runs on. */
int stopper_stop(struct stopper *stopper, uint32_t job, pid_t pid,
                 uint64_t start);

/* Continue what was stopped for JOB, as far as *WORK goes; the others, and what
 * fails, by stopper_look(). */
void stopper_continue(struct stopper *stopper, uint32_t job, size_t *work);

/* True when some of JOB, with 0 of any, are still to be continued. */
bool stopper_owes(const struct stopper *stopper, uint32_t job);

/* Continue what is to be, as far as *WORK goes, and look at some of the
 * stopped. */
void stopper_look(struct stopper *stopper, size_t *work);

/* How many are stopped, or not continued so far. */
size_t stopper_count(const struct stopper *stopper);

/* In the supervisor: continue process PID, begun at START, unless another has
 * stopped it since; AGAIN: that cannot be told. */
void stopper_undo(pid_t pid, uint64_t start, bool again);

/* Free; what is stopped is left to the supervisor.  Takes NULL. */
void stopper_free(struct stopper *stopper);

#endif /* COSCHED_STOPPER_H */
