/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Machine descriptions as files. */

#include "model/io/machine_json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/cpulist.h"

static int no_memory(struct json_reader *reader)
{
    return errtext_set(reader->err, ENOMEM, "%s: out of memory", reader->file);
}

/* CPUs of the LLC domain NODE from LIST. */
static int read_cpus(struct json_reader *reader, const char *list,
                     struct machine *m, size_t node)
{
    struct cosched_cpuset set;
    struct errtext why;

    if (cpulist_parse(list, &set, &why) < 0)
        return json_reader_fail(reader, "cpus", "%s", why.text);
    if (cpuset_empty(&set))
        return json_reader_fail(reader, "cpus", "has no CPU");
    for (int cpu = -1; (cpu = cpuset_next(&set, cpu)) >= 0;) {
        if (m->llc_domain[cpu] >= 0)
            return json_reader_fail(reader, "cpus",
                                    "CPU %d is in llc_domains[%d], too", cpu,
                                    m->llc_domain[cpu]);
        m->llc_domain[cpu] = (int)node;
        if ((size_t)cpu >= m->cpus)
            m->cpus = (size_t)cpu + 1;
    }
    return 0;
}

static int read_llc_domain(struct json_reader *reader, const json_t *value,
                           size_t i, void *arg)
{
    struct machine *m = ((struct machine_description *)arg)->machine;
    const char *cpus;
    size_t home = (size_t)m->local_node[i], last = m->numa_nodes - 1;
    const struct json_member members[] = {
        JSON_MUST("cpus", JSON_TEXT, &cpus),
        {"memory", JSON_COUNT, last == 0, &home, 0, last},
        {0}};

    if (json_reader_members(reader, value, members) < 0)
        return -1;
    m->local_node[i] = (int)home;
    return read_cpus(reader, cpus, m, i);
}

/* Mean service time: a number, or one for each kind of request (eq. 3.13). */
static int read_service(struct json_reader *reader, const json_t *object,
                        struct machine_service *service)
{
    const struct json_member members[] = {
        JSON_MUST("read", JSON_POSITIVE, &service->read_us),
        JSON_MUST("write", JSON_POSITIVE, &service->write_us),
        JSON_MUST("prefetch", JSON_POSITIVE, &service->prefetch_us),
        {0}};
    const json_t *value = json_object_get(object, "service_us");
    double time;

    if (!json_is_object(value)) {
        if (json_reader_number(reader, object, "service_us", false,
                               JSON_POSITIVE, &time) < 0)
            return -1;
        *service = (struct machine_service){time, time, time};
        return 0;
    }
    size_t mark = json_reader_enter(reader, "service_us");
    int rc = json_reader_members(reader, value, members);
    json_reader_leave(reader, mark);
    return rc;
}

static int read_numa_node(struct json_reader *reader, const json_t *value,
                          size_t j, void *arg)
{
    static const struct json_member members[] = {JSON_KNOWN("service_us"), {0}};
    struct machine *m = ((struct machine_description *)arg)->machine;

    if (json_reader_members(reader, value, members) < 0 ||
        read_service(reader, value, &m->controller_service[j]) < 0)
        return -1;
    m->controller_service_us[j] = m->controller_service[j].read_us;
    return 0;
}

static int read_link(struct json_reader *reader, const json_t *value,
                     size_t index, void *arg)
{
    struct machine_description *d = arg;
    struct machine_link *link = &d->link[index];
    size_t last = d->machine->numa_nodes - 1;
    const struct json_member members[] = {
        JSON_MUST_IN("from", JSON_COUNT, 0, last, &link->from),
        JSON_MUST_IN("to", JSON_COUNT, 0, last, &link->to),
        JSON_MAY("one_way", JSON_FLAG, &link->one_way),
        JSON_KNOWN("service_us"),
        {0}};

    if (json_reader_members(reader, value, members) < 0 ||
        read_service(reader, value, &d->machine->link_service[index]) < 0)
        return -1;
    if (link->from == link->to)
        return json_reader_fail(reader, "to", "is the same NUMA node %zu as "
                                "from", link->to);
    d->machine->link_service_us[index] = d->machine->link_service[index].read_us;
    return 0;
}

static int read_links(struct json_reader *reader, const json_t *links,
                      struct machine_description *d)
{
    size_t count = json_array_size(links);

    if (count == 0)
        return 0;
    d->link = calloc(count, sizeof(*d->link));
    d->machine->link_service =
        calloc(count, sizeof(*d->machine->link_service));
    d->machine->link_service_us =
        calloc(count, sizeof(*d->machine->link_service_us));
    if (!d->link || !d->machine->link_service || !d->machine->link_service_us)
        return no_memory(reader);
    d->machine->links = count;
    return json_reader_each(reader, links, "links", read_link, d);
}

