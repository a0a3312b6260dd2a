/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which processes belong to which job. */

#ifndef COSCHED_MEMBERS_H
#define COSCHED_MEMBERS_H

/* Concept
 *
 * A scan reads /proc (proc_table.h), gives each process that is a job's to that
 * job as a struct tracked, and says which of them are to be held.  What is done
 * with them is the enforcer's.
 */

#include "node_agent/core/enforcer.h"

#define MEMBERS_MAX 4096

struct members;

/* OPTIONS must outlive it. */
struct members *members_new(const struct node_options *options);

/* Find the processes of all jobs, as far as *WORK goes (NULL: however much it
 * takes); the next call goes on.  Unless FORCE, only when a scan is due. */
void members_scan(struct members *members, struct job_table *jobs, bool force,
                  uint64_t now_ns, size_t *work);

/* Likewise of JOB, of no other. */
void members_scan_one(struct members *members, struct job *job, size_t *work);

/* How many scans have begun so far, and the last of these that has finished. */
uint64_t members_begun(const struct members *members);
uint64_t members_finished(const struct members *members);

/* Scan soon, and as often as while processes come and go. */
void members_expect(struct members *members, uint64_t now_ns);

/* Time of the last scan. */
uint64_t members_scanned_ns(const struct members *members);

/* When that scan began, in ticks since boot: all processes of jobs that are older are tracked.  0:
 * not all are. */
uint64_t members_seen_ticks(const struct members *members);

/* The process of JOB with number PID, dead or alive, or NULL. */
struct tracked *members_find(struct job *job, pid_t pid);

/* May process PID, which calls itself CALLED, attach to JOB?  -1 with errno
 * ESRCH, or EPERM: it is of another user, or not of the job: neither in its
 * cgroup, nor a descendant of its processes, or member of a group or session of
 * theirs.  The caller sees to it that PID is the same process before and
 * afterwards. */
int members_admit(struct job *job, pid_t pid, pid_t called,
                  struct errtext *err);

/* A pidfd of T, which the caller closes; -1: it has ended, or is about to. */
int members_open(const struct tracked *t);

/* Takes NULL. */
void members_free(struct members *members);

#endif /* COSCHED_MEMBERS_H */
