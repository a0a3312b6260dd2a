/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Links between NUMA nodes, guessed from their distances. */

#ifndef COSCHED_TOPOLOGY_LINKS_H
#define COSCHED_TOPOLOGY_LINKS_H

/* Concept
 *
 * The firmware gives distances (10: local), not wires.  What exceeds the local distance is
 * taken for the length of the route.  Two nodes have no link of their own if a third is
 * nearer to both and the route over it is not much longer; all others have one.
 *
 *     HyperTransport, two hops    10 16 22   6 + 6 = 12: through a third node
 *     ring of four packages       10 21 31   11 + 11 = 22 for 21: likewise
 *     sub-NUMA clusters           10 11 21   no node is nearer to both: a full mesh
 *     fully connected             10 21      a full mesh
 *
 * The shortest route counts, the first of equals.  Only nodes with CPUs lie between others.
 * Asymmetric distances count with their mean.  A link is one station for both directions
 * (thesis 3.3.1).  The guess can be edited in the description.
 */

#include <stdint.h>

#include "model/machine.h"
#include "model/io/machine_json.h"

#define TOPOLOGY_DETOUR 1.25 /* a way longer than this is none */

/* Give MACHINE (its homes set, without links) links, default service times and
 * routes from DISTANCE[numa_nodes * numa_nodes], row-major; NULL: all the same.
 * *LINK gets their ends, [machine->links]; the caller frees it (NULL where
 * there are none).  -1 with errno ENOMEM. */
int topology_links(struct machine *machine, const uint64_t *distance,
                   struct machine_link **link);

#endif /* COSCHED_TOPOLOGY_LINKS_H */
