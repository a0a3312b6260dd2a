/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Memory controllers and links: how long a request waits. */

#ifndef COSCHED_EMULATOR_STATIONS_H
#define COSCHED_EMULATOR_STATIONS_H

/* Concept
 *
 * A station serves one request at a time, a read in read_us, a write in write_us.  Requests cannot
 * be put in order one by one (CPUs run one after the other), so in each quantum it is counted who
 * asked whom for how much, and the waiting of the next quantum follows from that.
 *
 * CPU i has, per quantum, `busy` ns of its own (computing, latency), reads r of some nodes and
 * writes, and was active for a ns.  If a read waits for W at a station, what it did takes T_i(W) =
 * busy + the sum of r * waiting; so the station's load is
 *
 *   rho(W) = sum over i of demand_i / quantum * a_i / T_i(W)
 *
 * which falls with W.  Waiting as a queue makes it rises with the load: half a service time more
 * for each request in front (deterministic service), shared by the `overlap` requests that a core
 * has under way, since their waits pass together:
 *
 *   W = S / overlap * rho / (2 (1 - rho))
 *
 * The W that fits both is the waiting.  Far below saturation it is next to nothing; when CPUs ask
 * for more than there is, rho goes to 1 and the CPUs get as much as the station can serve.  With
 * several stations each is solved in turn with the waiting at the others as it was; the next
 * quantum goes on from there.
 *
 * Counts of one quantum are few, so they are averaged over some quanta.  What a station was asked
 * for beyond its capacity since is its debt, and lessens its capacity until it is paid: over a
 * longer time it never serves more than it can.
 *
 * Writes do not stop a CPU; they take service time.  So what CPUs write need not fall with W: when
 * write-backs alone fill a station (of lines of this node, evicted by reads of others), no W fits.
 * A read waits no longer than for one read and one write-back of each CPU that asks:
 *
 *   W <= CPUs * (read_us + write_us) / capacity
 *
 * As long as a CPU writes back no more than it reads here, the W that fits is below that.
 */

#include "emulator/plugin/settings.h"

/* What a CPU did in a quantum.  Requests by NUMA node. */
struct station_use {
    double active_ns; /* executed and stalled */
    double reads[EMULATED_NODES];
    double writes[EMULATED_NODES];
};

struct station {
    double read_ns;
    double write_ns;
    double wait_ns; /* of a read, now */
    double debt;    /* in quanta of service */
    double busy_ns; /* served so far */
};

struct stations {
    const struct settings *settings;
    struct station at[EMULATED_NODES + EMULATED_LINKS]; /* nodes, then links */
    unsigned count;
    double quantum_ns;
    struct station_use mean[EMULATED_CPUS];
    double think_ns[EMULATED_CPUS];                /* active without waiting, averaged */
    double wait_ns[EMULATED_CPUS][EMULATED_NODES]; /* of a read: [LLC domain][node] */
    bool crosses[EMULATED_CPUS][EMULATED_NODES][EMULATED_NODES + EMULATED_LINKS];
};

/* SETTINGS stays the caller's. */
void stations_init(struct stations *s, const struct settings *settings);

/* A quantum has ended: USE of each CPU.  Sets waits. */
void stations_solve(struct stations *s, const struct station_use *use);

#endif
