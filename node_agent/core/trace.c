/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Who had which CPU when. */

#include "node_agent/core/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE /* Linux 5.1 */
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* The memory is allocated in such steps as events come. */
#define STEP 262144

struct trace {
    int fd;
    size_t allocated; /* bytes */
    struct trace_ring *ring;
};

/* Have memory for the first SIZE bytes of the ring: what is not allocated
 * before it is written ends the process when there is none. */
static int allocate(struct trace *t, size_t size)
{
    while (t->allocated < size) {
        size_t step = sizeof(*t->ring) - t->allocated;
        if (step > STEP)
            step = STEP;
        if (fallocate(t->fd, 0, (off_t)t->allocated, (off_t)step) < 0)
            return -1;
        t->allocated += step;
    }
    return 0;
}

struct trace *trace_new(void)
{
    struct trace *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->ring = MAP_FAILED;
    /* This mapping must exist before the seal forbids writable ones. */
    if ((t->fd = memfd_create("cosched-trace",
                              MFD_CLOEXEC | MFD_ALLOW_SEALING)) < 0 ||
        ftruncate(t->fd, sizeof(*t->ring)) < 0 || allocate(t, 1) < 0 ||
        (t->ring = mmap(NULL, sizeof(*t->ring), PROT_READ | PROT_WRITE,
                        MAP_SHARED, t->fd, 0)) == MAP_FAILED ||
        fcntl(t->fd, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) <
            0) {
        trace_free(t);
        return NULL;
    }
    t->ring->magic = TRACE_MAGIC;
    t->ring->version = TRACE_VERSION;
    return t;
}

int trace_fd(const struct trace *t)
{
    return t->fd;
}

void trace_free(struct trace *t)
{
    int saved = errno;

    if (!t)
        return;
    if (t->ring != MAP_FAILED)
        munmap(t->ring, sizeof(*t->ring));
    if (t->fd >= 0)
        close(t->fd);
    free(t);
    errno = saved;
}

/* Put E into the ring.  A reader sees the whole event before it is counted. */
static void add(struct trace *t, const struct trace_event *e)
{
    struct trace_ring *r = t->ring;
    struct trace_event *slot = &r->event[r->count % TRACE_EVENTS];

    if (allocate(t, (size_t)((char *)(slot + 1) - (char *)r)) < 0)
        return; /* out of memory: the trace has a gap */
    memcpy(slot, e, sizeof(*slot));
    __atomic_store_n(&r->count, r->count + 1, __ATOMIC_RELEASE);
}

void trace_allotment(struct trace *t, uint64_t now_ns, uint32_t job,
                     const struct cosched_cpuset *cpus, size_t cores)
{
    add(t,
        &(struct trace_event){
            .ns = now_ns, .job = job, .cores = (uint32_t)cores, .cpus = *cpus});
}

void trace_state(struct trace *t, uint64_t now_ns, uint32_t job,
                 const char *text)
{
    struct trace_event e = {.ns = now_ns, .job = job, .cores = TRACE_IS_STATE};

    snprintf(e.state, sizeof(e.state), "%s", text);
    add(t, &e);
}

void trace_speed(struct trace *t, uint64_t now_ns, uint32_t job, double predicted,
                 double barriers, double waited_s)
{
    add(t, &(struct trace_event){.ns = now_ns,
                                 .job = job,
                                 .cores = TRACE_IS_SPEED,
                                 .speed = {predicted, barriers, waited_s}});
}

void trace_use(struct trace *t, uint64_t now_ns, double computing, const double *load,
               size_t controllers, size_t links)
{
    struct trace_event e = {.ns = now_ns, .cores = TRACE_IS_USE};

    if (controllers > TRACE_LOADS)
        controllers = TRACE_LOADS;
    if (links > TRACE_LOADS - controllers)
        links = TRACE_LOADS - controllers;
    e.use.controllers = (uint16_t)controllers;
    e.use.links = (uint16_t)links;
    e.use.computing = (float)computing;
    for (size_t i = 0; i < controllers + links; i++)
        e.use.load[i] = (float)load[i];
    add(t, &e);
}
