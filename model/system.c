/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How well a machine is used by a mix of jobs. */

#include "model/system.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A station's customers and solution.  Neighbours are often alike (interleaved
 * memory, equal links): then the last solution is the next one, too. */
struct station_memo {
    struct mva_class classes[MVA_MAX_CLASSES];
    struct mva_result results[MVA_MAX_CLASSES];
    size_t count;
    double service;
    enum mva_method method;
};

/* Work space of one solution; rates are per us, times in us. */
struct solution {
    const struct system_input *in;
    double *rate;     /* [cpu_nodes * mem_nodes] requests of a whole CPU node */
    double *response; /* [cpu_nodes * mem_nodes] controller and links (3.8) */
    double *share;    /* [cpu_nodes * jobs] computing share of a core (4.5) */
    struct mva_class classes[MVA_MAX_CLASSES]; /* of the next station */
    size_t count;
    struct station_memo memo; /* the last station that was solved */
};

static size_t cores_of(const struct solution *s, size_t node, size_t job)
{
    return s->in->cores[node * s->in->jobs + job];
}

/* Solve the station of s->classes into s->memo.results. */
static enum model_status solve_station(struct solution *s,
                                       enum mva_method method, double service)
{
    struct station_memo *memo = &s->memo;
    bool same = memo->count == s->count && memo->service == service &&
                memo->method == method;

    for (size_t k = 0; k < s->count && same; k++)
        same = memo->classes[k].count == s->classes[k].count &&
               memo->classes[k].lambda == s->classes[k].lambda;
    if (same)
        return MODEL_OK;
    memo->count = s->count;
    memo->service = service;
    memo->method = method;
    memcpy(memo->classes, s->classes, s->count * sizeof(*s->classes));
    return mva_solve(method, memo->classes, memo->count, service,
                     memo->results);
}

/* Requests that CPU node I makes to memory node M per unit of CPU time. */
static void node_rates(struct solution *s)
{
    const struct machine *machine = s->in->machine;

    for (size_t i = 0; i < machine->cpu_nodes; i++)
        for (size_t j = 0; j < s->in->jobs; j++) {
            double cores = (double)cores_of(s, i, j);
            if (cores == 0)
                continue;
            for (size_t m = 0; m < machine->mem_nodes; m++)
                s->rate[i * machine->mem_nodes + m] +=
                    cores * s->in->profile[j]->rate[m].mrr_per_us;
        }
}

/* Solve a station whose customers are CPU nodes. */
static enum model_status solve_nodes(struct solution *s, double service_us)
{
    enum mva_method method = s->in->method;

    /* Tens of different customers at one station are beyond the exact one. */
    if (method == MVA_EXACT)
        method = MVA_AUTOMATIC;
    return solve_station(s, method, service_us);
}

/* Response times of all controllers (3.6) into s->response. */
static enum model_status solve_controllers(struct solution *s)
{
    const struct machine *machine = s->in->machine;

    s->count = machine->cpu_nodes;
    for (size_t m = 0; m < machine->mem_nodes; m++) {
        for (size_t i = 0; i < machine->cpu_nodes; i++)
            s->classes[i] = (struct mva_class){
                1, s->rate[i * machine->mem_nodes + m]};
        enum model_status status =
            solve_nodes(s, machine->controller_service_us[m]);
        if (status != MODEL_OK)
            return status;
        for (size_t i = 0; i < machine->cpu_nodes; i++)
            s->response[i * machine->mem_nodes + m] =
                s->memo.results[i].response;
    }
    return MODEL_OK;
}

/* Sort the routes (index CPU node * mem_nodes + memory node) by the links that
 * they cross: those of link l are users[first[l] .. first[l + 1] - 1]. */
static void sort_routes(const struct machine *machine, size_t *first,
                        size_t *users)
{
    size_t pairs = machine->cpu_nodes * machine->mem_nodes;

    memset(first, 0, (machine->links + 1) * sizeof(*first));
    for (size_t r = 0; r < pairs; r++)
        for (size_t l = 0; l < machine->route[r].links; l++)
            first[machine->route[r].link[l] + 1]++;
    for (size_t l = 0; l < machine->links; l++)
        first[l + 1] += first[l];
    /* Fill from each list's begin, which moves it to the next one's; then
     * move them back. */
    for (size_t r = 0; r < pairs; r++)
        for (size_t l = 0; l < machine->route[r].links; l++)
            users[first[machine->route[r].link[l]]++] = r;
    for (size_t l = machine->links; l > 0; l--)
        first[l] = first[l - 1];
    first[0] = 0;
}

/* Solve one link for the COUNT routes at USERS, sorted by CPU node, and add
 * its response time to theirs. */
