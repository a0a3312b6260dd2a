/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which stations of a machine are alike for given jobs. */

#include "model/alike.h"

#include <stdlib.h>
#include <string.h>

/* Sort the routes by the links that they cross: those of link l are from
 * user[first[l] .. first[l + 1] - 1] to the targets at the same places. */
static void sort_routes(const struct machine *machine, size_t *first,
                        size_t *user, size_t *target)
{
    size_t memories = machine->numa_nodes;
    size_t pairs = machine->llc_domains * memories;

    memset(first, 0, (machine->links + 1) * sizeof(*first));
    for (size_t r = 0; r < pairs; r++)
        for (size_t l = 0; l < machine->route[r].links; l++)
            first[machine->route[r].link[l] + 1]++;
    for (size_t l = 0; l < machine->links; l++)
        first[l + 1] += first[l];
    /* Fill from each list's begin, which moves it to the next one's; then
     * move them back. */
    for (size_t r = 0; r < pairs; r++)
        for (size_t l = 0; l < machine->route[r].links; l++) {
            size_t u = first[machine->route[r].link[l]]++;
            user[u] = r / memories;
            target[u] = r % memories;
        }
    for (size_t l = machine->links; l > 0; l--)
        first[l] = first[l - 1];
    first[0] = 0;
}

bool alike_init(struct alike *a, const struct machine *machine)
{
    size_t nodes = machine->llc_domains, memories = machine->numa_nodes;
    size_t crossings = 0;

    *a = (struct alike){.machine = machine};
    for (size_t r = 0; r < nodes * memories; r++)
        crossings += machine->route[r].links;
    a->size = calloc(3 * nodes + 3 * memories + 3 * machine->links + 1 +
                         2 * crossings,
                     sizeof(*a->size));
    a->path = calloc(nodes * memories, sizeof(*a->path));
    if (!a->size || !a->path)
        return false;
    a->paths = a->size + nodes;
    a->kind = a->paths + nodes;
    a->group = a->kind + nodes;
    a->member = a->group + memories;
    a->members = a->member + memories;
    a->link = a->members + memories;
    a->link_at = a->link + machine->links;
    a->first = a->link_at + machine->links;
    a->user = a->first + machine->links + 1;
    a->target = a->user + crossings;
    for (size_t cpu = 0; cpu < machine->cpus; cpu++)
        if (machine->llc_domain[cpu] >= 0)
            a->size[machine->llc_domain[cpu]]++;
    sort_routes(machine, a->first, a->user, a->target);
    return true;
}

void alike_free(struct alike *a)
{
    free(a->size);
    free(a->path);
    *a = (struct alike){0};
}

static bool same_memory(const struct alike *a, size_t m, size_t n,
                        const struct workload *const *profile, size_t jobs)
{
    if (a->machine->controller_service_us[m] !=
        a->machine->controller_service_us[n])
        return false;
    for (size_t j = 0; j < jobs; j++)
        if (profile[j]->rate[m].mrr_per_us != profile[j]->rate[n].mrr_per_us ||
            profile[j]->rate[m].read_per_us != profile[j]->rate[n].read_per_us)
            return false;
    return true;
}

static void find_groups(struct alike *a, const struct workload *const *profile,
                        size_t jobs)
{
    a->groups = 0;
    for (size_t m = 0; m < a->machine->numa_nodes; m++) {
        size_t g = 0;
        while (g < a->groups && !same_memory(a, m, a->member[g], profile, jobs))
            g++;
        if (g == a->groups) {
            a->member[a->groups++] = m;
            a->members[g] = 0;
        }
        a->group[m] = g;
        a->members[g]++;
    }
}

/* True when links K and L have the same customers and service time. */
static bool same_link(const struct alike *a, size_t k, size_t l)
{
    size_t x = a->first[k], y = a->first[l], count = a->first[k + 1] - x;

    if (count != a->first[l + 1] - y ||
        a->machine->link_service_us[k] != a->machine->link_service_us[l])
        return false;
    for (size_t u = 0; u < count; u++)
        if (a->user[x + u] != a->user[y + u] ||
            a->group[a->target[x + u]] != a->group[a->target[y + u]])
            return false;
    return true;
}

static void find_links(struct alike *a)
{
    a->links = 0;
    for (size_t l = 0; l < a->machine->links; l++) {
        size_t begin = a->first[l], end = a->first[l + 1], k = 0;

        a->link[l] = ALIKE_FIXED;
        if (begin == end || a->user[begin] == a->user[end - 1])
            continue;
        while (k < a->links && !same_link(a, a->link_at[k], l))
            k++;
        if (k == a->links)
            a->link_at[a->links++] = l;
        a->link[l] = k;
    }
}

/* True when two routes cross links with the same responses, of which those
 * that are fixed take the same time together. */
static bool same_links(const struct alike *a, const struct machine_route *x,
                       const struct machine_route *y)
{
    size_t i = 0, k = 0;

    for (;;) {
        while (i < x->links && a->link[x->link[i]] == ALIKE_FIXED)
            i++;
        while (k < y->links && a->link[y->link[k]] == ALIKE_FIXED)
            k++;
        if (i == x->links || k == y->links)
            return i == x->links && k == y->links;
        if (a->link[x->link[i++]] != a->link[y->link[k++]])
            return false;
    }
}

/* True when path P of LLC domain X and path Q of LLC domain Y cost the same. */
static bool same_path(const struct alike *a, size_t x,
                      const struct alike_path *p, size_t y,
                      const struct alike_path *q)
{
    size_t memories = a->machine->numa_nodes;

    return p->group == q->group && p->fixed == q->fixed &&
           same_links(a, &a->machine->route[x * memories + p->first],
                      &a->machine->route[y * memories + q->first]);
}

static void find_paths(struct alike *a, size_t node)
{
    size_t memories = a->machine->numa_nodes, count = 0;
    struct alike_path *path = &a->path[node * memories];

    for (size_t m = 0; m < memories; m++) {
        const struct machine_route *route =
            &a->machine->route[node * memories + m];
        struct alike_path p = {.group = a->group[m], .first = m, .count = 1};
        size_t k = 0;

        for (size_t l = 0; l < route->links; l++)
            if (a->link[route->link[l]] == ALIKE_FIXED)
                p.fixed += a->machine->link_service_us[route->link[l]];
        while (k < count && !same_path(a, node, &p, node, &path[k]))
            k++;
        if (k < count)
            path[k].count++;
        else
            path[count++] = p;
    }
    a->paths[node] = count;
}

/* True when each path of LLC domain X is one of Y, with as many routes. */
static bool same_kind(const struct alike *a, size_t x, size_t y)
{
    size_t memories = a->machine->numa_nodes;

    if (a->size[x] != a->size[y] || a->paths[x] != a->paths[y])
        return false;
    for (size_t p = 0; p < a->paths[x]; p++) {
        const struct alike_path *path = &a->path[x * memories + p];
        const struct alike_path *other = &a->path[y * memories];
        size_t q = 0;

        while (q < a->paths[y] && !same_path(a, x, path, y, &other[q]))
            q++;
        if (q == a->paths[y] || other[q].count != path->count)
            return false;
    }
    return true;
}

void alike_find(struct alike *a, const struct workload *const *profile,
                size_t jobs)
{
    find_groups(a, profile, jobs);
    find_links(a);
    for (size_t i = 0; i < a->machine->llc_domains; i++) {
        size_t k = 0;

        find_paths(a, i);
        while (k < i && (a->kind[k] != k || !same_kind(a, k, i)))
            k++;
        a->kind[i] = k;
    }
}
