/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The node as a description that is stored, and back. */

#include <stdlib.h>
#include <string.h>

#include "node_agent/topology/topology_private.h"
#include "protocol/cpulist.h"

/* ---- to a description ---------------------------------------------------- */

/* "2 x Intel(R) Xeon(R) ...", as far as hwloc knows. */
static char *describe_name(const struct topology *t)
{
    hwloc_obj_t package =
        hwloc_get_obj_by_type(t->hwloc, HWLOC_OBJ_PACKAGE, 0);
    const char *model =
        package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    size_t nodes = t->machine->llc_domains;
    char *name;

    if (asprintf(&name, "%zu x %s: %zu LLC domain%s, %zu NUMA node%s",
                 t->packages, model && *model ? model : "unknown CPU", nodes,
                 nodes == 1 ? "" : "s", t->machine->numa_nodes,
                 t->machine->numa_nodes == 1 ? "" : "s") < 0)
        return NULL;
    return name;
}

/* N times as a table by kind: KIND, or three times PLAIN where that is NULL. */
static struct machine_service *copy_services(const struct machine_service *kind,
                                             const double *plain, size_t n)
{
    struct machine_service *copy = malloc((n ? n : 1) * sizeof(*copy));

    for (size_t i = 0; copy && i < n; i++)
        copy[i] = kind ? kind[i]
                       : (struct machine_service){plain[i], plain[i], plain[i]};
    return copy;
}

static void *copy_array(const void *from, size_t count, size_t size)
{
    void *copy = malloc(count ? count * size : 1);

    if (copy && count)
        memcpy(copy, from, count * size);
    return copy;
}

static bool copy_route(struct machine_route *to,
                       const struct machine_route *from)
{
    if (!from->links)
        return true;
    to->link = copy_array(from->link, from->links, sizeof(*to->link));
    to->links = to->link ? from->links : 0;
    return to->link != NULL;
}

/* Service times, links and their ends of FROM; TO has none yet. */
static bool copy_times(struct machine *to, const struct machine *from)
{
    memcpy(to->controller_service_us, from->controller_service_us,
           from->numa_nodes * sizeof(double));
    to->controller_service =
        copy_services(from->controller_service, from->controller_service_us,
                      from->numa_nodes);
    to->link_service_us =
        copy_array(from->link_service_us, from->links, sizeof(double));
    to->link_service =
        copy_services(from->link_service, from->link_service_us, from->links);
    to->links = from->links;
    return to->controller_service && to->link_service_us && to->link_service;
}

/* A copy of FROM with tables of times by kind.  The LLC domains i of the copy are
 * NODE[i] of FROM; LLC_DOMAIN[cpus] says which CPU is in which of them. */
static struct machine *copy_machine(const struct machine *from,
                                    const size_t *node, size_t nodes,
                                    const int *llc_domain, size_t cpus)
{
    struct machine *m = machine_new(cpus, nodes, from->numa_nodes);
    bool good = m && copy_times(m, from);

    for (size_t i = 0; good && i < nodes; i++) {
        m->home[i] = from->home[node[i]];
        for (size_t j = 0; good && j < m->numa_nodes; j++)
            good = copy_route(&m->route[i * m->numa_nodes + j],
                              &from->route[node[i] * m->numa_nodes + j]);
    }
    if (good) {
        memcpy(m->llc_domain, llc_domain, cpus * sizeof(*llc_domain));
        return m;
    }
    machine_free(m);
    return NULL;
}

struct machine_description *topology_description(const struct topology *t)
{
    const struct machine *m = t->machine;
    struct machine_description *d = calloc(1, sizeof(*d));
    size_t node[m->llc_domains];

    for (size_t i = 0; i < m->llc_domains; i++)
        node[i] = i;
    if (d) {
        d->name = describe_name(t);
        d->source = strdup("hwloc; links guessed from the distances, service "
                           "times are the model's default and not measured");
        d->machine = copy_machine(m, node, m->llc_domains, m->llc_domain, m->cpus);
        d->link = copy_array(t->link, m->links, sizeof(*d->link));
        if (d->name && d->source && d->machine && d->link)
            return d;
    }
    machine_description_free(d);
    errno = ENOMEM;
    return NULL;
}

