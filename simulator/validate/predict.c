/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Ask the model for a loop's speedups, given its counters. */

#include "simulator/validate/predict.h"

#include <math.h>

#include "model/closed.h"

/* A machine whose service times are those of the loop's mix (thesis 3.13),
 * and what a core asks of each memory node. */
struct subject {
    const struct world *world;
    struct machine *machine;
    struct workload *work;
    bool closed; /* all stations together, or one by one as in the papers */
};

/* Requests of the whole run to one memory node, by kind. */
struct demand {
    double of[SPEEDUP_MEM_NODES][MEMSYS_KINDS];
};

static struct demand demand_of(const struct machine *machine,
                               const struct speedup_profile *p)
{
    struct demand d = {0};

    for (size_t i = 0; i < machine->cpu_nodes; i++)
        for (size_t m = 0; m < machine->mem_nodes; m++)
            for (size_t k = 0; k < MEMSYS_KINDS; k++)
                d.of[m][k] += p->requests[i][m][k];
    return d;
}

/* The straight line of thesis 3.4.2 through both profiles. */
static struct demand between(const struct demand *one, const struct demand *all,
                             double x)
{
    struct demand d;

    for (size_t m = 0; m < SPEEDUP_MEM_NODES; m++)
        for (size_t k = 0; k < MEMSYS_KINDS; k++)
            d.of[m][k] = one->of[m][k] + (all->of[m][k] - one->of[m][k]) * x;
    return d;
}

/* Speed on DOP nodes of a loop that makes DEMAND in CPU_US of computing;
 * negative on failure. */
static double speed(struct subject *s, size_t dop, const struct demand *d,
                    double cpu_us)
{
    struct machine *machine = s->machine;
    const struct machine *plain = s->world->machine;
    const struct workload *profile = s->work;
    size_t cores[SPEEDUP_NODES];
    struct system_input in = {machine, 1, &profile, NULL, cores, MVA_AVERAGE};
    enum model_status status;
    double result = 0, all = 0, cost = 0;
    struct closed_result out = {.job_speed = &result};
    struct system_result system;

    for (size_t m = 0; m < machine->mem_nodes; m++) {
        const double *n = d->of[m];
        double sum = n[MEMSYS_READ] + n[MEMSYS_WRITE] + n[MEMSYS_PREFETCH];
        double time = n[MEMSYS_READ] + WORLD_WRITE * n[MEMSYS_WRITE] +
                      WORLD_PREFETCH * n[MEMSYS_PREFETCH];

        s->work->rate[m] = (struct workload_rate){sum / cpu_us,
                                                  n[MEMSYS_READ] / cpu_us};
        machine->controller_service_us[m] =
            plain->controller_service_us[m] * time / sum;
        all += sum;
        cost += time;
    }
    for (size_t l = 0; l < machine->links; l++)
        machine->link_service_us[l] = plain->link_service_us[l] * cost / all;
    world_cores(s->world, dop, cores);
    status = s->closed ? closed_solve(NETWORK_LINEARIZER, &in, &out)
                       : system_solve(&in, &system, &result);
    return status == MODEL_OK ? result : -1;
}

/* Does a loop that has CPU_US of computing to do take no longer than PROFILE's
 * run?  Less computing means a higher rate of requests and less speed. */
static bool fits(struct subject *s, const struct speedup_profile *p,
                 const struct demand *d, double cpu_us)
{
    return speed(s, p->dop, d, cpu_us) * p->total_us >= cpu_us;
}

/* Computing that a profile's run had to do, core us: where it takes as long as
 * was measured (3.11).  Like the papers' iteration (3.12) this begins at the
 * total time and goes down to the first solution; then it halves the interval.
 * Negative if there is none: stalls alone are said to take longer. */
static double computing(struct subject *s, const struct speedup_profile *p,
                        const struct demand *d)
{
    double most = p->cpu_us + p->stall_us, high = most, low = 0.95 * most;

    while (!fits(s, p, d, low)) {
        high = low;
        low *= 0.95;
        if (low < 1e-3 * most)
            return -1;
    }
    while (high - low > 1e-9 * most) {
        double middle = (low + high) / 2;

        if (fits(s, p, d, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* LoopPerf-S and -T (thesis 3.14, 3.15, 3.4.2) with one solver of the
 * stations. */
static void predict(struct subject *s, struct speedup_case *c)
{
    const struct world *world = s->world;
    size_t all = world->dop[world->steps - 1];
    struct demand one = demand_of(world->machine, &c->profile[0]);
    struct demand many = demand_of(world->machine, &c->profile[1]);
    double cpu_us = computing(s, &c->profile[0], &one);
    double base = cpu_us > 0 ? speed(s, 1, &one, cpu_us) : -1;

    for (size_t t = 0; t < 2 && base > 0; t++) {
        size_t method = (s->closed ? SPEEDUP_CLOSED_S : SPEEDUP_S) + t;

        c->known[method] = true;
        for (size_t i = 0; i < world->steps; i++) {
            double x = t ? (double)(world->dop[i] - 1) / (double)(all - 1) : 0;
            struct demand d = between(&one, &many, x);
            double v = speed(s, world->dop[i], &d, cpu_us);

            c->known[method] = c->known[method] && v > 0;
            c->predicted[method][i] = v / base;
        }
    }
}

void predict_speedups(const struct world *world, struct speedup_case *c)
{
    struct world own = world_new(c->world);
    struct subject s = {.world = world, .machine = own.machine,
                        .work = workload_new(world->machine->mem_nodes)};

    c->failed = !s.machine || !s.work;
    for (int closed = 0; closed < 2 && !c->failed; closed++) {
        s.closed = closed;
        predict(&s, c);
    }
    workload_free(s.work);
    machine_free(s.machine);
}
