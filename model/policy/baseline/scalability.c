/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "scalability": hill climbing on CPU utilisation, after C3PO (Sasaki
 * and others, PACT 2013; thesis 4.4.1).
 *
 * From equal shares, taken anew when a job's region becomes serial or
 * parallel, each decision moves a step of cores from the job whose
 * cores compute least to the one whose cores compute most.  A step after which
 * all cores together do not compute more by half of what the difference of
 * the two promised is taken back, and that pair is left alone for some
 * decisions; the papers' implementation was seen to oscillate.  Where
 * utilisation is not measured it is predicted. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/policy/search/divide.h"
#include "model/policy/search/predict.h"
#include "model/policy/rules.h"
#include "model/policy/shares.h"
#include "model/policy/state.h"
#include "model/policy/search/workspace.h"

enum { STEP = POLICY_OWN, DIFFERENCE, PATIENCE };

/* Of policy_proposal.figure: utilisation of giver, of taker and of all. */
enum { LOW, HIGH, TOTAL, WHAT };
enum { STARTED, MOVED, REVERTED, STAYED, BLIND };

static const struct policy_option options[] = {
    {"step", "cores that move at a time; 0: a unit of allocation", 0, 0, 1024,
     NULL},
    {"difference", "least difference of utilisation that moves cores", 0.05, 0,
     1, NULL},
    {"patience", "decisions for which a bad step is not tried again", 40, 0,
     1e6, NULL},
    {0},
};

struct hill_climbing {
    double least; /* that all cores should compute after the last step; NAN: no
                     step to judge */
    uint32_t from, to;
    size_t step;
    uint32_t bad_from, bad_to; /* not to be tried now */
    double wait;               /* decisions for which */
    bool serial[POLICY_MAX_JOBS]; /* jobs in a serial region last time */
    double share[POLICY_MAX_JOBS]; /* scratch */
    size_t before[POLICY_MAX_JOBS];
};

static void *hill_climbing_new(const struct machine *machine)
{
    (void)machine;
    return calloc(1, sizeof(struct hill_climbing));
}

/* Note which jobs are in a serial region; false when others were. */
static bool same_kinds(struct hill_climbing *h, const struct policy_input *input)
{
    bool same = true;

    for (size_t j = 0; j < input->job_count; j++) {
        bool serial = input->jobs[j].kind == REGION_SERIAL;
        same &= h->serial[j] == serial;
        h->serial[j] = serial;
    }
    return same;
}

/* Take up the division that was decided last, after the common rules; false
 * when it is none for these jobs. */
static bool resume(const struct policy_input *input, size_t *cores)
{
    const struct policy_state *state = input->state;
    size_t owned = 0, had = 0;

    if (state->jobs != input->job_count || state->mode != POLICY_SPACE)
        return false;
    for (size_t cpu = 0; cpu < input->machine->cpus; cpu++)
        had += state->owner[cpu] != STATE_NO_CPU;
    for (size_t j = 0; j < input->job_count; j++) {
        cores[j] = 0;
        for (size_t cpu = 0; cpu < input->machine->cpus; cpu++)
            cores[j] += state->owner[cpu] == input->jobs[j].id;
        if (cores[j] < input->jobs[j].min_cores ||
            cores[j] > input->jobs[j].max_cores)
            return false;
        owned += cores[j];
    }
    return had == divide_pool(input) && owned <= had;
}

/* Share of time in which each job's cores compute, into SHARE; false when it
 * is neither measured nor can be predicted. */
static bool look(const struct policy_input *input, const size_t *cores,
                 double *share)
{
    bool predicted = false;

    for (size_t j = 0; j < input->job_count; j++) {
        const struct policy_facts *facts = input->jobs[j].facts;
        if (facts && !isnan(facts->cpu_share)) {
            share[j] = facts->cpu_share;
            continue;
        }
        if (!predicted) {
            if (!predict_begin(input))
                return false;
            predict_cores(input, cores, input->workspace->speed);
        }
        predicted = true;
        share[j] = input->workspace->speed[j] / (double)cores[j];
    }
    return true;
}

static bool shift(const struct policy_input *input, size_t *cores, size_t from,
                  size_t to, size_t step)
{
    size_t room = input->jobs[to].max_cores - cores[to];
    size_t spare = cores[from] - input->jobs[from].min_cores;

    step = step < room ? step : room;
    step = step < spare ? step : spare;
    cores[from] -= step;
    cores[to] += step;
    return step > 0;
}

/* The job called ID, or job_count. */
static size_t find(const struct policy_input *input, uint32_t id)
{
    size_t j = 0;

    while (j < input->job_count && input->jobs[j].id != id)
        j++;
    return j;
}

/* Do not try the step in CLIMB again for a while. */
static void give_up(struct hill_climbing *h, const struct policy_input *input)
{
    h->bad_from = h->from;
    h->bad_to = h->to;
    h->wait = input->options[PATIENCE];
    h->least = NAN;
}

