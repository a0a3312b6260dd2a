/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Co-scheduled jobs of this node. */

#include "node_agent/core/job.h"

#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include "node_agent/core/enforcer.h"
#include "node_agent/core/host.h"
#include "node_agent/core/process.h"
#include "node_agent/core/thread_map.h"

static struct job **bucket(struct job_table *table, uint32_t id)
{
    return &table->bucket[id % JOB_BUCKETS];
}

struct job *job_find(const struct job_table *table, uint32_t id)
{
    for (struct job *j = table->bucket[id % JOB_BUCKETS]; j; j = j->same)
        if (j->id == id)
            return j;
    return NULL;
}

struct job *job_add(struct job_table *table, uint32_t id)
{
    struct job *j;

    if (table->count >= JOB_LIMIT) {
        errno = ENOSPC;
        return NULL;
    }
    if (!(j = calloc(1, sizeof(*j))))
        return NULL;
    j->id = id;
    j->announced_wall_ns = clock_wall_ns();
    j->announced_ns = clock_ns();
    job_options_init(&j->options);
    history_init(&j->history);
    j->previous = table->last;
    *(table->last ? &table->last->next : &table->first) = j;
    table->last = j;
    table->count++;
    struct job **same = bucket(table, id);
    j->same = *same;
    *same = j;
    return j;
}

const char *const job_state_names[] = {
    "announced", "starting", "serial",    "malleable", "pinned",
    "parked",    "suspended", "ended",    NULL};

const char *job_state_name(enum job_state state)
{
    return job_state_names[state];
}

enum job_state job_state(const struct job *job)
{
    if (!job_live(job))
        return job->ended_wall_ns ? JOB_ENDED : JOB_ANNOUNCED;
    if (job->suspended)
        return JOB_SUSPENDED;
    if (job->parked)
        return JOB_PARKED;
    return job->doing == JOB_ANNOUNCED ? JOB_STARTING : job->doing;
}

enum region_kind job_kind(const struct job *job)
{
    return job->doing == JOB_MALLEABLE || job->doing == JOB_PINNED
               ? REGION_PARALLEL
               : REGION_SERIAL;
}

bool job_kept(const struct job *job)
{
    return job->doing == JOB_PINNED || job->held || job->cooperative || job->narrowed;
}

bool job_live(const struct job *job)
{
    return job->tasks || job->processes;
}

/* 1: process PID of JOB is stopped or frozen, -1: there is none. */
static int stopped_or_frozen(const struct job *job, const struct enforcer *e, pid_t pid)
{
    int stopped = host_process_stopped(pid);

    return stopped ? stopped : enforcer_suspended(e, job, pid);
}

bool job_stopped(const struct job *job, const struct enforcer *e)
{
    bool any = false;

    /* Who gets on needs no question. */
    for (const struct process *p = job->processes; p; p = p->next)
        if (process_got_on(p))
            return false;
    for (const struct task *t = job->tasks; t; t = t->next) {
        int stopped = stopped_or_frozen(job, e, t->pid);
        if (!stopped)
            return false;
        any |= stopped > 0;
    }
    for (const struct process *p = job->processes; p; p = p->next) {
        int stopped = stopped_or_frozen(job, e, p->pid);
        if (!stopped)
            return false;
        any |= stopped > 0;
    }
    return any;
}

struct task *job_add_task(struct job *job, uint32_t step, pid_t pid)
{
    uint64_t start;
    int handle = host_process_hold(pid, &start);
    struct task *t;

    if (handle < 0)
        return NULL;
    for (t = job->tasks; t; t = t->next)
        if (t->pid == pid && t->start == start) {
            host_process_release(handle, NULL);
            return t;
        }
    if (job->task_count >= JOB_TASKS || !(t = calloc(1, sizeof(*t)))) {
        host_process_release(handle, NULL);
        errno = job->task_count >= JOB_TASKS ? EDQUOT : ENOMEM;
        return NULL;
    }
    t->job = job;
    t->step = step;
    t->pid = pid;
    t->start = start;
    t->pidfd = handle;
    t->next = job->tasks;
    job->tasks = t;
    job->task_count++;
    return t;
}

void job_leave_page(struct job *job, struct report *report)
{
    struct report **place = &job->left[job->left_next++ % JOB_PAGES];

    if (*place) {
        report_forget(*place);
        report_free(*place);
    }
    *place = report;
}

void job_remove_task(struct task *task)
{
    for (struct task **p = &task->job->tasks; *p; p = &(*p)->next)
        if (*p == task) {
            *p = task->next;
            task->job->task_count--;
            break;
        }
    host_process_release(task->pidfd, task->exit_source);
    free(task);
}

void job_remove(struct job_table *table, struct job *job)
{
    struct job **same = bucket(table, job->id);

    while (*same != job)
        same = &(*same)->same;
    *same = job->same;
    *(job->previous ? &job->previous->next : &table->first) = job->next;
    *(job->next ? &job->next->previous : &table->last) = job->previous;
    table->count--;
    while (job->tasks)
        job_remove_task(job->tasks);
    for (size_t i = 0; i < JOB_PAGES; i++)
        if (job->left[i]) { /* nobody will attach to it again */
            report_forget(job->left[i]);
            report_free(job->left[i]);
        }
    region_list_clear(&job->regions);
    tracked_clear(job);
    thread_map_free(job->map);
    free(job->cgroup);
    free(job);
}
