/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters through perf_event_open(2). */

#ifndef COSCHED_PERF_H
#define COSCHED_PERF_H

/* Concept
 *
 * Core events are opened per CPU as one group, so one system call per CPU and sample reads
 * all; what does not fit begins another group, and the kernel lets the two take turns.  For
 * each metric the first encoding that opens is taken: raw ones for the CPU's model, then the
 * kernel's generic ones.
 *
 * Memory controllers come from uncore PMUs that the kernel describes in sysfs
 * (uncore_imc*), of all jobs together, in lines of 64 bytes.  Where a package has several
 * NUMA nodes (sub-NUMA clustering), its controllers belong to them in the order of their
 * numbers.
 *
 * Counting on whole CPUs needs root, CAP_PERFMON, or perf_event_paranoid of 0 or less.  All
 * system calls go through a perf_source, so that tests can be the kernel.
 */

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

#include "node_agent/counters/counters.h"

struct perf_source {
    /* As perf_event_open(2) on CPU for all tasks, GROUP -1 for a new one. */
    int (*open)(void *arg, struct perf_event_attr *attr, int cpu, int group);
    /* As read(2). */
    ssize_t (*read)(void *arg, int fd, void *data, size_t size);
    void (*close)(void *arg, int fd);
    void *arg;
};

extern const struct perf_source perf_kernel;

/* As counters_backend.open() with SOURCE, which must outlive the state. */
int perf_open(const struct perf_source *source,
              const struct counters_setup *setup, void **state,
              struct errtext *err);

/* The other functions of the backend, for tests with a source of their own. */
int perf_sample(void *state, struct sample *sample, struct errtext *err);
void perf_describe(const void *state, struct counters_ability *ability);
void perf_close(void *state);

#endif /* COSCHED_PERF_H */
