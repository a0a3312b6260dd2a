/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Time in nanoseconds, the unit of every time in the agent. */

#ifndef COSCHED_CLOCK_H
#define COSCHED_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)

/* CLOCK_MONOTONIC: what the shared pages use. */
static inline uint64_t clock_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* The same in milliseconds, signed for what poll(2) takes. */
static inline int64_t clock_ms(void)
{
    return (int64_t)(clock_ns() / NS_PER_MS);
}

/* CPU time of the calling thread: what work costs, however busy the node is. */
static inline uint64_t clock_cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* CLOCK_REALTIME: what survives a restart and what users read. */
static inline uint64_t clock_wall_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

#endif /* COSCHED_CLOCK_H */
