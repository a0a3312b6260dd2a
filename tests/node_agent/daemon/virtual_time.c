/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Virtual time for an agent's parts (virtual_time.h). */

#include "tests/node_agent/daemon/virtual_time.h"

#include <stddef.h>

#include "node_agent/core/host.h"

#define TIMERS 4

static struct virtual_timer {
    bool runs;
    uint64_t due_ns;
    void (*call)(void *arg);
    void *arg;
} timers[TIMERS];

uint64_t virtual_ns;

uint64_t __real_host_now_ns(struct host *host);
uint64_t __wrap_host_now_ns(struct host *host);
int __real_host_timer_start(struct host *host, struct host_timer **timer,
                            uint64_t delay_ns, void (*call)(void *arg),
                            void *arg);
int __wrap_host_timer_start(struct host *host, struct host_timer **timer,
                            uint64_t delay_ns, void (*call)(void *arg),
                            void *arg);
void __real_host_timer_stop(struct host_timer **timer);
void __wrap_host_timer_stop(struct host_timer **timer);

uint64_t __wrap_host_now_ns(struct host *host)
{
    return virtual_ns ? virtual_ns : __real_host_now_ns(host);
}

int __wrap_host_timer_start(struct host *host, struct host_timer **timer,
                            uint64_t delay_ns, void (*call)(void *arg),
                            void *arg)
{
    struct virtual_timer *t = (struct virtual_timer *)*timer;

    if (!virtual_ns)
        return __real_host_timer_start(host, timer, delay_ns, call, arg);
    for (size_t i = 0; !t && i < TIMERS; i++)
        t = timers[i].runs ? NULL : &timers[i];
    if (!t)
        return -1;
    *t = (struct virtual_timer){true, virtual_ns + delay_ns, call, arg};
    *timer = (struct host_timer *)t;
    return 0;
}

void __wrap_host_timer_stop(struct host_timer **timer)
{
    if (!virtual_ns)
        __real_host_timer_stop(timer);
    else if (*timer)
        ((struct virtual_timer *)*timer)->runs = false;
    *timer = NULL;
}

bool virtual_timer_call(uint64_t end_ns)
{
    struct virtual_timer *first = NULL;

    for (size_t i = 0; i < TIMERS; i++)
        if (timers[i].runs && timers[i].due_ns < end_ns &&
            (!first || timers[i].due_ns < first->due_ns))
            first = &timers[i];
    if (!first)
        return false;
    virtual_ns = first->due_ns;
    first->due_ns = UINT64_MAX; /* until it is started again */
    first->call(first->arg);
    return true;
}