/* Where LINK leads from NUMA node AT, or -1. */
static int across(const struct machine_link *link, size_t at)
{
    if (link->from == at)
        return (int)link->to;
    return link->to == at && !link->one_way ? (int)link->from : -1;
}

/* Breadth first from NUMA node HOME: the link by which each node is reached
 * first and the node before it, -1 where it is not. */
static void search(const struct machine_description *d, size_t home, int *by,
                   int *before)
{
    size_t nodes = d->machine->numa_nodes, head = 0, tail = 0;
    size_t queue[MACHINE_JSON_MAX_NODES];

    for (size_t j = 0; j < nodes; j++)
        by[j] = before[j] = -1;
    queue[tail++] = home;
    before[home] = (int)home;
    while (head < tail) {
        size_t at = queue[head++];
        for (size_t l = 0; l < d->machine->links; l++) {
            int next = across(&d->link[l], at);
            if (next < 0 || before[next] >= 0)
                continue;
            by[next] = (int)l;
            before[next] = (int)at;
            queue[tail++] = (size_t)next;
        }
    }
}

/* Set the ROUTE to NUMA node TO that search() found. */
static int follow(struct machine_route *route, size_t to, const int *by,
                  const int *before)
{
    size_t hops = 0;

    for (size_t at = to; by[at] >= 0; at = (size_t)before[at])
        hops++;
    if (hops == 0)
        return 0;
    route->link = calloc(hops, sizeof(*route->link));
    if (!route->link)
        return -1;
    route->links = hops;
    for (size_t at = to; by[at] >= 0; at = (size_t)before[at])
        route->link[--hops] = (size_t)by[at];
    return 0;
}

/* Routes with the fewest links wherever none was given.  Machines without any
 * link are taken to be connected by something that never limits. */
static int find_routes(struct json_reader *reader,
                       struct machine_description *d)
{
    struct machine *m = d->machine;
    int by[MACHINE_JSON_MAX_NODES], before[MACHINE_JSON_MAX_NODES];

    for (size_t i = 0; m->links && i < m->llc_domains; i++) {
        search(d, (size_t)m->local_node[i], by, before);
        for (size_t j = 0; j < m->numa_nodes; j++) {
            struct machine_route *route = &m->route[i * m->numa_nodes + j];
            if (route->links)
                continue;
            if (before[j] < 0)
                return json_reader_fail(reader, "links", "no way from "
                                        "llc_domains[%zu] to numa_nodes[%zu]",
                                        i, j);
            if (follow(route, j, by, before) < 0)
                return no_memory(reader);
        }
    }
    return 0;
}

/* Check that LINKS lead from NUMA node AT to TO, and store them. */
static int read_path(struct json_reader *reader, const json_t *links,
                     const struct machine_description *d, size_t at, size_t to,
                     struct machine_route *route)
{
    size_t count = json_array_size(links), last = d->machine->links - 1;

    route->link = calloc(count, sizeof(*route->link));
    if (!route->link)
        return no_memory(reader);
    route->links = count;
    for (size_t h = 0; h < count; h++) {
        double number = -1;
        if (json_reader_element(reader, links, "links", h, JSON_NOT_NEGATIVE,
                                &number) < 0)
            return -1;
        if (!json_is_integer(json_array_get(links, h)) || number > (double)last)
            return json_reader_fail(reader, "links", "%g is not a link from 0 "
                                    "to %zu", number, last);
        route->link[h] = (size_t)number;
        int next = across(&d->link[route->link[h]], at);
        if (next < 0)
            return json_reader_fail(reader, "links", "link %zu does not lead "
                                    "away from numa_nodes[%zu]",
                                    route->link[h], at);
        at = (size_t)next;
    }
    if (at != to)
        return json_reader_fail(reader, "links", "end at numa_nodes[%zu]", at);
    return 0;
}

static int read_route(struct json_reader *reader, const json_t *value,
                      size_t index, void *arg)
{
    const struct machine_description *d = arg;
    const struct machine *m = d->machine;
    const json_t *links;
    size_t node, memory;
    const struct json_member members[] = {
        JSON_MUST_IN("llc_domain", JSON_COUNT, 0, m->llc_domains - 1, &node),
        JSON_MUST_IN("memory", JSON_COUNT, 0, m->numa_nodes - 1, &memory),
        JSON_MUST_IN("links", JSON_LIST, 1, MACHINE_JSON_MAX_NODES, &links),
        {0}};

    (void)index;
    if (json_reader_members(reader, value, members) < 0)
        return -1;
    struct machine_route *route = &m->route[node * m->numa_nodes + memory];
    if (route->links)
        return json_reader_fail(reader, NULL, "a second route from "
                                "llc_domains[%zu] to numa_nodes[%zu]", node,
                                memory);
    return read_path(reader, links, d, (size_t)m->local_node[node], memory, route);
}

