/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "corun": whether to share at all, then the division that ends first.
 *
 * Candidates are the divisions of the simple policies (equal, greedy) and one
 * of its own, in which each next unit goes to the job that would end last.  The
 * best of them by the completion (completion.h) is improved by moving single units
 * while that helps.  Sharing must beat running the parallel jobs one after the
 * other by a margin; else they take turns: the shortest first where all
 * remaining work is known, in slices of time where it is not and the makespan
 * counts, in order of arrival where the average does. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/policy/search/divide.h"
#include "model/policy/search/arrange.h"
#include "model/policy/search/predict.h"
#include "model/policy/rules.h"
#include "model/policy/shares.h"
#include "model/policy/state.h"
#include "model/policy/search/workspace.h"

enum { OBJECTIVE = POLICY_OWN, GAIN, EFFORT, LOSS, REGRET };

/* Of policy_proposal.figure. */
enum { SHARED, TURNS, SIMPLE, KIND };
enum { BLIND, ALONE, RELATIVE, SECONDS };

static const struct policy_option options[] = {
    {"objective", "what is minimised", 0, 0, 1, "makespan|turnaround"},
    {"gain", "by how much sharing must be better than taking turns", -0.1, -1, 1,
     NULL},
    {"effort", "predictions at most for the improvement of a division", 100, 0,
     1e6, NULL},
    COMPLETION_LOSS_OPTION,
    COMPLETION_REGRET_OPTION,
    {0},
};

/* Gains below this are none. */
#define TIE 1e-4

struct corun {
    struct arrange *arrange;
    struct completion completion;
    size_t best[POLICY_MAX_JOBS], trial[POLICY_MAX_JOBS];
    size_t order[POLICY_MAX_JOBS];
    double end[POLICY_MAX_JOBS]; /* of best */
    double time, cost;           /* of best */
    double fair[POLICY_MAX_JOBS]; /* speeds below which a job is wronged */
};

static void corun_free(void *memory)
{
    struct corun *c = memory;

    arrange_free(c->arrange);
    free(c);
}

static void *corun_new(const struct machine *machine)
{
    struct corun *c = calloc(1, sizeof(*c));

    if (c && !(c->arrange = arrange_new(machine))) {
        free(c);
        return NULL;
    }
    return c;
}

/* Make corun->trial the best division if it is better. */
static enum model_status consider(struct corun *c, bool *better)
{
    size_t count = c->completion.in->job_count;
    double time;
    enum model_status status = completion_time(&c->completion, c->trial, &time);
    double cost = completion_cost(&c->completion, c->fair);

    *better = status == MODEL_OK && cost < c->cost * (1 - TIE);
    if (*better) {
        c->cost = cost;
        c->time = time;
        memcpy(c->best, c->trial, count * sizeof(*c->best));
        memcpy(c->end, c->completion.end, count * sizeof(*c->end));
    }
    return status;
}

static enum model_status speeds_now(void *arg, const size_t *cores)
{
    struct corun *c = arg;

    c->completion.predictions++;
    predict_cores(c->completion.in, cores, c->completion.speed);
    return MODEL_OK;
}

static enum model_status time_needed(void *arg, const size_t *cores, size_t job,
                                     double *score)
{
    const struct completion *o = &((struct corun *)arg)->completion;

    (void)cores;
    *score = o->work[job] / o->speed[job];
    return MODEL_OK;
}

/* The best of the simple divisions and of that in which each next unit goes to
 * the job that would end last.  *SIMPLE: the time of the best simple one. */
