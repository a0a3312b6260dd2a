/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The node as hwloc sees it, in the words of the model and of Slurm. */

#include "node_agent/topology/topology.h"

#include <hwloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/topology/topology_links.h"
#include "protocol/cpulist.h"

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

static int load(struct topology *t, struct errtext *err)
{
    if (hwloc_topology_init(&t->hwloc) < 0)
        return errtext_set(err, ENOMEM, "hwloc: out of memory");
    /* Only CPUs and what they share; no devices, which are slow to find. */
    hwloc_topology_set_io_types_filter(t->hwloc, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(t->hwloc) < 0)
        return errtext_set(err, errno, "hwloc cannot read the topology: %s",
                           strerror(errno));
    return 0;
}

static int find_cpus(struct topology *t, const struct cosched_cpuset *only,
                     struct errtext *err)
{
    hwloc_obj_t pu = NULL;

    while ((pu = hwloc_get_next_obj_by_type(t->hwloc, HWLOC_OBJ_PU, pu)))
        if (pu->os_index < COSCHED_MAX_CPUS &&
            (!only || cpuset_has(only, (int)pu->os_index)))
            cpuset_add(&t->cpus, (int)pu->os_index);
    if (cpuset_empty(&t->cpus)) {
        char list[4096];
        return errtext_set(err, EINVAL, "--cpus %.100s: none of them is online",
                           only ? cpulist_format(only, list, sizeof(list))
                                : "");
    }
    return 0;
}

/* What bounds the LLC domain of PU. */
static hwloc_obj_t node_object(hwloc_topology_t hwloc, hwloc_obj_t pu)
{
    hwloc_obj_t obj;

    if ((obj = hwloc_get_ancestor_obj_by_type(hwloc, HWLOC_OBJ_L3CACHE, pu)) ||
        (obj = hwloc_get_ancestor_obj_by_type(hwloc, HWLOC_OBJ_PACKAGE, pu)))
        return obj;
    /* NUMA nodes are memory children, beside the path from PU to machine. */
    obj = NULL;
    while ((obj = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, obj)))
        if (hwloc_bitmap_isset(obj->cpuset, pu->os_index))
            return obj;
    return hwloc_get_root_obj(hwloc);
}

/* Index of the first NUMA node local to PU, or 0. */
static int home_of(hwloc_topology_t hwloc, hwloc_obj_t pu)
{
    hwloc_obj_t obj = NULL;

    while ((obj = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, obj)))
        if (hwloc_bitmap_isset(obj->cpuset, pu->os_index))
            return (int)obj->logical_index;
    return 0;
}

/* Fill llc_domain[], first[] and HOMES[node]; returns the number of nodes. */
static size_t map_cpus(struct topology *t, int *homes)
{
    hwloc_obj_t nodes[COSCHED_MAX_CPUS];
    size_t count = 0;
    hwloc_obj_t pu = NULL;

    while ((pu = hwloc_get_next_obj_by_type(t->hwloc, HWLOC_OBJ_PU, pu))) {
        int cpu = (int)pu->os_index;
        size_t i = 0;
        if (!cpuset_has(&t->cpus, cpu))
            continue;
        hwloc_obj_t obj = node_object(t->hwloc, pu);
        while (i < count && nodes[i] != obj)
            i++;
        if (i == count) {
            nodes[count++] = obj;
            homes[i] = home_of(t->hwloc, pu);
        }
        t->llc_domain[cpu] = (int)i;
        hwloc_obj_t core =
            hwloc_get_ancestor_obj_by_type(t->hwloc, HWLOC_OBJ_CORE, pu);
        t->first[cpu] = cpu;
        if (core)
            for (int c = -1; (c = cpuset_next(&t->cpus, c)) >= 0;)
                if (hwloc_bitmap_isset(core->cpuset, (unsigned)c)) {
                    t->first[cpu] = c;
                    break;
                }
    }
    return count;
}

