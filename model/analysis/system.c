/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How well a machine is used by a mix of jobs: NuPoCo's stations. */

#include "model/analysis/system.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Rates are per us, times in us. */
struct solution {
    const struct system_input *in;
    double *rate;     /* [llc_domains * numa_nodes] requests per us of computing */
    double *response; /* [llc_domains * numa_nodes] of controller and links */
};

static double cores_of(const struct solution *s, size_t i, size_t j)
{
    return (double)s->in->cores[i * s->in->jobs + j];
}

/* Responses of a station to CLASSES, into RESULTS. */
static enum model_status station(const struct solution *s,
                                 const struct mva_class *classes, size_t count,
                                 double service, struct mva_result *results)
{
    return mva_solve(s->in->method, classes, count, service, results);
}

/* Requests that each LLC domain makes to each NUMA node. */
static void find_rates(struct solution *s)
{
    size_t memories = s->in->machine->numa_nodes;

    for (size_t i = 0; i < s->in->machine->llc_domains; i++)
        for (size_t m = 0; m < memories; m++)
            for (size_t j = 0; j < s->in->jobs; j++)
                s->rate[i * memories + m] +=
                    cores_of(s, i, j) * s->in->profile[j]->rate[m].mrr_per_us;
}

/* Response times of all controllers (3.6); customers are LLC domains. */
static enum model_status add_controllers(struct solution *s)
{
    const struct machine *machine = s->in->machine;
    size_t domains = machine->llc_domains, memories = machine->numa_nodes;
    struct mva_class classes[SYSTEM_MAX_DOMAINS];
    struct mva_result results[SYSTEM_MAX_DOMAINS];

    for (size_t m = 0; m < memories; m++) {
        for (size_t i = 0; i < domains; i++)
            classes[i] = (struct mva_class){1, s->rate[i * memories + m]};
        enum model_status status =
            station(s, classes, domains, machine->controller_service_us[m],
                    results);
        if (status != MODEL_OK)
            return status;
        for (size_t i = 0; i < domains; i++)
            s->response[i * memories + m] += results[i].response;
    }
    return MODEL_OK;
}

static bool crosses(const struct machine_route *route, size_t link)
{
    for (size_t l = 0; l < route->links; l++)
        if (route->link[l] == link)
            return true;
    return false;
}

/* Response times of the links (3.7); customers are LLC domains whose routes cross
 * them. */
static enum model_status add_links(struct solution *s)
{
    const struct machine *machine = s->in->machine;
    size_t domains = machine->llc_domains, memories = machine->numa_nodes;
    struct mva_class classes[SYSTEM_MAX_DOMAINS];
    struct mva_result results[SYSTEM_MAX_DOMAINS];

    for (size_t l = 0; l < machine->links; l++) {
        for (size_t i = 0; i < domains; i++) {
            classes[i] = (struct mva_class){1, 0};
            for (size_t m = 0; m < memories; m++)
                if (crosses(&machine->route[i * memories + m], l))
                    classes[i].lambda += s->rate[i * memories + m];
        }
        enum model_status status = station(
            s, classes, domains, machine->link_service_us[l], results);
        if (status != MODEL_OK)
            return status;
        for (size_t r = 0; r < domains * memories; r++)
            if (crosses(&machine->route[r], l))
                s->response[r] += results[r / memories].response;
    }
    return MODEL_OK;
}

/* What a core of each job on LLC domain I computes of its time, into SHARE[jobs]:
 * all outgoing queues (3.8), then eq. 4.2 and 4.5. */
static enum model_status shares(const struct solution *s, size_t i,
                                double *share)
{
    size_t jobs = s->in->jobs, memories = s->in->machine->numa_nodes;
    struct mva_class classes[SYSTEM_MAX_JOBS];
    struct mva_result results[SYSTEM_MAX_JOBS];

    for (size_t j = 0; j < jobs; j++)
        share[j] = 1; /* total time per unit of CPU time, so far */
    for (size_t m = 0; m < memories; m++) {
        for (size_t j = 0; j < jobs; j++)
            classes[j] =
                (struct mva_class){s->in->cores[i * jobs + j],
                                   s->in->profile[j]->rate[m].read_per_us};
        enum model_status status = station(
            s, classes, jobs, s->response[i * memories + m], results);
        if (status != MODEL_OK)
            return status;
        for (size_t j = 0; j < jobs; j++)
            share[j] += classes[j].lambda * results[j].response;
    }
    for (size_t j = 0; j < jobs; j++)
        share[j] = 1 / share[j];
    return MODEL_OK;
}

/* Eq. 4.6 and 4.7 into RESULT, and the jobs' SPEED. */
static enum model_status add_up(const struct solution *s,
                                struct system_result *result, double *speed)
{
    const struct machine *machine = s->in->machine;
    double share[SYSTEM_MAX_JOBS];

    for (size_t i = 0; i < machine->llc_domains; i++) {
        double size = (double)machine_node_cpus(machine, i);
        enum model_status status = shares(s, i, share);
        if (status != MODEL_OK)
            return status;
        for (size_t j = 0; j < s->in->jobs; j++) {
            double here = cores_of(s, i, j) * share[j];
            speed[j] += here;
            if (size > 0)
                result->cpu +=
                    here / size * (s->in->weight ? s->in->weight[j] : 1);
        }
    }
    for (size_t m = 0; m < machine->numa_nodes; m++) {
        double requests = 0;
        for (size_t j = 0; j < s->in->jobs; j++)
            requests += speed[j] * s->in->profile[j]->rate[m].mrr_per_us;
        result->memory += fmin(1, requests * machine->controller_service_us[m]);
    }
    result->utilisation = result->cpu + result->memory;
    return MODEL_OK;
}

static bool valid(const struct system_input *in)
{
    if (in->jobs < 1 || in->jobs > SYSTEM_MAX_JOBS ||
        in->machine->llc_domains > SYSTEM_MAX_DOMAINS)
        return false;
    for (size_t j = 0; j < in->jobs; j++)
        if (in->profile[j]->numa_nodes != in->machine->numa_nodes)
            return false;
    return true;
}

enum model_status system_solve(const struct system_input *in,
                               struct system_result *result, double *job_speed)
{
    double speed[SYSTEM_MAX_JOBS] = {0};
    struct solution s = {.in = in};

    if (!valid(in))
        return MODEL_EINVAL;
    size_t pairs = in->machine->llc_domains * in->machine->numa_nodes;
    if (!(s.rate = calloc(2 * pairs, sizeof(*s.rate))))
        return MODEL_ENOMEM;
    s.response = s.rate + pairs;
    *result = (struct system_result){0};
    find_rates(&s);
    enum model_status status = add_controllers(&s);
    if (status == MODEL_OK)
        status = add_links(&s);
    if (status == MODEL_OK)
        status = add_up(&s, result, speed);
    free(s.rate);
    for (size_t j = 0; j < in->jobs && job_speed && status == MODEL_OK; j++)
        job_speed[j] = speed[j];
    return status;
}
