/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "moca": MOCA's evolution of core allocations, and a better search.
 *
 * "search:paper" is thesis 4.5: four random allocations evolve for fifty
 * generations under MOCA's own model.  "search:improved", the default, takes
 * what the policies equal and greedy, the present division and the evolution
 * propose, judged by the better model of model/system.h, and goes up from each
 * of them by local search (climb.h) until nothing near is better.  It is
 * therefore never worse than those by prediction.
 *
 * Its goal is by default the throughput: the sum over jobs of their speed
 * divided by that alone.  Running one after the other has 1; a mix that has
 * more at any time is done before.  NuPoCo's utilisation, which the papers
 * maximise, is the other goal; docs/policies-moca.md compares them. */

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/policy/search/placement.h"
#include "model/policy/search/arrange.h"
#include "model/policy/search/climb.h"
#include "model/policy/search/evolution.h"
#include "model/policy/search/predict.h"
#include "model/policy/rules.h"
#include "model/policy/shares.h"
#include "model/policy/search/workspace.h"

/* A job below its fair share outweighs all that could be gained so. */
#define UNFAIR 1000.0

/* A step that gains less is not worth the move. */
#define GAIN 0.001

enum { IMPROVED, PAPER };
enum { TIME, THROUGHPUT, UTILISATION };

/* Index into policy_input.options. */
enum {
    SEARCH = POLICY_OWN,
    GOAL,
    LOOKS,
    GENERATIONS,
    MUTATION,
    CPU_THRESHOLD,
    BW_THRESHOLD,
    FORM,
    SEED,
    LOSS,
    REGRET,
};

static const struct policy_option options[] = {
    {"search", "local search from the best start, or the papers' evolution", 0,
     0, 1, "improved|paper"},
    {"goal", "what the improved search is for", TIME, TIME, UTILISATION,
     "time|throughput|utilisation"},
    {"looks", "divisions that the improved search compares, at most", 250, 10,
     100000, NULL},
    {"generations", "of the evolution", EVOLUTION_GENERATIONS, 0, 10000, NULL},
    {"mutation", "probability that a core of a new allocation changes its job",
     0.05, 0, 1, NULL},
    {"cpu_threshold", "goal for the use of cores: above both, only cores count",
     0.7, 0, 1, NULL},
    {"bw_threshold", "goal for the use of memory controllers", 0.7, 0, 1, NULL},
    {"form", "of the evolution's model", MOCA_CONSISTENT, 0, 1,
     "paper|consistent"},
    {"seed", "of the evolution's random numbers", 1, 0, 1000000000, NULL},
    OUTLOOK_LOSS_OPTION,
    OUTLOOK_REGRET_OPTION,
    {NULL, NULL, 0, 0, 0, NULL},
};

/* Where the improved search began. */
enum { PRESENT, GREEDY, EQUAL, EVOLVED, STARTS };
static const char *const start_name[STARTS] = {
    [PRESENT] = "the present division",
    [GREEDY] = "greedy",
    [EQUAL] = "equal shares",
    [EVOLVED] = "the evolution",
};

/* Of policy_proposal.figure. */
enum { VALUE, FIRST_VALUE, START, STEPS, COMPARED };
enum { CPU, BW, REACHED, JUDGED };

/* A division from which the improved search goes up. */
struct start {
    size_t *layout; /* [cpu_nodes * POLICY_MAX_JOBS] */
    double value;   /* NAN: there is none */
    bool done;
};

struct moca {
    struct evolution *evolution;
    struct climb_look *look; /* [cpu_nodes] */
    size_t *kind;  /* [cpu_nodes] */
    struct start start[STARTS];
    size_t min[POLICY_MAX_JOBS], max[POLICY_MAX_JOBS];
    struct outlook outlook;
    double fair[POLICY_MAX_JOBS]; /* speeds below which a job is wronged */
    const struct policy_input *in; /* while deciding */
};

static void moca_free(void *memory)
{
    struct moca *m = memory;

    evolution_free(m->evolution);
    free(m->look);
    free(m->kind);
    free(m);
}

static void *moca_init(const struct machine *machine)
{
    size_t nodes = machine->cpu_nodes, cells = nodes * POLICY_MAX_JOBS;
    struct moca *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->evolution = evolution_new(machine);
    m->look = calloc(nodes, sizeof(*m->look));
    m->kind = calloc(nodes + STARTS * cells, sizeof(*m->kind));
    if (!m->evolution || !m->look || !m->kind) {
        moca_free(m);
        return NULL;
    }
    for (size_t which = 0; which < STARTS; which++)
        m->start[which].layout = m->kind + nodes + which * cells;
    return m;
}

/* ---- worth -------------------------------------------------------------- */

