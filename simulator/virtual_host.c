/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Virtual time: the agent's clock and timers in a simulation. */

#include "simulator/virtual_host.h"

#include <stddef.h>
#include <stdlib.h>

struct host_timer {
    struct host *host;
    uint64_t due_ns;
    uint64_t order; /* among timers of equal time */
    void (*call)(void *arg); /* NULL: it does not run */
    void *arg;
    struct host_timer *next;
};

/* A node has less than ten timers: a list is the fastest queue. */
struct host {
    uint64_t now_ns;
    uint64_t order;
    struct host_timer *timers;
};

struct host *virtual_host_new(void)
{
    struct host *h = calloc(1, sizeof(*h));

    if (h)
        h->now_ns = VIRTUAL_BEGIN_NS;
    return h;
}

void virtual_host_free(struct host *h)
{
    free(h);
}

uint64_t host_now_ns(struct host *h)
{
    return h->now_ns;
}

uint64_t host_wall_ns(struct host *h)
{
    return h->now_ns;
}

/* Decisions take no time. */
uint64_t host_cpu_ns(struct host *h)
{
    return h->now_ns;
}

static struct host_timer *first(const struct host *h)
{
    struct host_timer *best = NULL;

    for (struct host_timer *t = h->timers; t; t = t->next)
        if (t->call && (!best || t->due_ns < best->due_ns ||
                        (t->due_ns == best->due_ns && t->order < best->order)))
            best = t;
    return best;
}

uint64_t virtual_host_next(const struct host *h)
{
    const struct host_timer *t = first(h);

    return t ? t->due_ns : VIRTUAL_NEVER;
}

void virtual_host_advance(struct host *h, uint64_t now_ns)
{
    h->now_ns = now_ns;
}

bool virtual_host_call(struct host *h)
{
    struct host_timer *t = first(h);

    if (!t || t->due_ns > h->now_ns)
        return false;
    void (*call)(void *arg) = t->call;
    t->call = NULL;
    call(t->arg); /* which may free the timer */
    return true;
}

int host_timer_start(struct host *h, struct host_timer **timer,
                     uint64_t delay_ns, void (*call)(void *arg), void *arg)
{
    struct host_timer *t = *timer;

    if (!t) {
        if (!(t = *timer = calloc(1, sizeof(*t))))
            return -1;
        t->host = h;
        t->next = h->timers;
        h->timers = t;
    }
    t->due_ns = h->now_ns + delay_ns;
    t->order = h->order++;
    t->call = call;
    t->arg = arg;
    return 0;
}

void host_timer_stop(struct host_timer **timer)
{
    struct host_timer *t = *timer;

    if (!t)
        return;
    for (struct host_timer **p = &t->host->timers; *p; p = &(*p)->next)
        if (*p == t) {
            *p = t->next;
            break;
        }
    free(t);
    *timer = NULL;
}

int host_process_hold(pid_t pid, uint64_t *start)
{
    *start = 1;
    return pid; /* a handle as good as any: it is never opened */
}

void host_process_release(int handle, struct sd_event_source *watch)
{
    (void)handle;
    (void)watch;
}

uint64_t host_process_cpu_ns(pid_t pid)
{
    (void)pid; /* simulated jobs report what they did */
    return UINT64_MAX;
}

uint64_t host_process_resident(pid_t pid)
{
    (void)pid; /* simulated jobs have no memory */
    return 0;
}

int host_process_stopped(pid_t pid)
{
    (void)pid; /* the scheduler alone stops simulated jobs */
    return 0;
}
