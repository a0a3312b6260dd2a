/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Cpuset cgroups of Slurm's jobs: where a process is, and how to narrow it. */

#ifndef COSCHED_CGROUP_H
#define COSCHED_CGROUP_H

/* Concept
 *
 * Slurm gives each job and step a cgroup.  /proc/PID/cgroup tells where a process is,
 * so nothing is assumed about the tree above job_J:
 *
 *   version 1   .../slurm[_NODE]/uid_U/job_J/step_S[/...]
 *               slurmstepd shares step_S with the tasks.  Pinned processes move to a
 *               group of ours beside it, job_J/cosched-NODE:step_S, and back at the
 *               end.  Only the cpuset hierarchy is concerned.
 *   version 2   .../NODE_slurmstepd.scope/job_J/step_S/{slurm,user/task_N}
 *               slurmstepd is in slurm.  cpuset.cpus of user/task_N is narrowed;
 *               nothing moves.
 *
 * Slurm's own cpuset further up stays the outer bound.  A group's path tells all that
 * is needed to restore it, so the supervisor or the next agent can do that (ledger.h).
 * cpuset.mems stay Slurm's.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errtext.h"
#include "protocol/layout.h"

#define CGROUP_PATH_MAX 512

/* The hierarchy that has the cpuset controller, or another. */
struct cgroup_tree {
    bool unified;                /* version 2 */
    const char *controller;      /* version 1: this one */
    char mount[CGROUP_PATH_MAX]; /* where it is mounted */
    char root[CGROUP_PATH_MAX];  /* which part of it: "/" is all */
    char procfs[64];             /* where processes are looked up: /proc */
    char node[64];               /* marks groups of ours */
};

/* A cgroup whose CPUs are ours to narrow. */
struct cgroup_group {
    char path[CGROUP_PATH_MAX];
    char origin[CGROUP_PATH_MAX]; /* where its processes belong; version 2: path */
    bool inside;                  /* the process is in PATH already */
};

/* Find the hierarchy that this process sees.  NODE tells the agents of a host
 * apart.  -1 with errno ENOTSUP (none is mounted) or ENAMETOOLONG. */
int cgroup_tree_find(struct cgroup_tree *tree, const char *procfs,
                     const char *node, struct errtext *err);

/* The same of version 2, with or without that controller. */
int cgroup_tree_find_unified(struct cgroup_tree *tree, const char *procfs,
                             struct errtext *err);

/* The one whose freezer Slurm uses: version 1's where that is mounted, else version 2. */
int cgroup_tree_find_freezer(struct cgroup_tree *tree, const char *procfs,
                             struct errtext *err);

/* In PATH the group .../job_J/step_S/user/... of version 2 that Slurm made for the task of JOB that
 * process PID is of.  -1 with errno ESRCH or ENOTSUP: there is none. */
int cgroup_tasks_of(const struct cgroup_tree *tree, pid_t pid, uint32_t job,
                    char path[CGROUP_PATH_MAX], struct errtext *err);

/* True when the group around all tasks of the step of JOB that process PID is of is frozen, as
 * Slurm does to suspend it.  The agent freezes only the groups of single tasks (freezer.h).  TREE
 * is that of cgroup_tree_find_freezer(). */
bool cgroup_suspended(const struct cgroup_tree *tree, pid_t pid, uint32_t job);

/* Write TEXT, by one write(2), to the file NAME of the group at DIR.  -1 with errno. */
int cgroup_write(const char *dir, const char *name, const char *text,
                 struct errtext *err);

/* The group for process PID of Slurm's job JOB.  -1 with errno ESRCH, or ENOTSUP: the process is in
 * no cpuset of that job, or in one that others share. */
int cgroup_group_of(const struct cgroup_tree *tree, pid_t pid, uint32_t job,
                    struct cgroup_group *group, struct errtext *err);

/* 0 when GROUP has tasks only; -1 with errno ENOTSUP when slurmstepd is in it. */
int cgroup_check(const struct cgroup_tree *tree,
                 const struct cgroup_group *group, struct errtext *err);

/* Give the processes of GROUP CPUS (not empty), within Slurm's bound; makes the group if need
 * be.  -1 with errno of the file operation. */
int cgroup_narrow(const struct cgroup_tree *tree,
                  const struct cgroup_group *group,
                  const struct cosched_cpuset *cpus, struct errtext *err);

/* Put process PID into GROUP, unless it is there.  -1 with errno ESRCH or that
 * of the file operation. */
int cgroup_enter(const struct cgroup_group *group, pid_t pid,
                 struct errtext *err);

/* Put process PID back where it belongs, if it is in a group of ours. */
void cgroup_leave(const struct cgroup_tree *tree, pid_t pid, uint32_t job);

/* True when there are processes in the group at PATH. */
bool cgroup_populated(const char *path);

/* Restore the group at PATH, as far as *WORK (threads.h) goes; NULL: whatever it takes.  One that
 * is gone is no error; EAGAIN: not all of its processes are where they were. */
int cgroup_restore(const char *path, size_t *work, struct errtext *err);

#endif /* COSCHED_CGROUP_H */
