/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The node as hwloc sees it, in the words of the model and of Slurm. */

#include "node_agent/topology/topology_private.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/topology/topology_links.h"
#include "protocol/cpulist.h"

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
        t->machine->home[n] = homes[n];
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
            machine->home[c / cores] != (int)(c / cores / caches))
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

int topology_export(const struct topology *t, const char *path,
                    struct errtext *err)
{
    char *text;
    int length;

    hwloc_topology_t hwloc = t->hwloc ? t->hwloc : synthetic(t->machine);
    if (!hwloc || hwloc_topology_export_xmlbuffer(hwloc, &text, &length, 0) < 0) {
        bool made = hwloc;
        if (hwloc && hwloc != t->hwloc)
            hwloc_topology_destroy(hwloc);
        return errtext_set(err, made ? errno : EINVAL, "%.120s: %s", path,
                           made ? strerror(errno)
                                : "LLC domains of different sizes");
    }
    FILE *file = fopen(path, "wxe"); /* over nothing that is there */
    bool written = file && fwrite(text, 1, (size_t)length - 1, file) ==
                               (size_t)length - 1;
    int saved = errno;
    if (file && fclose(file) != 0 && written) {
        saved = errno;
        written = false;
    }
    hwloc_free_xmlbuffer(hwloc, text);
    if (hwloc != t->hwloc)
        hwloc_topology_destroy(hwloc);
    return written ? 0
                   : errtext_set(err, saved, "%.120s: %s", path,
                                 strerror(saved));
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
