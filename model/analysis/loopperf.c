/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Speedup of a parallel loop on more and more cores. */

#include "model/analysis/loopperf.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Synchronisation never eats all of the time, whatever a line says. */
#define SYNC_MOST 0.99

/* What a profile says, per core and us of CPU time. */
struct rates {
    double nodes;               /* LLC domains that it is of */
    double sync;                /* share of time */
    struct loop_requests *rate; /* [numa_nodes] */
    double *misses;             /* [numa_nodes] */
};

struct loopperf {
    const struct machine *machine;
    enum hierarchy_method method;
    double cpu_us;      /* CPU time of one unit of work, all cores together */
    double cores;       /* of the first profile */
    size_t profiles;    /* 1 or 2 */
    struct rates profile[2];
    double *controller_us; /* fixed service times or NULL */
    double *link_us;
    /* Work space of a prediction. */
    size_t *threads;            /* [llc_domains] */
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
    free(p->controller_us);
    free(p->link_us);
    free(p->threads);
    free(p->rate);
    free(p->misses);
    free(p->stall);
    free(p);
}

/* TIMES[count] times SCALE; NULL when out of memory. */
static double *scaled(const double *times, size_t count, double scale)
{
    double *result = malloc((count + 1) * sizeof(*result));

    for (size_t i = 0; result && i < count; i++)
        result[i] = times[i] * scale;
    return result;
}

static bool allocate(struct loopperf *p, const struct loopperf_input *in)
{
    const struct machine *m = in->machine;
    size_t pairs = m->llc_domains * m->numa_nodes;
    bool good = true;

    for (size_t k = 0; k < p->profiles; k++) {
        struct rates *r = &p->profile[k];
        r->rate = calloc(m->numa_nodes, sizeof(*r->rate));
        r->misses = calloc(m->numa_nodes, sizeof(*r->misses));
        good = good && r->rate && r->misses;
    }
    if (in->controller_scale > 0) {
        p->controller_us = scaled(m->controller_service_us, m->numa_nodes,
                                  in->controller_scale);
        p->link_us = scaled(m->link_service_us, m->links, in->link_scale);
        good = good && p->controller_us && p->link_us;
    }
    p->threads = calloc(m->llc_domains, sizeof(*p->threads));
    p->rate = calloc(pairs, sizeof(*p->rate));
    p->misses = calloc(pairs, sizeof(*p->misses));
    p->stall = calloc(m->llc_domains, sizeof(*p->stall));
    return good && p->threads && p->rate && p->misses && p->stall;
}

/* Rates of LOOP, whose cores computed for CPU_US together. */
static void take_rates(struct rates *r, const struct loop *loop, double cpu_us)
{
    r->nodes = (double)loop_active_nodes(loop);
    r->sync = loop->sync_share;
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
    bool fixed = in->controller_scale != 0 || in->link_scale != 0;

    if (fixed && (!(in->controller_scale > 0) || !(in->link_scale > 0) ||
                  !isfinite(in->controller_scale) || !isfinite(in->link_scale)))
        return false;
    return machine_check(in->machine) == MODEL_OK &&
           loop_check(first, NULL) == MODEL_OK &&
           (!second || (loop_check(second, NULL) == MODEL_OK &&
                        second->llc_domains == in->machine->llc_domains &&
                        second->numa_nodes == in->machine->numa_nodes &&
                        loop_active_nodes(second) != loop_active_nodes(first)));
}

static enum model_status learn(struct loopperf *p,
                               const struct loopperf_input *in)
{
    struct cputime_input cputime = {in->machine, in->method, in->first,
                                    p->controller_us, p->link_us};
    struct cputime time;
    enum model_status status = cputime_solve(&cputime, &time);

    if (status != MODEL_OK)
        return status;
    p->cores = (double)loop_cores(in->first);
    p->cpu_us = time.cpu_us * p->cores / in->first->work;
    take_rates(&p->profile[0], in->first, p->cpu_us * in->first->work);
    if (in->second)
        take_rates(&p->profile[1], in->second, p->cpu_us * in->second->work);
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
    if (allocate(p, in))
        status = learn(p, in);
    if (status == MODEL_OK)
        *out = p;
    else
        loopperf_free(p);
    return status;
}

