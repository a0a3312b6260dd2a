/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which thread asks which NUMA node: addresses sampled by the kernel. */

#ifndef COSCHED_ADDRESSES_H
#define COSCHED_ADDRESSES_H

/* Concept
 *
 * perf_event_open(2) can write down the thread, the physical address and the page's size of each
 * Nth event on a CPU.  Two events tell where a thread's data are:
 *
 *   mem-loads     loads, by the processor (Intel's PEBS), where the kernel describes that event
 *   page faults   else: a thread's first touches, which need no counters.  As long as pages stay
 *                 where they are, that is where its data are
 *
 * A physical address is of the NUMA node whose zones (PROCFS/zoneinfo) have it, so no process has
 * to be asked, nor can it make the answer slow.  Faults count as the 4-KiB pages that they
 * brought.
 *
 * The kernel writes into a ring for each CPU and drops what finds no room, so that what a program
 * makes of samples costs so much in each epoch at most.  Threads of whom nobody wants to know are
 * in there, too.
 */

#include <linux/perf_event.h>

#include "node_agent/counters/counters.h"

#define ADDRESSES_RING_PAGES 2 /* of data: some 200 samples for each CPU and epoch */
#define ADDRESSES_PAGE_SIZE (1U << 22) /* PERF_SAMPLE_DATA_PAGE_SIZE, of Linux 5.11 and later */

/* The kernel, for tests. */
struct addresses_source {
    int (*open)(void *arg, struct perf_event_attr *attr, int cpu);
    /* Header page and ring of FD, or NULL with errno. */
    void *(*map)(void *arg, int fd, size_t size);
    void (*close)(void *arg, int fd, void *ring, size_t size);
    void *arg;
};

extern const struct addresses_source addresses_kernel;

/* As counters_backend's functions, with SOURCE, which must outlive the state. */
int addresses_open(const struct addresses_source *source, const struct counters_setup *setup,
                   void **state, struct errtext *err);
int addresses_sample(void *state, struct sample *sample, struct errtext *err);
void addresses_describe(const void *state, struct counters_ability *ability);
void addresses_close(void *state);

extern const struct counters_backend counters_addresses;

#endif /* COSCHED_ADDRESSES_H */