/* ---- from a description -------------------------------------------------- */

/* The node of FROM that has a CPU of the core whose first is CORE.  -1 with ERR
 * when there is none, or the core is in two. */
static int find_node(const struct topology *t, const struct machine *from,
                     int core, struct errtext *err)
{
    int node = -1;

    for (int c = -1; (c = cpuset_next(&t->cpus, c)) >= 0;) {
        int n = (size_t)c < from->cpus ? from->llc_domain[c] : -1;
        if (t->first[c] != core || n < 0 || n == node)
            continue;
        if (node >= 0)
            return errtext_set(err, EINVAL, "the core of CPU %d is in "
                               "llc_domains[%d] and [%d]", core, node, n);
        node = n;
    }
    if (node < 0)
        return errtext_set(err, EINVAL, "CPU %d of this node is not in it",
                           core);
    return node;
}

static int check_fit(const struct topology *t, const struct machine *from,
                     struct errtext *err)
{
    hwloc_const_cpuset_t all = hwloc_topology_get_complete_cpuset(t->hwloc);

    if (from->numa_nodes != t->machine->numa_nodes)
        return errtext_set(err, EINVAL, "it has %zu NUMA nodes, this node "
                           "%zu", from->numa_nodes, t->machine->numa_nodes);
    for (size_t c = 0; c < from->cpus; c++)
        if (from->llc_domain[c] >= 0 && !hwloc_bitmap_isset(all, (unsigned)c))
            return errtext_set(err, EINVAL, "it has CPU %zu, this node has not",
                               c);
    return 0;
}

/* What changes in a topology. */
struct change {
    struct machine *machine;
    struct machine_link *link;
    int *core_node; /* [cpus] of cores */
};

static int adopt(struct topology *t, const struct machine_description *d,
                 struct change *change, struct errtext *err)
{
    const struct machine *from = d->machine;
    size_t cpus = t->machine->cpus, nodes = 0;
    size_t node[from->llc_domains]; /* new -> old */
    int number[from->llc_domains];  /* old -> new */

    for (size_t i = 0; i < from->llc_domains; i++)
        number[i] = -1;
    for (size_t c = 0; c < cpus; c++) {
        change->core_node[c] = -1;
        if (t->machine->llc_domain[c] < 0)
            continue;
        int n = find_node(t, from, (int)c, err);
        if (n < 0)
            return -1;
        if (number[n] < 0) {
            number[n] = (int)nodes;
            node[nodes++] = (size_t)n;
        }
        change->core_node[c] = number[n];
    }
    change->machine =
        copy_machine(from, node, nodes, change->core_node, cpus);
    change->link = copy_array(d->link, from->links, sizeof(*d->link));
    if (!change->machine || !change->link)
        return errtext_set(err, ENOMEM, "topology: out of memory");
    return 0;
}

int topology_use_description(struct topology *t,
                             const struct machine_description *d,
                             struct errtext *err)
{
    size_t cpus = t->machine->cpus;
    struct change change = {.core_node = malloc(cpus * sizeof(int))};
    struct errtext why = {""};
    int rc = -1;

    if (!change.core_node)
        errtext_set(&why, ENOMEM, "out of memory");
    else if (check_fit(t, d->machine, &why) == 0)
        rc = adopt(t, d, &change, &why);
    int saved = errno;
    if (rc == 0) {
        if (!t->borrowed)
            machine_free(t->machine);
        free(t->link);
        t->machine = change.machine;
        t->borrowed = false;
        t->link = change.link;
        for (size_t c = 0; c < cpus; c++)
            if (t->first[c] >= 0)
                t->llc_domain[c] = change.core_node[t->first[c]];
    } else {
        machine_free(change.machine);
        free(change.link);
        errtext_set(err, saved, "machine \"%.60s\" does not fit: %.100s",
                    d->name, why.text);
    }
    free(change.core_node);
    return rc;
}

int topology_memory_os(const struct topology *t, size_t node)
{
    hwloc_obj_t obj = hwloc_get_obj_by_type(t->hwloc, HWLOC_OBJ_NUMANODE,
                                            (unsigned)node);

    return obj ? (int)obj->os_index : -1;
}
