/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Links between NUMA nodes, guessed from their distances. */

#include "node_agent/topology/topology_links.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Where nothing was calibrated a link is as fast as a controller, so that only
 * its being shared counts. */
static const double default_link_us = MACHINE_DEFAULT_SERVICE_US;

struct guess {
    struct machine *machine;
    size_t nodes;
    bool *home;     /* [nodes] has CPUs */
    double *length; /* [nodes * nodes] */
    int *link;      /* [nodes * nodes] direct link, -1: none */
};

static void find_lengths(struct guess *g, const uint64_t *distance)
{
    size_t n = g->nodes;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double length = 1;
            if (distance && i != j)
                length = (double)(distance[i * n + j] + distance[j * n + i]) /
                             2 -
                         (double)(distance[i * n + i] + distance[j * n + j]) /
                             2;
            /* Firmware that calls all distances 10, or worse. */
            g->length[i * n + j] = length > 1e-3 ? length : 1e-3;
        }
}

/* Is there a node between I and J? */
static bool between(const struct guess *g, size_t i, size_t j)
{
    size_t n = g->nodes;
    double direct = g->length[i * n + j];

    for (size_t k = 0; k < n; k++) {
        double to = g->length[i * n + k], from = g->length[k * n + j];
        if (k != i && k != j && g->home[k] && to < direct && from < direct &&
            to + from <= direct * TOPOLOGY_DETOUR * (1 + 1e-9))
            return true;
    }
    return false;
}

/* Links of all pairs without a node between; returns their number. */
static size_t find_links(struct guess *g, struct machine_link *link)
{
    size_t n = g->nodes, count = 0;

    for (size_t i = 0; i < n * n; i++)
        g->link[i] = -1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            if (between(g, i, j) || (!g->home[i] && !g->home[j]))
                continue;
            g->link[i * n + j] = g->link[j * n + i] = (int)count;
            link[count++] = (struct machine_link){.from = i, .to = j};
        }
    return count;
}

/* Shortest ways over the links from node HOME (Dijkstra): BEFORE[j] is the node
 * before J on its way, that with the shorter way, then the lower number first. */
static void find_ways(const struct guess *g, size_t home, double *length,
                      int *before, bool *done)
{
    size_t n = g->nodes;

    for (size_t j = 0; j < n; j++) {
        length[j] = j == home ? 0 : INFINITY;
        before[j] = -1;
        done[j] = false;
    }
    for (;;) {
        size_t at = n;
        for (size_t j = 0; j < n; j++)
            if (!done[j] && isfinite(length[j]) &&
                (at == n || length[j] < length[at]))
                at = j;
        if (at == n)
            return;
        done[at] = true;
        for (size_t j = 0; j < n; j++) {
            double way = length[at] + g->length[at * n + j];
            if (g->link[at * n + j] < 0 || way >= length[j])
                continue;
            length[j] = way;
            before[j] = (int)at;
        }
    }
}

/* Set ROUTE to the links of the way to node J. */
static int set_route(const struct guess *g, struct machine_route *route,
                     const int *before, size_t j)
{
    size_t links = 0;

    for (size_t at = j; before[at] >= 0; at = (size_t)before[at])
        links++;
    if (!links)
        return 0;
    if (!(route->link = malloc(links * sizeof(*route->link))))
        return -1;
    route->links = links;
    for (size_t at = j; before[at] >= 0; at = (size_t)before[at])
        route->link[--links] =
            (size_t)g->link[(size_t)before[at] * g->nodes + at];
    return 0;
}

static int set_routes(struct guess *g)
{
    struct machine *m = g->machine;
    double *length = malloc(g->nodes * sizeof(*length));
    int *before = malloc(g->nodes * sizeof(*before));
    bool *done = malloc(g->nodes * sizeof(*done));
    int rc = length && before && done ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < m->llc_domains; i++) {
        find_ways(g, (size_t)m->local_node[i], length, before, done);
        for (size_t j = 0; rc == 0 && j < g->nodes; j++)
            rc = set_route(g, &m->route[i * g->nodes + j], before, j);
    }
    free(length);
    free(before);
    free(done);
    return rc;
}

static int connect(struct guess *g, const uint64_t *distance,
                   struct machine_link **link)
{
    struct machine *m = g->machine;
    struct machine_link *list =
        malloc(g->nodes * (g->nodes - 1) / 2 * sizeof(*list));

    if (!list)
        return -1;
    for (size_t i = 0; i < m->llc_domains; i++)
        g->home[m->local_node[i]] = true;
    find_lengths(g, distance);
    size_t count = find_links(g, list);
    m->link_service_us = malloc(count * sizeof(*m->link_service_us));
    if (!m->link_service_us || set_routes(g) < 0) {
        free(list);
        return -1;
    }
    for (size_t l = 0; l < count; l++)
        m->link_service_us[l] = default_link_us;
    m->links = count;
    *link = list;
    return 0;
}

int topology_links(struct machine *m, const uint64_t *distance,
                   struct machine_link **link)
{
    size_t n = m->numa_nodes;
    struct guess g = {.machine = m, .nodes = n};
    int rc = -1;

    *link = NULL;
    if (n == 1)
        return 0;
    g.home = calloc(n, sizeof(*g.home));
    g.length = malloc(n * n * sizeof(*g.length));
    g.link = malloc(n * n * sizeof(*g.link));
    if (g.home && g.length && g.link)
        rc = connect(&g, distance, link);
    free(g.home);
    free(g.length);
    free(g.link);
    errno = rc < 0 ? ENOMEM : errno;
    return rc;
}
