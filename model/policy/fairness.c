/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Common rule: nobody is much slower than its share of its speed alone. */

#include <math.h>
#include <string.h>

#include "model/policy/search/divide.h"
#include "model/policy/search/predict.h"
#include "model/policy/rules.h"
#include "model/policy/search/workspace.h"

struct balance {
    const struct policy_input *in;
    struct policy_workspace *ws;
    size_t *cores;
    double *bound; /* ws->alone, scaled */
    size_t unit;
};

void fairness_bounds(const struct policy_input *input, double *speed)
{
    double margin = input->fairness_percent / 100.0, weights = 0;
    size_t count = input->job_count;

    for (size_t j = 0; j < count; j++)
        weights += input->jobs[j].weight;
    for (size_t j = 0; j < count; j++) {
        double equal = 1 / (double)count;
        double share = input->jobs[j].weight / weights;
        speed[j] *= (1 - margin) * (share < equal ? share : equal);
    }
}

/* How far job J is above its bound: 1 just at it. */
static double above(const struct balance *b, size_t j)
{
    return b->bound[j] > 0 ? b->ws->speed[j] / b->bound[j] : INFINITY;
}

static size_t worst_off(const struct balance *b)
{
    size_t worst = b->in->job_count;

    for (size_t j = 0; j < b->in->job_count; j++)
        if (b->in->jobs[j].kind == REGION_PARALLEL &&
            b->cores[j] < b->in->jobs[j].max_cores &&
            (worst == b->in->job_count || above(b, j) < above(b, worst)))
            worst = j;
    return worst;
}

/* The job that is furthest above its bound and can spare a unit. */
static size_t best_off(const struct balance *b, size_t not)
{
    size_t best = b->in->job_count;

    for (size_t j = 0; j < b->in->job_count; j++)
        if (j != not && b->cores[j] >= b->in->jobs[j].min_cores + b->unit &&
            (best == b->in->job_count || above(b, j) > above(b, best)))
            best = j;
    return best;
}

/* Move a unit if that lifts the worst off without pushing another one as far
 * down; false when there is nothing more to do. */
static bool step(struct balance *b, size_t *moved, size_t *job)
{
    size_t none = b->in->job_count;
    size_t worst = worst_off(b);

    if (worst == none || above(b, worst) >= 1)
        return false;
    double before = above(b, worst);
    size_t giver = best_off(b, worst);
    if (giver == none)
        return false;
    size_t room = b->in->jobs[worst].max_cores - b->cores[worst];
    size_t unit = b->unit < room ? b->unit : room;
    b->cores[giver] -= unit;
    b->cores[worst] += unit;
    predict_cores(b->in, b->cores, b->ws->speed);
    if (above(b, worst) <= before || above(b, giver) <= before) {
        b->cores[giver] += unit;
        b->cores[worst] -= unit;
        return false;
    }
    *moved += unit;
    *job = worst;
    return true;
}

void fairness_apply(const struct policy_input *input,
                    struct policy_proposal *proposal, size_t *moved,
                    size_t *job)
{
    struct policy_workspace *ws = input->workspace;
    struct balance b = {
        .in = input,
        .ws = ws,
        .cores = proposal->cores,
        .bound = ws->alone,
        .unit = divide_unit(input),
    };

    *moved = 0;
    if (input->fairness_percent >= 100 || input->job_count < 2 ||
        !predict_begin(input)) /* nothing to compare */
        return;
    predict_alone(input, b.bound);
    if (proposal->placed)
        predict_layout(input, proposal->layout, ws->speed);
    else
        predict_cores(input, proposal->cores, ws->speed);
    fairness_bounds(input, b.bound);
    /* A third job may fall when all are placed anew, and the same divisions come again: no core
     * has to move more than once. */
    size_t steps = divide_pool(input) / b.unit;
    while (steps-- && step(&b, moved, job))
        ;
    if (*moved)
        proposal->placed = false;
}
