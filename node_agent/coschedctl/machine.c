/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl machine: show, store and check the description of this node. */

#include <string.h>

#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/ctl.h"
#include "model/io/machine_json.h"
#include "node_agent/topology/topology.h"
#include "protocol/cpulist.h"

static void print_nodes(const struct machine *m)
{
    char list[4096];

    printf("%10s  %9s  %5s  %s\n", "LLC DOMAIN", "NUMA NODE", "CORES", "CPUS");
    for (size_t i = 0; i < m->llc_domains; i++) {
        struct cosched_cpuset set = {{0}};
        for (size_t c = 0; c < m->cpus; c++)
            if (m->llc_domain[c] == (int)i)
                cpuset_add(&set, (int)c);
        printf("%10zu  %9d  %5zu  %s\n", i, m->local_node[i], machine_node_cpus(m, i),
               cpulist_format(&set, list, sizeof(list)));
    }
}

static void print_times(const char *name, const struct machine_service *s)
{
    printf("%10s  %7.3f  %7.3f  %8.3f\n", name, s->read_us * 1e3,
           s->write_us * 1e3, s->prefetch_us * 1e3);
}

static void print_services(const struct machine_description *d)
{
    const struct machine *m = d->machine;
    char name[48];

    printf("\n%10s  %7s  %7s  %8s  ns per request\n", "NUMA NODE", "READ", "WRITE",
           "PREFETCH");
    for (size_t j = 0; j < m->numa_nodes; j++) {
        snprintf(name, sizeof(name), "%zu", j);
        print_times(name, &m->controller_service[j]);
    }
    if (m->links)
        printf("\n%10s\n", "LINK");
    for (size_t l = 0; l < m->links; l++) {
        snprintf(name, sizeof(name), "%zu%s%zu", d->link[l].from,
                 d->link[l].one_way ? "->" : "-", d->link[l].to);
        print_times(name, &m->link_service[l]);
    }
}

static void print_routes(const struct machine *m)
{
    if (!m->links)
        return;
    printf("\nlinks on the way from each LLC domain to memory\n%8s", "");
    for (size_t j = 0; j < m->numa_nodes; j++)
        printf(" %3zu", j);
    putchar('\n');
    for (size_t i = 0; i < m->llc_domains; i++) {
        printf("%8zu", i);
        for (size_t j = 0; j < m->numa_nodes; j++)
            printf(" %3zu", m->route[i * m->numa_nodes + j].links);
        putchar('\n');
    }
}

/* "calibration KEY: " and TEXT, for each line of it. */
static void print_calibration(const char *key, const char *text)
{
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        printf("calibration %s: %.*s\n", key, (int)n, text);
    }
}

static void print_human(const struct machine_description *d)
{
    const char *key;
    json_t *value;

    printf("%s\n", d->name);
    if (d->source)
        printf("%s\n", d->source);
    json_object_foreach(d->calibration, key, value)
        if (json_is_string(value))
            print_calibration(key, json_string_value(value));
    putchar('\n');
    print_nodes(d->machine);
    print_services(d);
    print_routes(d->machine);
}

/* The description of FILE, which must fit TOPOLOGY; *STATUS says if it does.
 * NULL when there is none, its reason printed. */
static struct machine_description *load(struct topology *topology,
                                        const char *file, int *status)
{
    struct errtext err = {""};
    struct machine_description *d = machine_json_load(file, &err);

    if (!d)
        *status = fail(CTL_FAILED, "%s", err.text);
    else if (topology_use_description(topology, d, &err) < 0)
        *status = fail(CTL_FAILED, "%s: %s", file, err.text);
    return d;
}

int ctl_machine(const struct arguments *a)
{
    struct errtext err = {""};
    struct topology *topology = topology_new(NULL, &err);
    struct machine_description *d;
    int status = CTL_OK;

    if (!topology)
        return fail(CTL_FAILED, "%s", err.text);
    d = a->file ? load(topology, a->file, &status)
                : topology_description(topology);
    if (!d && status == CTL_OK)
        status = fail(CTL_FAILED, "out of memory");
    if (d && a->json) {
        int rc = ctl_write_json(machine_json_write(d), NULL, 6);
        status = status == CTL_OK ? rc : status;
    } else if (d) {
        print_human(d);
    }
    machine_description_free(d);
    topology_free(topology);
    return status;
}
