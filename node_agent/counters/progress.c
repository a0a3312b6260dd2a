/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters without hardware: throughput at several DoPs, inverted by the model. */

#include <errno.h>
#include <math.h>
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

static int progress_open(const struct counters_setup *setup, void **state,
                         struct errtext *err)
{
    struct progress *p = calloc(1, sizeof(*p));

    if (!p)
        return errtext_set(err, ENOMEM, "progress: out of memory");
    p->mem_nodes = setup->machine->mem_nodes;
    p->service_us = setup->machine->controller_service_us[0];
    *state = p;
    return 0;
}

static void progress_describe(const void *state,
                              struct counters_ability *ability)
{
    (void)state;
    ability[COUNTERS_WORK] = (struct counters_ability){
        .can = true,
        .why = "reports of cooperative jobs, at two or more DoPs"};
    for (size_t i = 0; i < COUNTERS_METRICS; i++)
        if (i != COUNTERS_WORK)
            snprintf(ability[i].why, sizeof(ability[i].why),
                     "no hardware is counted");
}

/* True when POINT was measured for long enough. */
static bool usable(const struct measure_point *p, uint64_t enough_ns)
{
    return p->dop && p->time_ns >= enough_ns;
}

/* The unit that moved most often at each of the usable points, or
 * COUNTERS_UNITS when none moved often enough.  More steps are a finer
 * measurement. */
static enum counters_unit choose_unit(const struct measure *m,
                                      uint64_t enough_ns)
{
    enum counters_unit best = COUNTERS_UNITS;
    double most = 0;

    for (enum counters_unit u = 0; u < COUNTERS_UNITS; u++) {
        double least = INFINITY;
        for (size_t i = 0; i < MEASURE_POINTS; i++)
            if (usable(&m->point[i], enough_ns) && m->point[i].work[u] < least)
                least = m->point[i].work[u];
        if (least >= ENOUGH_WORK && least > most) {
            most = least;
            best = u;
        }
    }
    return best;
}

static struct workload *progress_fit(const void *state,
                                     const struct measure *measure,
                                     uint64_t enough_ns,
                                     struct counters_fit *result,
                                     struct errtext *err)
{
    const struct progress *p = state;
    struct station_sample samples[MEASURE_POINTS];
    struct station_fit fit;
    size_t count = 0;

    for (size_t i = 0; i < MEASURE_POINTS; i++)
        count += usable(&measure->point[i], enough_ns);
    if (count < 2) {
        errtext_set(err, EAGAIN, "only %zu DoPs were measured so far", count);
        return NULL;
    }
    enum counters_unit u = choose_unit(measure, enough_ns);
    if (u == COUNTERS_UNITS) {
        errtext_set(err, EAGAIN, "too little work was done so far");
        return NULL;
    }
    count = 0;
    for (size_t i = 0; i < MEASURE_POINTS; i++) {
        const struct measure_point *m = &measure->point[i];
        double seconds = (double)m->time_ns * 1e-9;
        if (usable(m, enough_ns))
            samples[count++] = (struct station_sample){
                .cores = m->dop,
                .throughput = m->work[u] / seconds,
                .weight = seconds,
            };
    }
    enum model_status rc = station_fit_rho(samples, count, &fit);
    if (rc != MODEL_OK) {
        errtext_set(err, EDOM, "throughputs at %zu DoPs do not fit the model "
                               "(%d)",
                    count, (int)rc);
        return NULL;
    }
    result->rho = result->low = result->high = fit.rho;
    result->points = count;
    struct workload *w = workload_new_rho(p->mem_nodes, fit.rho, p->service_us);
    if (!w)
        errtext_set(err, EDOM, "no workload for an effective rho of %g",
                    fit.rho);
    return w;
}

static void progress_close(void *state)
{
    free(state);
}

const struct counters_backend counters_progress = {
    .name = "progress",
    .help = "work reported by the jobs at several numbers of cores",
    .flags = COUNTERS_AUTO | COUNTERS_STILL,
    .open = progress_open,
    .describe = progress_describe,
    .fit = progress_fit,
    .close = progress_close,
};
