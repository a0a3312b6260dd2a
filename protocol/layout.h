/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Shared-memory layout between the node agent and a job process, version 1. */

#ifndef COSCHED_LAYOUT_H
#define COSCHED_LAYOUT_H

/* Concept
 *
 * Each attached process shares two pages (memfds) with the agent, both
 * received as descriptors in the reply to "attach" (protocol/message.h).
 *
 *   allotment  The agent writes, the process maps it read-only (the memfd is
 *              sealed against any further writable mapping).  It says which
 *              CPUs the process may use now.
 *   report     The process writes, the agent reads.  It says what the process
 *              is doing and how much it has done.  The agent treats every
 *              byte as hostile: values are copied out, range checked, and
 *              never used as an index or a length unchecked.
 *
 * Nothing else is shared: a job can neither write what the agent or another
 * job reads as truth, nor block the agent (no locks live here).  Both memfds
 * are sealed against shrinking, so neither side can fault the other.
 *
 * Allotment protocol (sequence lock + futex)
 *   The agent makes `generation` odd, writes, makes it even (release), then
 *   futex-wakes all waiters on it (FUTEX_WAKE without PRIVATE).  A reader
 *   copies while the generation is even and unchanged.  An odd value that
 *   does not change for `lease_ns` means that the writer died in between.
 *
 * Lease
 *   `heartbeat_ns` (CLOCK_MONOTONIC) is stored by the agent in each epoch.
 *   When it is older than `lease_ns`, or the attach socket has hung up, the
 *   agent is dead: the process uses all CPUs in `granted` (what Slurm gave
 *   the job) until it has attached again.
 *
 * Homes
 *   Behind the allotment, at COSCHED_HOMES_OFFSET of the same memfd, an agent
 *   that maps threads to NUMA nodes says in which LLC domain the tasks of a
 *   process should run, region by region.  It knows a task by an address in its
 *   stack.  The generation above guards this too.  Nobody has to obey it: who
 *   does not know it maps the allotment alone, and an older agent's memfd is
 *   too short to have it.
 *
 * Near share
 *   A process whose pages a memory policy has interleaved (`interleaved`) moves them, as its CPUs
 *   change, so that this part of them lies on the NUMA nodes of its CPUs, on each as its part of
 *   the CPUs is, and the rest on all nodes of that policy alike.  The word is 1 + the share in
 *   thousandths, 0: pages stay where they are.  The agent stores it whenever it likes.
 *
 * Growing
 *   `grows` is 1 while CPUs are on their way to the process that others still have to leave.  Who
 *   deals out work once and for all may wait for them, for a few milliseconds.  The agent stores
 *   0 after those CPUs, with release order.
 *
 * Report protocol
 *   Each word is written by one thread or with atomic adds, relaxed; the
 *   agent only needs monotone counters, not a consistent snapshot.  `region`
 *   is stored with release after the entry it names has been filled in.
 *
 * Version rule
 *   COSCHED_LAYOUT_VERSION rises with any change of offset, size or meaning; not when padding
 *   becomes a field whose 0 means what was meant without it.
 *   Both sides refuse a page whose magic, version or size differs.  A library
 *   says with "attach" up to which version it knows the pages (1 if it says
 *   nothing); the agent hands out the newest that both know.  So an agent
 *   keeps every version that a library of a job still running may need, and a
 *   library that knows a newer one keeps this one.
 *
 * Types are fixed-size and naturally aligned: the layout is the same for
 * C17 and GNU C, 32 and 64 bit.  The library that runs inside the job uses
 * this header alone.  Licence: as libgomp, because it is compiled into it.
 */

#include <stddef.h>
#include <stdint.h>

#define COSCHED_LAYOUT_VERSION 1u
#define COSCHED_ALLOTMENT_MAGIC 0x31416f43u /* "CoA1" */
#define COSCHED_REPORT_MAGIC 0x31526f43u    /* "CoR1" */

#define COSCHED_MAX_CPUS 1024   /* CPU numbers 0..1023, holes allowed */
#define COSCHED_MAX_REGIONS 256 /* entries of the per-region table */

/* The table entry that collects all regions beyond the table's end. */
#define COSCHED_REGION_OVERFLOW (COSCHED_MAX_REGIONS - 1)
/* Value of cosched_report.region outside any parallel region. */
#define COSCHED_REGION_SERIAL UINT32_MAX

/* A set of OS CPU numbers: CPU c is bit c % 64 of word[c / 64]. */
struct cosched_cpuset {
    uint64_t word[COSCHED_MAX_CPUS / 64];
};

struct cosched_allotment {
    uint32_t magic;        /* COSCHED_ALLOTMENT_MAGIC */
    uint32_t version;      /* COSCHED_LAYOUT_VERSION */
    uint32_t size;         /* sizeof(struct cosched_allotment) */
    uint32_t generation;   /* futex word; odd while being written */
    uint64_t heartbeat_ns; /* CLOCK_MONOTONIC of the agent's last epoch */
    uint64_t lease_ns;     /* heartbeat older than this: agent is dead */
    uint32_t flags;        /* COSCHED_ALLOTMENT_* */
    uint32_t llc_domains;    /* number of LLC domains; llc_domain[] < llc_domains */
    uint64_t changed_ns;   /* CLOCK_MONOTONIC of the last change of `cpus` */
    uint32_t near_share;   /* of interleaved pages, see above */
    uint32_t grows;        /* 1: more CPUs come in a moment */
    uint8_t pad[8];        /* zero */
    struct cosched_cpuset cpus;    /* CPUs that this process may use now */
    struct cosched_cpuset granted; /* CPUs that Slurm gave the job */
    uint16_t llc_domain[COSCHED_MAX_CPUS]; /* CPU number -> LLC domain */
};