static enum model_status candidates(struct corun *c,
                                    const struct policy_input *input,
                                    size_t *layout, double *simple)
{
    struct policy_proposal greedy = {.cores = c->trial};
    bool better;

    c->time = c->cost = INFINITY;
    enum model_status status = equal_shares(input, c->trial);
    if (status == MODEL_OK) {
        completion_floor(&c->completion, c->trial, input->options[LOSS],
                      input->options[REGRET], layout);
        status = consider(c, &better);
    }
    if (status == MODEL_OK)
        status = greedy_dop(input, NULL, &greedy);
    if (status == MODEL_OK)
        status = consider(c, &better);
    *simple = c->time;
    if (status == MODEL_OK)
        status = divide_from(input, speeds_now, time_needed, c, c->trial);
    if (status == MODEL_OK)
        status = consider(c, &better);
    return status;
}

/* Try the best division with a unit moved from job FROM to job TO. */
static enum model_status try_move(struct corun *c, size_t from, size_t to,
                                  size_t unit, bool *better)
{
    const struct policy_job *jobs = c->completion.in->jobs;
    size_t count = c->completion.in->job_count;

    *better = false;
    if (from == to || c->best[from] < jobs[from].min_cores + unit ||
        c->best[to] + unit > jobs[to].max_cores)
        return MODEL_OK;
    memcpy(c->trial, c->best, count * sizeof(*c->trial));
    c->trial[from] -= unit;
    c->trial[to] += unit;
    return consider(c, better);
}

/* Jobs by when they end in the best division, last first. */
static void sort_by_end(struct corun *c)
{
    for (size_t j = 0; j < c->completion.in->job_count; j++) {
        size_t i = j;
        for (; i > 0 && c->end[c->order[i - 1]] < c->end[j]; i--)
            c->order[i] = c->order[i - 1];
        c->order[i] = j;
    }
}

/* Move STEP cores once if that helps: rather to those who end last and from
 * those who end first. */
static enum model_status improve_once(struct corun *c, size_t step,
                                      size_t limit, bool *better)
{
    size_t count = c->completion.in->job_count;
    enum model_status status = MODEL_OK;

    *better = false;
    sort_by_end(c);
    for (size_t to = 0; to < count; to++)
        for (size_t from = count; from-- > 0;) {
            if (c->completion.predictions + count > limit)
                return MODEL_OK;
            status = try_move(c, c->order[from], c->order[to], step, better);
            if (status != MODEL_OK || *better)
                return status;
        }
    return MODEL_OK;
}

/* Improve the best division, in large steps first. */
static enum model_status improve(struct corun *c,
                                 const struct policy_input *input)
{
    size_t unit = divide_unit(input), step = unit;
    size_t limit = c->completion.predictions + (size_t)input->options[EFFORT];
    enum model_status status = MODEL_OK;
    bool better = true;

    while (step * 8 <= divide_pool(input))
        step *= 2;
    while (status == MODEL_OK && (better || step > unit)) {
        if (!better)
            step /= 2;
        status = improve_once(c, step, limit, &better);
    }
    return status;
}

/* The job of the present turn, and everybody's cores. */
static void take_turns(struct corun *c, const struct policy_input *input,
                       struct policy_proposal *proposal)
{
    size_t pool = divide_pool(input), parallel = 0, turn = 0;

    for (size_t j = 0; j < input->job_count; j++) {
        proposal->cores[j] = input->jobs[j].kind == REGION_SERIAL;
        pool -= proposal->cores[j];
        parallel += input->jobs[j].kind == REGION_PARALLEL;
    }
    proposal->mode = POLICY_TURNS;
    proposal->placed = false;
    proposal->rotates = !c->completion.all_known && !c->completion.average;
    if (proposal->rotates)
        turn = input->slice % parallel;
    for (size_t i = 0; i < input->job_count; i++) {
        size_t j = c->order[i];
        if (input->jobs[j].kind != REGION_PARALLEL || turn-- > 0)
            continue;
        size_t most = input->jobs[j].max_cores;
        proposal->cores[j] = most < pool ? most : pool;
        return;
    }
}

/* Whether to take turns.  Who did so in the last decision goes on unless
 * sharing is better by the margin of hysteresis, and the other way round. */
