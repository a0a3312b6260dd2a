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

/* Monotonic time, as in the shared pages; and the time of day. */
uint64_t host_now_ns(struct host *host);
uint64_t host_wall_ns(struct host *host);

/* CPU time of the caller: what work costs, however busy the node is. */
uint64_t host_cpu_ns(struct host *host);

struct host_timer;

/* Call CALL once, DELAY_NS from now.  *TIMER is NULL, or restarted.  -1 with errno: there will
 * be no call. */
int host_timer_start(struct host *host, struct host_timer **timer,
                     uint64_t delay_ns, void (*call)(void *arg), void *arg);

/* Cancel and free *TIMER, which may be NULL, and set it to NULL. */
void host_timer_stop(struct host_timer **timer);

/* A handle >= 0 on process PID, with its start time in *START, which tells reused pids apart.
 * -1 with errno ESRCH, or that of pidfd_open(2). */
int host_process_hold(pid_t pid, uint64_t *start);

/* Close HANDLE and the WATCH on it (may be NULL). */
void host_process_release(int handle, struct sd_event_source *watch);

/* CPU time that process PID has used, all its threads together; UINT64_MAX: not known. */
uint64_t host_process_cpu_ns(pid_t pid);

/* Bytes of memory that process PID has touched; 0: not known. */
uint64_t host_process_resident(pid_t pid);

/* 1: process PID is stopped, by whomever; 0: it is not; -1: there is none. */
int host_process_stopped(pid_t pid);

#endif /* COSCHED_HOST_H */
