/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Who runs where on the simulated node, and how fast. */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/cpulist.h"
#include "simulator/vnode_private.h"

/* Jobs whose CPUs overlap, directly or through others. */
struct group {
    struct cosched_cpuset cpus; /* of all of them */
    size_t member[SCENARIO_MAX_JOBS];
    size_t members;
};

/* CPUs of load number LOAD. */
static struct cosched_cpuset cpus_of(const struct vnode *n, size_t load)
{
    struct cosched_cpuset cpus;

    vjob_cpus(n->rates.who[load], &cpus);
    return cpus;
}

int vnode_rates_init(struct vnode *n)
{
    struct vnode_rates *r = &n->rates;
    const struct machine *m = n->config->machine;
    size_t pairs = n->jobs * m->llc_domains;

    if (!(r->memory = virtual_memory_new(m, n->config->network, n->jobs)))
        return -1;
    r->cores = calloc(2 * pairs + 2 * pairs * m->numa_nodes + n->jobs +
                          m->numa_nodes + m->links,
                      sizeof(double));
    if (!r->cores)
        return -1;
    r->out.speed = r->cores + pairs;
    r->out.requests = r->out.speed + pairs;
    r->out.read_part = r->out.requests + pairs * m->numa_nodes;
    r->out.utilisation = r->out.read_part + n->jobs;
    r->asked = r->out.utilisation + m->numa_nodes + m->links;
    return 0;
}

void vnode_rates_free(struct vnode *n)
{
    virtual_memory_free(n->rates.memory);
    free(n->rates.cores);
}

static double *cores_of(const struct vnode *n, size_t load)
{
    return &n->rates.cores[load * n->config->machine->llc_domains];
}

/* Spread AMOUNT of load number LOAD evenly over CPUS. */
static void spread(const struct vnode *n, size_t load,
                   const struct cosched_cpuset *cpus, double amount)
{
    const struct machine *m = n->config->machine;
    double *cores = cores_of(n, load);
    int count = cpuset_count(cpus);

    memset(cores, 0, m->llc_domains * sizeof(*cores));
    for (int c = -1; (c = cpuset_next(cpus, c)) >= 0;)
        cores[m->llc_domain[c]] += amount / count;
}

/* ---- groups ------------------------------------------------------------- */

static void add_load(struct vnode *n, struct vjob *v)
{
    struct vnode_rates *r = &n->rates;
    size_t load = r->loads++;

    r->who[load] = v;
    r->load[load] = (struct virtual_load){
        .region = v->region,
        .cores = cores_of(n, load),
        .data = vjob_data(v),
        .local = v->region->placement == SCENARIO_LOCAL};
    memset(cores_of(n, load), 0,
           n->config->machine->llc_domains * sizeof(double));
    if (vjob_by_thread(v)) {
        struct cosched_cpuset cpus = cpus_of(n, load);
        double *asked = r->asked + load * n->config->machine->llc_domains *
                                       n->config->machine->numa_nodes;
        vjob_asks(v, &cpus, asked);
        r->load[load].asked = asked;
    }
}

/* Fill GROUPS of all that run; returns their number. */
static size_t find_groups(struct vnode *n, struct group *groups)
{
    struct cosched_cpuset cpus[SCENARIO_MAX_JOBS];
    size_t first[SCENARIO_MAX_JOBS]; /* of the group that a load is in */
    size_t count = 0;

    n->rates.loads = 0;
    for (size_t j = 0; j < n->jobs; j++) {
        struct vjob *v = &n->job[j];
        size_t load = n->rates.loads;
        v->speed = v->busy = v->spinning = v->waiting = 0;
        vjob_cpus(v, &cpus[load]);
        if (cpuset_empty(&cpus[load]))
            continue;
        add_load(n, v);
        first[load] = load;
        for (size_t k = 0; k < load; k++) {
            size_t from = first[load], to = first[k];
            if (from == to || !cpuset_intersects(&cpus[k], &cpus[load]))
                continue;
            for (size_t i = 0; i <= load; i++)
                if (first[i] == from)
                    first[i] = to;
        }
    }
    for (size_t load = 0; load < n->rates.loads; load++) {
        if (first[load] != load)
            continue;
        struct group *g = &groups[count++];
        *g = (struct group){.members = 0};
        for (size_t k = 0; k < n->rates.loads; k++)
            if (first[k] == load) {
                g->member[g->members++] = k;
                cpuset_or(&g->cpus, &cpus[k]);
            }
    }
    return count;
}

