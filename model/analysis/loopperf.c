/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Speedup of a parallel loop on more and more cores. */

#include "model/analysis/loopperf.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Synchronisation never eats all of the time, whatever a line says. */
#define SYNC_MOST 0.99

/* Stalls in CPU time below which their quotient tells nothing. */
#define STALLS_LEAST 1e-3

/* What a profile says, per core and us of CPU time. */
struct rates {
    double nodes;               /* LLC domains that it is of */
    double sync;                /* share of time */
    double cpu_us;              /* CPU time of one unit of work, all cores together */
    double stalls;              /* counted ones relative to predicted ones, logarithm */
    double busy;                /* time relative to that for which a server is busy by prediction,
                                   if shorter, logarithm */
    struct loop_requests *rate; /* [numa_nodes] */
    double *misses;             /* [numa_nodes] */
};

struct loopperf {
    const struct machine *machine;
    enum hierarchy_method method;
    double cores;       /* of the first profile */
    size_t profiles;    /* 1 or 2 */
    struct rates profile[2];
    /* Work space of a prediction. */
    struct loop_requests *rate; /* [llc_domains * numa_nodes] */
    double *misses;             /* likewise */
    double *stall;              /* [llc_domains] */
};

void loopperf_free(struct loopperf *p)
{
    if (!p)
        return;
    for (size_t k = 0; k < 2; k++) {
        free(p->profile[k].rate);
        free(p->profile[k].misses);
    }
    free(p->rate);
    free(p->misses);
    free(p->stall);
    free(p);
}

static bool allocate(struct loopperf *p)
{
    const struct machine *m = p->machine;
    size_t pairs = m->llc_domains * m->numa_nodes;
    bool good = true;

    for (size_t k = 0; k < p->profiles; k++) {
        struct rates *r = &p->profile[k];
        r->rate = calloc(m->numa_nodes, sizeof(*r->rate));
        r->misses = calloc(m->numa_nodes, sizeof(*r->misses));
        good = good && r->rate && r->misses;
    }
    p->rate = calloc(pairs, sizeof(*p->rate));
    p->misses = calloc(pairs, sizeof(*p->misses));
    p->stall = calloc(m->llc_domains, sizeof(*p->stall));
    return good && p->rate && p->misses && p->stall;
}

/* Rates of LOOP, whose cores computed for CPU_US together. */
static void take_rates(struct rates *r, const struct loop *loop, double cpu_us)
{
    r->nodes = (double)loop_active_nodes(loop);
    r->sync = loop->sync_share;
    r->cpu_us = cpu_us / loop->work;
    for (size_t j = 0; j < loop->numa_nodes; j++) {
        struct loop_requests sum = loop_requests_to(loop, j);
        r->rate[j] = (struct loop_requests){
            sum.read / cpu_us, sum.write / cpu_us, sum.prefetch / cpu_us};
        r->misses[j] = loop_misses_to(loop, j) / cpu_us;
    }
}

static bool input_valid(const struct loopperf_input *in)
{
    const struct loop *first = in->first, *second = in->second;

    return machine_check(in->machine) == MODEL_OK &&
           loop_check(first, NULL) == MODEL_OK &&
           (!second || (loop_check(second, NULL) == MODEL_OK &&
                        second->llc_domains == in->machine->llc_domains &&
                        second->numa_nodes == in->machine->numa_nodes &&
                        loop_active_nodes(second) != loop_active_nodes(first)));
}

/* On the line through both profiles at X (0: the first), not below 0. */
static double line(double first, double second, double x)
{
    return fmax(0, first + (second - first) * x);
}

/* The same of a rate: on the power law of the number of LLC domains, each of which adds its cache,
 * through both profiles; on the line where one has none. */
static double power(const struct loopperf *p, double first, double second, double x)
{
    const struct rates *a = &p->profile[0], *b = &p->profile[1];

    if (p->profiles == 1 || !(first > 0 && second > 0))
        return line(first, second, x);
    double nodes = a->nodes + (b->nodes - a->nodes) * x;
    return first * pow(second / first, log(nodes / a->nodes) / log(b->nodes / a->nodes));
}

