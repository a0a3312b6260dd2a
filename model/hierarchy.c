/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Response times of controllers, links and LLC misses for one loop. */

#include "model/hierarchy.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/network.h"
#include "model/station.h"

/* Requests at each server; servers are the controllers, then the links. */
struct solution {
    const struct hierarchy_input *in;
    size_t nodes, memories, servers, pairs;
    double *rate;      /* [servers * nodes] of a whole LLC domain */
    double *service;   /* [servers] mean, us */
    double *response;  /* [servers] MRT, us */
    double *total;     /* [pairs] TRT */
    double *miss;      /* [pairs] LRT */
};

static double sum_of(const struct loop_requests *r)
{
    return r->read + r->write + r->prefetch;
}

static bool valid(const struct hierarchy_input *in)
{
    const struct machine *machine = in->machine;

    if (machine_check(machine) != MODEL_OK || in->method > HIERARCHY_CLOSED)
        return false;
    for (size_t p = 0; p < machine->llc_domains * machine->numa_nodes; p++) {
        const struct loop_requests *r = &in->rate[p];
        if (!(r->read >= 0) || !(r->write >= 0) || !(r->prefetch >= 0) ||
            !isfinite(sum_of(r)) || !(in->misses[p] >= 0) ||
            in->misses[p] > sum_of(r) * (1 + 1e-6))
            return false;
    }
    return true;
}

static bool setup(struct solution *s, const struct hierarchy_input *in)
{
    const struct machine *m = in->machine;

    *s = (struct solution){.in = in,
                           .nodes = m->llc_domains,
                           .memories = m->numa_nodes,
                           .servers = m->numa_nodes + m->links,
                           .pairs = m->llc_domains * m->numa_nodes};
    s->rate = calloc(s->servers * s->nodes + 2 * s->servers + 2 * s->pairs,
                     sizeof(*s->rate));
    if (!s->rate)
        return false;
    s->service = s->rate + s->servers * s->nodes;
    s->response = s->service + s->servers;
    s->total = s->response + s->servers;
    s->miss = s->total + s->pairs;
    return true;
}

/* Put the requests from LLC domain I to memory J into the sums of SERVER. */
static void add_requests(struct solution *s, struct loop_requests *kinds,
                         size_t server, size_t i, size_t j)
{
    const struct loop_requests *r = &s->in->rate[i * s->memories + j];
    double cores = (double)s->in->cores[i];

    kinds[server].read += cores * r->read;
    kinds[server].write += cores * r->write;
    kinds[server].prefetch += cores * r->prefetch;
    s->rate[server * s->nodes + i] += cores * sum_of(r);
}

static const struct machine_route *route_of(const struct solution *s, size_t i,
                                            size_t j)
{
    return &s->in->machine->route[i * s->memories + j];
}

/* Rates of all servers' customers, and the service times of their mixes. */
static enum model_status load_servers(struct solution *s)
{
    const struct machine *machine = s->in->machine;
    struct loop_requests *kinds = calloc(s->servers, sizeof(*kinds));

    if (!kinds)
        return MODEL_ENOMEM;
    for (size_t i = 0; i < s->nodes; i++)
        for (size_t j = 0; j < s->memories; j++) {
            const struct machine_route *route = route_of(s, i, j);
            add_requests(s, kinds, j, i, j);
            for (size_t l = 0; l < route->links; l++)
                add_requests(s, kinds, s->memories + route->link[l], i, j);
        }
    for (size_t v = 0; v < s->servers; v++) {
        bool link = v >= s->memories;
        size_t n = link ? v - s->memories : v;
        struct machine_service service =
            link ? machine_link_service(machine, n)
                 : machine_controller_service(machine, n);
        s->service[v] = machine_service_mix(
            &service, kinds[v].read, kinds[v].write, kinds[v].prefetch);
    }
    free(kinds);
    return MODEL_OK;
}

/* MRT of one controller or link: 3.2 with the mean rate of those LLC domains
 * that ask it (3.6, 3.7). */
static enum model_status respond(struct solution *s, size_t server)
{
    const double *rate = &s->rate[server * s->nodes];
    struct station station;
    size_t customers = 0;
    double sum = 0;

    for (size_t i = 0; i < s->nodes; i++) {
        customers += rate[i] > 0;
        sum += rate[i];
    }
    enum model_status status =
        station_solve(customers, customers ? sum / (double)customers : 0,
                      1 / s->service[server], &station);
    s->response[server] = station.response;
    return status;
}

/* TRT of each pair out of its servers' TIMES (3.8). */
static void add_route_times(struct solution *s, const double *times)
{
    for (size_t i = 0; i < s->nodes; i++)
        for (size_t j = 0; j < s->memories; j++) {
            const struct machine_route *route = route_of(s, i, j);
            double *total = &s->total[i * s->memories + j];
            *total = times[j];
            for (size_t l = 0; l < route->links; l++)
                *total += times[s->memories + route->link[l]];
        }
}

static enum model_status solve_stations(struct solution *s)
{
    enum model_status status = MODEL_OK;