/* The job has no CPUs in this turn (more jobs than cores): `cpus` is empty. */
#define COSCHED_ALLOTMENT_PARKED 0x1u

#define COSCHED_HOMES_OFFSET 4096u
#define COSCHED_HOMES_MAGIC 0x31486f43u /* "CoH1" */
#define COSCHED_MAX_HOMES 2048
/* A home in all regions for which the table has none at all. */
#define COSCHED_HOME_ANY UINT16_MAX

/* Where a task should run in a region. */
struct cosched_home {
    uint64_t stack;  /* an address in the task's stack */
    uint16_t region; /* index in cosched_report.regions[], or COSCHED_HOME_ANY */
    uint16_t domain; /* LLC domain; < llc_domains of the allotment */
    uint32_t pad;    /* zero */
};

struct cosched_homes {
    uint32_t magic;   /* COSCHED_HOMES_MAGIC; 0: there never was any */
    uint32_t version; /* COSCHED_LAYOUT_VERSION */
    uint32_t size;    /* sizeof(struct cosched_homes) */
    uint32_t count;   /* entries of home[] in use */
    struct cosched_home home[COSCHED_MAX_HOMES]; /* the tasks of each region together */
};

/* How the runtime backs OpenMP threads (cosched_report.mode). */
enum cosched_mode {
    COSCHED_MODE_NONE = 0,    /* no parallel region so far */
    COSCHED_MODE_DONOR = 1,   /* ULTs with their own TLS */
    COSCHED_MODE_ULT = 2,     /* ULTs that share their worker's TLS */
    COSCHED_MODE_KTHREAD = 3, /* kernel threads */
};

/* One parallel region of the program, the same in each of its runs. */
struct cosched_region {
    uint64_t object_id; /* first 8 bytes of the build-id, big endian; without
                           one FNV-1a of the object's path */
    uint64_t offset;    /* outlined function relative to the load base */
    uint64_t entries;   /* regions begun */
    uint64_t time_ns;   /* wall time in completed regions */
    uint64_t barriers;  /* team barriers completed, the final one included */
    uint64_t iterations; /* loop iterations handed out by dynamic, guided and
                            runtime schedules; updated per chunk */
    uint64_t ults;      /* threads of the team that have finished */
    uint64_t idle_ns;   /* CPU time that its workers spun for, looking in vain for
                           something to do, as at barriers; not what they slept */
};

struct cosched_report {
    uint32_t magic;   /* COSCHED_REPORT_MAGIC; process writes it last */
    uint32_t version; /* COSCHED_LAYOUT_VERSION */
    uint32_t size;    /* sizeof(struct cosched_report) */
    uint32_t pid;     /* of the process that attached */
    uint32_t mode;    /* enum cosched_mode */
    uint32_t team;    /* threads in the current or last team */
    uint32_t region; /* index in regions[], or COSCHED_REGION_SERIAL */
    uint32_t regions_used;    /* entries of regions[] in use */
    uint64_t region_begin_ns; /* CLOCK_MONOTONIC, current region */
    uint32_t applied_generation; /* last generation put into effect: kernel
                                    threads outside `cpus` re-affined */
    uint32_t workers;    /* kernel threads running OpenMP code now */
    uint64_t applied_ns; /* CLOCK_MONOTONIC of that */
    uint64_t extra_workers; /* times the watchdog added a worker */
    uint64_t steals;        /* tasks taken from another worker's queue */
    uint64_t preempted;     /* times that a task spun in a loop of the program's own, and made
                               room for another one */
    uint32_t interleaved;   /* 1: a memory policy interleaves its pages, and near_share is obeyed */
    uint8_t pad[44];        /* zero; header is two cache lines */
    struct cosched_region regions[COSCHED_MAX_REGIONS];
};

_Static_assert(sizeof(struct cosched_cpuset) == 128, "cpuset is 1024 bits");
_Static_assert(offsetof(struct cosched_allotment, generation) == 12, "v1");
_Static_assert(offsetof(struct cosched_allotment, cpus) == 64, "v1");
_Static_assert(offsetof(struct cosched_allotment, granted) == 192, "v1");
_Static_assert(offsetof(struct cosched_allotment, llc_domain) == 320, "v1");
_Static_assert(sizeof(struct cosched_allotment) == 2368, "v1");
_Static_assert(sizeof(struct cosched_allotment) <= COSCHED_HOMES_OFFSET, "v1");
_Static_assert(sizeof(struct cosched_homes) == 16 + 16 * 2048, "v1");
_Static_assert(sizeof(struct cosched_region) == 64, "one cache line");
_Static_assert(offsetof(struct cosched_report, region_begin_ns) == 32, "v1");
_Static_assert(offsetof(struct cosched_report, regions) == 128, "v1");
_Static_assert(sizeof(struct cosched_report) == 128 + 64 * 256, "v1");

#endif /* COSCHED_LAYOUT_H */
