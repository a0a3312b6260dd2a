/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The machines on which the model is validated. */

#include "tests/validate/worlds.h"
#include "tests/support/uniform_machine.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Number of the link between NUMA nodes A and B: one per unordered pair, in
 * rows of the upper triangle.  Those that the machine lacks are unused. */
static size_t pair(size_t a, size_t b, size_t nodes)
{
    size_t low = a < b ? a : b, high = a < b ? b : a;

    return low * nodes - low * (low + 1) / 2 + high - low - 1;
}

/* What a request from NUMA node A's LLC domains to NUMA node B crosses:
 * fills LINK, returns how many. */
typedef size_t (*route_f)(size_t a, size_t b, size_t nodes, size_t *link);

static size_t direct(size_t a, size_t b, size_t nodes, size_t *link)
{
    if (a == b)
        return 0;
    link[0] = pair(a, b, nodes);
    return 1;
}

/* Four packages of two dies: dies of equal parity are all connected, and the
 * two of a package; the rest is two hops, through the other die. */
static size_t opteron(size_t a, size_t b, size_t nodes, size_t *link)
{
    if (a % 2 == b % 2 || a / 2 == b / 2)
        return direct(a, b, nodes, link);
    link[0] = pair(a, a ^ 1, nodes);
    link[1] = pair(a ^ 1, b, nodes);
    return 2;
}

/* Two clusters in each of two sockets: the mesh inside, one link between. */
static size_t clusters(size_t a, size_t b, size_t nodes, size_t *link)
{
    if (a == b)
        return 0;
    link[0] = a / 2 == b / 2 ? pair(a, b, nodes) : pair(0, 2, nodes);
    return 1;
}

static bool connect(struct machine *machine, route_f route, double link_us)
{
    size_t nodes = machine->numa_nodes;

    free(machine->link_service_us);
    machine->links = nodes * (nodes - 1) / 2;
    machine->link_service_us = malloc((machine->links + 1) * sizeof(double));
    if (!machine->link_service_us)
        return false;
    for (size_t l = 0; l < machine->links; l++)
        machine->link_service_us[l] = link_us;
    for (size_t i = 0; i < machine->llc_domains; i++)
        for (size_t m = 0; m < nodes; m++) {
            struct machine_route *r = &machine->route[i * nodes + m];

            r->link = malloc(2 * sizeof(*r->link));
            if (!r->link)
                return false;
            r->links = route((size_t)machine->local_node[i], m, nodes, r->link);
        }
    return true;
}

/* Bandwidth in GB/s to us per line of 64 bytes. */
static double line_us(double gb_per_s)
{
    return 0.064 / gb_per_s;
}

struct world world_new(size_t i)
{
    static const struct {
        const char *name, *title;
        size_t llc_domains, cores, numa_nodes;
        double controller_gb, link_gb;
        route_f route;
        size_t steps, dop[WORLD_STEPS];
    } spec[WORLDS] = {
        {"amd-opteron-6380", "AMD Opteron 6380, 8 x 8 cores", 8, 8, 8, 10, 16,
         opteron, 8, {1, 2, 3, 4, 5, 6, 7, 8}},
        {"intel-e7-8870-v3", "Intel E7-8870 v3, 4 x 18 cores", 4, 18, 4, 40,
         30, direct, 4, {1, 2, 3, 4}},
        {"amd-epyc-2s", "AMD EPYC, 2 sockets of 8 LLCs x 8 cores", 16, 8, 2,
         150, 100, direct, 7, {1, 2, 4, 6, 8, 12, 16}},
        {"intel-snc-2s", "Intel, 2 sockets of 2 sub-NUMA clusters x 16 cores",
         4, 16, 4, 80, 60, clusters, 4, {1, 2, 3, 4}},
        {"uma", "one memory, 8 cores", 1, 8, 1, 20, 1, direct, 8,
         {1, 2, 3, 4, 5, 6, 7, 8}},
    };
    struct world world = {spec[i].name, spec[i].title, NULL, spec[i].steps,
                          {0}};

    memcpy(world.dop, spec[i].dop, sizeof(world.dop));
    world.machine = machine_new_uniform(spec[i].llc_domains, spec[i].cores,
                                        spec[i].numa_nodes);
    for (size_t m = 0; m < spec[i].numa_nodes && world.machine; m++)
        world.machine->controller_service_us[m] =
            line_us(spec[i].controller_gb);
    if (world.machine && !connect(world.machine, spec[i].route,
                                  line_us(spec[i].link_gb))) {
        machine_free(world.machine);
        world.machine = NULL;
    }
    return world;
}

void world_cores(const struct world *world, size_t dop, size_t *cores)
{
    const struct machine *machine = world->machine;

    for (size_t i = 0; i < machine->llc_domains; i++)
        cores[i] = i < dop ? machine_node_cpus(machine, i) : 0;
    if (machine->llc_domains == 1)
        cores[0] = dop;
}