static void map_packages(struct topology *t, size_t cpus)
{
    hwloc_obj_t pu = NULL;
    int count = hwloc_get_nbobjs_by_type(t->hwloc, HWLOC_OBJ_PACKAGE);

    t->packages = count > 0 ? (size_t)count : 1;
    for (size_t c = 0; c < cpus; c++)
        t->package[c] = -1;
    while ((pu = hwloc_get_next_obj_by_type(t->hwloc, HWLOC_OBJ_PU, pu))) {
        hwloc_obj_t package =
            hwloc_get_ancestor_obj_by_type(t->hwloc, HWLOC_OBJ_PACKAGE, pu);
        if (cpuset_has(&t->cpus, (int)pu->os_index))
            t->package[pu->os_index] =
                package ? (int)package->logical_index : 0;
    }
}

/* Distances of the NUMA nodes in the order of the machine; the caller frees
 * them.  NULL where the firmware tells none. */
static uint64_t *find_distances(const struct topology *t)
{
    struct hwloc_distances_s *all = NULL;
    unsigned count = 1;
    size_t n = t->machine->numa_nodes, known = 0;
    uint64_t *distance = NULL;

    if (hwloc_distances_get_by_type(t->hwloc, HWLOC_OBJ_NUMANODE, &count, &all,
                                    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 ||
        !count)
        return NULL;
    if (all->nbobjs == n && (distance = calloc(n * n, sizeof(*distance))))
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++, known++) {
                size_t a = all->objs[i]->logical_index;
                size_t b = all->objs[j]->logical_index;
                distance[a * n + b] = all->values[i * n + j];
            }
    hwloc_distances_release(t->hwloc, all);
    return known ? distance : NULL;
}

static int build_machine(struct topology *t, struct errtext *err)
{
    size_t cpus = 0;
    int homes[COSCHED_MAX_CPUS];

    for (int c = -1; (c = cpuset_next(&t->cpus, c)) >= 0;)
        cpus = (size_t)c + 1;
    if (!(t->llc_domain = malloc(cpus * sizeof(int))) ||
        !(t->first = malloc(cpus * sizeof(int))) ||
        !(t->package = malloc(cpus * sizeof(int))))
        return errtext_set(err, ENOMEM, "topology: out of memory");
    for (size_t c = 0; c < cpus; c++)
        t->llc_domain[c] = t->first[c] = -1;
    size_t nodes = map_cpus(t, homes);
    map_packages(t, cpus);
    int memory = hwloc_get_nbobjs_by_type(t->hwloc, HWLOC_OBJ_NUMANODE);
    t->machine = machine_new(cpus, nodes, memory > 0 ? (size_t)memory : 1);
    if (!t->machine)
        return errtext_set(err, ENOMEM, "topology: out of memory");
    for (size_t c = 0; c < cpus; c++)
        if (t->first[c] == (int)c) {
            t->machine->llc_domain[c] = t->llc_domain[c];
            cpuset_add(&t->heads, (int)c);
        }
    for (size_t n = 0; n < nodes; n++)
        t->machine->local_node[n] = homes[n];
    uint64_t *distance = find_distances(t);
    int rc = topology_links(t->machine, distance, &t->link);
    free(distance);
    if (rc < 0)
        return errtext_set(err, ENOMEM, "topology: out of memory");
    if (machine_check(t->machine) != MODEL_OK)
        return errtext_set(err, EINVAL, "topology: hwloc describes a machine "
                                        "that the model cannot take");
    return 0;
}

struct topology *topology_new(const struct cosched_cpuset *only,
                              struct errtext *err)
{
    struct topology *t = calloc(1, sizeof(*t));

    if (!t) {
        errtext_set(err, ENOMEM, "topology: out of memory");
        return NULL;
    }
    if (load(t, err) < 0 || find_cpus(t, only, err) < 0 ||
        build_machine(t, err) < 0) {
        int saved = errno;
        topology_free(t);
        errno = saved;
        return NULL;
    }
    return t;
}

