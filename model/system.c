/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How well a machine is used by a mix of jobs. */

#include "model/system.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/alike.h"
#include "model/quadrature.h"

/* Rules for up to 1, 2, 4, ... 256 customers. */
#define RULES 9

/* Neighbouring LLC domains of the same kind with the same cores of each job. */
struct run {
    size_t node, length;
    size_t jobs, first; /* those with cores here are job[first ..] */
};

/* Rates are per us, times in us. */
struct system_workspace {
    struct alike alike;
    size_t max_jobs;
    struct system_input in;
    struct quadrature rule[RULES]; /* points 0: not needed so far */
    struct run *run;         /* [llc_domains] */
    size_t runs;
    size_t *run_of;          /* [llc_domains] */
    size_t *job;             /* [llc_domains * max_jobs] */
    double *rate;     /* [runs * groups] requests of one LLC domain to a memory */
    double *response; /* [runs * groups] of a controller (3.6) */
    double *link;     /* [links * llc_domains] response of a link (3.7) */
    double *share;    /* [max_jobs] time, then computing share, of a core */
    double *speed;    /* [max_jobs] */
    struct mva_class *classes; /* of a station */
    struct mva_result *results;
    double *times;    /* responses of a station */
};

/* The smallest rule for CUSTOMERS. */
static const struct quadrature *rule_for(struct system_workspace *ws,
                                         size_t customers)
{
    size_t r = customers > 1
                   ? 8 * sizeof(long) - (size_t)__builtin_clzl(customers - 1)
                   : 0;

    if (!ws->rule[r].points)
        quadrature_init(&ws->rule[r], (size_t)1 << r);
    return &ws->rule[r];
}

static bool allocate(struct system_workspace *ws)
{
    const struct machine *machine = ws->alike.machine;
    size_t nodes = machine->llc_domains, pairs = nodes * machine->numa_nodes;
    size_t classes = nodes > ws->max_jobs ? nodes : ws->max_jobs;
    size_t links = machine->links * nodes;

    ws->run = calloc(nodes, sizeof(*ws->run));
    ws->run_of = calloc(nodes + nodes * ws->max_jobs, sizeof(*ws->run_of));
    ws->rate = calloc(2 * pairs + links + 2 * ws->max_jobs + classes,
                      sizeof(*ws->rate));
    ws->classes = calloc(classes, sizeof(*ws->classes));
    ws->results = calloc(classes, sizeof(*ws->results));
    if (!ws->run || !ws->run_of || !ws->rate || !ws->classes || !ws->results)
        return false;
    ws->job = ws->run_of + nodes;
    ws->response = ws->rate + pairs;
    ws->link = ws->response + pairs;
    ws->share = ws->link + links;
    ws->speed = ws->share + ws->max_jobs;
    ws->times = ws->speed + ws->max_jobs;
    return true;
}

struct system_workspace *system_workspace_new(const struct machine *machine,
                                              size_t jobs)
{
    struct system_workspace *ws;

    if (jobs < 1 || jobs > SYSTEM_MAX_JOBS ||
        machine->llc_domains > SYSTEM_MAX_NODES || !(ws = calloc(1, sizeof(*ws))))
        return NULL;
    ws->max_jobs = jobs;
    if (!alike_init(&ws->alike, machine) || !allocate(ws)) {
        system_workspace_free(ws);
        return NULL;
    }
    return ws;
}

void system_workspace_free(struct system_workspace *ws)
{
    if (!ws)
        return;
    alike_free(&ws->alike);
    free(ws->run);
    free(ws->run_of);
    free(ws->rate);
    free(ws->classes);
    free(ws->results);
    free(ws);
}

static bool valid(const struct system_input *in)
{
    if (in->jobs < 1 || in->jobs > SYSTEM_MAX_JOBS ||
        in->machine->llc_domains > SYSTEM_MAX_NODES)
        return false;
    for (size_t j = 0; j < in->jobs; j++)
        if (in->profile[j]->numa_nodes != in->machine->numa_nodes)
            return false;
    return true;
}

enum model_status system_prepare(struct system_workspace *ws,
                                 const struct system_input *in)
{
    if (!valid(in) || in->machine != ws->alike.machine ||
        in->jobs > ws->max_jobs)
        return MODEL_EINVAL;
    ws->in = *in;
    alike_find(&ws->alike, in->profile, in->jobs);
    return MODEL_OK;
}

const size_t *system_groups(const struct system_workspace *ws)
{
    return ws->alike.group;
}

static size_t cores_of(const struct system_workspace *ws, size_t node,
                       size_t job)
{
    return ws->in.cores[node * ws->in.jobs + job];
}

