/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "amdahl": Amdahl bidding (Zahedi, Llull and Lee, HPCA 2018).
 *
 * Two profiles at different numbers of cores give a job's parallel fraction f
 * and so its speedup s(x) = x / (x (1 - f) + f).  Jobs bid for cores with
 * bids in proportion to w sqrt(f) s(x), each bid buys its share of the pool,
 * and the bids are renewed until they settle.  A job that scales perfectly
 * outbids all others in the end; that is what the thesis (4.4.2) observed of
 * it, and what minima and the fairness bound are for. */

#include <math.h>
#include <stdio.h>

#include "model/policy/search/divide.h"
#include "model/policy/search/predict.h"
#include "model/policy/shares.h"
#include "model/policy/search/workspace.h"

#define ROUNDS 200
#define SETTLED 1e-6

/* Of policy_proposal.figure: smallest and largest fraction, and whether all
 * were known. */
enum { LEAST, MOST, KNOWN };

/* Add a point: TIME per unit of work is a + b / cores. */
struct line {
    double n, x, y, xx, xy;
};

static void line_add(struct line *line, double cores, double throughput)
{
    double x = 1 / cores, y = 1 / throughput;

    line->n++;
    line->x += x;
    line->y += y;
    line->xx += x * x;
    line->xy += x * y;
}

/* Karp and Flatt: the parallel part of the time on one core.  NAN when the
 * points do not tell. */
static double line_fraction(const struct line *line)
{
    double det = line->n * line->xx - line->x * line->x;

    if (line->n < 2 || !(det > 1e-12))
        return NAN;
    double b = (line->n * line->xy - line->x * line->y) / det;
    double a = (line->y - b * line->x) / line->n;
    return a + b > 0 ? fmin(fmax(b / (a + b), 0), 1) : NAN;
}

/* From measured points, else from two predictions. */
static double fraction(const struct policy_input *input, size_t j, bool model)
{
    const struct policy_job *job = &input->jobs[j];
    struct line line = {0};
    double f = NAN;

    if (job->kind == REGION_SERIAL)
        return 0;
    for (size_t i = 0; job->facts && i < job->facts->point_count; i++)
        line_add(&line, (double)job->facts->points[i].cores,
                 job->facts->points[i].throughput);
    f = line_fraction(&line);
    if (!isnan(f) || !model || job->max_cores < 2)
        return f;
    line = (struct line){0};
    for (size_t part = 1; part <= 2; part++) {
        struct policy_workspace *ws = input->workspace;
        for (size_t k = 0; k < input->job_count; k++)
            ws->trial[k] = k == j ? (job->max_cores + part - 1) / part : 0;
        predict_cores(input, ws->trial, ws->speed);
        line_add(&line, (double)ws->trial[j], ws->speed[j]);
    }
    return line_fraction(&line);
}

static double speedup(double f, double cores)
{
    return cores / (cores * (1 - f) + f);
}

/* Renew the bids until they settle; SHARE holds cores, F fractions. */
static void bid(const struct policy_input *input, const double *f,
                double *share)
{
    double pool = (double)divide_pool(input), change = 1;
    size_t count = input->job_count;

    for (size_t j = 0; j < count; j++)
        share[j] = pool / (double)count;
    for (int round = 0; round < ROUNDS && change > SETTLED; round++) {
        double sum = 0;

        change = 0;
        for (size_t j = 0; j < count; j++)
            sum += input->jobs[j].weight * sqrt(f[j]) * speedup(f[j], share[j]);
        for (size_t j = 0; j < count && sum > 0; j++) {
            double next = pool * input->jobs[j].weight * sqrt(f[j]) *
                          speedup(f[j], share[j]) / sum;
            next = fmax(next, 1); /* a core is the least that anyone has */
            change = fmax(change, fabs(next - share[j]));
            share[j] = next;
        }
    }
}

/* The job that is furthest below what its bid buys grows next. */
static double below_bid(void *arg, const size_t *cores, size_t job)
{
    const struct policy_input *input = arg;

    return -(double)cores[job] / input->workspace->alone[job];
}

static enum model_status decide(const struct policy_input *input, void *memory,
                                struct policy_proposal *proposal)
{
    struct policy_workspace *ws = input->workspace;
    bool model = predict_begin(input);
    double f[POLICY_MAX_JOBS];

    (void)memory;
    proposal->figure[LEAST] = 1;
    proposal->figure[KNOWN] = true;
    for (size_t j = 0; j < input->job_count; j++) {
        ws->alone[j] = fraction(input, j, model);
        if (isnan(ws->alone[j])) {
            proposal->figure[KNOWN] = false;
            equal_shares(input, proposal->cores);
            return MODEL_OK;
        }
    }
    for (size_t j = 0; j < input->job_count; j++) {
        f[j] = ws->alone[j];
        if (input->jobs[j].kind == REGION_SERIAL)
            continue;
        proposal->figure[LEAST] = fmin(proposal->figure[LEAST], f[j]);
        proposal->figure[MOST] = fmax(proposal->figure[MOST], f[j]);
    }
    bid(input, f, ws->alone);
    divide(input, below_bid, (void *)(uintptr_t)input, proposal->cores);
    return MODEL_OK;
}

static void explain(const struct policy_input *input,
                    const struct policy_proposal *proposal, char *text,
                    size_t size)
{
    (void)input;
    if (proposal->figure[KNOWN])
        snprintf(text, size, "bids by Amdahl's law, parallel fractions %.4f to "
                             "%.4f", proposal->figure[LEAST],
                 proposal->figure[MOST]);
    else
        snprintf(text, size, "equal shares until each job was measured at two "
                             "numbers of cores");
}

const struct policy policy_amdahl = {
    .name = "amdahl",
    .help = "cores in proportion to bids by Amdahl's law from two profiles",
    .profiles = true,
    .decide = decide,
    .explain = explain,
};
