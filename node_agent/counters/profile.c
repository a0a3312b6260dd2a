/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From a counted loop to the model's workload. */

#include <errno.h>
#include <math.h>

#include "model/cache_power.h"
#include "model/cputime.h"
#include "model/locality.h"
#include "node_agent/counters/attribute.h"

/* Largest effective rho that stalled cycles can tell: beyond it one core fills
 * a controller ten thousand times over. */
#define RHO_MAX 1e4

/* Share of a core's time that it computes when CORES of load RHO each meet at
 * one station: (1/lambda) / (1/lambda + R_n) by the recurrence of 4.2.1. */
static double computing_share(size_t cores, double rho)
{
    double queue = 0, response = 0;

    for (size_t n = 1; n <= cores; n++) {
        response = rho * (1 + queue); /* in units of 1 / lambda */
        queue = (double)n * response / (1 + response);
    }
    return 1 / (1 + response);
}

/* The rho at which CORES compute for SHARE of their time, nearly: Newton's
 * steps for the total time 1 + R_n, which is convex, from above, as R_n is rho
 * at least. */
static double rho_near(size_t cores, double share)
{
    double rho = fmin(1 / share - 1, RHO_MAX);

    for (int i = 0; i < 60; i++) {
        double queue = 0, response = 0, queue_slope = 0, slope = 0;

        for (size_t n = 1; n <= cores; n++) {
            double part = 1 / (1 + rho * (1 + queue));
            response = rho * (1 + queue);
            slope = 1 + queue + rho * queue_slope;
            queue = (double)n * response * part;
            queue_slope = (double)n * slope * part * part;
        }
        double step = (1 + response - 1 / share) / slope;
        rho = fmax(0, fmin(rho - step, RHO_MAX));
        if (!(fabs(step) > 1e-10 * rho))
            break;
    }
    return rho;
}

/* The least rho at which CORES compute for SHARE of their time at most, by
 * halving an interval until nothing is left of it. */
static double rho_of_share(size_t cores, double share)
{
    if (share >= 1)
        return 0;
    double near = rho_near(cores, share), low = 0, high = RHO_MAX;

    for (double width = 1e-13; width < 1; width *= 100) {
        double below = near * (1 - width), above = near * (1 + width);
        if (above < high && computing_share(cores, above) <= share &&
            computing_share(cores, below) > share) {
            low = below;
            high = above;
            break;
        }
    }
    for (;;) {
        double middle = (low + high) / 2;
        if (!(low < middle && middle < high))
            return high;
        if (computing_share(cores, middle) > share)
            low = middle;
        else
            high = middle;
    }
}

/* Load that W puts on MEMORY, with the mix of LOOP's requests. */
static double load_of(const struct machine *machine, const struct loop *loop,
                      const struct workload *w, size_t memory)
{
    struct loop_requests mix = loop_requests_to(loop, memory);
    struct machine_service service =
        machine_controller_service(machine, memory);

    return w->rate[memory].mrr_per_us *
           machine_service_mix(&service, mix.read, mix.write, mix.prefetch);
}

static struct workload *rates(const struct machine *machine, const struct loop *loop, double cpu_us)
{
    struct workload *w = workload_new(loop->numa_nodes);
    double time = cpu_us * (double)loop_cores(loop);

    if (!w)
        return NULL;
    for (size_t m = 0; m < loop->numa_nodes; m++) {
        struct loop_requests r = loop_requests_to(loop, m);
        w->rate[m].mrr_per_us = (r.read + r.write + r.prefetch) / time;
        w->rate[m].read_per_us = loop_misses_to(loop, m) / time;
    }
    for (size_t n = 0; n < loop->llc_domains; n++) {
        if (loop->cores[n] && !(loop->llc_accesses[n] > 0)) {
            w->llc_per_us = 0;
            break;
        }
        w->llc_per_us += loop->llc_accesses[n] / time;
    }
    w->llc_cores = cache_power_cores(loop->cores, loop->llc_domains);
    w->locality = locality_measured(machine, loop);
    w->sync_share = fmin(1, loop->sync_share * (double)machine_all_cpus(machine) /
                                (double)loop_cores(loop)); /* 4.11 */
    return w;
}

/* Without measured service times only loads mean anything: give the rates the
 * load that the stalled cycles show, and keep their proportions. */
static void scale_to_load(const struct machine *machine,
                          const struct loop *loop, double share,
                          struct workload *w)
{
    double rho = rho_of_share(loop_cores(loop), share), sum = 0;

    for (size_t m = 0; m < w->numa_nodes; m++)
        sum += load_of(machine, loop, w, m);
    for (size_t m = 0; m < w->numa_nodes; m++) {
        if (sum > 0) {
            w->rate[m].mrr_per_us *= rho / sum;
            w->rate[m].read_per_us *= rho / sum;
        } else { /* cycles alone were counted */
            w->rate[m].mrr_per_us = w->rate[m].read_per_us =
                rho / machine->controller_service_us[m] /
                (double)w->numa_nodes;
        }
    }
}

struct workload *attribute_profile(const struct machine *machine,
                                   bool calibrated, const struct loop *loop,
                                   double *rho)
{
    struct cputime_input input = {.machine = machine,
                                  .method = HIERARCHY_CLOSED,
                                  .loop = loop};
    struct cputime cpu, measured;
    /* What is computed from the loop's own requests knows nothing of those that
     * others make at the same time, and takes long; stalled cycles do. */
    bool stalls = cputime_measured(loop, &measured) == MODEL_OK;

    if (!stalls && !(calibrated && cputime_solve(&input, &cpu) == MODEL_OK)) {
        errno = ENODATA;
        return NULL;
    }
    struct workload *w = rates(machine, loop, stalls ? measured.cpu_us : cpu.cpu_us);
    if (!w) {
        errno = ENOMEM;
        return NULL;
    }
    if (!calibrated)
        scale_to_load(machine, loop,
                      measured.cpu_us / (measured.cpu_us + measured.stall_us), w);
    *rho = 0;
    for (size_t m = 0; m < w->numa_nodes; m++)
        *rho = fmax(*rho, load_of(machine, loop, w, m));
    if (workload_check(w) != MODEL_OK) {
        workload_free(w);
        errno = ENODATA;
        return NULL;
    }
    return w;
}