struct topology *topology_of_machine(struct machine *machine,
                                     struct errtext *err)
{
    struct topology *t = calloc(1, sizeof(*t));

    if (!t || !(t->llc_domain = malloc(machine->cpus * sizeof(int))) ||
        !(t->first = malloc(machine->cpus * sizeof(int))) ||
        !(t->package = malloc(machine->cpus * sizeof(int)))) {
        topology_free(t);
        errtext_set(err, ENOMEM, "topology: out of memory");
        return NULL;
    }
    t->machine = machine;
    t->borrowed = true;
    t->packages = 1;
    for (size_t c = 0; c < machine->cpus && c < COSCHED_MAX_CPUS; c++) {
        bool hole = machine->llc_domain[c] < 0;
        t->llc_domain[c] = machine->llc_domain[c];
        t->first[c] = hole ? -1 : (int)c;
        t->package[c] = hole ? -1 : 0;
        if (!hole)
            cpuset_add(&t->cpus, (int)c);
    }
    t->heads = t->cpus;
    return t;
}

const struct cosched_cpuset *topology_cpus(const struct topology *t)
{
    return &t->cpus;
}

const struct machine *topology_machine(const struct topology *t)
{
    return t->machine;
}

const int *topology_llc_domains(const struct topology *t)
{
    return t->llc_domain;
}

const int *topology_packages(const struct topology *t, size_t *count)
{
    if (count)
        *count = t->packages;
    return t->package;
}

/* Where a core has one CPU, there is nothing to go through one by one. */
void topology_cores(const struct topology *t,
                    const struct cosched_cpuset *cpus,
                    struct cosched_cpuset *cores)
{
    struct cosched_cpuset rest = *cpus;

    cpuset_and(&rest, &t->cpus);
    *cores = rest;
    cpuset_and(cores, &t->heads);
    cpuset_andnot(&rest, &t->heads);
    for (int c = -1; (c = cpuset_next(&rest, c)) >= 0;)
        cpuset_add(cores, t->first[c]);
}

size_t topology_count_cores(const struct topology *t,
                            const struct cosched_cpuset *cpus)
{
    struct cosched_cpuset cores;

    topology_cores(t, cpus, &cores);
    return (size_t)cpuset_count(&cores);
}

void topology_expand(const struct topology *t,
                     const struct cosched_cpuset *cores,
                     struct cosched_cpuset *cpus)
{
    struct cosched_cpuset in = *cores, rest = t->cpus;

    *cpus = in;
    cpuset_and(cpus, &t->heads);
    cpuset_andnot(&rest, &t->heads);
    for (int c = -1; (c = cpuset_next(&rest, c)) >= 0;)
        if (cpuset_has(&in, t->first[c]))
            cpuset_add(cpus, c);
}

int topology_map_cores(const struct topology *t, const char *cores,
                       struct cosched_cpuset *cpus, struct errtext *err)
{
    struct cosched_cpuset list, result;
    int highest = -1;
    int total = hwloc_get_nbobjs_by_type(t->hwloc, HWLOC_OBJ_CORE);

    if (cpulist_parse(cores, &list, err) < 0)
        return -1;
    for (int c = -1; (c = cpuset_next(&list, c)) >= 0;)
        highest = c;
    hwloc_obj_type_t type = highest < total ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    cpuset_zero(&result);
    for (int i = -1; (i = cpuset_next(&list, i)) >= 0;) {
        hwloc_obj_t obj = hwloc_get_obj_by_type(t->hwloc, type, (unsigned)i);
        for (int c = -1; obj && (c = cpuset_next(&t->cpus, c)) >= 0;)
            if (hwloc_bitmap_isset(obj->cpuset, (unsigned)c))
                cpuset_add(&result, c);
    }
    if (cpuset_empty(&result))
        return errtext_set(err, EINVAL,
                           "cores \"%.100s\": none of them is on this node",
                           cores);
    *cpus = result;
    return 0;
}

