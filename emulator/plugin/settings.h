/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the runner tells the plugin: one file of settings. */

#ifndef COSCHED_EMULATOR_SETTINGS_H
#define COSCHED_EMULATOR_SETTINGS_H

/* Concept
 *
 * The machine description (machines/) says what the model knows of a machine; the emulator needs
 * absolute numbers and more of them.  The runner (emulator/emulate) makes this file, a line for
 * each fact, words separated by blanks, '#' to the end of the line is a comment.  What may be left
 * out has its default in brackets.
 *
 *   mhz N            cycles per virtual microsecond; one instruction takes one [200]
 *   quantum_ns N     CPUs are together again each N virtual ns [20000]
 *   parallel N       CPUs that run at a time; 1 is exact: the same results in each run;
 *                    0: as many as the host has [0]
 *   seed N           of random replacement in caches [1]
 *   page FILE        protocol/emulated_counters.h; exists with EMULATED_BYTES bytes
 *   pause_cycles N   of the PAUSE instruction [50]
 *   private_kib N    private cache of a CPU, a power of two; 0: one line [32]
 *   llc_kib N        cache of each LLC domain, 16 ways; 0: none [2048]
 *   sample N         one of N sets of it is simulated: 1, 2, 4, ... 64 [8]
 *   overlap N        misses that a core has under way at a time: how sharply a
 *                    controller saturates, no more [16]
 *   node MIB LATENCY_NS READ_US WRITE_US
 *                    the next NUMA node: its memory, for how long a miss stops the
 *                    CPU beyond all waiting, and the controller's service times
 *   domain CPUS NODE the next LLC domain: "0-3,8", its NUMA node
 *   link LATENCY_NS READ_US WRITE_US
 *                    the next link: what it adds to the latency; its service times
 *                    (a link of both directions is one, one-way links are two)
 *   route DOMAIN NODE LINK...
 *                    the links that a request crosses; none without such a line
 *
 * CPUs are the guest's 0..N-1, each in one domain.  NUMA nodes have their memory one after the
 * other, as -numa lays it out on q35: below 4 GiB as far as QEMU puts it there (all, if it is less
 * than 2816 MiB, else 2048 MiB), the rest from 4 GiB on.
 *
 * A number of a machine description that is too fast for MHZ makes no memory-bound program: the
 * runner multiplies service times and divides bandwidths by what it says (--scale), here and in
 * the description that the guest gets.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/emulated_counters.h"

struct station_settings { /* a NUMA node's controller, a link */
    double latency_ns;
    double read_us;
    double write_us;
};

struct domain_settings {
    unsigned node;
    unsigned route_length[EMULATED_NODES];
    uint8_t route[EMULATED_NODES][EMULATED_NODES]; /* [node][position]: a link */
};

struct settings {
    uint64_t mhz;
    uint64_t quantum_ns;
    uint64_t parallel;
    uint64_t seed;
    char page[256];
    uint64_t pause_cycles;
    uint64_t private_kib;
    uint64_t llc_kib;
    uint64_t sample;
    uint64_t overlap;
    unsigned cpus;
    unsigned nodes;
    unsigned domains;
    unsigned links;
    uint64_t mib[EMULATED_NODES];
    struct station_settings node[EMULATED_NODES];
    struct domain_settings domain[EMULATED_CPUS];
    struct station_settings link[EMULATED_LINKS];
    uint8_t cpu_domain[EMULATED_CPUS];
};

/* Reads the file.  Returns 0, or -1 with a sentence in ERROR that names file and line. */
int settings_read(struct settings *settings, const char *path, char *error, size_t size);

/* The NUMA node of a guest-physical address. */
unsigned settings_node_of(const struct settings *settings, uint64_t address);

#endif