/* On the line through both profiles at X (0: the first), not below 0. */
static double line(double first, double second, double x)
{
    return fmax(0, first + (second - first) * x);
}

/* What each of the threads asks memory J for on X of the way to the second
 * profile, slowed down by SLOWER. */
static struct loop_requests rate_at(const struct loopperf *p, size_t j,
                                    double x, double slower, double *misses)
{
    const struct rates *a = &p->profile[0];
    const struct rates *b = &p->profile[p->profiles - 1];
    struct loop_requests r = {
        line(a->rate[j].read, b->rate[j].read, x) / slower,
        line(a->rate[j].write, b->rate[j].write, x) / slower,
        line(a->rate[j].prefetch, b->rate[j].prefetch, x) / slower};

    /* Beyond both profiles lines may cross. */
    *misses = fmin(line(a->misses[j], b->misses[j], x) / slower,
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

enum model_status loopperf_predict(struct loopperf *p,
                                   const size_t *cores,
                                   const struct loopperf_smt *smt,
                                   struct loopperf_time *time)
{
    const struct machine *m = p->machine;
    struct loopperf_smt one = smt ? *smt : (struct loopperf_smt){1, 1};
    double nodes = 0, sum = 0, stall = 0;

    if (one.threads < 1 || !(one.yield >= 1) ||
        !(one.yield <= (double)one.threads))
        return MODEL_EINVAL;
    for (size_t i = 0; i < m->llc_domains; i++) {
        p->threads[i] = cores[i] * one.threads;
        nodes += cores[i] > 0;
        sum += (double)cores[i];
    }
    if (!(sum > 0))
        return MODEL_EINVAL;
    double slower = (double)one.threads / one.yield, x = place(p, nodes);
    for (size_t i = 0; i < m->llc_domains; i++)
        for (size_t j = 0; j < m->numa_nodes; j++) {
            size_t pair = i * m->numa_nodes + j;
            p->rate[pair] = rate_at(p, j, x, slower, &p->misses[pair]);
        }
    struct hierarchy_input in = {m,         p->method,        p->threads,
                                 p->rate,   p->misses,        p->controller_us,
                                 p->link_us};
    struct hierarchy_result result = {.stall = p->stall};
    enum model_status status = hierarchy_solve(&in, &result);
    if (status != MODEL_OK)
        return status;
    /* 3.15, by cores where LLC domains have different numbers of them. */
    for (size_t i = 0; i < m->llc_domains; i++)
        stall += p->stall[i] * (double)cores[i] / sum;
    time->cpu_us = p->cpu_us / sum / one.yield;
    time->stall_us = time->cpu_us * stall;
    double share = sync_at(p, sum, x);
    time->sync_us = (time->cpu_us + time->stall_us) * share / (1 - share);
    time->total_us = time->cpu_us + time->stall_us + time->sync_us;
    return MODEL_OK;
}

/* Fill SPEEDUP[count], adding all cores of an LLC domain or one core at a time. */
static enum model_status curve(struct loopperf *p, size_t count,
                               bool whole_nodes, double *speedup)
{
    const struct machine *m = p->machine;
    size_t *cores = calloc(m->llc_domains, sizeof(*cores)), node = 0;
    enum model_status status = cores ? MODEL_OK : MODEL_ENOMEM;
    double base = 0;

    for (size_t n = 0; n < count && status == MODEL_OK; n++) {
        struct loopperf_time time;

        while (node < m->llc_domains && cores[node] == machine_node_cpus(m, node))
            node++;
        if (node == m->llc_domains) { /* no more cores */
            status = MODEL_EINVAL;
            break;
        }
        cores[node] = whole_nodes ? machine_node_cpus(m, node)
                                  : cores[node] + 1;
        status = loopperf_predict(p, cores, NULL, &time);
        if (n == 0)
            base = time.total_us;
        speedup[n] = base / time.total_us;
    }
    free(cores);
    return status;
}

enum model_status loopperf_curve(struct loopperf *p, size_t count,
                                 double *speedup)
{
    return curve(p, count, true, speedup);
}

enum model_status loopperf_core_curve(struct loopperf *p, size_t count,
                                      double *speedup)
{
    return curve(p, count, false, speedup);
}

/* A place on a grid, equal ratios apart. */
static double grid_at(const struct loopperf_grid *grid, size_t step)
{
    return grid->steps == 1
               ? grid->low
               : grid->low * pow(grid->high / grid->low,
                                 (double)step / (double)(grid->steps - 1));
}

static bool grid_valid(const struct loopperf_grid *grid)
{
    return grid->steps >= 1 && grid->low > 0 && grid->high >= grid->low &&
           isfinite(grid->high);
}

/* Sum of relative errors (3.16) of one loop with the fixed service times of
 * INPUT; SPEEDUP is work space. */
static enum model_status case_error(struct loopperf_input *in,
                                    const struct loopperf_case *c,
                                    double *speedup, double *sum)
{
    struct loopperf *loop;
    enum model_status status;

    in->first = c->profile;
    status = loopperf_learn(in, &loop);
    if (status == MODEL_OK)
        status = loopperf_curve(loop, c->nodes, speedup);
    for (size_t n = 1; status == MODEL_OK && n < c->nodes; n++)
        *sum += fabs((c->speedup[n] - speedup[n]) / c->speedup[n]);
    loopperf_free(loop);
    return status;
}

/* What all tries share. */
struct search {
    struct loopperf_input in;
    const struct loopperf_case *cases;
    size_t count, points;
    double *speedup;
    struct loopperf_best best;
};

/* Count the predictions to compare with. */
static enum model_status count_points(struct search *s)
{
    for (size_t k = 0; k < s->count; k++) {
        const struct loopperf_case *c = &s->cases[k];
        if (c->nodes < 1 || c->nodes > s->in.machine->llc_domains)
            return MODEL_EINVAL;
        for (size_t n = 0; n < c->nodes; n++)
            if (!(c->speedup[n] > 0) || !isfinite(c->speedup[n]))
                return MODEL_EINVAL;
        s->points += c->nodes - 1;
    }
    return s->points ? MODEL_OK : MODEL_ENODATA;
}

/* Try the pair of scales in s->in; no solution is no failure. */
static enum model_status try_pair(struct search *s)
{
    enum model_status status = MODEL_OK;
    double sum = 0;

    for (size_t k = 0; k < s->count && status == MODEL_OK; k++)
        status = case_error(&s->in, &s->cases[k], s->speedup, &sum);
    if (status == MODEL_ENODATA || status == MODEL_ENOCONV)
        return MODEL_OK;
    if (status != MODEL_OK)
        return status;
    double mape = 100 * sum / (double)s->points;
    s->best.tried++;
    if (s->best.tried == 1 || mape < s->best.mape) {
        s->best.mape = mape;
        s->best.controller_scale = s->in.controller_scale;
        s->best.link_scale = s->in.link_scale;
    }
    return MODEL_OK;
}

enum model_status loopperf_best_fixed(const struct machine *machine,
                                      enum hierarchy_method method,
                                      const struct loopperf_case *cases,
                                      size_t count,
                                      const struct loopperf_grid *controller,
                                      const struct loopperf_grid *link,
                                      struct loopperf_best *best)
{
    struct search s = {.in = {.machine = machine, .method = method},
                       .cases = cases,
                       .count = count};
    enum model_status status;

    if (machine_check(machine) != MODEL_OK || !grid_valid(controller) ||
        !grid_valid(link))
        return MODEL_EINVAL;
    status = count_points(&s);
    if (status != MODEL_OK)
        return status;
    s.speedup = calloc(machine->llc_domains, sizeof(*s.speedup));
    if (!s.speedup)
        return MODEL_ENOMEM;
    for (size_t a = 0; a < controller->steps && status == MODEL_OK; a++)
        for (size_t b = 0; b < link->steps && status == MODEL_OK; b++) {
            if (b > 0 && machine->links == 0)
                break;
            s.in.controller_scale = grid_at(controller, a);
            s.in.link_scale = grid_at(link, b);
            status = try_pair(&s);
        }
    free(s.speedup);
    if (status == MODEL_OK && s.best.tried == 0)
        status = MODEL_ENODATA;
    if (status == MODEL_OK)
        *best = s.best;
    return status;
}