    for (size_t v = 0; v < s->servers && status == MODEL_OK; v++)
        status = respond(s, v);
    if (status != MODEL_OK)
        return status;
    add_route_times(s, s->response);
    for (size_t p = 0; p < s->pairs && status == MODEL_OK; p++) {
        struct station station;
        status = station_solve(s->in->cores[p / s->memories],
                               s->in->misses[p], 1 / s->total[p], &station);
        s->miss[p] = station.response;
    }
    return status;
}

/* Tables of the network: class = LLC domain, station = server. */
struct tables {
    double *visits, *service, *posted, *response;
};

static void visit(const struct solution *s, struct tables *t, size_t i,
                  size_t j, size_t server)
{
    size_t pair = i * s->memories + j, e = i * s->servers + server;
    double misses = s->in->misses[pair];

    t->visits[e] += misses;
    t->posted[e] += fmax(0, sum_of(&s->in->rate[pair]) - misses);
}

static void fill(const struct solution *s, struct tables *t)
{
    for (size_t i = 0; i < s->nodes; i++) {
        for (size_t v = 0; v < s->servers; v++)
            t->service[i * s->servers + v] = s->service[v];
        for (size_t j = 0; j < s->memories; j++) {
            const struct machine_route *route = route_of(s, i, j);
            visit(s, t, i, j, j);
            for (size_t l = 0; l < route->links; l++)
                visit(s, t, i, j, s->memories + route->link[l]);
        }
    }
}

/* Mean response of each server over the LLC domains, by their read misses;
 * where there are none it is a lone request's. */
static void server_means(struct solution *s, const struct tables *t)
{
    for (size_t v = 0; v < s->servers; v++) {
        double visits = 0, time = 0;

        for (size_t i = 0; i < s->nodes; i++) {
            size_t e = i * s->servers + v;
            visits += (double)s->in->cores[i] * t->visits[e];
            time += (double)s->in->cores[i] * t->visits[e] * t->response[e];
        }
        s->response[v] = visits > 0 ? time / visits : s->service[v];
    }
}

static void route_misses(struct solution *s, const struct tables *t)
{
    for (size_t i = 0; i < s->nodes; i++)
        for (size_t j = 0; j < s->memories; j++) {
            const struct machine_route *route = route_of(s, i, j);
            const double *response = &t->response[i * s->servers];
            double time = response[j];
            for (size_t l = 0; l < route->links; l++)
                time += response[s->memories + route->link[l]];
            if (s->in->cores[i])
                s->miss[i * s->memories + j] =
                    s->total[i * s->memories + j] = time;
        }
}

static enum model_status solve_closed(struct solution *s)
{
    size_t entries = s->nodes * s->servers;
    double *block = calloc(4 * entries, sizeof(*block));
    struct tables t = {block, block + entries, block + 2 * entries,
                       block + 3 * entries};
    struct network network = {s->nodes, s->servers, s->in->cores, t.visits,
                              t.service, t.posted, t.service};
    struct network_result result = {.response = t.response};
    enum model_status status;

    if (!block)
        return MODEL_ENOMEM;
    fill(s, &t);
    status = network_solve(NETWORK_LINEARIZER, &network, &result);
    if (status == MODEL_OK) {
        add_route_times(s, s->service); /* for LLC domains without cores */
        memcpy(s->miss, s->total, s->pairs * sizeof(*s->miss));
        server_means(s, &t);
        route_misses(s, &t);
    }
    free(block);
    return status;
}

/* How long the server that has most to do is busy. */
static double busiest(const struct solution *s)
{
    double most = 0;

    for (size_t v = 0; v < s->servers; v++) {
        double requests = 0;
        for (size_t i = 0; i < s->nodes; i++)
            requests += s->rate[v * s->nodes + i];
        most = fmax(most, requests * s->service[v]);
    }
    return most;
}

static void copy(double *to, const double *from, size_t count)
{
    if (to)
        memcpy(to, from, count * sizeof(*to));
}

enum model_status hierarchy_solve(const struct hierarchy_input *in,
                                  const struct hierarchy_result *result)
{
    struct solution s;
    enum model_status status;

    if (!valid(in))
        return MODEL_EINVAL;
    if (!setup(&s, in))
        return MODEL_ENOMEM;
    status = load_servers(&s);
    if (status == MODEL_OK)
        status = in->method == HIERARCHY_CLOSED ? solve_closed(&s)
                                                : solve_stations(&s);
    if (status == MODEL_OK) {
        copy(result->controller_us, s.response, s.memories);
        copy(result->link_us, s.response + s.memories, in->machine->links);
        copy(result->total_us, s.total, s.pairs);
        copy(result->miss_us, s.miss, s.pairs);
        if (result->busy)
            *result->busy = busiest(&s);
        for (size_t i = 0; result->stall && i < s.nodes; i++) {
            result->stall[i] = 0;
            for (size_t j = 0; in->cores[i] && j < s.memories; j++)
                result->stall[i] += in->misses[i * s.memories + j] *
                                    s.miss[i * s.memories + j];
        }
    }
    free(s.rate);
    return status;
}
