/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A process that undoes what the agent did to others, should the agent die. */

#ifndef COSCHED_SUPERVISOR_H
#define COSCHED_SUPERVISOR_H

/* Concept
 *
 * The agent stops processes (parked jobs) and narrows their affinity or cpuset (pinned
 * jobs).  A killed agent could not undo that.  The supervisor is forked first, holds a
 * pidfd of each such process, and waits until the socket to the agent closes.  Then it
 * continues what is stopped, restores the full CPU set, and exits.  It is told before
 * the agent acts, so there is no gap.
 */

#include <sys/types.h>

#include "common/errtext.h"
#include "protocol/layout.h"

struct supervisor;

/* Fork the supervisor, while the process has one thread and no descriptor worth keeping.  NULL
 * with errno. */
struct supervisor *supervisor_new(struct errtext *err);

/* PID (by PIDFD, which stays the caller's) is about to be stopped. */
int supervisor_stopped(struct supervisor *supervisor, pid_t pid, int pidfd);

/* PID was continued. */
int supervisor_continued(struct supervisor *supervisor, pid_t pid);

/* The affinity of PID is about to be narrowed within GRANTED. */
int supervisor_held(struct supervisor *supervisor, pid_t pid, int pidfd,
                const struct cosched_cpuset *granted);

/* The cgroup at PATH is about to be narrowed (cgroup_restore() can undo it); it was
 * restored.  The former fails with errno ENAMETOOLONG or EPIPE. */
int supervisor_narrowed(struct supervisor *supervisor, const char *path);
int supervisor_restored(struct supervisor *supervisor, const char *path);

/* Let the supervisor do its work and wait for its end.  Takes NULL. */
void supervisor_free(struct supervisor *supervisor);

#endif /* COSCHED_SUPERVISOR_H */