/* True when LLC domain I continues RUN. */
static bool continues(const struct system_workspace *ws, const struct run *run,
                      size_t i)
{
    size_t jobs = ws->in.jobs;

    return ws->alike.kind[i] == ws->alike.kind[run->node] &&
           memcmp(&ws->in.cores[i * jobs], &ws->in.cores[run->node * jobs],
                  jobs * sizeof(*ws->in.cores)) == 0;
}

/* Requests that an LLC domain of run R makes to each group's NUMA node per unit
 * of CPU time. */
static void run_rates(struct system_workspace *ws, size_t r)
{
    const struct run *run = &ws->run[r];
    double *rate = &ws->rate[r * ws->alike.groups];

    for (size_t g = 0; g < ws->alike.groups; g++) {
        rate[g] = 0;
        for (size_t k = 0; k < run->jobs; k++) {
            size_t j = ws->job[run->first + k];
            rate[g] += (double)cores_of(ws, run->node, j) *
                       ws->in.profile[j]->rate[ws->alike.member[g]].mrr_per_us;
        }
    }
}

static void find_runs(struct system_workspace *ws)
{
    size_t used = 0;

    ws->runs = 0;
    for (size_t i = 0; i < ws->in.machine->llc_domains; i++) {
        if (!ws->runs || !continues(ws, &ws->run[ws->runs - 1], i)) {
            struct run *run = &ws->run[ws->runs++];

            *run = (struct run){.node = i, .first = used};
            for (size_t j = 0; j < ws->in.jobs; j++)
                if (cores_of(ws, i, j))
                    ws->job[used++] = j;
            run->jobs = used - run->first;
            run_rates(ws, ws->runs - 1);
        }
        ws->run[ws->runs - 1].length++;
        ws->run_of[i] = ws->runs - 1;
    }
}

/* Solve COUNT of ws->classes into ws->times. */
static enum model_status solve_station(struct system_workspace *ws,
                                       size_t count, enum mva_method method,
                                       double service)
{
    size_t customers = 0;

    for (size_t k = 0; k < count; k++)
        if (ws->classes[k].lambda > 0)
            customers += ws->classes[k].count;
    if ((method == MVA_AUTOMATIC || method == MVA_EXACT) &&
        customers <= QUADRATURE_MAX_CUSTOMERS && isfinite(service)) {
        quadrature_solve(rule_for(ws, customers), ws->classes, count, service,
                         ws->times);
        return MODEL_OK;
    }
    enum model_status status =
        mva_solve(method, ws->classes, count, service, ws->results);
    for (size_t k = 0; k < count && status == MODEL_OK; k++)
        ws->times[k] = ws->results[k].response;
    return status;
}

/* Response times of all controllers (3.6); customers are LLC domains. */
static enum model_status solve_controllers(struct system_workspace *ws)
{
    const struct alike *alike = &ws->alike;

    for (size_t g = 0; g < alike->groups; g++) {
        for (size_t r = 0; r < ws->runs; r++)
            ws->classes[r] = (struct mva_class){
                ws->run[r].length, ws->rate[r * alike->groups + g]};
        enum model_status status = solve_station(
            ws, ws->runs, ws->in.method,
            ws->in.machine->controller_service_us[alike->member[g]]);
        if (status != MODEL_OK)
            return status;
        for (size_t r = 0; r < ws->runs; r++)
            ws->response[r * alike->groups + g] = ws->times[r];
    }
    return MODEL_OK;
}

/* Response times of the links that several LLC domains use (3.7). */
static enum model_status solve_links(struct system_workspace *ws)
{
    const struct alike *alike = &ws->alike;
    size_t nodes = ws->in.machine->llc_domains;

    for (size_t k = 0; k < alike->links; k++) {
        size_t l = alike->link_at[k], count = 0, last = SIZE_MAX;
        size_t begin = alike->first[l], end = alike->first[l + 1];

        for (size_t u = begin; u < end; u++) { /* sorted by LLC domain */
            size_t node = alike->user[u];
            size_t group = alike->group[alike->target[u]];
            if (node != last)
                ws->classes[count++] = (struct mva_class){1, 0};
            last = node;
            ws->classes[count - 1].lambda +=
                ws->rate[ws->run_of[node] * alike->groups + group];
        }
        enum model_status status =
            solve_station(ws, count, ws->in.method,
                          ws->in.machine->link_service_us[l]);
        if (status != MODEL_OK)
            return status;
        last = SIZE_MAX;
        count = 0;
        for (size_t u = begin; u < end; u++) {
            size_t node = alike->user[u];
            if (node != last)
                ws->link[k * nodes + node] = ws->times[count++];
            last = node;
        }
    }
    return MODEL_OK;
}

