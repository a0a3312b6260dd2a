/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the deciding parts of the agent ask of the world they run in. */

#ifndef COSCHED_HOST_H
#define COSCHED_HOST_H

/* Concept
 *
 * The scheduler, the observer and the jobs need the time, timers, and processes
 * that can be told apart.  The implementation is chosen at link time:
 *
 *   host_event.c                sd-event, the kernel's clocks and pidfds (coschedd)
 *   simulator/virtual_host.c    virtual time and simulated processes (coschedsim)
 *
 * In the same way enforcer.h hides what moves threads, and journal.h what records
 * observations and decisions.
 */

#include <stdint.h>
#include <sys/types.h>

struct sd_event_source;

struct host;

/* Monotonic time, what the shared pages use; and the time of day. */
uint64_t host_now_ns(struct host *host);
uint64_t host_wall_ns(struct host *host);

struct host_timer;

/* Call CALL once, DELAY_NS from now.  *TIMER is NULL or was started before; it
 * is started anew then.  -1 with errno: nobody will call. */
int host_timer_start(struct host *host, struct host_timer **timer,
                     uint64_t delay_ns, void (*call)(void *arg), void *arg);

/* Nobody calls any more; *TIMER is freed and NULL.  Takes one that is. */
void host_timer_stop(struct host_timer **timer);

/* Hold on to process PID: a handle >= 0, and in *START when it began, which
 * tells reused pids apart.  -1 with errno ESRCH, or that of pidfd_open(2). */
int host_process_hold(pid_t pid, uint64_t *start);

/* Let go of HANDLE and of the WATCH on it (may be NULL). */
void host_process_release(int handle, struct sd_event_source *watch);

/* 1: process PID is stopped, by whomever; 0: it is not; -1: there is none. */
int host_process_stopped(pid_t pid);

#endif /* COSCHED_HOST_H */
