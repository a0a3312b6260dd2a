/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The model's machine in a recording. */

#include "node_agent/recording/journal_machine.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/json_writer.h"
#include "protocol/layout.h"

#define MAX_NODES 256
#define MAX_LINKS 65536

/* ---- writing ------------------------------------------------------------ */

static json_t *integers(const int *values, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_integer(values[i]));
    return array;
}

static json_t *services(const struct machine_service *service, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(array,
                              json_writer_numbers(&service[i].read_us, 3));
    return array;
}

static json_t *routes(const struct machine *m)
{
    json_t *array = json_array();

    for (size_t r = 0; r < m->llc_domains * m->numa_nodes; r++) {
        json_t *links = json_array();
        for (size_t l = 0; l < m->route[r].links; l++)
            json_array_append_new(links,
                                  json_integer((json_int_t)m->route[r].link[l]));
        json_array_append_new(array, links);
    }
    return array;
}

json_t *journal_machine_write(const struct machine *m)
{
    json_t *object = json_pack(
        "{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "cpus",
        (json_int_t)m->cpus, "llc_domains", (json_int_t)m->llc_domains, "numa_nodes",
        (json_int_t)m->numa_nodes, "llc_domain", integers(m->llc_domain, m->cpus),
        "home", integers(m->local_node, m->llc_domains), "controller_us",
        json_writer_numbers(m->controller_service_us, m->numa_nodes), "link_us",
        json_writer_numbers(m->link_service_us, m->links), "routes", routes(m));

    if (object && m->controller_service)
        json_object_set_new(object, "controller_service",
                            services(m->controller_service, m->numa_nodes));
    if (object && m->link_service)
        json_object_set_new(object, "link_service",
                            services(m->link_service, m->links));
    return object;
}

/* ---- reading ------------------------------------------------------------ */

static size_t count_of(const json_t *object, const char *key, size_t most)
{
    json_int_t n = json_integer_value(json_object_get(object, key));

    return n > 0 && n <= (json_int_t)most ? (size_t)n : 0;
}

static bool read_integers(const json_t *array, int *values, size_t count)
{
    if (json_array_size(array) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        json_int_t n = json_integer_value(json_array_get(array, i));
        values[i] = n >= -1 && n <= COSCHED_MAX_CPUS ? (int)n : -2;
    }
    return true;
}

static bool read_times(const json_t *array, double *values, size_t count)
{
    if (json_array_size(array) != count)
        return false;
    for (size_t i = 0; i < count; i++)
        values[i] = json_number_value(json_array_get(array, i));
    return true;
}

static bool read_services(const json_t *array,
                          struct machine_service **services, size_t count)
{
    if (!array || !count)
        return true;
    if (json_array_size(array) != count ||
        !(*services = calloc(count, sizeof(**services))))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!read_times(json_array_get(array, i), &(*services)[i].read_us, 3))
            return false;
    return true;
}

static bool read_links(const json_t *object, struct machine *m)
{
    const json_t *link_us = json_object_get(object, "link_us");
    const json_t *all = json_object_get(object, "routes");
    size_t links = json_array_size(link_us);

    if (links > MAX_LINKS ||
        json_array_size(all) != m->llc_domains * m->numa_nodes)
        return false;
    m->links = links;
    if (links && (!(m->link_service_us = calloc(links, sizeof(double))) ||
                  !read_times(link_us, m->link_service_us, links)))
        return false;
    for (size_t r = 0; r < m->llc_domains * m->numa_nodes; r++) {
        const json_t *route = json_array_get(all, r);
        size_t n = json_array_size(route);
        if (n > links ||
            (n && !(m->route[r].link = calloc(n, sizeof(size_t)))))
            return false;
        m->route[r].links = n;
        for (size_t l = 0; l < n; l++) {
            json_int_t link = json_integer_value(json_array_get(route, l));
            m->route[r].link[l] = link >= 0 ? (size_t)link : SIZE_MAX;
        }
    }
    return true;
}

struct machine *journal_machine_read(const json_t *object, struct errtext *err)
{
    size_t cpus = count_of(object, "cpus", COSCHED_MAX_CPUS);
    size_t llc_domains = count_of(object, "llc_domains", MAX_NODES);
    size_t numa_nodes = count_of(object, "numa_nodes", MAX_NODES);
    struct machine *m =
        cpus && llc_domains && numa_nodes
            ? machine_new(cpus, llc_domains, numa_nodes)
            : NULL;

    if (m &&
        read_integers(json_object_get(object, "llc_domain"), m->llc_domain, cpus) &&
        read_integers(json_object_get(object, "home"), m->local_node, llc_domains) &&
        read_times(json_object_get(object, "controller_us"),
                   m->controller_service_us, numa_nodes) &&
        read_links(object, m) &&
        read_services(json_object_get(object, "controller_service"),
                      &m->controller_service, numa_nodes) &&
        read_services(json_object_get(object, "link_service"), &m->link_service,
                      m->links) &&
        machine_check(m) == MODEL_OK)
        return m;
    machine_free(m);
    errtext_set(err, EINVAL, "machine: not a valid one");
    return NULL;
}
