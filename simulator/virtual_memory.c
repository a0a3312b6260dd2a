/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How fast the cores of a simulated node really are. */

#include "simulator/virtual_memory.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "model/locality.h"

/* Fractions of a customer: rounds, and when they are good enough. */
#define DUTY_ROUNDS 4
#define DUTY_TOLERANCE 1e-3

#define CACHE_SLOTS 4096 /* a power of two */

struct solution {
    uint64_t key; /* 0: free */
    double *values;
};

/* A job's cores on an LLC domain. */
struct customers {
    size_t load, node;
    double duty; /* part of the time in which each is there */
};

struct virtual_memory {
    const struct machine *machine;
    enum network_method method;
    size_t jobs, stations;
    size_t classes;
    struct customers *who;  /* [jobs * llc_domains] */
    size_t *count;          /* likewise */
    double *think;          /* [classes] time away per unit of computing, */
    double *latency;        /* [classes] and that reads take on their way */
    double *share, *utilisation;
    double *visits, *posted, *service, *posted_service, *response;
    double *scaled, *scaled_posted; /* [classes * stations] */
    double *requests;       /* [jobs * llc_domains * numa_nodes] of this input */
    double *base;           /* [jobs * numa_nodes] part of cores by memory */
    struct solution cache[CACHE_SLOTS];
    size_t cached, asked, solved;
};

struct virtual_memory *virtual_memory_new(const struct machine *machine,
                                          enum network_method method,
                                          size_t jobs)
{
    struct virtual_memory *m = calloc(1, sizeof(*m));
    size_t classes = jobs * machine->llc_domains;

    if (!m)
        return NULL;
    m->machine = machine;
    m->method = method;
    m->jobs = jobs;
    m->stations = machine->numa_nodes + machine->links;
    size_t table = classes * m->stations;
    m->who = calloc(classes, sizeof(*m->who));
    m->count = calloc(classes, sizeof(*m->count));
    m->think = calloc(3 * classes + m->stations + 7 * table +
                          classes * machine->numa_nodes +
                          jobs * machine->numa_nodes,
                      sizeof(double));
    if (!m->who || !m->count || !m->think) {
        virtual_memory_free(m);
        return NULL;
    }
    m->latency = m->think + classes;
    m->share = m->latency + classes;
    m->utilisation = m->share + classes;
    m->visits = m->utilisation + m->stations;
    m->posted = m->visits + table;
    m->service = m->posted + table;
    m->posted_service = m->service + table;
    m->response = m->posted_service + table;
    m->scaled = m->response + table;
    m->scaled_posted = m->scaled + table;
    m->requests = m->scaled_posted + table;
    m->base = m->requests + classes * machine->numa_nodes;
    return m;
}

void virtual_memory_free(struct virtual_memory *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < CACHE_SLOTS; i++)
        free(m->cache[i].values);
    free(m->who);
    free(m->count);
    free(m->think);
    free(m);
}

size_t virtual_memory_asked(const struct virtual_memory *m)
{
    return m->asked;
}

size_t virtual_memory_solved(const struct virtual_memory *m)
{
    return m->solved;
}

/* ---- what the loads ask ------------------------------------------------- */

/* Part of the LLC of NODE that load J has: of the accesses there. */
static double llc_share(const struct virtual_load *loads, size_t count,
                        size_t j, size_t node)
{
    double sum = 0;

    for (size_t k = 0; k < count; k++)
        sum += loads[k].cores[node] * loads[k].region->llc_per_us;
    double mine = loads[j].cores[node] * loads[j].region->llc_per_us;
    return sum > 0 ? mine / sum : 1;
}

/* PART[numa_nodes]: of what a core on NODE asks, how much goes where. */
static void destinations(const struct virtual_memory *m,
                         const struct virtual_load *load, const double *base,
                         size_t node, double *part)
{
    size_t home = (size_t)m->machine->local_node[node];
    size_t memories = m->machine->numa_nodes;

    if (load->asked) {
        memcpy(part, load->asked + node * memories, memories * sizeof(*part));
        return;
    }
    if (!load->data) {
        memset(part, 0, memories * sizeof(*part));
        part[home] = 1;
        return;
    }
    locality_parts(load->data, base, memories, home, load->local ? 1 : 0, part);
}

/* All CORES of LOAD ask, TO [llc_domains * numa_nodes], as they do in the mean. */
static void mix(const struct virtual_memory *m, const struct virtual_load *load, double cores,
                double *to)
{
    size_t nodes = m->machine->llc_domains, memories = m->machine->numa_nodes;

    for (size_t k = 0; k < memories && cores > 0; k++) {
        double mean = 0;
        for (size_t i = 0; i < nodes; i++)
            mean += load->cores[i] / cores * to[i * memories + k];
        for (size_t i = 0; i < nodes; i++)
            to[i * memories + k] = load->cores[i] > 0 ? mean : 0;
    }
}

