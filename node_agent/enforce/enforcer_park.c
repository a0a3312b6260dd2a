/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Stops and continues the processes of jobs that take turns. */

#include "node_agent/enforce/enforcer_private.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "node_agent/enforce/proc.h"

/* New processes may appear during a pass; passes until none does. */
#define MAX_PASSES 4

int enforcer_open(const struct tracked *t)
{
    struct proc_stat stat;
    int fd = (int)syscall(SYS_pidfd_open, t->pid, 0);

    /* The pid may have been used again; the pidfd pins what we look at.  One that
     * is ending has left its cgroup, and nothing of it runs. */
    if (fd >= 0 && (proc_read(t->pid, &stat) < 0 || stat.start != t->start ||
                    stat.exiting)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool stop_one(struct enforcer *e, struct tracked *t)
{
    int fd = enforcer_open(t);

    if (fd < 0)
        return false;
    if (e->supervisor)
        supervisor_stopped(e->supervisor, t->pid, fd);
    t->stopped = syscall(SYS_pidfd_send_signal, fd, SIGSTOP, NULL, 0) == 0;
    close(fd);
    return t->stopped;
}

/* Find the processes of JOB, of no other. */
static void scan_one(struct enforcer *e, struct job *job)
{
    struct job_table alone = {.first = job, .count = 1};
    struct job *next = job->next;

    job->next = NULL;
    enforcer_scan(e, &alone, true, clock_ns());
    job->next = next;
}

void enforcer_park(struct enforcer *e, struct job *job)
{
    /* A process that forks while it is being stopped leaves a running child:
     * look again until nothing new is found. */
    for (int pass = 0; pass < MAX_PASSES; pass++) {
        bool found = false;
        for (struct tracked *t = job->tracked; t; t = t->next)
            if (!t->dead && !t->stopped)
                found |= stop_one(e, t);
        if (pass > 0 && !found)
            break;
        scan_one(e, job);
    }
}

void enforcer_continue(struct enforcer *e, struct job *job)
{
    scan_one(e, job);
    for (struct tracked *t = job->tracked; t; t = t->next)
        t->stopped = !t->dead;
    enforcer_unpark(e, job);
}

void enforcer_unpark(struct enforcer *e, struct job *job)
{
    for (struct tracked *t = job->tracked; t; t = t->next) {
        if (!t->stopped)
            continue;
        t->stopped = false;
        int fd = t->dead ? -1 : enforcer_open(t);
        if (fd >= 0) {
            syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
            close(fd);
        }
        if (e->supervisor)
            supervisor_continued(e->supervisor, t->pid);
    }
}