/* What each core asks memory J for on X of the way to the second profile. */
static struct loop_requests rate_at(const struct loopperf *p, size_t j,
                                    double x, double *misses)
{
    const struct rates *a = &p->profile[0];
    const struct rates *b = &p->profile[p->profiles - 1];
    struct loop_requests r = {
        power(p, a->rate[j].read, b->rate[j].read, x),
        power(p, a->rate[j].write, b->rate[j].write, x),
        power(p, a->rate[j].prefetch, b->rate[j].prefetch, x)};

    /* Beyond both profiles they may cross. */
    *misses = fmin(power(p, a->misses[j], b->misses[j], x),
                   r.read + r.write + r.prefetch);
    return r;
}

/* 0 at the first profile, 1 at the second. */
static double place(const struct loopperf *p, double nodes)
{
    return p->profiles == 1 ? 0
                            : (nodes - p->profile[0].nodes) /
                                  (p->profile[1].nodes - p->profile[0].nodes);
}

/* Share of synchronisation of CORES on X of the way (4.11). */
static double sync_at(const struct loopperf *p, double cores, double x)
{
    double share = p->profiles == 1
                       ? p->profile[0].sync * cores / p->cores
                       : line(p->profile[0].sync, p->profile[1].sync, x);

    return fmin(share, SYNC_MOST);
}

/* Mean stalls (3.15) of a us of CPU time on CORES, on X of the way, into *STALL; for how long the
 * server that has most to do is busy into *BUSY. */
static enum model_status stall_at(struct loopperf *p, const size_t *cores, double x, double *stall,
                                  double *busy)
{
    const struct machine *m = p->machine;
    double sum = 0, all = 0;

    for (size_t i = 0; i < m->llc_domains; i++)
        for (size_t j = 0; j < m->numa_nodes; j++) {
            size_t pair = i * m->numa_nodes + j;
            p->rate[pair] = rate_at(p, j, x, &p->misses[pair]);
        }
    struct hierarchy_input in = {m, p->method, cores, p->rate, p->misses};
    struct hierarchy_result result = {.stall = p->stall, .busy = busy};
    enum model_status status = hierarchy_solve(&in, &result);
    if (status != MODEL_OK)
        return status;
    /* By cores where LLC domains have different numbers of them. */
    for (size_t i = 0; i < m->llc_domains; i++) {
        all += p->stall[i] * (double)cores[i];
        sum += (double)cores[i];
    }
    *stall = all / sum;
    return MODEL_OK;
}

/* Profile number K is of LOOP, whose cores were found to have taken TIME. */
static enum model_status correct(struct loopperf *p, size_t k, const struct loop *loop,
                                 const struct cputime *time)
{
    double predicted, busy, counted = time->stall_us / time->cpu_us;
    enum model_status status = stall_at(p, loop->cores, (double)k, &predicted, &busy);

    if (status != MODEL_OK)
        return status;
    if (fmin(predicted, counted) > STALLS_LEAST)
        p->profile[k].stalls = log(counted / predicted);
    if (busy > 0)
        p->profile[k].busy = fmin(0, log(loop->total_us / time->cpu_us / busy));
    return MODEL_OK;
}

/* From counted cycles, if all profiles have them. */
static enum model_status learn_counted(struct loopperf *p, const struct loopperf_input *in)
{
    const struct loop *loop[2] = {in->first, in->second};
    struct cputime time[2];
    enum model_status status = MODEL_OK;

    for (size_t k = 0; k < p->profiles && status == MODEL_OK; k++)
        status = cputime_measured(loop[k], &time[k]);
    for (size_t k = 0; k < p->profiles && status == MODEL_OK; k++)
        take_rates(&p->profile[k], loop[k], time[k].cpu_us * (double)loop_cores(loop[k]));
    for (size_t k = 0; k < p->profiles && status == MODEL_OK; k++)
        status = correct(p, k, loop[k], &time[k]);
    return status;
}

static enum model_status learn(struct loopperf *p,
                               const struct loopperf_input *in)
{
    struct cputime_input cputime = {in->machine, in->method, in->first};
    struct cputime time;
    enum model_status status = learn_counted(p, in);

    p->cores = (double)loop_cores(in->first);
    if (status != MODEL_ENODATA)
        return status;
    status = cputime_solve(&cputime, &time);
    if (status != MODEL_OK)
        return status;
    double cpu_us = time.cpu_us * p->cores / in->first->work;
    take_rates(&p->profile[0], in->first, cpu_us * in->first->work);
    if (in->second)
        take_rates(&p->profile[1], in->second, cpu_us * in->second->work);
    return MODEL_OK;
}