/* A job alone on its CPUs, with a thread for each at most. */
static bool has_cores(const struct vnode *n, const struct group *g)
{
    const struct vjob *v = n->rates.who[g->member[0]];

    if (g->members > 1)
        return false;
    return v->region->kind == REGION_SERIAL ||
           (v->what->malleable && !v->stock) ||
           v->team <= (size_t)cpuset_count(&g->cpus);
}

static void place_alone(struct vnode *n, const struct group *g)
{
    size_t load = g->member[0];
    struct vjob *v = n->rates.who[load];
    size_t cores = (size_t)cpuset_count(&g->cpus);

    if (v->region->kind == REGION_SERIAL) {
        struct cosched_cpuset one = {{0}};
        cpuset_add(&one, v->cpu);
        spread(n, load, &one, 1);
        return;
    }
    if (cores > v->team)
        cores = v->team;
    spread(n, load, &g->cpus, (double)cores * vjob_efficiency(v, cores));
}

/* Part of the time of load number LOAD's cores in which they are not stalled.  A
 * static schedule waits for the LLC domain with the worst way to memory, but for
 * the part BALANCED of its time in which its threads wander between the LLC
 * domains and all see the mean of them. */
static double unstalled(const struct vnode *n, size_t load, double balanced)
{
    const struct vjob *v = n->rates.who[load];
    size_t nodes = n->config->machine->llc_domains;
    const double *speed = &n->rates.out.speed[load * nodes];
    const double *cores = cores_of(n, load);
    double sum = 0, all = 0, slowest = INFINITY;

    for (size_t i = 0; i < nodes; i++) {
        if (!(cores[i] > 0))
            continue;
        sum += speed[i];
        all += cores[i];
        slowest = fmin(slowest, speed[i] / cores[i]);
    }
    if (!(all > 0))
        return 1;
    if (v->region->kind == REGION_SERIAL ||
        (v->what->malleable && !v->stock))
        return sum / all;
    return balanced * sum / all + (1 - balanced) * slowest;
}

/* ---- time sharing ------------------------------------------------------- */

struct sharing {
    struct vnode *node;
    const struct group *group;
};

/* How much of its time member SELF of a group has its threads moved between LLC
 * domains.  Cores near the memory are done first.  Once its threads sleep there,
 * such a core pulls one from a core where two wait to run; it finds one as far
 * as others compute beside it.  Alone, or where all spin, nobody is pulled. */
static double balanced(const struct sharing *s, const double *running,
                       size_t self)
{
    const struct timeshare_params *params = &s->node->params;
    double others = 0;

    for (size_t k = 0; k < s->group->members; k++)
        if (k != self)
            others += running[k];
    if (params->spin_s == INFINITY || !(running[self] > 0))
        return 0;
    return fmin(1, others / running[self]);
}

/* timeshare.h's question about memory. */
static enum model_status ask_memory(void *arg, const double *running,
                                    double *share)
{
    const struct sharing *s = arg;
    struct vnode_rates *r = &s->node->rates;

    for (size_t k = 0; k < s->group->members; k++) {
        size_t load = s->group->member[k];
        struct cosched_cpuset cpus = cpus_of(s->node, load);
        spread(s->node, load, &cpus, running[k]);
    }
    enum model_status rc =
        virtual_memory_solve(r->memory, r->load, r->loads, &r->out);
    for (size_t k = 0; k < s->group->members && rc == MODEL_OK; k++)
        share[k] =
            fmin(1, fmax(1e-9, unstalled(s->node, s->group->member[k],
                                         balanced(s, running, k))));
    return rc;
}