/* What a calibration says of itself; members beyond these may follow. */
static int read_calibration(struct json_reader *reader, const json_t *value,
                            struct machine_description *d)
{
    static const char *const calibrated[] = {"date", "host", "kernel",
                                             "counters", NULL};
    json_t *object = json_object_get(value, "calibration");
    const char *text;
    int rc = 0;

    if (!object)
        return 0;
    if (!json_is_object(object))
        return json_reader_fail(reader, "calibration", "must be an object");
    size_t mark = json_reader_enter(reader, "calibration");
    for (size_t i = 0; rc == 0 && calibrated[i]; i++)
        rc = json_reader_string(reader, object, calibrated[i], false, &text);
    json_reader_leave(reader, mark);
    d->calibration = rc == 0 ? json_incref(object) : NULL;
    return rc;
}

static int read_power(struct json_reader *reader, const json_t *value,
                      struct machine_power *power)
{
    const json_t *object = json_object_get(value, "power");
    const struct json_member members[] = {
        JSON_MUST("idle_w", JSON_NOT_NEGATIVE, &power->idle_w),
        JSON_MUST("domain_w", JSON_NOT_NEGATIVE, &power->domain_w),
        JSON_MUST("core_w", JSON_POSITIVE, &power->core_w),
        JSON_MUST("stalled_w", JSON_NOT_NEGATIVE, &power->stalled_w),
        JSON_MUST("request_nj", JSON_NOT_NEGATIVE, &power->request_nj),
        {0}};

    if (!object)
        return 0;
    size_t mark = json_reader_enter(reader, "power");
    int rc = json_reader_members(reader, object, members);
    json_reader_leave(reader, mark);
    return rc;
}

/* All members of VALUE into D, which has nothing yet. */
static int read_all(struct json_reader *reader, const json_t *value,
                    struct machine_description *d)
{
    const json_t *llc_domains, *numa_nodes, *links = NULL, *routes = NULL;
    const char *name = NULL, *source = NULL;
    const size_t most = MACHINE_JSON_MAX_NODES;
    const struct json_member members[] = {
        JSON_MUST("name", JSON_TEXT, &name),
        JSON_MAY("source", JSON_TEXT, &source),
        JSON_MUST_IN("numa_nodes", JSON_LIST, 1, most, &numa_nodes),
        JSON_MUST_IN("llc_domains", JSON_LIST, 1, most, &llc_domains),
        JSON_MAY_IN("links", JSON_LIST, 0, MACHINE_JSON_MAX_LINKS, &links),
        JSON_MAY_IN("routes", JSON_LIST, 0, most * most, &routes),
        JSON_KNOWN("calibration"),
        JSON_KNOWN("power"),
        {0}};

    if (json_reader_members(reader, value, members) < 0)
        return -1;
    d->name = strdup(name);
    d->source = source ? strdup(source) : NULL;
    d->machine = machine_new(COSCHED_MAX_CPUS, json_array_size(llc_domains),
                             json_array_size(numa_nodes));
    if (!d->name || (source && !d->source) || !d->machine)
        return no_memory(reader);
    d->machine->controller_service =
        calloc(d->machine->numa_nodes, sizeof(*d->machine->controller_service));
    if (!d->machine->controller_service)
        return no_memory(reader);
    d->machine->cpus = 0; /* as many as are named; there is room for all */
    if (read_calibration(reader, value, d) < 0 ||
        read_power(reader, value, &d->machine->power) < 0 ||
        json_reader_each(reader, numa_nodes, "numa_nodes", read_numa_node, d) <
            0 ||
        json_reader_each(reader, llc_domains, "llc_domains", read_llc_domain,
                         d) < 0 ||
        read_links(reader, links, d) < 0)
        return -1;
    if (json_array_size(routes) > 0 && !d->machine->links)
        return json_reader_fail(reader, "routes", "there are no links");
    if (json_reader_each(reader, routes, "routes", read_route, d) < 0 ||
        find_routes(reader, d) < 0)
        return -1;
    /* What is read above is all that the model asks for. */
    return machine_check(d->machine) == MODEL_OK
               ? 0
               : json_reader_fail(reader, NULL, "is no machine");
}

struct machine_description *machine_json_read(struct json_reader *reader,
                                              const json_t *value)
{
    struct machine_description *d = calloc(1, sizeof(*d));

    if (!d)
        no_memory(reader);
    else if (read_all(reader, value, d) == 0)
        return d;
    int saved = errno;
    machine_description_free(d);
    errno = saved;
    return NULL;
}

