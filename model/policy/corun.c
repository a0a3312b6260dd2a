/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "corun": whether to share at all, then the division that ends first.
 *
 * Candidates are equal shares and a division in which each next unit goes to the
 * job that would end last.  The better one by the completion (completion.h) is
 * improved by moving single units while that helps.  Sharing must beat running the
 * parallel jobs one after the other by a margin; else they take turns: the
 * shortest first where all remaining work is known, in slices of time where it
 * is not and the makespan counts, in order of arrival where the average does.
 *
 * Where it was measured how fast each job is with its share and how fast with the
 * whole pool, this decides instead of the prediction: what all do together in
 * one second takes sum(shared / whole) seconds in turn.  It is below one where
 * caches add up, or where threads that spin for each other have to share a core.
 * Slices are as frequent as each job needs them for that, so that all gain. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/policy/search/divide.h"
#include "model/policy/search/arrange.h"
#include "model/policy/search/placement.h"
#include "model/policy/search/predict.h"
#include "model/policy/rules.h"
#include "model/policy/shares.h"
#include "model/policy/state.h"
#include "model/policy/search/workspace.h"

enum { OBJECTIVE = POLICY_OWN, GAIN, EFFORT, LOSS, REGRET };

/* Of policy_proposal.figure. */
enum { SHARED, TURNS, EQUAL, KIND, MEASURED };
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

/* Part of `gain` that a measurement asks for: it is nearer to the truth. */
#define TRUST 0.3

/* Turns after which the order begins anew. */
#define TURNS_CYCLE 64

