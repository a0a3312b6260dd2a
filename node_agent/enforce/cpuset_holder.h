/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Holds processes to CPUs by the cpuset cgroups of their jobs. */

#ifndef COSCHED_CPUSET_HOLDER_H
#define COSCHED_CPUSET_HOLDER_H

/* Concept
 *
 * The enforcer decides which processes are pinned; the holder does it where Slurm has
 * made cpuset cgroups (cgroup.h).  No program can leave a cpuset by setting its own
 * affinity.  Each round compares what is with what should be, so changes by Slurm last
 * until the next epoch.
 *
 * Users make tasks, each with a group of its own, by the thousand.  So what restores groups takes
 * from the epoch's work (enforcer.h), and cpuset_holder_look() goes on with it.
 *
 * In version 2 all processes of a task are narrowed together.  A job with attached
 * processes is not pinned by cpuset there, because their runtime binds its threads to
 * CPUs of the allotment page, which must stay in bounds.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "node_agent/enforce/supervisor.h"
#include "common/errtext.h"
#include "protocol/layout.h"

#define CPUSET_WORK 128 /* of pinning by a group, or restoring one (threads.h) */

struct cpuset_holder;

/* For the agent of NODE, with processes in PROCFS.  SUPERVISOR may be NULL.  NULL
 * with errno ENOTSUP (no cpuset hierarchy) or ENOMEM. */
struct cpuset_holder *cpuset_holder_new(const char *node, const char *procfs,
                                        struct supervisor *supervisor,
                                        struct errtext *err);

/* True when processes are pinned one by one, without attached ones (version 1). */
bool cpuset_holder_by_process(const struct cpuset_holder *holder);

/* Begin a round for JOB, or go on with the one that was not ended: pin to CPUS. */
void cpuset_holder_begin(struct cpuset_holder *holder, uint32_t job,
                         const struct cosched_cpuset *cpus, bool go_on);

/* Pin process PID.  -1 with errno and ERR: not possible, use affinity. */
int cpuset_holder_hold(struct cpuset_holder *holder, pid_t pid,
                       struct errtext *err);

/* End the round: restore groups without a pinned process. */
void cpuset_holder_end(struct cpuset_holder *holder, size_t *work);

/* Release process PID of JOB. */
void cpuset_holder_let_go(struct cpuset_holder *holder, uint32_t job,
                          pid_t pid, size_t *work);

/* Restore all groups of JOB.  What fails, and what *WORK is not enough for, is tried again by
 * cpuset_holder_look(). */
void cpuset_holder_release(struct cpuset_holder *holder, uint32_t job, size_t *work);
void cpuset_holder_look(struct cpuset_holder *holder, size_t *work);

/* True while some are still to be restored. */
bool cpuset_holder_owes(const struct cpuset_holder *holder);

/* Free; the groups are left to the supervisor.  Takes NULL. */
void cpuset_holder_free(struct cpuset_holder *holder);

#endif /* COSCHED_CPUSET_HOLDER_H */
