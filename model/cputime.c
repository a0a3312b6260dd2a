/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How long a loop's threads really computed. */

#include "model/cputime.h"

#include <math.h>
#include <stdlib.h>

/* How many times steeper than between the last two points f may be. */
#define NEAR 100

/* The function f and what it needs. */
struct subject {
    const struct loop *loop;
    double total_us;            /* T: without synchronisation */
    struct loop_requests *rate; /* [pairs] per core and us */
    double *misses;             /* [pairs] likewise */
    double *stall;              /* [llc_domains] per us of CPU time */
    struct hierarchy_input input;
};

static enum model_status setup(struct subject *s,
                               const struct cputime_input *in)
{
    const struct machine *machine = in->machine;
    const struct loop *loop = in->loop;
    size_t pairs = loop->llc_domains * loop->numa_nodes;

    *s = (struct subject){.loop = loop};
    if (loop_check(loop, NULL) != MODEL_OK ||
        machine_check(machine) != MODEL_OK ||
        loop->llc_domains != machine->llc_domains ||
        loop->numa_nodes != machine->numa_nodes)
        return MODEL_EINVAL;
    s->total_us = loop->total_us * (1 - loop->sync_share);
    s->rate = calloc(pairs, sizeof(*s->rate));
    s->misses = calloc(pairs + loop->llc_domains, sizeof(*s->misses));
    if (!s->rate || !s->misses)
        return MODEL_ENOMEM;
    s->stall = s->misses + pairs;
    s->input = (struct hierarchy_input){.machine = machine,
                                        .method = in->method,
                                        .cores = loop->cores,
                                        .rate = s->rate,
                                        .misses = s->misses};
    return MODEL_OK;
}

static void release(struct subject *s)
{
    free(s->rate);
    free(s->misses);
}

/* *F = T less a thread's mean stall, if threads computed for CPU_US. */
static enum model_status evaluate(struct subject *s, double cpu_us, double *f)
{
    const struct loop *loop = s->loop;
    struct hierarchy_result result = {.stall = s->stall};
    double stall = 0;

    for (size_t i = 0; i < loop->llc_domains; i++) {
        double time = (double)loop->cores[i] * cpu_us;
        for (size_t j = 0; loop->cores[i] && j < loop->numa_nodes; j++) {
            size_t p = i * loop->numa_nodes + j;
            s->rate[p] = (struct loop_requests){
                loop->requests[p].read / time, loop->requests[p].write / time,
                loop->requests[p].prefetch / time};
            s->misses[p] = loop->read_misses[p] / time;
        }
    }
    enum model_status status = hierarchy_solve(&s->input, &result);
    for (size_t i = 0; status == MODEL_OK && i < loop->llc_domains; i++)
        stall += (double)loop->cores[i] * s->stall[i];
    *f = s->total_us - stall / (double)loop_cores(loop) * cpu_us;
    return status;
}

/* The next lower place: where the secant through C, G and the point before
 * meets 0, or C + G = f(C) if that is lower; 0 or less if it meets 0 nowhere
 * below. */
static double step(double before_c, double before_g, double c, double g)
{
    double slope = (before_g - g) / (before_c - c);

    /* g = f - c falls to the right of the greatest root, so a slope that does
     * not fall means that g passed its top without reaching 0. */
    if (!(slope < 0))
        return 0;
    return fmin(c + g, c - g / slope);
}

static void report(const struct subject *s, double cpu_us, int rounds,
                   struct cputime *result)
{
    *result = (struct cputime){cpu_us, s->total_us - cpu_us, rounds};
}

static enum model_status settle(struct subject *s, struct cputime *result)
{
    double before_c = INFINITY, before_g = 0, c = s->total_us, f;

    for (int round = 1; round <= CPUTIME_ROUNDS; round++) {
        double below = c * (1 - CPUTIME_TOLERANCE), g;
        enum model_status status = evaluate(s, c, &f);

        if (status != MODEL_OK)
            return status;
        g = f - c;
        if (g >= 0) { /* rounding: c is at the root */
            report(s, c, round, result);
            return MODEL_OK;
        }
        /* Only where it can be true, as g falls that steeply: it costs another
         * evaluation. */
        double slope = isinf(before_c) ? 1 : (before_g - g) / (c - before_c);
        if (-g < NEAR * CPUTIME_TOLERANCE * fmax(1, fabs(slope)) * c) {
            status = evaluate(s, below, &f);
            if (status != MODEL_OK)
                return status;
            if (f >= below) {
                report(s, c, round, result);
                return MODEL_OK;
            }
        }
        double next = isinf(before_c) ? c + g
                                      : step(before_c, before_g, c, g);
        if (!(next > 0))
            return MODEL_ENODATA;
        before_c = c;
        before_g = g;
        c = next;
    }
    return MODEL_ENOCONV;
}

enum model_status cputime_solve(const struct cputime_input *input,
                                struct cputime *result)
{
    struct subject s;
    enum model_status status = setup(&s, input);

    if (status == MODEL_OK)
        status = settle(&s, result);
    release(&s);
    return status;
}

enum model_status cputime_measured(const struct loop *loop,
                                   struct cputime *result)
{
    if (loop_check(loop, NULL) != MODEL_OK)
        return MODEL_EINVAL;
    struct loop_cycles c = loop_cycles(loop);
    if (!(c.useful > 0))
        return MODEL_ENODATA;
    double total_us = loop->total_us * (1 - loop->sync_share);
    *result = (struct cputime){
        .cpu_us = total_us * (c.useful / (c.useful + c.stalled)),
        .stall_us = total_us * (c.stalled / (c.useful + c.stalled))};
    return MODEL_OK;
}