/* Judge the last step by the utilisation TOTAL: true when it is taken back. */
static bool judge(struct hill_climbing *h, const struct policy_input *input,
                  size_t *cores, double total)
{
    size_t from = find(input, h->from), to = find(input, h->to);

    if (isnan(h->least) || from == input->job_count ||
        to == input->job_count)
        return false;
    if (total >= h->least)
        return false; /* and go on from here */
    give_up(h, input);
    return shift(input, cores, to, from, h->step);
}

/* Who gives and who takes; both job_count when nobody does. */
static void choose(const struct hill_climbing *h, const struct policy_input *input,
                   const size_t *cores, const double *share, size_t *from,
                   size_t *to)
{
    size_t none = input->job_count;

    *from = *to = none;
    for (size_t j = 0; j < none; j++) {
        const struct policy_job *job = &input->jobs[j];
        if (job->kind == REGION_SERIAL)
            continue;
        if (cores[j] < job->max_cores &&
            (*to == none || share[j] * job->weight >
                                share[*to] * input->jobs[*to].weight))
            *to = j;
    }
    for (size_t j = 0; j < none && *to != none; j++) {
        const struct policy_job *job = &input->jobs[j];
        bool bad = h->wait > 0 && h->bad_from == job->id &&
                   h->bad_to == input->jobs[*to].id;
        if (j == *to || bad || cores[j] <= job->min_cores)
            continue;
        if (*from == none || share[j] * job->weight <
                                 share[*from] * input->jobs[*from].weight)
            *from = j;
    }
}

/* True when the fairness bound would not leave CORES as they are. */
static bool unfair(const struct policy_input *input, size_t *cores)
{
    struct policy_proposal trial = {.cores = cores};
    size_t moved, job;

    fairness_apply(input, &trial, &moved, &job);
    return moved > 0;
}

/* One decision of the hill climbing, from the division CORES and its utilisation. */
static void hill_climbing_on(struct hill_climbing *h, const struct policy_input *input,
                     size_t *cores, const double *share,
                     struct policy_proposal *proposal)
{
    double total = 0, difference = input->options[DIFFERENCE];
    size_t from, to;
    size_t step = input->options[STEP] >= 1 ? (size_t)input->options[STEP]
                                            : divide_unit(input);

    for (size_t j = 0; j < input->job_count; j++)
        total += (double)cores[j] * share[j];
    proposal->figure[TOTAL] = total;
    proposal->figure[WHAT] = STAYED;
    h->wait = fmax(h->wait - 1, 0);
    if (judge(h, input, cores, total)) {
        proposal->figure[WHAT] = REVERTED;
        return;
    }
    h->least = NAN;
    choose(h, input, cores, share, &from, &to);
    if (from == input->job_count || to == input->job_count ||
        share[to] * input->jobs[to].weight -
                share[from] * input->jobs[from].weight < difference)
        return;
    memcpy(h->before, cores, input->job_count * sizeof(*cores));
    if (!shift(input, cores, from, to, step))
        return;
    h->step = cores[to] - h->before[to];
    h->from = input->jobs[from].id;
    h->to = input->jobs[to].id;
    if (unfair(input, cores)) {
        give_up(h, input);
        memcpy(cores, h->before, input->job_count * sizeof(*cores));
        return;
    }
    h->least = total + (share[to] - share[from]) * (double)h->step / 2;
    proposal->figure[LOW] = share[from];
    proposal->figure[HIGH] = share[to];
    proposal->figure[WHAT] = MOVED;
}

static enum model_status decide(const struct policy_input *input, void *memory,
                                struct policy_proposal *proposal)
{
    struct hill_climbing *h = memory;
    double *share = h->share;

    bool same = same_kinds(h, input);

    if (!same || !resume(input, proposal->cores)) {
        equal_shares(input, proposal->cores);
        h->least = NAN;
        h->wait = 0;
        proposal->figure[WHAT] = STARTED;
    } else if (!look(input, proposal->cores, share)) {
        h->least = NAN;
        proposal->figure[WHAT] = BLIND;
    } else {
        hill_climbing_on(h, input, proposal->cores, share, proposal);
    }
    return MODEL_OK;
}

static void explain(const struct policy_input *input,
                    const struct policy_proposal *proposal, char *text,
                    size_t size)
{
    const double *figure = proposal->figure;

    (void)input;
    switch ((int)figure[WHAT]) {
    case MOVED:
        snprintf(text, size, "cores move from where they compute %.0f %% of "
                             "the time to where %.0f %%",
                 100 * figure[LOW], 100 * figure[HIGH]);
        break;
    case REVERTED:
        snprintf(text, size, "the last step is taken back, it left %.2f cores "
                             "computing", figure[TOTAL]);
        break;
    case STAYED:
        snprintf(text, size, "top of the hill, %.2f cores computing",
                 figure[TOTAL]);
        break;
    case BLIND:
        snprintf(text, size, "utilisation is not known yet");
        break;
    default:
        snprintf(text, size, "equal shares to start from");
    }
}

const struct policy policy_scalability = {
    .name = "scalability",
    .help = "hill climbing on the cores' utilisation (C3PO)",
    .options = options,
    .profiles = true,
    .periodic = true,
    .init = hill_climbing_new,
    .free = free,
    .decide = decide,
    .explain = explain,
};