/* What the improved search maximises; NAN when there is no prediction. */
static double worth(const struct policy_input *in, struct moca *m,
                    const size_t *layout)
{
    struct outlook *o = &m->outlook;
    struct system_result result;
    double sum = 0;

    if (in->options[GOAL] == TIME) {
        if (outlook_layout(o, layout, &sum) != MODEL_OK)
            return NAN;
        return -outlook_cost(o, m->fair);
    }
    predict_speeds_layout(in, layout, o->first);
    for (size_t j = 0; j < in->job_count; j++)
        if (o->alone[j] > 0)
            sum += in->jobs[j].weight * o->first[j] / o->alone[j];
    if (in->options[GOAL] == UTILISATION) {
        if (predict_counts(in, layout, &result, NULL) != MODEL_OK)
            return NAN;
        sum = result.utilisation;
    }
    return sum - UNFAIR * outlook_unfairness(o, m->fair);
}

static double worth_of(void *arg, const size_t *layout)
{
    struct moca *m = arg;

    return worth(m->in, m, layout);
}

static double value(const struct policy_input *in, void *memory,
                    const size_t *layout)
{
    struct moca *m = memory;
    struct chromosome worth_paper;

    if (predict_begin(in) != MODEL_OK)
        return NAN;
    if (in->options[SEARCH] == IMPROVED)
        return worth(in, m, layout);
    return evolution_judge(m->evolution, layout, &worth_paper) == MODEL_OK
               ? worth_paper.cpu + worth_paper.bw
               : NAN;
}

/* ---- the papers' search ------------------------------------------------- */

static enum model_status evolve(const struct policy_input *in, struct moca *m,
                                struct evolution_result *result)
{
    const struct policy_workspace *ws = in->workspace;
    struct chromosome_space space = {
        .machine = in->machine,
        .jobs = in->job_count,
        .pool = ws->pool,
        .profile = ws->profile,
        .weight = ws->weight,
        .min = m->min,
        .max = m->max,
        .form = in->options[FORM] > 0 ? MOCA_CONSISTENT : MOCA_PAPER,
    };
    struct evolution_input evolution = {
        .space = &space,
        .generations = (size_t)in->options[GENERATIONS],
        .mutation = in->options[MUTATION],
        .cpu_threshold = in->options[CPU_THRESHOLD],
        .bw_threshold = in->options[BW_THRESHOLD],
        .seed = (uint64_t)in->options[SEED],
    };

    return evolution_run(m->evolution, &evolution, result);
}

static enum model_status decide_paper(const struct policy_input *in,
                                      struct moca *m,
                                      struct policy_proposal *proposal)
{
    struct evolution_result result = {.layout = proposal->layout};
    enum model_status status = evolve(in, m, &result);

    proposal->figure[CPU] = result.cpu;
    proposal->figure[BW] = result.bw;
    proposal->figure[REACHED] = result.reached;
    proposal->figure[JUDGED] = (double)result.judged;
    return status;
}

/* ---- the improved search ------------------------------------------------ */

/* The shares of policy equal or greedy, made fair, placed into START: as usual,
 * or, where that is better, as if nobody had a CPU. */
static void share(const struct policy_input *in, struct moca *m,
                  struct policy_proposal *proposal, bool equal,
                  struct start *start)
{
    size_t moved, job;

    proposal->placed = false;
    if ((equal ? equal_shares(in, proposal->cores)
               : greedy_dop(in, NULL, proposal)) != MODEL_OK ||
        fairness_apply(in, proposal, &moved, &job) != MODEL_OK)
        return;
    placement_fresh(in, proposal->cores, start->layout);
    double fresh = worth(in, m, start->layout);
    placement_counts(in, proposal->cores, start->layout);
    start->value = worth(in, m, start->layout);
    if (!(fresh > start->value + GAIN * fabs(start->value)))
        return;
    placement_fresh(in, proposal->cores, start->layout);
    start->value = fresh;
}

/* Fill START, number WHICH. */
static void make_start(const struct policy_input *in, struct moca *m,
                       struct policy_proposal *proposal, size_t which)
{
    struct start *start = &m->start[which];
    struct evolution_result evolved = {.layout = start->layout};

    start->value = NAN;
    if (which == PRESENT && arrange_present(in, start->layout))
        start->value = worth(in, m, start->layout);
    if (which == EVOLVED && evolve(in, m, &evolved) == MODEL_OK)
        start->value = worth(in, m, start->layout);
    if (which == EQUAL || which == GREEDY)
        share(in, m, proposal, which == EQUAL, start);
    start->done = isnan(start->value);
}

/* The best start that is not done, or STARTS.  Of equals the first one: the
 * present division moves nobody. */
static size_t best_start(const struct moca *m)
{
    size_t best = STARTS;

    for (size_t which = 0; which < STARTS; which++)
        if (!m->start[which].done &&
            (best == STARTS || m->start[which].value >
                                   m->start[best].value +
                                       GAIN * fabs(m->start[best].value)))
            best = which;
    return best;
}

/* Go up from all starts, the best one first, while there are looks. */
static void climb_all(const struct policy_input *in, struct moca *m,
                      struct policy_proposal *proposal)
{
    double *figure = proposal->figure;
    struct climb_input search = {
        .cpu_nodes = in->machine->cpu_nodes,
        .jobs = in->job_count,
        .kind = m->kind,
        .pool = in->workspace->pool,
        .min = m->min,
        .max = m->max,
        .value = worth_of,
        .arg = m,
        .looks = in->options[GOAL] == TIME
                     ? outlook_looks(in, in->options[LOOKS])
                     : (size_t)in->options[LOOKS],
        .room = m->look,
    };
    size_t which;

