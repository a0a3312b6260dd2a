/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which thread asks which NUMA node: misses, accesses or faults sampled by the kernel. */

#ifndef COSCHED_ASKERS_H
#define COSCHED_ASKERS_H

/* Concept
 *
 * perf_event_open(2) can write down the thread, its stack pointer and, of some events, the physical
 * address and the page's size, of each Nth event on a CPU.  Four kinds of events tell where a
 * thread's data are.  The first that opens is taken:
 *
 *   misses        reads from local and from remote memory.  With two NUMA nodes, in a package each,
 *                 the CPU and the kind say which node was asked: the requests themselves, as in
 *                 the papers' tables
 *   loads         by the processor (Intel's PEBS), where the kernel describes `mem-loads`: with
 *                 those that caches answer, but for any number of nodes
 *   operations    by the processor (AMD's IBS): loads and stores among them have addresses.  From
 *                 Linux 6.14 on (`swfilt`): earlier kernels cannot leave out their own
 *   page faults   else: a thread's first touches, which need no counters.  As long as pages stay
 *                 where they are, that is where its data are
 *
 * A physical address is of the NUMA node whose zones (PROCFS/zoneinfo) have it, so no process has
 * to be asked, nor can it make the answer slow.  Faults count as the 4-KiB pages that they
 * brought.  Counters by target node (AMD's northbridges) are of a die: they cannot tell threads.
 *
 * The kernel writes into a ring for each CPU and drops what finds no room, so that what a program
 * makes of samples costs so much in each epoch at most.  Threads of whom nobody wants to know are
 * in there, too.
 */

#include <linux/perf_event.h>

#include "node_agent/counters/counters.h"

#define ASKERS_RING_PAGES 2 /* of data: some 200 samples for each CPU and epoch */
#define ASKERS_PAGE_SIZE (1U << 22) /* PERF_SAMPLE_DATA_PAGE_SIZE, of Linux 5.11 and later */

/* The kernel, for tests. */
struct askers_source {
    /* As perf_event_open(2) on CPU for all tasks, GROUP -1 for a new one. */
    int (*open)(void *arg, struct perf_event_attr *attr, int cpu, int group);
    /* Header page and ring of FD, or NULL with errno. */
    void *(*map)(void *arg, int fd, size_t size);
    void (*close)(void *arg, int fd, void *ring, size_t size);
    void *arg;
};

extern const struct askers_source askers_kernel;

/* As counters_backend's functions, with SOURCE, which must outlive the state. */
int askers_open(const struct askers_source *source, const struct counters_setup *setup,
                void **state, struct errtext *err);
int askers_sample(void *state, struct sample *sample, struct errtext *err);
void askers_describe(const void *state, struct counters_ability *ability);
void askers_close(void *state);

extern const struct counters_backend counters_askers;

#endif /* COSCHED_ASKERS_H */
