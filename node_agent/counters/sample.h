/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What was counted on the node between two looks. */

#ifndef COSCHED_SAMPLE_H
#define COSCHED_SAMPLE_H

/* Concept
 *
 * A sample is about the machine, not about jobs: increments since the last sample, as doubles,
 * NAN (never 0) where nothing was measured.
 *
 *   cpu      per CPU (hardware thread): only that CPU's job can have caused it
 *   memory   per NUMA node, as its controller saw it: all jobs and the rest of the node
 *   traffic  the same by LLC domain of origin, where the hardware can tell (AMD's northbridge,
 *            thesis table 3.1)
 *   group    per job and LLC domain, where the hardware counts by a tag (resctrl)
 *   thread   per thread and NUMA node: pages touched first, loads or misses, in any one unit;
 *            only threads that were seen, and never NAN; where one runs several tasks, by stack
 *   energy   per package
 *
 * All memory numbers are requests of one 64-byte line.
 *
 * Counters wrap around, and events may take turns: the backend mends both (sample_wrap(),
 * sample_scale()) and sets `coverage` to the part of the interval for which its least covered
 * event was counted.
 */

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/layout.h"

#define SAMPLE_LINE_BYTES 64

struct sample_cpu {
    double cycles;        /* not halted */
    double stalled;       /* of them, waiting for memory */
    double instructions;
    double llc_accesses;
    double read_misses;   /* LLC misses of reads, which stall */
    double local_misses;  /* of them, from the nearest NUMA node */
    double remote_misses; /* of them, from another */
};

/* Requests of one NUMA node, or of one LLC domain to one NUMA node. */
struct sample_memory {
    double reads;
    double writes;
    double prefetches; /* NAN: in the reads */
};

/* What one job's tasks did on one LLC domain. */
struct sample_group {
    double local;     /* requests to the nearest NUMA node */
    double total;     /* to all */
    double llc_bytes; /* it holds of the LLC now; no increment */
};

/* A thread with its process.  A library may have a kernel thread run many tasks, each on a stack of
 * its own: then there is one for each. */
struct sample_thread {
    pid_t pid, tid;
    uint64_t stack; /* its stack pointer, then; 0: not known */
};

/* Two stacks are further apart than their frames in a loop. */
#define SAMPLE_STACK_SHIFT 16

/* The same for what is seen of a thread on one stack; not 0. */
static inline uint64_t sample_thread_key(const struct sample_thread *thread)
{
    return (thread->stack >> SAMPLE_STACK_SHIFT) << 22 ^ (uint64_t)thread->tid;
}

#define SAMPLE_THREADS 1024 /* of one sample at most */

struct sample {
    size_t cpus;      /* highest CPU number + 1 */
    size_t llc_domains;
    size_t numa_nodes;
    size_t packages;
    uint64_t time_ns;             /* length of the interval */
    struct sample_cpu *cpu;       /* [cpus] */
    struct sample_memory *memory; /* [numa_nodes] */
    struct sample_memory *traffic; /* [llc_domains * numa_nodes] */
    double *energy_j;             /* [packages] */
    size_t groups;
    uint32_t *group_job;          /* [groups] job ids */
    struct sample_group *group;   /* [groups * llc_domains] */
    size_t threads;
    struct sample_thread *thread; /* [threads] */
    double *thread_requests;      /* [threads * numa_nodes] */
    double coverage;              /* 1: no event had to be extrapolated */
};

/* All values NAN, no groups.  NULL when out of memory or CPUS, LLC_DOMAINS or
 * NUMA_NODES is 0. */
struct sample *sample_new(size_t cpus, size_t llc_domains, size_t numa_nodes,
                          size_t packages);

/* All values NAN again, groups as they are, no threads, length 0, coverage 1. */
void sample_clear(struct sample *sample);

/* Make room for COUNT groups of the jobs JOB, all values NAN.  -1 with errno
 * ENOMEM. */
int sample_set_groups(struct sample *sample, const uint32_t *job,
                      size_t count);

/* Add THREAD, which SAMPLE does not have, with requests 0: its number, or SAMPLE_THREADS when there
 * is no room or memory. */
size_t sample_add_thread(struct sample *sample, const struct sample_thread *thread);

/* Take from MORE each value that SAMPLE lacks, and all groups and threads where it has
 * none.  Both are of one machine. */
int sample_fill(struct sample *sample, const struct sample *more);

/* True when anything was counted: a value is known and above 0. */
bool sample_moved(const struct sample *sample);

/* Takes NULL. */
void sample_free(struct sample *sample);

/* Increment of a counter of BITS (1..64) bits that read BEFORE and reads NOW,
 * and has wrapped around at most once. */
double sample_wrap(uint64_t before, uint64_t now, unsigned bits);

/* COUNT increments seen while its event was counted for RUNNING of ENABLED (any
 * one unit), extrapolated.  NAN when it never was; *COVERAGE falls to the part
 * if that is less. */
double sample_scale(double count, double enabled, double running,
                    double *coverage);

/* A + B where NAN counts as nothing; NAN when both are. */
double sample_add(double a, double b);

#endif /* COSCHED_SAMPLE_H */
