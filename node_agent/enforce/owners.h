/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which job each process of the node belongs to. */

#ifndef COSCHED_OWNERS_H
#define COSCHED_OWNERS_H

/* Concept
 *
 * A job's processes are
 *
 *   - its tasks, those that attached, and those known to be its from before
 *   - who is in its cgroup (job_cgroup.h), whatever became of its parents
 *   - descendants of these, and members of a process group or session that one
 * of these leads or led: groups and sessions are inherited, and the kernel does
 * not give out the number of a leader again while they have members
 *
 * slurmstepd is none: it shares the cgroup with tasks in version 1, and is
 * known there by its name and root's real user id, which no program of a user
 * has.
 *
 * Owners are found from what is known outwards, each process once.  A cgroup
 * file is read only of a process that is nobody's by descent, when the process
 * is read anyway.
 */

#include "node_agent/core/job.h"
#include "node_agent/enforce/proc_table.h"

/* Of an entry of the process table. */
struct owner {
    struct job *job;         /* NULL: nobody's */
    struct tracked *tracked; /* NULL: was not known */
    bool attached, task;
};

struct owners {
    struct proc_table *procs;
    struct owner *of; /* [procs->count] */
    struct owners_link
        *link; /* [links] who stems from which number, by number */
    size_t links;
    uint32_t *found; /* [found_count] entries with an owner, in the order of
                        finding */
    size_t found_count;
    bool unfinished;      /* work was not enough for all cgroup files */
    size_t moves, steps, places; /* of links sorted; links followed, cgroup files read: for tests */
};

/* Find the owners of all processes of PROCS among JOBS, which are ALL there are, or some: then
 * who is nobody's may be another's.  -1 with errno ENOMEM. */
int owners_find(struct owners *owners, struct proc_table *procs,
                const struct job_table *jobs, bool all);

/* True when PID leads a group or session with members. */
bool owners_leads(const struct owners *owners, pid_t pid);

/* Free what OWNERS holds. */
void owners_clear(struct owners *owners);

#endif /* COSCHED_OWNERS_H */
