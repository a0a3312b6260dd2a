/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The world of the agent: sd-event, the kernel's clocks and processes. */

#include "node_agent/daemon/host_event.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/syscalls.h"
#include "node_agent/enforce/proc.h"

/* sd-event's default of 250 ms is for mail, not for schedulers. */
#define ACCURACY_US 1

struct host {
    sd_event *event;
};

struct host_timer {
    sd_event_source *source;
    void (*call)(void *arg);
    void *arg;
};

struct host *host_event_new(sd_event *event)
{
    struct host *h = calloc(1, sizeof(*h));

    if (h)
        h->event = sd_event_ref(event);
    return h;
}

void host_event_free(struct host *h)
{
    if (!h)
        return;
    sd_event_unref(h->event);
    free(h);
}

uint64_t host_now_ns(struct host *h)
{
    (void)h;
    return clock_ns();
}

uint64_t host_wall_ns(struct host *h)
{
    (void)h;
    return clock_wall_ns();
}

uint64_t host_cpu_ns(struct host *h)
{
    (void)h;
    return clock_cpu_ns();
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
    struct host_timer *t = arg;

    (void)source;
    (void)usec;
    t->call(t->arg); /* which may free the timer */
    return 0;
}

int host_timer_start(struct host *h, struct host_timer **timer,
                     uint64_t delay_ns, void (*call)(void *arg), void *arg)
{
    struct host_timer *t = *timer;

    if (!t && !(t = *timer = calloc(1, sizeof(*t))))
        return -1;
    t->source = sd_event_source_disable_unref(t->source);
    t->call = call;
    t->arg = arg;
    int rc = sd_event_add_time_relative(
        h->event, &t->source, CLOCK_MONOTONIC,
        (delay_ns + NS_PER_US - 1) / NS_PER_US, ACCURACY_US, on_timer, t);
    if (rc >= 0)
        rc = sd_event_source_set_priority(t->source, HOST_EVENT_PRIORITY);
    if (rc < 0)
        errno = -rc;
    return rc < 0 ? -1 : 0;
}

void host_timer_stop(struct host_timer **timer)
{
    if (!*timer)
        return;
    sd_event_source_disable_unref((*timer)->source);
    free(*timer);
    *timer = NULL;
}

int host_process_hold(pid_t pid, uint64_t *start)
{
    struct proc_stat stat;

    if (proc_read(pid, &stat) < 0)
        return -1;
    *start = stat.start;
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

void host_process_release(int handle, struct sd_event_source *watch)
{
    sd_event_source_disable_unref(watch);
    if (handle >= 0)
        close(handle);
}

uint64_t host_process_cpu_ns(pid_t pid)
{
    return proc_cpu_ns(pid);
}

uint64_t host_process_resident(pid_t pid)
{
    return proc_resident(pid);
}

int host_process_stopped(pid_t pid)
{
    struct proc_stat stat;

    if (proc_read(pid, &stat) < 0)
        return -1;
    return stat.state == 'T' || stat.state == 't';
}