/* Fill requests[] of all loads. */
static void ask(struct virtual_memory *m, const struct virtual_load *loads,
                size_t count)
{
    size_t nodes = m->machine->llc_domains, memories = m->machine->numa_nodes;

    memset(m->base, 0, count * memories * sizeof(*m->base));
    for (size_t j = 0; j < count; j++) {
        const struct scenario_region *s = loads[j].region;
        double *base = &m->base[j * memories], sum = 0;
        for (size_t i = 0; i < nodes; i++) {
            base[m->machine->local_node[i]] += loads[j].cores[i];
            sum += loads[j].cores[i];
        }
        for (size_t k = 0; k < memories && sum > 0; k++)
            base[k] /= sum;
        double *asked = &m->requests[j * nodes * memories];
        memset(asked, 0, nodes * memories * sizeof(*asked));
        for (size_t i = 0; i < nodes; i++)
            if (loads[j].cores[i] > 0)
                destinations(m, &loads[j], base, i, asked + i * memories);
        if (loads[j].wanders)
            mix(m, &loads[j], sum, asked);
        for (size_t i = 0; i < nodes; i++) {
            double *to = asked + i * memories;
            double cores = fmax(1, loads[j].cores[i]) / (double)machine_node_cpus(m->machine, i);
            double rate =
                (s->read_per_us + s->write_per_us + s->prefetch_per_us) *
                scenario_llc_factor(s, llc_share(loads, count, j, i), cores);
            for (size_t k = 0; k < memories; k++)
                to[k] *= rate;
        }
    }
}

/* ---- the network -------------------------------------------------------- */

/* A class asks station S READ and OTHER times per unit of computing. */
static void visit(struct virtual_memory *m, size_t class, size_t s,
                  const struct machine_service *service, double read,
                  double write, double prefetch)
{
    size_t e = class * m->stations + s;
    double other = write + prefetch;

    m->visits[e] += read;
    m->service[e] = service->read_us;
    m->posted[e] += other;
    m->posted_service[e] =
        other > 0 ? (service->write_us * write + service->prefetch_us * prefetch) /
                        other
                  : service->read_us;
}

static void add_class(struct virtual_memory *m, const struct virtual_load *load,
                      size_t j, size_t node)
{
    const struct machine *machine = m->machine;
    const struct scenario_region *s = load->region;
    size_t c = m->classes++, memories = machine->numa_nodes;
    double all = s->read_per_us + s->write_per_us + s->prefetch_per_us;

    m->latency[c] = 0;
    m->count[c] = (size_t)fmax(1, ceil(load->cores[node] - 1e-9));
    m->who[c] = (struct customers){
        j, node, fmin(1, load->cores[node] / (double)m->count[c])};
    for (size_t e = c * m->stations; e < (c + 1) * m->stations; e++) {
        m->visits[e] = m->posted[e] = 0;
        m->service[e] = m->posted_service[e] = 1; /* asked for or not */
    }
    for (size_t k = 0; k < memories && all > 0; k++) {
        double rate = m->requests[(j * machine->llc_domains + node) * memories + k];
        double reads = rate * s->read_per_us / all, read = reads * (1 - s->overlap);
        double write = rate * s->write_per_us / all;
        double prefetch = rate * s->prefetch_per_us / all + reads - read;
        struct machine_service service = machine_controller_service(machine, k);
        const struct machine_route *route =
            &machine->route[node * memories + k];
        visit(m, c, k, &service, read, write, prefetch);
        m->latency[c] += read * service.read_us * s->latency;
        for (size_t l = 0; l < route->links; l++) {
            service = machine_link_service(machine, route->link[l]);
            visit(m, c, memories + route->link[l], &service, read, write,
                  prefetch);
            m->latency[c] += read * service.read_us * s->latency;
        }
    }
}

/* Solve with the think times that there are. */
static enum model_status solve_once(struct virtual_memory *m)
{
    struct network network = {m->classes,     m->stations,
                              m->count,       m->scaled,
                              m->service,     m->scaled_posted,
                              m->posted_service};
    struct network_result result = {m->share, m->response, m->utilisation};

    /* A unit of the network is one of computing and what goes with it. */
    for (size_t c = 0; c < m->classes; c++) {
        double unit = 1 + m->latency[c] + m->think[c];
        for (size_t e = c * m->stations; e < (c + 1) * m->stations; e++) {
            m->scaled[e] = m->visits[e] / unit;
            m->scaled_posted[e] = m->posted[e] / unit;
        }
    }
    enum model_status rc = network_solve(m->method, &network, &result);
    if (rc == MODEL_ENOCONV && m->method == NETWORK_LINEARIZER)
        rc = network_solve(NETWORK_SCHWEITZER, &network, &result);
    m->solved++;
    return rc;
}

