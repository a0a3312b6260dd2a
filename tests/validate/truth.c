/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What really happens: loops on machines, simulated. */

#include "tests/validate/truth.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NUMA_NODES 8 /* most of any world */
#define LINKS 64
#define PRECISION 0.004 /* half width of the 95 % interval */

static const struct memsys_kinds kind_factor = {
    .of = {[MEMSYS_READ] = 1,
           [MEMSYS_WRITE] = WORLD_WRITE,
           [MEMSYS_PREFETCH] = WORLD_PREFETCH}};

static void scale_kinds(const double *us, size_t count,
                        struct memsys_kinds *kinds)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < MEMSYS_KINDS; k++)
            kinds[i].of[k] = us[i] * kind_factor.of[k];
}

enum model_status truth_run(const struct world *world,
                            const struct loop_rates *rates, size_t jobs,
                            const size_t *cores,
                            const struct truth_variant *variant, uint64_t seed,
                            struct memsys_result *result)
{
    const struct machine *machine = world->machine;
    struct memsys_kinds rate[TRUTH_JOBS][NUMA_NODES];
    struct memsys_kinds controller[NUMA_NODES], link[LINKS];
    struct memsys_job job[TRUTH_JOBS];
    struct memsys_config config;
    double share = 1 / (double)machine->numa_nodes;

    memsys_defaults(&config);
    for (size_t j = 0; j < jobs; j++) {
        for (size_t m = 0; m < machine->numa_nodes; m++) {
            rate[j][m].of[MEMSYS_READ] = rates[j].read_per_us * share;
            rate[j][m].of[MEMSYS_WRITE] = rates[j].write_per_us * share;
            rate[j][m].of[MEMSYS_PREFETCH] = rates[j].prefetch_per_us * share;
        }
        job[j].rate_per_us = rate[j];
    }
    if (variant->by_kind) {
        scale_kinds(machine->controller_service_us, machine->numa_nodes,
                    controller);
        scale_kinds(machine->link_service_us, machine->links, link);
        config.controller_us = controller;
        config.link_us = link;
    }
    config.machine = machine;
    config.jobs = job;
    config.job_count = jobs;
    config.cores = cores;
    config.law = variant->law;
    config.window = variant->window;
    config.seed = seed;
    config.precision = PRECISION;
    return memsys_run(&config, result);
}

struct crew {
    const char *title;
    void (*work)(void *arg, size_t i);
    void *arg;
    size_t count;
    atomic_size_t next, done;
};

static void *labour(void *arg)
{
    struct crew *crew = arg;

    for (size_t i; (i = atomic_fetch_add(&crew->next, 1)) < crew->count;) {
        crew->work(crew->arg, i);
        size_t done = atomic_fetch_add(&crew->done, 1) + 1;
        size_t step = crew->count / 10 + 1;
        if (done % step == 0 || done == crew->count)
            fprintf(stderr, "%s: %zu of %zu\n", crew->title, done, crew->count);
    }
    return NULL;
}

void truth_parallel(const char *title, size_t count,
                    void (*work)(void *arg, size_t i), void *arg)
{
    struct crew crew = {.title = title, .work = work, .arg = arg,
                        .count = count};
    pthread_t thread[16];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t helpers = cores > 16 ? 15 : cores > 1 ? (size_t)cores - 1 : 0;
    size_t started = 0;

    while (started < helpers &&
           pthread_create(&thread[started], NULL, labour, &crew) == 0)
        started++;
    labour(&crew);
    while (started > 0)
        pthread_join(thread[--started], NULL);
}

/* Simulated scaling of LOOP from one to all LLC domains of WORLD. */
static double scaling(const struct world *world, const struct loop_traits *loop)
{
    static const struct truth_variant variant = {"", MEMSYS_EXPONENTIAL,
                                                 TRUTH_WINDOW, true};
    size_t all = world->machine->llc_domains, cores[16];
    double speed[2] = {1, 0};

    for (size_t i = 0; i < 2; i++) {
        size_t dop = i ? all : 1;
        struct loop_rates rates = loop_rates(loop, dop, all);
        struct memsys_result result;

        world_cores(world, dop, cores);
        if (truth_run(world, &rates, 1, cores, &variant, 17, &result) ==
            MODEL_OK) {
            speed[i] = result.jobs[0].speed.mean;
            memsys_release(&result);
        }
    }
    return speed[1] / speed[0];
}

struct calibration {
    struct world world;
    struct loop_traits loop[LOOPS];
    double got[LOOPS];
};

/* The scaling falls as the rate grows: bisection of its logarithm. */
static void calibrate(void *arg, size_t i)
{
    struct calibration *c = arg;
    double low = 0.1, high = 1000;

    for (int round = 0; round < 20; round++) {
        c->loop[i].rate_per_us = sqrt(low * high);
        c->got[i] = scaling(&c->world, &c->loop[i]);
        if (c->got[i] > c->loop[i].scaling)
            low = c->loop[i].rate_per_us;
        else
            high = c->loop[i].rate_per_us;
    }
}

int truth_calibrate(void)
{
    struct calibration c = {.world = world_new(0)};

    if (!c.world.machine)
        return -1;
    for (size_t i = 0; i < LOOPS; i++)
        c.loop[i] = loops[i];
    truth_parallel("calibrating", LOOPS, calibrate, &c);
    for (size_t i = 0; i < LOOPS; i++) {
        const struct loop_traits *l = &c.loop[i];
        printf("    {\"%s\", \"%s\", %.2f, %s, %.3g, %.2f, %.2f, "
               "{%.2f, %.2f}}, /* %.2f */\n",
               l->app, l->name, l->scaling, l->assumed ? "true" : "false",
               l->rate_per_us, l->growth, l->write, l->prefetch[0],
               l->prefetch[1], c.got[i]);
    }
    machine_free(c.world.machine);
    return 0;
}
