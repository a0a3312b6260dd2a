/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How well a machine is used by a mix of jobs. */

#include "model/system.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Work space of one solution; rates are per us, times in us. */
struct solution {
    const struct system_input *in;
    double *rate;     /* [cpu_nodes * mem_nodes] requests of a whole CPU node */
    double *response; /* [cpu_nodes * mem_nodes] controller and links (3.8) */
    double *share;    /* [cpu_nodes * jobs] computing share of a core (4.5) */
    struct mva_class *classes;  /* [max(cpu_nodes, jobs)] */
    struct mva_result *results; /* likewise */
};

static size_t cores_of(const struct solution *s, size_t node, size_t job)
{
    return s->in->cores[node * s->in->jobs + job];
}

/* Requests that CPU node I makes to memory node M per unit of CPU time. */
static void node_rates(struct solution *s)
{
    const struct machine *machine = s->in->machine;

    for (size_t i = 0; i < machine->cpu_nodes; i++)
        for (size_t m = 0; m < machine->mem_nodes; m++) {
            double rate = 0;
            for (size_t j = 0; j < s->in->jobs; j++)
                rate += (double)cores_of(s, i, j) *
                        s->in->profile[j]->rate[m].mrr_per_us;
            s->rate[i * machine->mem_nodes + m] = rate;
        }
}

/* Solve one station whose customers are CPU nodes: s->classes[i] is set. */
static enum model_status solve_nodes(struct solution *s, double service_us)
{
    enum mva_method method = s->in->method;

    /* Tens of different customers at one station are beyond the exact one. */
    if (method == MVA_EXACT)
        method = MVA_AUTOMATIC;
    return mva_solve(method, s->classes, s->in->machine->cpu_nodes, service_us,
                     s->results);
}

/* Response times of all controllers (3.6) into s->response. */
static enum model_status solve_controllers(struct solution *s)
{
    const struct machine *machine = s->in->machine;

    for (size_t m = 0; m < machine->mem_nodes; m++) {
        for (size_t i = 0; i < machine->cpu_nodes; i++)
            s->classes[i] = (struct mva_class){
                1, s->rate[i * machine->mem_nodes + m]};
        enum model_status status =
            solve_nodes(s, machine->controller_service_us[m]);
        if (status != MODEL_OK)
            return status;
        for (size_t i = 0; i < machine->cpu_nodes; i++)
            s->response[i * machine->mem_nodes + m] = s->results[i].response;
    }
    return MODEL_OK;
}

/* True when ROUTE crosses LINK. */
static bool crosses(const struct machine_route *route, size_t link)
{
    for (size_t l = 0; l < route->links; l++)
        if (route->link[l] == link)
            return true;
    return false;
}

/* Add the response times of all links (3.7) to s->response. */
static enum model_status solve_links(struct solution *s)
{
    const struct machine *machine = s->in->machine;

    for (size_t link = 0; link < machine->links; link++) {
        for (size_t i = 0; i < machine->cpu_nodes; i++) {
            double rate = 0;
            for (size_t m = 0; m < machine->mem_nodes; m++) {
                size_t r = i * machine->mem_nodes + m;
                if (crosses(&machine->route[r], link))
                    rate += s->rate[r];
            }
            s->classes[i] = (struct mva_class){1, rate};
        }
        enum model_status status =
            solve_nodes(s, machine->link_service_us[link]);
        if (status != MODEL_OK)
            return status;
        for (size_t i = 0; i < machine->cpu_nodes; i++)
            for (size_t m = 0; m < machine->mem_nodes; m++) {
                size_t r = i * machine->mem_nodes + m;
                if (crosses(&machine->route[r], link))
                    s->response[r] += s->results[i].response;
            }
    }
    return MODEL_OK;
}

/* Computing share of each job's cores on CPU node I: all its outgoing queues,
 * then eq. 4.2 and 4.5. */
static enum model_status solve_node(struct solution *s, size_t i)
{
    const struct machine *machine = s->in->machine;
    double *share = &s->share[i * s->in->jobs];

