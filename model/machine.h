/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Description of a NUMA machine as the queueing model sees it. */

#ifndef COSCHED_MODEL_MACHINE_H
#define COSCHED_MODEL_MACHINE_H

/* Concept
 *
 * A machine has LLC domains (the cores behind one last-level cache), NUMA
 * nodes (one memory controller station each) and links (one station each).
 * Their numbers are independent: a UMA machine has one of each and no link, a
 * modern AMD socket several LLC domains per NUMA node.
 *
 * Each CPU belongs to one LLC domain; CPU numbers are the operating system's
 * and may have holes.  A route lists the links that a request crosses from a
 * LLC domain to a NUMA node; local accesses have an empty route.  LSet of a
 * link (thesis eq. 3.7) is the set of LLC domains whose routes cross it.
 *
 * Service times are mean times per request in microseconds, as measured by
 * calibration.  Where nothing was measured, all are MACHINE_DEFAULT_SERVICE_US
 * and only ratios (rho) have a meaning.
 *
 * Reads, writes and prefetches may differ (thesis eq. 3.13): then the tables
 * controller_service and link_service say so, and the plain times are those of
 * a read, for callers that do not know the mix.  Without these tables the
 * plain time is that of all kinds.
 *
 * Power is what the node draws when idle, and what comes on top: for each LLC domain with a core
 * at work, for each core that computes or is stalled, and for each request.  Unknown is all 0.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/status.h"

/* One 64-byte line at about 10 GB/s: a controller's share as seen from one
 * LLC domain of a current server; only its order of magnitude matters. */
#define MACHINE_DEFAULT_SERVICE_US 0.0064

/* Mean service times by kind of request: beta, gamma and alpha of eq. 3.13. */
struct machine_service {
    double read_us;
    double write_us;
    double prefetch_us;
};

struct machine_power {
    double idle_w;     /* the whole node without work */
    double domain_w;   /* an LLC domain with at least one core at work */
    double core_w;     /* a core that computes */
    double stalled_w;  /* a core that is stalled or waits, spinning */
    double request_nj; /* energy of a request to memory */
};

struct machine_route {
    size_t links; /* number of links crossed */
    size_t *link; /* [links] indices */
};

struct machine {
    size_t cpus;      /* highest CPU number + 1 */
    size_t llc_domains; /* >= 1 */
    size_t numa_nodes; /* >= 1 */
    size_t links;     /* >= 0 */
    int *llc_domain;    /* [cpus] CPU -> LLC domain, -1 for a hole */
    int *local_node;  /* [llc_domains] nearest NUMA node */
    double *controller_service_us; /* [numa_nodes] */
    double *link_service_us;       /* [links] */
    struct machine_service *controller_service; /* [numa_nodes] or NULL */
    struct machine_service *link_service;       /* [links] or NULL */
    struct machine_route *route;   /* [llc_domains * numa_nodes], row-major */
    struct machine_power power;
};

/* Is the machine's power known? */
bool machine_has_power(const struct machine *machine);

/* Eq. 3.13: the mean service time of a mix of so many READS, WRITES and
 * PREFETCHES (any unit, none negative); that of a read where there are none. */
double machine_service_mix(const struct machine_service *service, double reads,
                           double writes, double prefetches);

/* Service times by kind of the controller of MEMORY and of LINK: from the
 * tables, or three times the plain time where there are none. */
struct machine_service machine_controller_service(
    const struct machine *machine, size_t memory);
struct machine_service machine_link_service(const struct machine *machine,
                                            size_t link);

/* How many times the requests that one NUMA node serves, in the mean, all of them serve when all
 * cores ask all of them alike: as many as the busiest controller or link lets pass. */
double machine_interleaved_gain(const struct machine *machine);

/* Data that one thread touches first should lie on all NUMA nodes in turn: jobs that share the
 * machine are two at least, and each could have a node for itself.  Not where service times
 * are the default: nothing is known of the links then. */
bool machine_interleaves(const struct machine *machine);

/* A new machine without links: all CPUs are holes, routes empty, local_node of LLC
 * domain i is i * numa_nodes / llc_domains, default service times.  NULL when out
 * of memory or a size is 0.  Free with machine_free(). */
struct machine *machine_new(size_t cpus, size_t llc_domains, size_t numa_nodes);

/* Check sizes, ranges and positive finite service times, tables included. */
enum model_status machine_check(const struct machine *machine);

/* Number of CPUs (not holes) of LLC domain NODE. */
size_t machine_node_cpus(const struct machine *machine, size_t node);

/* The same of all LLC domains. */
size_t machine_all_cpus(const struct machine *machine);

/* Service times of the links from an LLC domain to a NUMA node, us; 0 when local. */
double machine_route_us(const struct machine *machine, size_t llc_domain,
                        size_t numa_node);

/* Takes NULL. */
void machine_free(struct machine *machine);

#endif /* COSCHED_MODEL_MACHINE_H */
