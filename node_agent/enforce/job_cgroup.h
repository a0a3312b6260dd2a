/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The cgroup that Slurm gave a job, and who is in it. */

#ifndef COSCHED_JOB_CGROUP_H
#define COSCHED_JOB_CGROUP_H

/* Concept
 *
 * What Slurm starts for a job, and all that comes of it, is in cgroups below
 * one named job_J. They belong to root, so that no program of a user gets out
 * or in by itself, whatever it forks and whatever it is called.  Which one it
 * is says the job's first task, which slurmstepd named and which had run
 * nothing of the user's by then: several nodes of an emulated cluster, and
 * several clusters, have a job_J each.
 *
 * A line of /proc/PID/cgroup is ID:CONTROLLERS:PATH.  A job's cgroup is kept as
 * the begin of such a line, up to job_J; who has a line that begins so is in
 * it.
 *
 *   version 1   ID:freezer:/slurm_NODE/uid_U/job_J/step_S...     slurmstepd is
 * in step_S version 2   0::/...slurmstepd.scope/job_J/step_S/user/...
 * slurmstepd is in step_S/slurm
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_CGROUP_TEXT 16384 /* of a cgroup file: a dozen paths */

/* The cgroup of job ID in the TEXT of a task's cgroup file, malloc'ed.  NULL:
 * there is none. Hierarchies with a name are systemd's, not Slurm's. */
char *job_cgroup_find(const char *text, uint32_t id);

/* The next job that TEXT names, in *ID; returns the text behind, NULL: it names
 * no more.  Users may name cgroups of their own so. */
const char *job_cgroup_next(const char *text, uint32_t *id);

/* True when the process with TEXT is in CGROUP, and not where only slurmstepd
 * is. */
bool job_cgroup_has(const char *cgroup, const char *text);

#endif /* COSCHED_JOB_CGROUP_H */