/* What controller and links answer to an LLC domain of run R on PATH (3.8). */
static double path_time(const struct system_workspace *ws, size_t r,
                        const struct alike_path *path)
{
    const struct alike *alike = &ws->alike;
    size_t node = ws->run[r].node, nodes = ws->in.machine->llc_domains;
    double time =
        ws->response[r * alike->groups + path->group] + path->fixed;

    if (alike->links) {
        const struct machine_route *route =
            &ws->in.machine
                 ->route[node * ws->in.machine->numa_nodes + path->first];
        for (size_t l = 0; l < route->links; l++) {
            size_t k = alike->link[route->link[l]];
            if (k != ALIKE_FIXED)
                time += ws->link[k * nodes + node];
        }
    }
    return time;
}

/* Computing share of the cores of run R: all outgoing queues of one of its LLC
 * domains, then eq. 4.2 and 4.5. */
static enum model_status solve_run(struct system_workspace *ws, size_t r)
{
    const struct alike *alike = &ws->alike;
    const struct run *run = &ws->run[r];
    const size_t *job = &ws->job[run->first];
    const struct alike_path *path =
        &alike->path[run->node * ws->in.machine->numa_nodes];

    for (size_t k = 0; k < run->jobs; k++)
        ws->share[k] = 1; /* total time per unit of CPU time, so far */
    for (size_t p = 0; p < alike->paths[run->node]; p++) {
        size_t m = alike->member[path[p].group];

        for (size_t k = 0; k < run->jobs; k++)
            ws->classes[k] = (struct mva_class){
                cores_of(ws, run->node, job[k]),
                ws->in.profile[job[k]]->rate[m].read_per_us};
        enum model_status status = solve_station(
            ws, run->jobs, ws->in.method, path_time(ws, r, &path[p]));
        if (status != MODEL_OK)
            return status;
        for (size_t k = 0; k < run->jobs; k++)
            ws->share[k] += (double)path[p].count * ws->classes[k].lambda *
                            ws->times[k];
    }
    for (size_t k = 0; k < run->jobs; k++)
        ws->share[k] = 1 / ws->share[k];
    return MODEL_OK;
}

/* Add the computing of run R to the sums of eq. 4.6. */
static void add_run(struct system_workspace *ws, size_t r,
                    struct system_result *result)
{
    const struct run *run = &ws->run[r];
    double size = (double)ws->alike.size[run->node];

    for (size_t k = 0; k < run->jobs; k++) {
        size_t j = ws->job[run->first + k];
        double speed = (double)(run->length * cores_of(ws, run->node, j)) *
                       ws->share[k];

        if (size > 0)
            result->cpu += speed / size *
                           (ws->in.weight ? ws->in.weight[j] : 1);
        ws->speed[j] += speed;
    }
}

/* Eq. 4.7: utilisation of the controllers by the requests really made. */
static void add_memory(const struct system_workspace *ws,
                       struct system_result *result)
{
    const struct alike *alike = &ws->alike;

    for (size_t g = 0; g < alike->groups; g++) {
        size_t m = alike->member[g];
        double requests = 0;

        for (size_t j = 0; j < ws->in.jobs; j++)
            requests += ws->speed[j] * ws->in.profile[j]->rate[m].mrr_per_us;
        result->memory +=
            (double)alike->members[g] *
            fmin(1, requests * ws->in.machine->controller_service_us[m]);
    }
}

enum model_status system_predict(struct system_workspace *ws,
                                 const size_t *cores,
                                 struct system_result *result,
                                 double *job_speed)
{
    ws->in.cores = cores;
    find_runs(ws);
    enum model_status status = solve_controllers(ws);
    if (status == MODEL_OK)
        status = solve_links(ws);
    *result = (struct system_result){0};
    memset(ws->speed, 0, ws->in.jobs * sizeof(*ws->speed));
    for (size_t r = 0; r < ws->runs && status == MODEL_OK; r++) {
        status = solve_run(ws, r);
        if (status == MODEL_OK)
            add_run(ws, r, result);
    }
    if (status != MODEL_OK)
        return status;
    add_memory(ws, result);
    result->utilisation = result->cpu + result->memory;
    if (job_speed)
        memcpy(job_speed, ws->speed, ws->in.jobs * sizeof(*job_speed));
    return MODEL_OK;
}

enum model_status system_solve(const struct system_input *in,
                               struct system_result *result,
                               double *job_speed)
{
    struct system_workspace *ws;

    if (!valid(in))
        return MODEL_EINVAL;
    if (!(ws = system_workspace_new(in->machine, in->jobs)))
        return MODEL_ENOMEM;
    enum model_status status = system_prepare(ws, in);
    if (status == MODEL_OK)
        status = system_predict(ws, in->cores, result, job_speed);
    system_workspace_free(ws);
    return status;
}