int topology_set_machine(struct topology *t, struct machine *machine,
                         struct errtext *err)
{
    bool same = machine->cpus == t->machine->cpus &&
                machine->llc_domains == t->machine->llc_domains &&
                machine->numa_nodes == t->machine->numa_nodes &&
                !memcmp(machine->llc_domain, t->machine->llc_domain,
                        machine->cpus * sizeof(*machine->llc_domain));

    if (!same || machine_check(machine) != MODEL_OK)
        return errtext_set(err, EINVAL, "the machine described is not this "
                                        "one");
    if (!t->borrowed)
        machine_free(t->machine);
    t->machine = machine;
    t->borrowed = false;
    return 0;
}

/* What hwloc would say of MACHINE, if its LLC domains are alike and numbered one
 * after the other; else NULL. */
static hwloc_topology_t synthetic(const struct machine *machine)
{
    size_t cores = machine->cpus / machine->llc_domains;
    size_t caches = machine->llc_domains / machine->numa_nodes;
    hwloc_topology_t hwloc;
    char text[128];

    for (size_t c = 0; c < machine->cpus; c++)
        if (!cores || !caches || machine->llc_domain[c] != (int)(c / cores) ||
            machine->local_node[c / cores] != (int)(c / cores / caches))
            return NULL;
    snprintf(text, sizeof(text), "node:%zu l3:%zu core:%zu pu:1",
             machine->numa_nodes, caches, cores);
    if (hwloc_topology_init(&hwloc) < 0)
        return NULL;
    if (hwloc_topology_set_synthetic(hwloc, text) < 0 ||
        hwloc_topology_load(hwloc) < 0) {
        hwloc_topology_destroy(hwloc);
        return NULL;
    }
    return hwloc;
}

int topology_export(const struct topology *t, FILE *file, struct errtext *err)
{
    char *text;
    int length;

    hwloc_topology_t hwloc = t->hwloc ? t->hwloc : synthetic(t->machine);
    if (!hwloc || hwloc_topology_export_xmlbuffer(hwloc, &text, &length, 0) < 0) {
        int why = hwloc ? errno : EINVAL;
        const char *said =
            hwloc ? strerror(why) : "LLC domains of different sizes";
        if (hwloc && hwloc != t->hwloc)
            hwloc_topology_destroy(hwloc);
        fclose(file);
        return errtext_set(err, why, "the topology: %s", said);
    }
    bool written =
        fwrite(text, 1, (size_t)length - 1, file) == (size_t)length - 1;
    int saved = errno;
    if (fclose(file) != 0 && written) {
        saved = errno;
        written = false;
    }
    hwloc_free_xmlbuffer(hwloc, text);
    if (hwloc != t->hwloc)
        hwloc_topology_destroy(hwloc);
    return written ? 0
                   : errtext_set(err, saved, "the topology: %s", strerror(saved));
}

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
        m->local_node[i] = from->local_node[node[i]];
        for (size_t j = 0; good && j < m->numa_nodes; j++)
            good = copy_route(&m->route[i * m->numa_nodes + j],
                              &from->route[node[i] * m->numa_nodes + j]);
    }
    if (good) {
        memcpy(m->llc_domain, llc_domain, cpus * sizeof(*llc_domain));
        m->power = from->power;
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
            return errtext_set(err, EINVAL, "it has CPU %zu, which this node lacks",
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

void topology_free(struct topology *t)
{
    if (!t)
        return;
    if (!t->borrowed)
        machine_free(t->machine);
    free(t->link);
    free(t->llc_domain);
    free(t->first);
    free(t->package);
    if (t->hwloc)
        hwloc_topology_destroy(t->hwloc);
    free(t);
}
