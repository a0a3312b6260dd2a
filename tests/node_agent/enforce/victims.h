/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Processes that tests of the enforcer stop, narrow and continue. */

#ifndef COSCHED_VICTIMS_H
#define COSCHED_VICTIMS_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "node_agent/enforce/proc.h"

/* A process of user UID that never ends by itself, nor sleeps for long. */
static inline pid_t victim_start(uid_t uid)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (uid && setresuid(uid, uid, uid) < 0)
        _exit(1);
    for (;;)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static inline void victim_end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static inline bool victim_stopped(pid_t pid)
{
    struct proc_stat stat;

    return proc_read(pid, &stat) == 0 && stat.state == 'T';
}

/* Wait until PID is stopped, or is not. */
static inline void victim_await(pid_t pid, bool stopped)
{
    for (int i = 0; i < 30000 && victim_stopped(pid) != stopped; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(victim_stopped(pid), stopped);
}

#endif /* COSCHED_VICTIMS_H */
