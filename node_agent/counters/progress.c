/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters without hardware: throughput at several DoPs, inverted by the model. */

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "model/throughput.h"
#include "node_agent/counters/counters.h"

/* Relative error of a rate from which on a guess is better than nothing: while
 * one profile is unknown, all jobs get equal shares. */
#define GUESS_ERROR (4 * THROUGHPUT_FLOOR)

/* Best guess of a rho of which only the lower bound is known, over that. */
#define ROUGHLY 4.0

static int progress_open(const struct counters_setup *setup, void **state,
                         struct errtext *err)
{
    (void)setup;
    (void)err;
    *state = NULL; /* counts nothing */
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

/* The rates of UNIT at all points that have one. */
static size_t collect(const struct measure *m, enum counters_unit unit,
                      struct throughput_point *point)
{
    size_t count = 0;

    for (size_t i = 0; i < MEASURE_POINTS; i++) {
        const struct measure_point *p = &m->point[i];
        point[count].cores = p->dop;
        if (p->dop && p->series &&
            throughput_rate(&p->series[unit], &point[count].rate) == MODEL_OK)
            count++;
    }
    return count;
}

/* The unit in which the worst known point is known best, or
 * COUNTERS_UNITS when no unit is known at two. */
static enum counters_unit choose_unit(const struct measure *m)
{
    enum counters_unit best = COUNTERS_UNITS;
    double least = INFINITY;

    for (enum counters_unit u = 0; u < COUNTERS_UNITS; u++) {
        struct throughput_point point[MEASURE_POINTS];
        double worst = 0;
        size_t count = collect(m, u, point);
        for (size_t i = 0; i < count; i++)
            worst = fmax(worst, point[i].rate.error);
        if (count >= 2 && worst < least) {
            least = worst;
            best = u;
        }
    }
    return best;
}

/* True when two rates are known well, and yet rho is not. */
static bool may_guess(const struct throughput_point *point, size_t count)
{
    size_t good = 0;

    for (size_t i = 0; i < count; i++)
        good += point[i].rate.error <= GUESS_ERROR;
    return good >= 2;
}

struct workload *progress_fit(const struct machine *machine,
                              const struct measure *measure,
                              struct counters_fit *result, struct errtext *err)
{
    struct throughput_point point[MEASURE_POINTS];
    struct throughput_rho fit;
    enum counters_unit u = choose_unit(measure);

    if (u == COUNTERS_UNITS) {
        errtext_set(err, EAGAIN, "too little work was seen at two DoPs so far");
        return NULL;
    }
    size_t count = collect(measure, u, point);
    enum model_status rc = throughput_fit(point, count, &fit);
    if (rc != MODEL_OK) {
        errtext_set(err, EDOM, "throughputs at %zu DoPs do not fit the model "
                               "(%d)",
                    count, (int)rc);
        return NULL;
    }
    enum throughput_verdict verdict = throughput_judge(&fit, machine_all_cpus(machine));
    result->low = fit.low;
    result->high = fit.high;
    result->points = count;
    result->compute_bound = verdict == THROUGHPUT_COMPUTE;
    /* Where only a lower bound is known, the best fit may be anything. */
    result->rho = fit.low > 0 ? fmin(fit.rho, ROUGHLY * fit.low) : fit.rho;
    if (verdict == THROUGHPUT_OPEN && !may_guess(point, count)) {
        errtext_set(err, EAGAIN, "effective rho between %.3g and %.3g: more is "
                                 "to be measured",
                    fit.low, fit.high);
        return NULL;
    }
    struct workload *w = workload_new_rho(machine->numa_nodes, result->rho,
                                          machine->controller_service_us[0]);
    if (!w)
        errtext_set(err, EDOM, "no workload for an effective rho of %g",
                    result->rho);
    return w;
}

static void progress_close(void *state)
{
    (void)state;
}

const struct counters_backend counters_progress = {
    .name = "progress",
    .help = "work reported by the jobs at several numbers of cores",
    .flags = COUNTERS_AUTO | COUNTERS_STILL,
    .open = progress_open,
    .describe = progress_describe,
    .close = progress_close,
};
