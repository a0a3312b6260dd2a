/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A process that undoes what the agent did to others, should the agent die. */

#ifndef COSCHED_SUPERVISOR_H
#define COSCHED_SUPERVISOR_H

/* Concept
 *
 * The agent stops processes, freezes cgroups (parked jobs) and narrows affinity
 * or cpusets (pinned jobs).  A killed agent could not undo that.  Each such
 * thing is noted in a ledger (ledger.h) before it is done.  The supervisor is a
 * child of the agent that shares the ledger's memory and waits for the end of
 * the agent.  Then it undoes what is noted: it widens, continues what the agent
 * had stopped, and exits.
 *
 * Nothing is done to anybody without it: supervisor_ready() before each round
 * of stopping or narrowing.  That reaps a supervisor that was killed and starts
 * another, which needs nothing but the ledger.  If both were killed, the next
 * agent finds the ledger's file.
 *
 * All functions take NULL for the supervisor: there is none, and nothing is
 * noted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errtext.h"
#include "protocol/layout.h"

struct supervisor;

/* None runs so far: supervisor_ready() fails.  NULL with errno ENOMEM. */
struct supervisor *supervisor_new(void);

/* Keep the ledger at PATH (NULL: in memory), after undoing what an earlier
 * agent has left in it, and start the process.  -1 with errno: nothing can be
 * noted; supervisor_ready() tries again to start the process if only that
 * failed.
 * Before the caller has other threads: the process is forked and allocates memory, and only
 * glibc's allocator, not a sanitizer's, lets go of a lock that one of them held. */
int supervisor_start(struct supervisor *supervisor, const char *path,
                     struct errtext *err);

/* True when it runs, or has been started again; else nothing may be done to
 * processes now. */
bool supervisor_ready(struct supervisor *supervisor);

/* What is wrong with it, or "". */
const char *supervisor_problem(struct supervisor *supervisor);

/* Note in *NOTE, which is 0, what is about to be done: process PID, begun at START,
 * is to be stopped (AGAIN: it was before, and goes on); its affinity narrowed within
 * what JOB was GRANTED, or has been inherited; the cgroup at PATH narrowed or frozen.
 * -1 with errno, and *NOTE still 0: it must not be done. */
int supervisor_will_stop(struct supervisor *supervisor, pid_t pid,
                         uint64_t start, bool again, size_t *note);
int supervisor_will_hold(struct supervisor *supervisor, uint32_t job, pid_t pid, uint64_t start,
                         const struct cosched_cpuset *granted, size_t *note);
int supervisor_will_narrow(struct supervisor *supervisor, const char *path,
                           size_t *note);
int supervisor_will_freeze(struct supervisor *supervisor, const char *path,
                           size_t *note);

/* Whoever has inherited the affinity of who is held, and began before TICKS (since boot), is noted,
 * too (heirs.h). */
void supervisor_saw(struct supervisor *supervisor, uint64_t ticks);

/* What *NOTE says is undone, or its process has ended; *NOTE becomes 0. */
void supervisor_done(struct supervisor *supervisor, size_t *note);

/* Forget some of the processes that have ended. */
void supervisor_tidy(struct supervisor *supervisor);

/* Let it do its work and wait for its end. */
void supervisor_free(struct supervisor *supervisor);

#endif /* COSCHED_SUPERVISOR_H */