    figure[VALUE] = -INFINITY;
    while (search.looks && (which = best_start(m)) < STARTS) {
        struct start *start = &m->start[which];
        search.gain = GAIN * fabs(start->value);
        struct climb_result result = climb(&search, start->layout);
        search.looks -= result.looks;
        figure[COMPARED] += (double)result.looks;
        start->done = true;
        if (!(result.value > figure[VALUE] + GAIN * fabs(figure[VALUE])) &&
            isfinite(figure[VALUE]))
            continue;
        figure[VALUE] = result.value;
        figure[FIRST_VALUE] = start->value;
        figure[START] = (double)which;
        figure[STEPS] = (double)result.steps;
        memcpy(proposal->layout, start->layout,
               search.cpu_nodes * search.jobs * sizeof(*start->layout));
    }
}

static enum model_status decide_improved(const struct policy_input *in,
                                         struct moca *m,
                                         struct policy_proposal *proposal)
{
    if (equal_shares(in, proposal->cores) == MODEL_OK)
        outlook_floor(&m->outlook, proposal->cores, in->options[LOSS],
                      in->options[REGRET], proposal->layout);
    for (size_t which = 0; which < STARTS; which++)
        make_start(in, m, proposal, which);
    memset(proposal->figure, 0, sizeof(proposal->figure));
    arrange_kinds(in, m->kind);
    climb_all(in, m, proposal);
    return isfinite(proposal->figure[VALUE]) ? MODEL_OK : MODEL_EINVAL;
}

/* ---- the policy --------------------------------------------------------- */

/* Bounds and speeds that all divisions have in common. */
static enum model_status prepare(const struct policy_input *in, struct moca *m)
{
    for (size_t j = 0; j < in->job_count; j++) {
        m->min[j] = in->jobs[j].min_cores;
        m->max[j] = in->jobs[j].max_cores;
    }
    enum model_status status = outlook_begin(&m->outlook, in, false);
    memcpy(m->fair, m->outlook.alone, in->job_count * sizeof(*m->fair));
    fairness_bounds(in, m->fair);
    m->in = in;
    return status;
}

static enum model_status moca_decide(const struct policy_input *in,
                                     void *memory,
                                     struct policy_proposal *proposal)
{
    struct moca *m = memory;
    struct system_result result;
    enum model_status status = predict_begin(in);

    if (status == MODEL_ENODATA)
        return equal_shares(in, proposal->cores);
    if (status == MODEL_OK)
        status = prepare(in, m);
    if (status == MODEL_OK)
        status = in->options[SEARCH] == IMPROVED
                     ? decide_improved(in, m, proposal)
                     : decide_paper(in, m, proposal);
    if (status == MODEL_OK)
        status = predict_counts(in, proposal->layout, &result, NULL);
    if (status != MODEL_OK)
        return status;
    proposal->placed = true;
    proposal->fair = in->options[SEARCH] == IMPROVED;
    proposal->system_util = result.utilisation;
    for (size_t j = 0; j < in->job_count; j++) {
        proposal->cores[j] = 0;
        for (size_t i = 0; i < in->machine->cpu_nodes; i++)
            proposal->cores[j] += proposal->layout[i * in->job_count + j];
    }
    return MODEL_OK;
}

static void explain_improved(const struct policy_input *in,
                             const struct policy_proposal *proposal,
                             char *text, size_t size)
{
    static const char *const goal[] = {"time", "throughput",
                                       "system utilisation"};
    const double *figure = proposal->figure;

    snprintf(text, size, "predicted %s %.2f, %.0f step%s from %s (%.2f), %.0f "
                         "divisions compared",
             goal[(size_t)in->options[GOAL]], fabs(figure[VALUE]),
             figure[STEPS], figure[STEPS] == 1 ? "" : "s",
             start_name[(size_t)figure[START]], fabs(figure[FIRST_VALUE]),
             figure[COMPARED]);
}

static void moca_explain(const struct policy_input *in,
                         const struct policy_proposal *proposal, char *text,
                         size_t size)
{
    const struct policy_job *job = predict_unknown(in);
    const double *figure = proposal->figure;

    if (job)
        snprintf(text, size, "equal shares while the profile of job %u is "
                             "unknown", job->id);
    else if (in->options[SEARCH] == IMPROVED)
        explain_improved(in, proposal, text, size);
    else
        snprintf(text, size, "best of %.0f allocations: cores used %.2f, "
                             "controllers %.2f%s",
                 figure[JUDGED], figure[CPU], figure[BW],
                 figure[REACHED] > 0 ? ", both goals reached" : "");
}

const struct policy policy_moca = {
    .name = "moca",
    .help = "search among allocations of single cores by predicted throughput",
    .options = options,
    .profiles = true,
    .init = moca_init,
    .free = moca_free,
    .decide = moca_decide,
    .value = value,
    .explain = moca_explain,
};
