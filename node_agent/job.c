/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Co-scheduled jobs of this node. */

#include "node_agent/job.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node_agent/clock.h"
#include "node_agent/enforcer.h"
#include "node_agent/proc.h"
#include "node_agent/process.h"

struct job *job_find(const struct job_table *table, uint32_t id)
{
    for (struct job *j = table->first; j; j = j->next)
        if (j->id == id)
            return j;
    return NULL;
}

struct job *job_add(struct job_table *table, uint32_t id)
{
    struct job **end = &table->first;
    struct job *j;

    if (table->count >= JOB_LIMIT) {
        errno = ENOSPC;
        return NULL;
    }
    if (!(j = calloc(1, sizeof(*j))))
        return NULL;
    j->id = id;
    j->announced_wall_ns = clock_wall_ns();
    job_options_init(&j->options);
    while (*end)
        end = &(*end)->next;
    *end = j;
    table->count++;
    return j;
}

bool job_live(const struct job *job)
{
    return job->tasks || job->processes;
}

/* Is process PID stopped?  -1: there is none. */
static int is_stopped(pid_t pid)
{
    struct proc_stat stat;

    if (proc_read(pid, &stat) < 0)
        return -1;
    return stat.state == 'T' || stat.state == 't';
}

bool job_stopped(const struct job *job)
{
    bool any = false;

    for (const struct task *t = job->tasks; t; t = t->next) {
        int stopped = is_stopped(t->pid);
        if (!stopped)
            return false;
        any |= stopped > 0;
    }
    for (const struct process *p = job->processes; p; p = p->next) {
        int stopped = is_stopped(p->pid);
        if (!stopped)
            return false;
        any |= stopped > 0;
    }
    return any;
}

struct task *job_add_task(struct job *job, uint32_t step, pid_t pid)
{
    struct proc_stat stat;
    struct task *t;

    if (proc_read(pid, &stat) < 0)
        return NULL;
    for (t = job->tasks; t; t = t->next)
        if (t->pid == pid && t->start == stat.start)
            return t;
    if (!(t = calloc(1, sizeof(*t))))
        return NULL;
    t->job = job;
    t->step = step;
    t->pid = pid;
    t->start = stat.start;
    t->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (t->pidfd < 0) {
        int saved = errno;
        free(t);
        errno = saved;
        return NULL;
    }
    t->next = job->tasks;
    job->tasks = t;
    return t;
}

void job_remove_task(struct task *task)
{
    for (struct task **p = &task->job->tasks; *p; p = &(*p)->next)
        if (*p == task) {
            *p = task->next;
            break;
        }
    sd_event_source_disable_unref(task->exit_source);
    close(task->pidfd);
    free(task);
}

void job_remove(struct job_table *table, struct job *job)
{
    for (struct job **p = &table->first; *p; p = &(*p)->next)
        if (*p == job) {
            *p = job->next;
            table->count--;
            break;
        }
    while (job->tasks)
        job_remove_task(job->tasks);
    section_list_clear(&job->sections);
    tracked_clear(job);
    free(job);
}
