/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the files of the topology share. */

#ifndef COSCHED_TOPOLOGY_PRIVATE_H
#define COSCHED_TOPOLOGY_PRIVATE_H

#include <hwloc.h>

#include <stdbool.h>

#include "node_agent/topology/topology.h"

struct topology {
    hwloc_topology_t hwloc;
    struct cosched_cpuset cpus;
    struct cosched_cpuset heads; /* of them, those that are their core's first */
    struct machine *machine; /* of cores */
    bool borrowed;           /* it is somebody else's */
    struct machine_link *link; /* [machine->links] */
    int *llc_domain;           /* [machine->cpus] of all CPUs */
    int *first;              /* [machine->cpus] first CPU of a CPU's core */
    int *package;            /* [machine->cpus] */
    size_t packages;
};

#endif /* COSCHED_TOPOLOGY_PRIVATE_H */
