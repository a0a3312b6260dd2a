/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters without hardware: throughput at two DoPs, inverted by the model. */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "model/station.h"
#include "node_agent/counters/counters.h"

/* Fewer units of work than this say more about when we looked than about how
 * fast the job is: 1 / 16 is the error that one unit makes. */
#define ENOUGH_WORK 16

struct progress {
    size_t mem_nodes;
    double service_us; /* of one controller */
};

static int progress_open(const struct machine *machine,
                         const struct cosched_cpuset *cpus, void **state,
                         struct errtext *err)
{
    struct progress *p = calloc(1, sizeof(*p));

    (void)cpus;
    if (!p)
        return errtext_set(err, ENOMEM, "progress: out of memory");
    p->mem_nodes = machine->mem_nodes;
    p->service_us = machine->controller_service_us[0];
    *state = p;
    return 0;
}

static int progress_sample(void *state, struct counters_job *jobs, size_t count,
                           uint64_t elapsed_ns, struct errtext *err)
{
    (void)state;
    (void)err;
    for (size_t i = 0; i < count; i++)
        measure_add(jobs[i].measure, jobs[i].dop, elapsed_ns, jobs[i].work);
    return 0;
}

/* The two points with enough time whose DoPs are farthest apart. */
static bool choose_points(const struct measure *m, uint64_t enough_ns,
                          const struct measure_point **low,
                          const struct measure_point **high)
{
    *low = *high = NULL;
    for (size_t i = 0; i < MEASURE_POINTS; i++) {
        const struct measure_point *p = &m->point[i];
        if (!p->dop || p->time_ns < enough_ns)
            continue;
        if (!*low || p->dop < (*low)->dop)
            *low = p;
        if (!*high || p->dop > (*high)->dop)
            *high = p;
    }
    return *low && (*low)->dop < (*high)->dop;
}

/* The unit that moved most often at both points, or COUNTERS_UNITS when none
 * moved often enough.  More steps mean a finer measurement. */
static enum counters_unit choose_unit(const struct measure_point *a,
                                      const struct measure_point *b)
{
    enum counters_unit best = COUNTERS_UNITS;
    double most = 0;

    for (enum counters_unit u = 0; u < COUNTERS_UNITS; u++) {
        double least = a->work[u] < b->work[u] ? a->work[u] : b->work[u];
        if (least >= ENOUGH_WORK && least > most) {
            most = least;
            best = u;
        }
    }
    return best;
}

static double throughput(const struct measure_point *p, enum counters_unit u)
{
    return p->work[u] / ((double)p->time_ns * 1e-9);
}

static struct workload *progress_fit(void *state, const struct measure *measure,
                                     uint64_t enough_ns, double *rho,
                                     struct errtext *err)
{
    const struct progress *p = state;
    const struct measure_point *low, *high;

    if (!choose_points(measure, enough_ns, &low, &high)) {
        errtext_set(err, EAGAIN, "only one DoP was measured so far");
        return NULL;
    }
    enum counters_unit u = choose_unit(low, high);
    if (u == COUNTERS_UNITS) {
        errtext_set(err, EAGAIN, "too little work was done so far");
        return NULL;
    }
    enum model_status rc =
        station_fit_rho(low->dop, throughput(low, u), high->dop,
                        throughput(high, u), rho);
    if (rc != MODEL_OK) {
        errtext_set(err, EDOM, "throughputs %.4g at %zu and %.4g at %zu cores "
                               "do not fit the model",
                    throughput(low, u), low->dop, throughput(high, u),
                    high->dop);
        return NULL;
    }
    struct workload *w = workload_new_rho(p->mem_nodes, *rho, p->service_us);
    if (!w)
        errtext_set(err, EDOM, "progress: no workload for rho %g", *rho);
    return w;
}

static void progress_close(void *state)
{
    free(state);
}

const struct counters_backend counters_progress = {
    .name = "progress",
    .help = "progress: work reported by the jobs at two numbers of cores",
    .open = progress_open,
    .sample = progress_sample,
    .fit = progress_fit,
    .close = progress_close,
};
