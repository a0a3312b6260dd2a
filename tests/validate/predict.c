/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Ask the model for a loop's speedups, given its counters. */

#include "tests/validate/predict.h"

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
    for (size_t k = 0; k < SPEEDUP_METHODS && !c->failed; k++) {
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
