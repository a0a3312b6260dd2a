/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Ask the model for a loop's speedups, given its counters. */

#include "tests/validate/predict.h"

#include <math.h>
#include <stdlib.h>

#include "model/analysis/loopperf.h"

/* COUNT servers with PLAIN service times for reads; NULL when out of memory. */
static struct machine_service *by_kind(const double *plain, size_t count)
{
    struct machine_service *service = calloc(count + 1, sizeof(*service));

    for (size_t i = 0; service && i < count; i++)
        service[i] = (struct machine_service){
            plain[i], WORLD_WRITE * plain[i], WORLD_PREFETCH * plain[i]};
    return service;
}

/* What the counters of P saw, in the model's words; NULL when out of memory. */
static struct loop *loop_of(const struct world *world,
                            const struct speedup_profile *p)
{
    const struct machine *machine = world->machine;
    struct loop *loop = loop_new(machine->llc_domains, machine->numa_nodes);

    if (!loop)
        return NULL;
    world_cores(world, p->dop, loop->cores);
    loop->total_us = (p->cpu_us + p->stall_us) / (double)loop_cores(loop);
    for (size_t i = 0; i < machine->llc_domains; i++)
        for (size_t m = 0; m < machine->numa_nodes; m++) {
            const double *n = p->requests[i][m];
            size_t pair = i * machine->numa_nodes + m;

            loop->requests[pair] = (struct loop_requests){
                n[MEMSYS_READ], n[MEMSYS_WRITE], n[MEMSYS_PREFETCH]};
            loop->read_misses[pair] = n[MEMSYS_READ];
        }
    return loop;
}

/* Predict all degrees of parallelism with one METHOD; false: none. */
static bool predict(const struct world *world,
                    const struct loopperf_input *input, double *speedup)
{
    struct loopperf *learnt;
    size_t cores[SPEEDUP_NODES];
    double base = 0;
    bool good = loopperf_learn(input, &learnt) == MODEL_OK;

    for (size_t i = 0; i < world->steps && good; i++) {
        struct loopperf_time time;

        world_cores(world, world->dop[i], cores);
        good = loopperf_predict(learnt, cores, &time) == MODEL_OK;
        base = i ? base : time.total_us;
        speedup[i] = base / time.total_us;
    }
    loopperf_free(learnt);
    return good;
}

void predict_speedups(const struct world *world, struct speedup_case *c)
{
    struct world own = world_new(c->world);
    struct machine *machine = own.machine;
    struct loop *one = loop_of(world, &c->profile[0]);
    struct loop *all = loop_of(world, &c->profile[1]);

    c->failed = !machine || !one || !all;
    if (!c->failed) {
        machine->controller_service =
            by_kind(machine->controller_service_us, machine->numa_nodes);
        machine->link_service =
            by_kind(machine->link_service_us, machine->links);
        c->failed = !machine->controller_service || !machine->link_service;
    }
    for (size_t k = 0; k < SPEEDUP_BEST_F && !c->failed; k++) {
        bool closed = k == SPEEDUP_CLOSED_S || k == SPEEDUP_CLOSED_T;
        bool twice = k == SPEEDUP_T || k == SPEEDUP_CLOSED_T;
        struct loopperf_input input = {
            .machine = machine,
            .method = closed ? HIERARCHY_CLOSED : HIERARCHY_STATIONS,
            .first = one,
            .second = twice ? all : NULL};

        c->known[k] = predict(world, &input, c->predicted[k]);
    }
    loop_free(one);
    loop_free(all);
    machine_free(machine);
}

/* ---- Best-F ---------------------------------------------------------------- */

struct fitted {
    const struct world *world; /* whose machine gets the service times */
    struct speedup_case *member[LOOPS];
    struct loop *profile[LOOPS];
    size_t members;
};

/* loopperf_error_f: the mean error; fills the members' predictions. */
static double best_f_error(void *arg, const double us[2])
{
    struct fitted *f = arg;
    double sum = 0, points = 0;

    loopperf_set_services(f->world->machine, us);
    for (size_t i = 0; i < f->members; i++) {
        struct speedup_case *c = f->member[i];
        struct loopperf_input input = {.machine = f->world->machine,
                                       .method = HIERARCHY_STATIONS,
                                       .first = f->profile[i]};

        if (!predict(f->world, &input, c->predicted[SPEEDUP_BEST_F]))
            return INFINITY;
        for (size_t s = 1; s < f->world->steps; s++, points++)
            sum += fabs(c->predicted[SPEEDUP_BEST_F][s] / c->truth[s] - 1);
    }
    return sum / points;
}

void predict_best_f(const struct world *world, struct speedup_case *cases, size_t count, size_t w)
{
    struct world own = world_new(w);
    struct fitted f = {.world = &own};
    bool ready = own.machine && own.machine->llc_domains > 1;

    for (size_t i = 0; i < count && ready; i++) {
        if (cases[i].world != w || cases[i].failed)
            continue;
        f.member[f.members] = &cases[i];
        f.profile[f.members] = loop_of(world, &cases[i].profile[0]);
        ready = f.profile[f.members++];
    }
    if (ready && f.members) {
        double us[2] = {own.machine->controller_service_us[0], own.machine->link_service_us[0]};
        bool good = loopperf_best_f(best_f_error, &f, true, us) &&
                    isfinite(best_f_error(&f, us));
        for (size_t i = 0; i < f.members; i++)
            f.member[i]->known[SPEEDUP_BEST_F] = good;
    }
    for (size_t i = 0; i < f.members; i++)
        loop_free(f.profile[i]);
    machine_free(own.machine);
}