    for (size_t j = 0; j < s->in->jobs; j++)
        share[j] = 1; /* total time per unit of CPU time, so far */
    for (size_t m = 0; m < machine->mem_nodes; m++) {
        for (size_t j = 0; j < s->in->jobs; j++)
            s->classes[j] = (struct mva_class){
                cores_of(s, i, j), s->in->profile[j]->rate[m].read_per_us};
        enum model_status status =
            mva_solve(s->in->method, s->classes, s->in->jobs,
                      s->response[i * machine->mem_nodes + m], s->results);
        if (status != MODEL_OK)
            return status;
        for (size_t j = 0; j < s->in->jobs; j++)
            share[j] += s->in->profile[j]->rate[m].read_per_us *
                        s->results[j].response;
    }
    for (size_t j = 0; j < s->in->jobs; j++)
        share[j] = 1 / share[j];
    return MODEL_OK;
}

/* Eq. 4.6 and 4.7 from the computing shares. */
static void sum_up(const struct solution *s, struct system_result *result,
                   double *job_speed)
{
    const struct machine *machine = s->in->machine;

    *result = (struct system_result){0};
    if (job_speed)
        memset(job_speed, 0, s->in->jobs * sizeof(*job_speed));
    for (size_t i = 0; i < machine->cpu_nodes; i++) {
        double size = (double)machine_node_cpus(machine, i);
        for (size_t j = 0; j < s->in->jobs; j++) {
            double speed = (double)cores_of(s, i, j) *
                           s->share[i * s->in->jobs + j];
            if (size > 0)
                result->cpu += speed / size *
                               (s->in->weight ? s->in->weight[j] : 1);
            if (job_speed)
                job_speed[j] += speed;
        }
    }
    for (size_t m = 0; m < machine->mem_nodes; m++) {
        double requests = 0;
        for (size_t i = 0; i < machine->cpu_nodes; i++)
            for (size_t j = 0; j < s->in->jobs; j++)
                requests += (double)cores_of(s, i, j) *
                            s->share[i * s->in->jobs + j] *
                            s->in->profile[j]->rate[m].mrr_per_us;
        result->memory += fmin(1, requests * machine->controller_service_us[m]);
    }
    result->utilisation = result->cpu + result->memory;
}

static enum model_status check(const struct system_input *in)
{
    if (in->jobs < 1 || in->jobs > MVA_MAX_CLASSES ||
        in->machine->cpu_nodes > MVA_MAX_CLASSES)
        return MODEL_EINVAL;
    for (size_t j = 0; j < in->jobs; j++)
        if (in->profile[j]->mem_nodes != in->machine->mem_nodes)
            return MODEL_EINVAL;
    return MODEL_OK;
}

enum model_status system_solve(const struct system_input *in,
                               struct system_result *result,
                               double *job_speed)
{
    const struct machine *machine = in->machine;
    size_t pairs = machine->cpu_nodes * machine->mem_nodes;
    struct solution s = {.in = in};
    enum model_status status = check(in);

    if (status != MODEL_OK)
        return status;
    /* One block: rates, responses, shares; classes and results beside it. */
    double *block = calloc(2 * pairs + machine->cpu_nodes * in->jobs,
                           sizeof(*block));
    struct mva_class classes[MVA_MAX_CLASSES];
    struct mva_result results[MVA_MAX_CLASSES];
    if (!block)
        return MODEL_ENOMEM;
    s.rate = block;
    s.response = block + pairs;
    s.share = block + 2 * pairs;
    s.classes = classes;
    s.results = results;
    node_rates(&s);
    status = solve_controllers(&s);
    if (status == MODEL_OK)
        status = solve_links(&s);
    for (size_t i = 0; i < machine->cpu_nodes && status == MODEL_OK; i++)
        status = solve_node(&s, i);
    if (status == MODEL_OK)
        sum_up(&s, result, job_speed);
    free(block);
    return status;
}