static bool turns_win(const struct policy_input *input, double shared,
                      double turns)
{
    double least = 1 + input->options[GAIN];
    double margin = input->options[POLICY_HYSTERESIS];

    if (state_same_jobs(input->state, input))
        least += input->state->mode == POLICY_TURNS ? margin : -margin;
    return turns < shared * least;
}

static enum model_status decide_known(struct corun *c,
                                      const struct policy_input *input,
                                      struct policy_proposal *proposal)
{
    double *figure = proposal->figure;
    size_t parallel = 0;
    enum model_status status = completion_begin(&c->completion, input,
                                             input->options[OBJECTIVE] > 0);

    memcpy(c->fair, c->completion.alone, input->job_count * sizeof(*c->fair));
    fairness_bounds(input, c->fair);
    proposal->fair = true;
    if (status == MODEL_OK)
        status = candidates(c, input, proposal->layout, &figure[SIMPLE]);
    if (status == MODEL_OK)
        status = improve(c, input);
    if (status != MODEL_OK)
        return status;
    for (size_t j = 0; j < input->job_count; j++)
        parallel += input->jobs[j].kind == REGION_PARALLEL;
    completion_order(&c->completion, c->order);
    memcpy(proposal->cores, c->best, input->job_count * sizeof(*c->best));
    arrange(c->arrange, &c->completion, c->fair,
            completion_evaluations(input, input->options[EFFORT]), proposal->cores,
            proposal->layout);
    proposal->placed = true;
    figure[SHARED] = c->completion.time;
    figure[TURNS] = completion_turns(&c->completion, c->order);
    figure[KIND] = parallel < 2 ? ALONE : c->completion.known ? SECONDS : RELATIVE;
    if (parallel > 1 && turns_win(input, figure[SHARED], figure[TURNS]))
        take_turns(c, input, proposal);
    return MODEL_OK;
}

static enum model_status decide(const struct policy_input *input, void *memory,
                                struct policy_proposal *proposal)
{
    enum model_status status = predict_begin(input);

    proposal->figure[KIND] = BLIND;
    if (status == MODEL_ENODATA)
        return equal_shares(input, proposal->cores);
    return status == MODEL_OK ? decide_known(memory, input, proposal) : status;
}

/* The shorter the time the better. */
static double value(const struct policy_input *input, void *memory,
                    const size_t *counts)
{
    struct corun *c = memory;
    double time;

    if (predict_begin(input) != MODEL_OK ||
        completion_layout(&c->completion, counts, &time) != MODEL_OK)
        return NAN;
    return -completion_cost(&c->completion, c->fair);
}

static void explain(const struct policy_input *input,
                    const struct policy_proposal *proposal, char *text,
                    size_t size)
{
    const double *figure = proposal->figure;
    const char *what = input->options[OBJECTIVE] > 0 ? "average turnaround"
                                                     : "makespan";

    switch ((int)figure[KIND]) {
    case ALONE:
        snprintf(text, size, "no other parallel job to share with");
        break;
    case SECONDS:
        snprintf(text, size, "predicted %s %.1f s sharing (simple divisions "
                             "%.1f s), %.1f s in turn", what,
                 figure[SHARED], figure[SIMPLE], figure[TURNS]);
        break;
    case RELATIVE:
        snprintf(text, size, "for equal times alone the %s in turn is "
                             "predicted to be %.2f of that sharing (simple "
                             "divisions %.2f)", what,
                 figure[TURNS] / figure[SHARED],
                 figure[TURNS] / figure[SIMPLE]);
        break;
    default:
        snprintf(text, size, "equal shares while the profile of job %u is "
                             "unknown",
                 predict_unknown(input) ? predict_unknown(input)->id : 0);
    }
}

const struct policy policy_corun = {
    .name = "corun",
    .help = "shares only where that pays, then minimises predicted time",
    .options = options,
    .profiles = true,
    .init = corun_new,
    .free = corun_free,
    .decide = decide,
    .value = value,
    .explain = explain,
};
