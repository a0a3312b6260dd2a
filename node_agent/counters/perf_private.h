/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the two halves of the perf backend share: cores and uncore. */

#ifndef COSCHED_PERF_PRIVATE_H
#define COSCHED_PERF_PRIVATE_H

#include "node_agent/counters/perf.h"

/* In the order in which they are put into a group: the ones with fixed counters
 * first, then by what a profile needs most. */
enum perf_role {
    PERF_CYCLES,
    PERF_INSTRUCTIONS,
    PERF_MISSES,
    PERF_STALLED,
    PERF_REMOTE,
    PERF_LLC,
    PERF_ROLES,
};

#define PERF_NONE SIZE_MAX

/* Events that are counted together or not at all. */
struct perf_group {
    size_t count;
    int fd[PERF_ROLES]; /* the first is the leader */
    enum perf_role role[PERF_ROLES];
    uint64_t value[PERF_ROLES]; /* as last read */
    uint64_t enabled, running;  /* ns, likewise */
};

struct perf_cpu {
    struct perf_group group[PERF_ROLES];
    size_t groups; /* 0: not counted now */
    int outcome;   /* of the last sample, to tell news */
};

enum perf_uncore_kind { PERF_READS, PERF_WRITES, PERF_ENERGY };

#define PERF_MAX_UNCORES 256

/* One event of a memory controller or package. */
struct perf_uncore {
    enum perf_uncore_kind kind;
    size_t index; /* memory node, or package */
    double scale;
    int fd;
    bool lost; /* not counted in the last sample */
    uint64_t value, enabled, running;
};

struct perf {
    const struct perf_source *source;
    const struct counters_setup *setup;
    size_t encoding[PERF_ROLES]; /* PERF_NONE: not counted */
    struct perf_cpu *cpu;        /* [machine->cpus] */
    struct perf_uncore uncore[PERF_MAX_UNCORES];
    size_t uncores;
    bool uncore_told; /* that one of them is gone */
    int uncore_error; /* errno of the first that did not open */
    uint64_t samples;
};

/* Open an event, its values alone or for a GROUP, as perf_event_open(2). */
int perf_open_event(const struct perf *perf, uint32_t type,
                    const uint64_t config[3], bool group, int cpu, int leader);

/* Open all controllers and packages that sysfs describes; none is no error. */
void perf_uncore_open(struct perf *perf);

/* As perf_sample(), perf_describe(), perf_close(). */
int perf_uncore_sample(struct perf *perf, struct sample *sample,
                       struct errtext *err);
void perf_uncore_describe(const struct perf *perf,
                          struct counters_ability *ability);
void perf_uncore_close(struct perf *perf);

#endif /* COSCHED_PERF_PRIVATE_H */