struct corun {
    struct arrange *arrange;
    struct completion completion;
    size_t best[POLICY_MAX_JOBS], trial[POLICY_MAX_JOBS];
    size_t order[POLICY_MAX_JOBS];
    double end[POLICY_MAX_JOBS]; /* of best */
    double time, cost;           /* of best */
    double fair[POLICY_MAX_JOBS]; /* speeds below which a job is wronged */
    double need[POLICY_MAX_JOBS]; /* part of the turns, relative to the others */
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
static bool consider(struct corun *c)
{
    size_t count = c->completion.in->job_count;
    double time = completion_time(&c->completion, c->trial);
    double cost = completion_cost(&c->completion, c->fair);

    if (!(cost < c->cost * (1 - TIE)))
        return false;
    c->cost = cost;
    c->time = time;
    memcpy(c->best, c->trial, count * sizeof(*c->best));
    memcpy(c->end, c->completion.end, count * sizeof(*c->end));
    return true;
}

static void speeds_now(void *arg, const size_t *cores)
{
    struct corun *c = arg;

    c->completion.predictions++;
    predict_cores(c->completion.in, cores, c->completion.speed);
}

static double time_needed(void *arg, const size_t *cores, size_t job)
{
    const struct completion *o = &((struct corun *)arg)->completion;

    (void)cores;
    return o->work[job] / o->speed[job];
}

/* The better of equal shares and of the division in which each next unit goes to
 * the job that would end last.  Returns the time with equal shares. */
static double candidates(struct corun *c, const struct policy_input *input,
                         size_t *layout)
{
    c->time = c->cost = INFINITY;
    equal_shares(input, c->trial);
    completion_floor(&c->completion, c->trial, input->options[LOSS],
                     input->options[REGRET], layout);
    consider(c);
    double equal = c->time;
    divide_from(input, speeds_now, time_needed, c, c->trial);
    consider(c);
    return equal;
}

/* Try the best division with a unit moved from job FROM to job TO. */
static bool try_move(struct corun *c, size_t from, size_t to, size_t unit)
{
    const struct policy_job *jobs = c->completion.in->jobs;
    size_t count = c->completion.in->job_count;

    if (from == to || c->best[from] < jobs[from].min_cores + unit ||
        c->best[to] + unit > jobs[to].max_cores)
        return false;
    memcpy(c->trial, c->best, count * sizeof(*c->trial));
    c->trial[from] -= unit;
    c->trial[to] += unit;
    return consider(c);
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
static bool improve_once(struct corun *c, size_t step, size_t limit)
{
    size_t count = c->completion.in->job_count;

    sort_by_end(c);
    for (size_t to = 0; to < count; to++)
        for (size_t from = count; from-- > 0;) {
            if (c->completion.predictions + count > limit)
                return false;
            if (try_move(c, c->order[from], c->order[to], step))
                return true;
        }
    return false;
}

/* Improve the best division, in large steps first. */
static void improve(struct corun *c, const struct policy_input *input)
{
    size_t unit = divide_unit(input), step = unit;
    size_t limit = c->completion.predictions + (size_t)input->options[EFFORT];
    bool better = true;

    while (step * 8 <= divide_pool(input))
        step *= 2;
    while (better || step > unit) {
        if (!better)
            step /= 2;
        better = improve_once(c, step, limit);
    }
}

static size_t parallel_jobs(const struct policy_input *input)
{
    size_t parallel = 0;

    for (size_t j = 0; j < input->job_count; j++)
        parallel += input->jobs[j].kind == REGION_PARALLEL;
    return parallel;
}

/* Cores for parallel jobs: serial ones keep one each. */
static size_t parallel_pool(const struct policy_input *input)
{
    return divide_pool(input) - (input->job_count - parallel_jobs(input));
}

/* Time of the parallel jobs in turn relative to that with CORES, as measured; NAN where that is
 * not known of all.  Sets corun->need, to equal needs then. */
static double measured_turns(struct corun *c, const struct policy_input *input,
                             const size_t *cores)
{
    double sum = 0;

    for (size_t j = 0; j < input->job_count; j++) {
        const struct policy_facts *facts = input->jobs[j].facts;
        if (input->jobs[j].kind != REGION_PARALLEL)
            continue;
        c->need[j] = facts && facts->shared_cores == cores[j] ? facts->alone_need
                                                              : NAN;
        sum += c->need[j];
    }
    for (size_t j = 0; j < input->job_count && isnan(sum); j++)
        c->need[j] = 1;
    return parallel_jobs(input) > 1 ? sum : NAN;
}

/* Whose turn it is in the present slice: each has as many as it needs relative to the others,
 * evenly spread. */
static size_t turn_of_slice(const struct corun *c, const struct policy_input *input)
{
    double due[POLICY_MAX_JOBS] = {0}, all = 0;
    size_t chosen = c->order[0];

    for (size_t j = 0; j < input->job_count; j++)
        all += input->jobs[j].kind == REGION_PARALLEL ? c->need[j] : 0;
    for (uint64_t n = 0; n <= input->slice % TURNS_CYCLE; n++) {
        double most = -INFINITY;
        for (size_t i = 0; i < input->job_count; i++) {
            size_t j = c->order[i];
            if (input->jobs[j].kind != REGION_PARALLEL)
                continue;
            due[j] += c->need[j] / all;
            if (due[j] > most + TIE) {
                most = due[j];
                chosen = j;
            }
        }
        due[chosen] -= 1;
    }
    return chosen;
}

/* The first parallel job in c->order; there is one. */
static size_t first_parallel(const struct corun *c, const struct policy_input *input)
{
    size_t i = 0;

    while (input->jobs[c->order[i]].kind != REGION_PARALLEL)
        i++;
    return c->order[i];
}

/* The job that has the parallel jobs' cores now, and everybody's cores. */
static void take_turns(const struct corun *c, const struct policy_input *input,
                       struct policy_proposal *proposal)
{
    size_t pool = parallel_pool(input);

    proposal->mode = POLICY_TURNS;
    proposal->placed = false;
    proposal->rotates = !c->completion.all_known && !c->completion.average;
    for (size_t j = 0; j < input->job_count; j++)
        proposal->cores[j] = input->jobs[j].kind == REGION_PARALLEL ? 0 : 1;
    size_t chosen = proposal->rotates ? turn_of_slice(c, input) : first_parallel(c, input);
    size_t most = input->jobs[chosen].max_cores;
    proposal->cores[chosen] = most < pool ? most : pool;
}

/* Whether to take turns.  Who did so in the last decision goes on unless
 * sharing is better by the margin of hysteresis, and the other way round. */
static bool turns_win(const struct policy_input *input, const double *figure)
{
    bool measured = !isnan(figure[MEASURED]);
    double least = 1 + input->options[GAIN] * (measured ? TRUST : 1);
    double margin = input->options[POLICY_HYSTERESIS];

    if (state_same_jobs(input->state, input))
        least += input->state->mode == POLICY_TURNS ? margin : -margin;
    return (measured ? figure[MEASURED] : figure[TURNS] / figure[SHARED]) < least;
}

/* Cores of LLC domain I that serial jobs have in LAYOUT. */
static size_t serial_cores(const struct policy_input *input, const size_t *layout, size_t i)
{
    size_t sum = 0;

    for (size_t j = 0; j < input->job_count; j++)
        sum += input->jobs[j].kind == REGION_SERIAL ? layout[i * input->job_count + j] : 0;
    return sum;
}

/* Each parallel job's cores on all NUMA nodes: by first touch its data will lie there.  A serial
 * one stays where its data lie already. */
static void spread(const struct policy_input *input, const size_t *cores, size_t *layout)
{
    const size_t *pool = input->workspace->pool;
    size_t nodes = input->machine->llc_domains, jobs = input->job_count;
    size_t job = 0, left[POLICY_MAX_JOBS], serial[POLICY_MAX_JOBS];

    for (size_t j = 0; j < jobs; j++) {
        serial[j] = input->jobs[j].kind == REGION_SERIAL ? cores[j] : 0;
        left[j] = cores[j] - serial[j];
    }
    placement_counts(input, serial, layout);
    for (size_t slot = 0, given = 1; given; slot++) {
        given = 0;
        for (size_t i = 0; i < nodes; i++) {
            if (pool[i] <= slot + serial_cores(input, layout, i))
                continue;
            while (job < jobs && !left[job])
                job++;
            if (job == jobs)
                return;
            layout[i * jobs + job]++;
            left[job]--;
            given++;
        }
    }
}

static bool any_grows(const struct policy_input *input)
{
    for (size_t j = 0; j < input->job_count; j++)
        if (input->jobs[j].grows && input->jobs[j].kind == REGION_PARALLEL)
            return true;
    return false;
}

/* Nothing is known but perhaps throughputs. */
static void decide_blind(struct corun *c, const struct policy_input *input,
                         struct policy_proposal *proposal)
{
    proposal->figure[KIND] = BLIND;
    equal_shares(input, proposal->cores);
    spread(input, proposal->cores, proposal->layout);
    proposal->placed = true;
    proposal->figure[MEASURED] = measured_turns(c, input, proposal->cores);
    if (isnan(proposal->figure[MEASURED]) || !turns_win(input, proposal->figure))
        return;
    for (size_t j = 0; j < input->job_count; j++)
        c->order[j] = j;
    c->completion.all_known = false;
    c->completion.average = input->options[OBJECTIVE] > 0;
    take_turns(c, input, proposal);
}

/* The best division's layout, or the present one by hysteresis; the completion is its. */
static void place(struct corun *c, const struct policy_input *input,
                  struct policy_proposal *proposal)
{
    double now, next = arrange(c->arrange, &c->completion, c->fair,
                               completion_evaluations(input, input->options[EFFORT]),
                               proposal->cores, proposal->layout, &now);

    placement_present(input, input->workspace->have);
    hysteresis_hold(input, input->workspace->have, now, next, proposal);
    completion_layout(&c->completion, proposal->layout);
}

static void decide_known(struct corun *c, const struct policy_input *input,
                         struct policy_proposal *proposal)
{
    double *figure = proposal->figure;
    size_t parallel = parallel_jobs(input);

    completion_begin(&c->completion, input, input->options[OBJECTIVE] > 0);
    memcpy(c->fair, c->completion.alone, input->job_count * sizeof(*c->fair));
    fairness_bounds(input, c->fair);
    figure[EQUAL] = candidates(c, input, proposal->layout);
    improve(c, input);
    completion_order(&c->completion, c->order);
    memcpy(proposal->cores, c->best, input->job_count * sizeof(*c->best));
    place(c, input, proposal);
    if (any_grows(input))
        spread(input, proposal->cores, proposal->layout);
    proposal->placed = true;
    figure[SHARED] = c->completion.time;
    figure[TURNS] = completion_turns(&c->completion, c->order);
    figure[KIND] = parallel < 2 ? ALONE : c->completion.known ? SECONDS : RELATIVE;
    figure[MEASURED] = measured_turns(c, input, proposal->cores);
    if (parallel > 1 && turns_win(input, figure))
        take_turns(c, input, proposal);
}

static enum model_status decide(const struct policy_input *input, void *memory,
                                struct policy_proposal *proposal)
{
    proposal->own_rules = true;
    if (predict_begin(input))
        decide_known(memory, input, proposal);
    else
        decide_blind(memory, input, proposal);
    return MODEL_OK;
}

/* Cores that PROPOSAL leaves idle though a job may have them. */
static size_t idle_cores(const struct policy_input *input, const struct policy_proposal *proposal)
{
    size_t idle = divide_pool(input), room = 0;

    for (size_t j = 0; j < input->job_count; j++) {
        idle -= proposal->cores[j];
        room += input->jobs[j].max_cores - proposal->cores[j];
    }
    return proposal->mode == POLICY_SPACE ? (idle < room ? idle : room) : 0;
}

/* What was compared to decide between sharing and turns. */
static void tell_figures(const struct policy_input *input, const double *figure, char *text,
                         size_t size)
{
    const char *what = input->options[OBJECTIVE] > 0 ? "average turnaround"
                                                     : "makespan";

    if (!isnan(figure[MEASURED])) {
        snprintf(text, size, "in turn the jobs were measured to need %.2f of the "
                             "time that they need sharing", figure[MEASURED]);
        return;
    }
    switch ((int)figure[KIND]) {
    case ALONE:
        snprintf(text, size, "no other parallel job to share with");
        break;
    case SECONDS:
        snprintf(text, size, "predicted %s %.1f s sharing (equal shares "
                             "%.1f s), %.1f s in turn", what,
                 figure[SHARED], figure[EQUAL], figure[TURNS]);
        break;
    case RELATIVE:
        snprintf(text, size, "for equal times alone the %s in turn is "
                             "predicted to be %.2f of that sharing (equal "
                             "shares %.2f)", what,
                 figure[TURNS] / figure[SHARED],
                 figure[TURNS] / figure[EQUAL]);
        break;
    default:
        snprintf(text, size, "equal shares while the profile of job %u is "
                             "unknown",
                 predict_unknown(input) ? predict_unknown(input)->id : 0);
    }
}

static void explain(const struct policy_input *input,
                    const struct policy_proposal *proposal, char *text,
                    size_t size)
{
    size_t idle = idle_cores(input, proposal);

    tell_figures(input, proposal->figure, text, size);
    if (proposal->figure[KIND] != BLIND && proposal->mode == POLICY_SPACE && any_grows(input))
        policy_append(text, size, "; on all NUMA nodes while memory grows");
    if (idle)
        policy_append(text, size, "; %zu core%s idle, with %s the jobs would be slower", idle,
                      idle == 1 ? "" : "s", idle == 1 ? "it" : "them");
}

const struct policy policy_corun = {
    .name = "corun",
    .help = "shares only where that pays, then minimises predicted time",
    .options = options,
    .profiles = true,
    .turns = true,
    .caches = true,
    .pages = true,
    .init = corun_new,
    .free = corun_free,
    .decide = decide,
    .explain = explain,
};