/* A customer that is there for the part d of the time is away for (1 + R)
 * (1 / d - 1) per unit of computing, R being its stalls. */
static enum model_status solve(struct virtual_memory *m)
{
    for (size_t c = 0; c < m->classes; c++)
        m->think[c] = 1 / m->who[c].duty - 1;
    for (int round = 0; round < DUTY_ROUNDS; round++) {
        enum model_status rc = solve_once(m);
        double change = 0;
        if (rc != MODEL_OK)
            return rc;
        for (size_t c = 0; c < m->classes; c++) {
            double cycle = (1 + m->latency[c] + m->think[c]) / m->share[c];
            double busy = cycle - m->think[c]; /* 1 + R */
            double think = busy * (1 / m->who[c].duty - 1);
            change = fmax(change, fabs(think - m->think[c]) / cycle);
            m->share[c] = m->who[c].duty / busy;
            m->think[c] = think;
        }
        if (change < DUTY_TOLERANCE)
            break;
    }
    return MODEL_OK;
}

/* ---- what was solved before --------------------------------------------- */

static uint64_t key_of(const struct virtual_memory *m,
                       const struct virtual_load *loads, size_t count)
{
    uint64_t h = HASH_START;
    size_t nodes = m->machine->llc_domains;

    hash_word(&h, count);
    for (size_t j = 0; j < count; j++) {
        hash_word(&h, (uintptr_t)loads[j].region);
        hash_bytes(&h, loads[j].cores, nodes * sizeof(double));
    }
    hash_bytes(&h, m->requests,
               count * nodes * m->machine->numa_nodes * sizeof(double));
    return h ? h : 1;
}

static struct solution *slot_of(struct virtual_memory *m, uint64_t key)
{
    size_t i = (size_t)key % CACHE_SLOTS;

    while (m->cache[i].key && m->cache[i].key != key)
        i = (i + 1) % CACHE_SLOTS;
    return &m->cache[i];
}

static void keep(struct virtual_memory *m, uint64_t key, size_t count,
                 const struct virtual_rates *r)
{
    size_t speeds = count * m->machine->llc_domains;

    if (m->cached >= CACHE_SLOTS / 2) { /* begin again: cheap, and rare */
        for (size_t i = 0; i < CACHE_SLOTS; i++) {
            free(m->cache[i].values);
            m->cache[i] = (struct solution){0, NULL};
        }
        m->cached = 0;
    }
    struct solution *slot = slot_of(m, key);
    double *values = malloc((speeds + m->stations) * sizeof(*values));
    if (!values)
        return; /* solved again, then */
    memcpy(values, r->speed, speeds * sizeof(*values));
    memcpy(values + speeds, r->utilisation, m->stations * sizeof(*values));
    *slot = (struct solution){key, values};
    m->cached++;
}

/* ---- all together ------------------------------------------------------- */

static void report(const struct virtual_memory *m, size_t count,
                   const struct virtual_rates *r)
{
    size_t nodes = m->machine->llc_domains;

    memset(r->speed, 0, count * nodes * sizeof(*r->speed));
    for (size_t c = 0; c < m->classes; c++)
        r->speed[m->who[c].load * nodes + m->who[c].node] =
            (double)m->count[c] * m->share[c];
    memcpy(r->utilisation, m->utilisation,
           m->stations * sizeof(*r->utilisation));
}

enum model_status virtual_memory_solve(struct virtual_memory *m,
                                       const struct virtual_load *loads,
                                       size_t count,
                                       const struct virtual_rates *r)
{
    size_t nodes = m->machine->llc_domains, memories = m->machine->numa_nodes;

    ask(m, loads, count);
    memcpy(r->requests, m->requests,
           count * nodes * memories * sizeof(*r->requests));
    for (size_t j = 0; j < count; j++) {
        const struct scenario_region *s = loads[j].region;
        double all = s->read_per_us + s->write_per_us + s->prefetch_per_us;
        r->read_part[j] = all > 0 ? s->read_per_us / all : 0;
    }
    m->asked++;
    uint64_t key = key_of(m, loads, count);
    const struct solution *known = slot_of(m, key);
    if (known->key) {
        memcpy(r->speed, known->values, count * nodes * sizeof(*r->speed));
        memcpy(r->utilisation, known->values + count * nodes,
               m->stations * sizeof(*r->utilisation));
        return MODEL_OK;
    }
    m->classes = 0;
    for (size_t j = 0; j < count; j++)
        for (size_t i = 0; i < nodes; i++)
            if (loads[j].cores[i] > 1e-9)
                add_class(m, &loads[j], j, i);
    if (!m->classes) {
        memset(m->utilisation, 0, m->stations * sizeof(*m->utilisation));
    } else {
        enum model_status rc = solve(m);
        if (rc != MODEL_OK)
            return rc;
    }
    report(m, count, r);
    keep(m, key, count, r);
    return MODEL_OK;
}