struct machine_description *machine_json_load(const char *file,
                                              struct errtext *err)
{
    struct json_reader reader = {.err = err};
    json_t *root = json_reader_load(&reader, file);
    struct machine_description *d =
        root ? machine_json_read(&reader, root) : NULL;
    int saved = errno;

    json_decref(root);
    errno = saved;
    return d;
}

struct machine_description *machine_json_find(const char *name,
                                              struct errtext *err)
{
    const char *directory = getenv("COSCHED_MACHINES");
    char path[4096];
    struct machine_description *d = machine_json_load(name, err);

    if (d || errno != ENOENT || strchr(name, '/'))
        return d;
    if (!directory)
        directory = COSCHED_MACHINESDIR;
    snprintf(path, sizeof(path), "%s/%s.json", directory, name);
    if (access(path, F_OK) == 0)
        return machine_json_load(path, err);
    errtext_set(err, ENOENT, "%s: neither a file nor a machine of %s", name,
                directory);
    return NULL;
}

static json_t *write_service(const struct machine_service *s)
{
    if (s->read_us == s->write_us && s->read_us == s->prefetch_us)
        return json_real(s->read_us);
    return json_pack("{s:f, s:f, s:f}", "read", s->read_us, "write",
                     s->write_us, "prefetch", s->prefetch_us);
}

static json_t *write_llc_domains(const struct machine *m)
{
    json_t *nodes = json_array();
    char list[4096];

    for (size_t i = 0; i < m->llc_domains; i++) {
        struct cosched_cpuset set = {0};
        for (size_t cpu = 0; cpu < m->cpus; cpu++)
            if (m->llc_domain[cpu] == (int)i)
                cpuset_add(&set, (int)cpu);
        json_array_append_new(
            nodes, json_pack("{s:s, s:i}", "cpus",
                             cpulist_format(&set, list, sizeof(list)),
                             "memory", m->local_node[i]));
    }
    return nodes;
}

static json_t *write_links(const struct machine_description *d)
{
    json_t *links = json_array();

    for (size_t l = 0; l < d->machine->links; l++) {
        json_t *link = json_pack(
            "{s:I, s:I, s:o}", "from", (json_int_t)d->link[l].from, "to",
            (json_int_t)d->link[l].to, "service_us",
            write_service(&d->machine->link_service[l]));
        if (d->link[l].one_way)
            json_object_set_new(link, "one_way", json_true());
        json_array_append_new(links, link);
    }
    return links;
}

static json_t *write_routes(const struct machine *m)
{
    json_t *routes = json_array();

    for (size_t r = 0; r < m->llc_domains * m->numa_nodes; r++) {
        const struct machine_route *route = &m->route[r];
        json_t *links = json_array();
        for (size_t l = 0; l < route->links; l++)
            json_array_append_new(links,
                                  json_integer((json_int_t)route->link[l]));
        if (route->links)
            json_array_append_new(
                routes, json_pack("{s:I, s:I, s:O}", "llc_domain",
                                  (json_int_t)(r / m->numa_nodes), "memory",
                                  (json_int_t)(r % m->numa_nodes), "links",
                                  links));
        json_decref(links);
    }
    return routes;
}

/* NULL where it is not known. */
static json_t *write_power(const struct machine *m)
{
    const struct machine_power *p = &m->power;

    return machine_has_power(m)
               ? json_pack("{s:f, s:f, s:f, s:f, s:f}", "idle_w", p->idle_w, "domain_w",
                           p->domain_w, "core_w", p->core_w, "stalled_w", p->stalled_w,
                           "request_nj", p->request_nj)
               : NULL;
}

json_t *machine_json_write(const struct machine_description *d)
{
    json_t *memory = json_array();

    for (size_t j = 0; j < d->machine->numa_nodes; j++)
        json_array_append_new(
            memory, json_pack("{s:o}", "service_us",
                              write_service(&d->machine->controller_service[j])));
    return json_pack("{s:s, s:s*, s:O*, s:o*, s:o, s:o, s:o, s:o}", "name", d->name,
                     "source", d->source, "calibration", d->calibration,
                     "power", write_power(d->machine),
                     "llc_domains", write_llc_domains(d->machine), "numa_nodes",
                     memory, "links", write_links(d), "routes",
                     write_routes(d->machine));
}

void machine_description_free(struct machine_description *d)
{
    if (!d)
        return;
    machine_free(d->machine);
    free(d->link);
    json_decref(d->calibration);
    free(d->source);
    free(d->name);
    free(d);
}
