/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Freezes the cgroups of a job's tasks, where Slurm made such of version 2. */

#ifndef COSCHED_FREEZER_H
#define COSCHED_FREEZER_H

/* Concept
 *
 * A frozen cgroup holds all that is in it and all that it could start, whatever
 * signals its user sends; SIGKILL alone ends what is frozen.  Nobody can see it
 * as a stop, so a SIGSTOP of another stays in effect when it is thawed, and the
 * other way round.
 *
 *   .../NODE_slurmstepd.scope/job_J/step_S/user           Slurm freezes this
 * (scontrol suspend)
 *   .../NODE_slurmstepd.scope/job_J/step_S/user/task_N    the freezer this
 *
 * so the two do not undo each other either.  Version 1's freezer is not used:
 * what it has frozen cannot be killed, and only Slurm's thawing would end a
 * cancelled job.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errtext.h"
#include "node_agent/enforce/supervisor.h"

#define FREEZER_WORK 128 /* of thawing one (threads.h) */

struct freezer;

/* With processes in PROCFS.  SUPERVISOR may be NULL.  NULL with errno ENOTSUP
 * (no hierarchy of version 2) or ENOMEM. */
struct freezer *freezer_new(const char *procfs, struct supervisor *supervisor,
                            struct errtext *err);

/* Freeze the cgroup of JOB that process PID is in.  False where it is in none,
 * or that failed. */
bool freezer_freeze(struct freezer *freezer, uint32_t job, pid_t pid);

/* Thaw the cgroups of JOB, as far as *WORK goes; the others, and those where
 * this fails, by freezer_look(). */
void freezer_thaw(struct freezer *freezer, uint32_t job, size_t *work);

/* True when some of JOB, with 0 of any, are still to be thawed. */
bool freezer_owes(const struct freezer *freezer, uint32_t job);

/* Thaw what is to be, as far as *WORK goes. */
void freezer_look(struct freezer *freezer, size_t *work);

/* Freeze or thaw the cgroup at PATH; one that is gone is no error.  -1 with
 * errno. */
int freezer_set(const char *path, bool frozen, struct errtext *err);

/* Free; what is frozen is left to the supervisor.  Takes NULL. */
void freezer_free(struct freezer *freezer);

#endif /* COSCHED_FREEZER_H */