static enum model_status share_time(struct vnode *n, const struct group *g)
{
    struct sharing sharing = {n, g};
    struct timeshare_job jobs[SCENARIO_MAX_JOBS];
    struct timeshare_rate rate[SCENARIO_MAX_JOBS];
    struct timeshare_input in = {.params = &n->params,
                                 .cores = (size_t)cpuset_count(&g->cpus),
                                 .jobs = jobs,
                                 .count = g->members,
                                 .memory = ask_memory,
                                 .arg = &sharing};

    for (size_t k = 0; k < g->members; k++) {
        const struct vjob *v = n->rates.who[g->member[k]];
        struct cosched_cpuset cpus = cpus_of(n, g->member[k]);
        size_t own = (size_t)cpuset_count(&cpus), threads = v->team;
        /* Of its user-level threads a malleable one has a core's each; who may
         * use only some of the group's cores is on no others. */
        if ((v->what->malleable && !v->stock) ||
            (own < in.cores && threads > own))
            threads = own;
        jobs[k] = (struct timeshare_job){v->region, threads,
                                         v->what->sleeps};
        n->rates.load[g->member[k]].wanders = true;
    }
    enum model_status rc = timeshare_solve(&in, rate);
    for (size_t k = 0; k < g->members && rc == MODEL_OK; k++) {
        struct vjob *v = n->rates.who[g->member[k]];
        v->speed = rate[k].speed;
        v->busy = rate[k].computing;
        v->spinning = rate[k].spinning;
        double runnable = v->region->kind == REGION_SERIAL
                              ? 1 : rate[k].runnable * (double)jobs[k].threads;
        v->waiting = fmax(0, runnable - v->busy - v->spinning);
        struct cosched_cpuset cpus = cpus_of(n, g->member[k]);
        spread(n, g->member[k], &cpus, rate[k].computing);
    }
    return rc;
}

/* ---- all together ------------------------------------------------------- */

/* Cores of V's own on which its threads wait, and do not sleep. */
static double spinning_alone(const struct vnode *n, struct vjob *v)
{
    struct cosched_cpuset cpus;

    if (v->what->sleeps || (v->region->kind == REGION_SERIAL && n->params.spin_s < INFINITY))
        return 0;
    vjob_cpus(v, &cpus);
    return fmax(0, fmin((double)cpuset_count(&cpus), (double)v->team) - v->busy);
}

/* Speeds of those who have cores of their own. */
static void take_speed(struct vnode *n, size_t load)
{
    struct vjob *v = n->rates.who[load];
    const double *cores = cores_of(n, load);

    v->busy = 0;
    for (size_t i = 0; i < n->config->machine->llc_domains; i++)
        v->busy += cores[i];
    v->speed = v->busy * unstalled(n, load, 0);
    v->spinning = spinning_alone(n, v);
}

int vnode_rates_update(struct vnode *n, struct errtext *err)
{
    struct vnode_rates *r = &n->rates;
    struct group groups[SCENARIO_MAX_JOBS];
    size_t count = find_groups(n, groups), sharing = 0;
    enum model_status rc = MODEL_OK;

    for (size_t g = 0; g < count; g++) {
        bool alone = has_cores(n, &groups[g]);
        for (size_t k = 0; k < groups[g].members; k++)
            r->alone[groups[g].member[k]] = alone;
        if (alone)
            place_alone(n, &groups[g]);
        else
            sharing++;
    }
    /* Once more where there are several: the first of them did not know yet how
     * much the others compute. */
    for (size_t round = 0; round < 2 && round < sharing; round++)
        for (size_t g = 0; g < count && rc == MODEL_OK; g++)
            if (!has_cores(n, &groups[g]))
                rc = share_time(n, &groups[g]);
    if (rc == MODEL_OK)
        rc = virtual_memory_solve(r->memory, r->load, r->loads, &r->out);
    if (rc != MODEL_OK)
        return errtext_set(err, rc == MODEL_ENOMEM ? ENOMEM : ERANGE,
                           "scenario %s: no speeds for its jobs (%d)",
                           n->config->scenario->name, (int)rc);
    for (size_t g = 0; g < count; g++)
        if (has_cores(n, &groups[g]))
            take_speed(n, groups[g].member[0]);
    return 0;
}
