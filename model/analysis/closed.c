/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The memory of a whole machine as one closed network. */

#include "model/analysis/closed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/locality.h"

/* The network's tables, and who is what in it: class = LLC domain * jobs + job,
 * station = NUMA node, or numa_nodes + link. */
struct tables {
    const struct system_input *in;
    size_t classes, stations;
    size_t *count;
    double *visits, *service, *posted; /* [classes * stations] */
    double *share, *response, *utilisation;
};

static void visit(struct tables *t, size_t class, size_t station,
                  const struct workload_rate *rate, double factor)
{
    size_t e = class * t->stations + station;

    t->visits[e] += factor * rate->read_per_us;
    /* Rounding may leave a little less than nothing. */
    if (rate->mrr_per_us > rate->read_per_us)
        t->posted[e] += factor * (rate->mrr_per_us - rate->read_per_us);
}

/* The part of job J's cores on each NUMA node into NEAR[numa_nodes], 0 where it has none. */
static void find_near(const struct tables *t, size_t j, double *near)
{
    const struct machine *machine = t->in->machine;
    double count = 0;

    memset(near, 0, machine->numa_nodes * sizeof(*near));
    for (size_t n = 0; n < machine->llc_domains; n++) {
        double here = (double)t->in->cores[n * t->in->jobs + j];
        count += here;
        near[machine->local_node[n]] += here;
    }
    for (size_t m = 0; m < machine->numa_nodes && count > 0; m++)
        near[m] /= count;
}

static void fill(struct tables *t)
{
    const struct machine *machine = t->in->machine;

    for (size_t c = 0; c < t->classes; c++) {
        size_t node = c / t->in->jobs;
        const struct workload *w = t->in->profile[c % t->in->jobs];
        double near[machine->numa_nodes], factor[machine->numa_nodes];

        t->count[c] = t->in->cores[c];
        find_near(t, c % t->in->jobs, near);
        locality_factors(w, near, (size_t)machine->local_node[node], factor);
        for (size_t s = 0; s < t->stations; s++)
            t->service[c * t->stations + s] =
                s < machine->numa_nodes
                    ? machine->controller_service_us[s]
                    : machine->link_service_us[s - machine->numa_nodes];
        for (size_t m = 0; m < machine->numa_nodes; m++) {
            const struct machine_route *route =
                &machine->route[node * machine->numa_nodes + m];

            visit(t, c, m, &w->rate[m], factor[m]);
            for (size_t l = 0; l < route->links; l++)
                visit(t, c, machine->numa_nodes + route->link[l], &w->rate[m], factor[m]);
        }
    }
}

static bool setup(struct tables *t, const struct system_input *in)
{
    *t = (struct tables){.in = in};
    t->classes = in->machine->llc_domains * in->jobs;
    t->stations = in->machine->numa_nodes + in->machine->links;
    size_t entries = t->classes * t->stations;
    t->count = calloc(t->classes, sizeof(*t->count));
    t->visits = calloc(4 * entries + t->classes + t->stations,
                       sizeof(*t->visits));
    if (!t->count || !t->visits)
        return false;
    t->service = t->visits + entries;
    t->posted = t->service + entries;
    t->response = t->posted + entries;
    t->share = t->response + entries;
    t->utilisation = t->share + t->classes;
    return true;
}

/* Mean time of a read from LLC domain I to NUMA node M, over the jobs by how
 * often they read there. */
static double read_response(const struct tables *t, size_t i, size_t m)
{
    const struct machine *machine = t->in->machine;
    const struct machine_route *route = &machine->route[i * machine->numa_nodes + m];
    double reads = 0, sum = 0;

    for (size_t j = 0; j < t->in->jobs; j++) {
        size_t c = i * t->in->jobs + j;
        const double *response = &t->response[c * t->stations];
        double rate = (double)t->count[c] * t->share[c] *
                      t->in->profile[j]->rate[m].read_per_us;
        double time = response[m];

        for (size_t l = 0; l < route->links; l++)
            time += response[machine->numa_nodes + route->link[l]];
        reads += rate;
        sum += rate * time;
    }
    return reads > 0 ? sum / reads
                     : machine->controller_service_us[m] +
                           machine_route_us(machine, i, m);
}

static void report(const struct tables *t, const struct closed_result *result)
{
    const struct machine *machine = t->in->machine;

    if (result->job_speed) {
        memset(result->job_speed, 0, t->in->jobs * sizeof(double));
        for (size_t c = 0; c < t->classes; c++)
            result->job_speed[c % t->in->jobs] +=
                (double)t->count[c] * t->share[c];
    }
    if (result->utilisation)
        memcpy(result->utilisation, t->utilisation,
               t->stations * sizeof(double));
    for (size_t i = 0; i < machine->llc_domains && result->response_us; i++)
        for (size_t m = 0; m < machine->numa_nodes; m++)
            result->response_us[i * machine->numa_nodes + m] =
                read_response(t, i, m);
}

enum model_status closed_solve(enum network_method method,
                               const struct system_input *in,
                               const struct closed_result *result)
{
    struct tables t;
    enum model_status status = MODEL_ENOMEM;

    if (in->jobs < 1)
        return MODEL_EINVAL;
    for (size_t j = 0; j < in->jobs; j++)
        if (in->profile[j]->numa_nodes != in->machine->numa_nodes)
            return MODEL_EINVAL;
    if (setup(&t, in)) {
        struct network network = {t.classes, t.stations, t.count, t.visits,
                                  t.service, t.posted,   t.service};
        struct network_result solved = {t.share, t.response, t.utilisation};

        fill(&t);
        status = network_solve(method, &network, &solved);
        if (status == MODEL_OK)
            report(&t, result);
    }
    free(t.count);
    free(t.visits);
    return status;
}
