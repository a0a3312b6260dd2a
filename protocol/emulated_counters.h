/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The page in which an emulated machine counts. */

#ifndef COSCHED_EMULATED_COUNTERS_H
#define COSCHED_EMULATED_COUNTERS_H

/* Concept
 *
 * The emulator (emulator/plugin) has the counters of a machine that is not there in a file of
 * EMULATED_BYTES.  QEMU shows it to the guest as the memory of a PCI device (ivshmem-plain,
 * 1af4:1110, resource2); the runner maps the same file on the host, also after the machine has
 * ended.  One writer, any number of readers, who map it read-only.
 *
 * Everything but `sequence` is written between two quanta of virtual time, while no CPU of the
 * machine runs, once in EMULATED_PERIOD_NS of virtual time or per quantum, whichever is longer,
 * and is the state at that instant, `virtual_ns`: a reader inside finds it at most so old.  It may
 * be stopped in the middle of its reading and go on after the next writing, so:
 *
 *   do {
 *       before = sequence                       (acquire)
 *       copy what is wanted
 *       fence                                   (acquire)
 *   } while (before is odd || sequence != before)
 *
 * `sequence` is odd while the page is written.  The writer makes it odd (relaxed), fences
 * (release), writes, and makes it even (release).  Inside the machine this loop runs twice at
 * most, if it copies in less than a period: at 200 MHz all of the page takes a third of it.  A
 * reader on the host spins for microseconds.
 *
 * All counts only grow, from 0 at power-on, and do not wrap around.  Requests are of one 64-byte
 * line.  The cache is sampled by sets: numbers of requests are multiples of `sample`.
 *
 * Raise EMULATED_VERSION with any change of the layout; another version is refused.
 */

#include <assert.h>
#include <stdint.h>

#define EMULATED_MAGIC      UINT64_C(0x746e756f63756d65) /* "emucount" in memory */
#define EMULATED_VERSION    1
#define EMULATED_CPUS       128   /* most of a machine; also of its LLC domains */
#define EMULATED_NODES      16    /* most NUMA nodes */
#define EMULATED_LINKS      128   /* most links */
#define EMULATED_BYTES      65536 /* of the file and the PCI resource */
#define EMULATED_PERIOD_NS  200000
#define EMULATED_PCI_VENDOR 0x1af4
#define EMULATED_PCI_DEVICE 0x1110

/* What one CPU has done. */
struct emulated_cpu {
    uint64_t cycles;       /* not halted, stalls included */
    uint64_t stalled;      /* of them, waiting for memory (LLC misses) */
    uint64_t instructions; /* one a cycle, but for stalls, LLC hits and PAUSE */
    uint64_t llc_accesses; /* that missed its private cache */
    uint64_t idle_ns;      /* halted; cycles * 1000 / mhz + idle_ns is virtual_ns or
                              nearly so */
    uint64_t reserved[3];
    uint64_t reads[EMULATED_NODES];  /* LLC misses (loads and stores) by NUMA node */
    uint64_t writes[EMULATED_NODES]; /* changed lines that its misses drove out
                                        of its LLC */
};

/* A NUMA node's controller, or a link. */
struct emulated_station {
    uint64_t busy_ns; /* served requests, by the service times of the machine
                         description */
    uint64_t wait_ps; /* a request now waits for this; no count */
};

struct emulated_counters {
    uint64_t magic;   /* EMULATED_MAGIC, written last at the start */
    uint32_t version; /* EMULATED_VERSION */
    uint32_t cpus;    /* of the machine; cpu[i] is the guest's CPU i */
    uint32_t nodes;
    uint32_t links;
    uint32_t mhz;    /* cycles per virtual microsecond */
    uint32_t sample; /* of `sample` sets of the cache one is simulated */
    _Atomic uint64_t sequence;
    uint64_t virtual_ns; /* since power-on */
    uint64_t host_ns;    /* likewise, on the host's clock */
    uint64_t quanta;
    uint64_t reserved[8];
    struct emulated_station node[EMULATED_NODES];
    struct emulated_station link[EMULATED_LINKS];
    struct emulated_cpu cpu[EMULATED_CPUS];
};

static_assert(sizeof(struct emulated_cpu) == 320, "layout");
static_assert(sizeof(struct emulated_counters) == 128 + 16 * 144 + 320 * 128, "layout");
static_assert(sizeof(struct emulated_counters) <= EMULATED_BYTES, "layout");

#endif