enum model_status loopperf_learn(const struct loopperf_input *in,
                                 struct loopperf **out)
{
    struct loopperf *p;
    enum model_status status = MODEL_ENOMEM;

    *out = NULL;
    if (!input_valid(in))
        return MODEL_EINVAL;
    p = calloc(1, sizeof(*p));
    if (!p)
        return MODEL_ENOMEM;
    p->machine = in->machine;
    p->method = in->method;
    p->profiles = in->second ? 2 : 1;
    if (allocate(p))
        status = learn(p, in);
    if (status == MODEL_OK)
        *out = p;
    else
        loopperf_free(p);
    return status;
}

enum model_status loopperf_predict(struct loopperf *p, const size_t *cores,
                                   struct loopperf_time *time)
{
    const struct rates *a = &p->profile[0], *b = &p->profile[p->profiles - 1];
    double nodes = 0, sum = 0, stall, busy;

    for (size_t i = 0; i < p->machine->llc_domains; i++) {
        nodes += cores[i] > 0;
        sum += (double)cores[i];
    }
    if (!(sum > 0))
        return MODEL_EINVAL;
    double x = place(p, nodes);
    enum model_status status = stall_at(p, cores, x, &stall, &busy);
    if (status != MODEL_OK)
        return status;
    time->cpu_us = line(a->cpu_us, b->cpu_us, x) / sum;
    time->stall_us = time->cpu_us * stall * exp(a->stalls + (b->stalls - a->stalls) * x);
    double share = sync_at(p, sum, x);
    time->sync_us = (time->cpu_us + time->stall_us) * share / (1 - share);
    time->total_us = time->cpu_us + time->stall_us + time->sync_us;
    double least = time->cpu_us * busy * exp(a->busy + (b->busy - a->busy) * x);
    if (p->method == HIERARCHY_CLOSED && least > time->total_us) {
        time->stall_us += least - time->total_us;
        time->total_us = least;
    }
    return MODEL_OK;
}

enum model_status loopperf_curve(struct loopperf *p, size_t count,
                                 double *speedup)
{
    const struct machine *m = p->machine;
    size_t *cores = calloc(m->llc_domains, sizeof(*cores)), node = 0;
    enum model_status status = cores ? MODEL_OK : MODEL_ENOMEM;
    double base = 0;

    for (size_t n = 0; n < count && status == MODEL_OK; n++) {
        struct loopperf_time time;

        while (node < m->llc_domains && !machine_node_cpus(m, node))
            node++;
        if (node == m->llc_domains) { /* no more cores */
            status = MODEL_EINVAL;
            break;
        }
        cores[node] = machine_node_cpus(m, node);
        node++;
        status = loopperf_predict(p, cores, &time);
        if (n == 0)
            base = time.total_us;
        speedup[n] = base / time.total_us;
    }
    free(cores);
    return status;
}

/* ---- Best-F ---------------------------------------------------------------- */

/* The first grid has twice so many steps to the greatest factor in each direction. */
#define BEST_STEPS 4
#define BEST_MOST 8.0
#define BEST_ROUNDS 6

bool loopperf_best_f(loopperf_error_f error, void *arg, bool links, double us[2])
{
    double step = pow(BEST_MOST, 1.0 / BEST_STEPS), least = INFINITY;
    int across = links ? BEST_STEPS : 0;

    for (int round = 0; round < BEST_ROUNDS; round++, step = sqrt(step)) {
        const double centre[2] = {us[0], us[1]};
        for (int i = -BEST_STEPS; i <= BEST_STEPS; i++)
            for (int k = -across; k <= across; k++) {
                double tried[2] = {centre[0] * pow(step, i), centre[1] * pow(step, k)};
                double found = error(arg, tried);
                if (isnan(found))
                    return false;
                if (found < least) {
                    least = found;
                    us[0] = tried[0];
                    us[1] = tried[1];
                }
            }
    }
    return true;
}

void loopperf_set_services(struct machine *machine, const double us[2])
{
    free(machine->controller_service);
    free(machine->link_service);
    machine->controller_service = machine->link_service = NULL;
    for (size_t k = 0; k < machine->numa_nodes; k++)
        machine->controller_service_us[k] = us[0];
    for (size_t k = 0; k < machine->links; k++)
        machine->link_service_us[k] = us[1];
}
