/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* One loop on more and more nodes: how well LoopPerf predicts its speedup. */

#include "tests/validate/speedups.h"

#include <math.h>

#include "tests/validate/predict.h"

#define WORK_US 1e6 /* of computing, in each run of a loop */

static const struct truth_variant variant = {"by-kind", MEMSYS_EXPONENTIAL,
                                             TRUTH_WINDOW, true};

const char *const speedup_method_names[SPEEDUP_METHODS] = {
    [SPEEDUP_S] = "LoopPerf-S, stations one by one (papers)",
    [SPEEDUP_T] = "LoopPerf-T, stations one by one (papers)",
    [SPEEDUP_CLOSED_S] = "LoopPerf-S, closed network",
    [SPEEDUP_CLOSED_T] = "LoopPerf-T, closed network",
    [SPEEDUP_BEST_F] = "Best-F (papers)",
};

/* The run's counters, as if the loop had WORK_US of computing to do: each run
 * of a loop does the same. */
static void take_profile(const struct machine *machine, size_t dop,
                         const struct memsys_result *r,
                         struct speedup_profile *p)
{
    double scale = WORK_US / r->jobs[0].cpu_us;

    *p = (struct speedup_profile){.dop = dop,
                                  .total_us = r->time_us * scale,
                                  .cpu_us = r->jobs[0].cpu_us * scale,
                                  .stall_us = r->jobs[0].stall_us * scale};
    for (size_t i = 0; i < machine->llc_domains; i++)
        for (size_t m = 0; m < machine->numa_nodes; m++)
            for (size_t k = 0; k < MEMSYS_KINDS; k++)
                p->requests[i][m][k] =
                    scale * r->requests[(i * machine->numa_nodes + m) *
                                            MEMSYS_KINDS + k];
}

static bool simulate(const struct world *world, size_t step,
                     struct speedup_case *c)
{
    size_t all = world->machine->llc_domains, dop = world->dop[step];
    struct loop_rates rates = loop_rates(&loops[c->loop], dop, all);
    struct memsys_result r;
    size_t cores[SPEEDUP_NODES];
    uint64_t seed = 50000 + (c->world * LOOPS + c->loop) * WORLD_STEPS + step;

    world_cores(world, dop, cores);
    if (truth_run(world, &rates, 1, cores, &variant, seed, &r) != MODEL_OK)
        return false;
    c->truth[step] = r.jobs[0].speed.mean;
    c->width[step] = r.jobs[0].speed.half_width;
    if (step == 0 || step + 1 == world->steps)
        take_profile(world->machine, dop, &r, &c->profile[step > 0]);
    memsys_release(&r);
    return true;
}

struct run {
    const struct world *worlds;
    struct speedup_case *cases;
};

static void run_case(void *arg, size_t i)
{
    const struct run *run = arg;
    struct speedup_case *c = &run->cases[i];
    const struct world *world = &run->worlds[c->world];

    for (size_t s = 0; s < world->steps && !c->failed; s++)
        c->failed = !simulate(world, s, c);
    for (size_t s = world->steps; s-- > 0 && !c->failed;) {
        /* Of a quotient; the base's own error is the same in all. */
        c->width[s] = hypot(c->width[s] / c->truth[s],
                            c->width[0] / c->truth[0]) *
                      c->truth[s] / c->truth[0];
        c->truth[s] /= c->truth[0];
    }
    if (!c->failed)
        predict_speedups(world, c);
}

size_t speedups_run(const struct world *worlds, struct speedup_case *cases)
{
    struct run run = {worlds, cases};
    size_t count = 0;

    for (size_t w = 0; w < WORLDS; w++)
        for (size_t l = 0; l < LOOPS && worlds[w].machine->llc_domains > 1; l++)
            cases[count++] = (struct speedup_case){.world = w, .loop = l};
    truth_parallel("speedups of loops", count, run_case, &run);
    for (size_t w = 0; w < WORLDS; w++)
        predict_best_f(&worlds[w], cases, count, w);
    return count;
}

struct speedup_errors speedups_errors(const struct world *worlds,
                                      const struct speedup_case *cases,
                                      size_t count, size_t world)
{
    struct speedup_errors e = {0};
    double points[SPEEDUP_METHODS] = {0}, simulated = 0;

    for (size_t i = 0; i < count; i++) {
        const struct speedup_case *c = &cases[i];

        if (c->failed || (world != WORLDS && c->world != world))
            continue;
        e.loops++;
        for (size_t k = 0; k < SPEEDUP_METHODS; k++)
            e.unknown[k] += !c->known[k];
        for (size_t s = 1; s < worlds[c->world].steps; s++) {
            e.noise += 100 * c->width[s] / c->truth[s];
            simulated++;
            for (size_t k = 0; k < SPEEDUP_METHODS; k++) {
                double error =
                    100 * fabs(c->predicted[k][s] / c->truth[s] - 1);
                if (!c->known[k])
                    continue;
                e.mape[k] += error;
                e.worst[k] = fmax(e.worst[k], error);
                points[k]++;
            }
        }
    }
    for (size_t k = 0; k < SPEEDUP_METHODS; k++)
        e.mape[k] /= fmax(1, points[k]);
    e.noise /= fmax(1, simulated);
    return e;
}