static enum model_status solve_link(struct solution *s, size_t link,
                                    const size_t *users, size_t count)
{
    const struct machine *machine = s->in->machine;
    size_t class[MVA_MAX_CLASSES]; /* CPU node -> class; only of USERS */

    s->count = 0;
    for (size_t u = 0; u < count; u++) {
        size_t node = users[u] / machine->mem_nodes;
        if (u == 0 || users[u - 1] / machine->mem_nodes != node) {
            class[node] = s->count;
            s->classes[s->count++] = (struct mva_class){1, 0};
        }
        s->classes[class[node]].lambda += s->rate[users[u]];
    }
    enum model_status status = solve_nodes(s, machine->link_service_us[link]);
    for (size_t u = 0; u < count && status == MODEL_OK; u++)
        s->response[users[u]] +=
            s->memo.results[class[users[u] / machine->mem_nodes]].response;
    return status;
}

/* Add the response times of all links (3.7) to s->response. */
static enum model_status solve_links(struct solution *s)
{
    const struct machine *machine = s->in->machine;
    size_t crossings = 0;
    enum model_status status = MODEL_OK;

    if (!machine->links)
        return MODEL_OK;
    for (size_t r = 0; r < machine->cpu_nodes * machine->mem_nodes; r++)
        crossings += machine->route[r].links;
    size_t *first = malloc((machine->links + 1 + crossings) * sizeof(*first));
    if (!first)
        return MODEL_ENOMEM;
    size_t *users = first + machine->links + 1;
    sort_routes(machine, first, users);
    for (size_t l = 0; l < machine->links && status == MODEL_OK; l++)
        if (first[l + 1] > first[l])
            status = solve_link(s, l, users + first[l], first[l + 1] - first[l]);
    free(first);
    return status;
}

/* Computing share of each job's cores on CPU node I: all its outgoing queues,
 * then eq. 4.2 and 4.5. */
static enum model_status solve_node(struct solution *s, size_t i)
{
    const struct machine *machine = s->in->machine;
    double *share = &s->share[i * s->in->jobs];
    size_t job[MVA_MAX_CLASSES]; /* class -> job; those with cores here */

    s->count = 0;
    for (size_t j = 0; j < s->in->jobs; j++) {
        share[j] = 1; /* total time per unit of CPU time, so far */
        if (cores_of(s, i, j))
            job[s->count++] = j;
    }
    for (size_t m = 0; m < machine->mem_nodes; m++) {
        for (size_t k = 0; k < s->count; k++)
            s->classes[k] = (struct mva_class){
                cores_of(s, i, job[k]),
                s->in->profile[job[k]]->rate[m].read_per_us};
        enum model_status status =
            solve_station(s, s->in->method,
                          s->response[i * machine->mem_nodes + m]);
        if (status != MODEL_OK)
            return status;
        for (size_t k = 0; k < s->count; k++)
            share[job[k]] += s->classes[k].lambda * s->memo.results[k].response;
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
    memset(job_speed, 0, s->in->jobs * sizeof(*job_speed));
    for (size_t i = 0; i < machine->cpu_nodes; i++) {
        double size = (double)machine_node_cpus(machine, i);
        for (size_t j = 0; j < s->in->jobs; j++) {
            double speed = (double)cores_of(s, i, j) *
                           s->share[i * s->in->jobs + j];
            if (size > 0)
                result->cpu += speed / size *
                               (s->in->weight ? s->in->weight[j] : 1);
            job_speed[j] += speed;
        }
    }
    for (size_t m = 0; m < machine->mem_nodes; m++) {
        double requests = 0;
        for (size_t j = 0; j < s->in->jobs; j++)
            requests += job_speed[j] * s->in->profile[j]->rate[m].mrr_per_us;
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
    double speed[MVA_MAX_CLASSES];
    struct solution s;
    enum model_status status = check(in);

    if (status != MODEL_OK)
        return status;
    /* One block: rates, responses, shares. */
    double *block = calloc(2 * pairs + machine->cpu_nodes * in->jobs,
                           sizeof(*block));
    if (!block)
        return MODEL_ENOMEM;
    s.in = in;
    s.rate = block;
    s.response = block + pairs;
    s.share = block + 2 * pairs;
    s.memo.count = SIZE_MAX; /* nothing solved yet */
    node_rates(&s);
    status = solve_controllers(&s);
    if (status == MODEL_OK)
        status = solve_links(&s);
    for (size_t i = 0; i < machine->cpu_nodes && status == MODEL_OK; i++)
        status = solve_node(&s, i);
    if (status == MODEL_OK)
        sum_up(&s, result, job_speed ? job_speed : speed);
    free(block);
    return status;
}
