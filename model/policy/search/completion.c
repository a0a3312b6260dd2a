/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* When the jobs of a mix will end, for a given division of the cores. */

#include "model/policy/search/completion.h"

#include <math.h>
#include <string.h>

#include "model/layout.h"
#include "model/maxmin.h"
#include "model/policy/search/placement.h"
#include "model/policy/search/predict.h"

/* Part of the mean end in what is minimised: of many divisions with the same
 * makespan one that lets jobs go early. */
#define MEAN_PART 0.02

/* The same where jobs have different weights: the makespan alone does not tell
 * who should go first. */
#define WEIGHTED_PART 0.3

/* Ends of jobs after which speeds are predicted anew. */
#define FORESIGHT 3

/* A division that wrongs a job is worse than any that does not. */
#define UNFAIR 100

/* The same of divisions in which a job is below its floor. */
#define BELOW 20

/* Work that is left of a job which computes at speed ALONE when it is alone. */
static double remaining(const struct policy_job *job, double alone)
{
    if (!job->facts)
        return NAN;
    return isnan(job->facts->remaining) ? job->facts->left_s * alone
                                        : job->facts->remaining;
}

/* Work of each job; unknown is like the mean of the known. */
static void guess_work(struct completion *o)
{
    size_t count = o->in->job_count, known = 0;
    double sum = 0, weights = 0;

    for (size_t j = 0; j < count; j++) {
        double left = remaining(&o->in->jobs[j], o->alone[j]);
        weights += o->in->jobs[j].weight;
        if (!isnan(left)) {
            sum += left / o->alone[j];
            known++;
        }
    }
    o->known = known > 0 && sum > 0;
    o->all_known = known == count && sum > 0;
    for (size_t j = 0; j < count; j++) {
        double left = remaining(&o->in->jobs[j], o->alone[j]);
        if (!o->known || isnan(left))
            left = o->alone[j] * (o->known ? sum / (double)known : 1);
        if (!o->average)
            left *= o->in->jobs[j].weight * (double)count / weights;
        o->work[j] = left;
    }
}

size_t completion_evaluations(const struct policy_input *input, double evaluations)
{
    double jobs = (double)input->job_count;

    return (size_t)fmax(1, evaluations * fmin(1, 3 / jobs));
}

void completion_begin(struct completion *o, const struct policy_input *input,
                      bool average)
{
    o->in = input;
    o->average = average;
    o->predictions = input->job_count;
    memset(o->floor, 0, input->job_count * sizeof(*o->floor));
    o->bets = false;
    predict_alone(input, o->alone);
    guess_work(o);
}

/* The next job to end, of which there is one, and in which time. */
static size_t next_end(const struct completion *o, double *time)
{
    size_t first = o->living[0];

    *time = o->left[first] / o->speed[first];
    for (size_t n = 1; n < o->count; n++) {
        size_t j = o->living[n];
        double end = o->left[j] / o->speed[j];
        if (end < *time) {
            first = j;
            *time = end;
        }
    }
    return first;
}

/* When job J, which lives, would end, or -1 where it cannot have more cores. */
static double time_at_end(const struct completion *o, size_t j)
{
    return o->cores[j] < o->in->jobs[j].max_cores
               ? o->left[j] / (o->speed[j] * (double)o->cores[j])
               : -1;
}

/* Give the cores of GONE to the others, each to whom would end last if speed
 * grew with cores. */
static void hand_over(struct completion *o, size_t gone)
{
    size_t spare = o->cores[gone], part = spare / 8 ? spare / 8 : 1;
    double time[POLICY_MAX_JOBS];

    o->cores[gone] = 0;
    for (size_t n = 0; n < o->count; n++)
        time[n] = time_at_end(o, o->living[n]);
    while (spare) {
        size_t last = 0;
        for (size_t n = 1; n < o->count; n++)
            last = time[n] > time[last] ? n : last;
        if (time[last] < 0)
            return;
        size_t j = o->living[last], more = o->in->jobs[j].max_cores - o->cores[j];
        more = more < part ? more : part;
        more = more < spare ? more : spare;
        o->cores[j] += more;
        spare -= more;
        time[last] = time_at_end(o, j);
    }
}

/* Advance until GONE ends. */
static void advance(struct completion *o, size_t gone, double time)
{
    size_t count = 0;

    for (size_t n = 0; n < o->count; n++) {
        size_t j = o->living[n];
        o->left[j] = fmax(0, o->left[j] - time * o->speed[j]);
        if (j == gone)
            continue;
        /* From here on "speed" is that of one core, for hand_over(). */
        o->speed[j] /= (double)o->cores[j];
        o->living[count++] = j;
    }
    o->count = count;
}

/* For the makespan the work is scaled by the weight already (guess_work()), so
 * that it takes its square to prefer heavy jobs as the average does. */
static double mean_weight(const struct completion *o, size_t j)
{
    double weight = o->in->jobs[j].weight;

    return o->average ? weight : weight * weight;
}

/* Speeds after so many ENDS; what is far away is only estimated: by the speeds of
 * a core before. */
static void foresee(struct completion *o, const size_t *layout, size_t ends)
{
    if (ends >= FORESIGHT) {
        for (size_t n = 0; n < o->count; n++)
            o->speed[o->living[n]] *= (double)o->cores[o->living[n]];
        return;
    }
    if (layout)
        predict_layout(o->in, layout, o->speed);
    else
        predict_cores(o->in, o->cores, o->speed);
    o->predictions++;
}

/* From o->cores on, which LAYOUT places if it is not NULL. */
static double look_ahead(struct completion *o, const size_t *layout)
{
    size_t count = o->in->job_count;
    double now = 0, sum = 0, weights = 0;

    memcpy(o->left, o->work, count * sizeof(*o->left));
    memcpy(o->start, o->cores, count * sizeof(*o->start));
    for (o->count = 0; o->count < count; o->count++)
        o->living[o->count] = o->count;
    while (o->count) {
        double step;
        foresee(o, o->count == count ? layout : NULL, count - o->count);
        if (o->count == count)
            memcpy(o->first, o->speed, count * sizeof(*o->first));
        size_t gone = next_end(o, &step);
        now += step;
        o->end[gone] = now;
        sum += now * mean_weight(o, gone);
        weights += mean_weight(o, gone);
        advance(o, gone, step);
        if (o->count)
            hand_over(o, gone);
    }
    o->mean = sum / weights;
    return o->time = o->average ? o->mean : now;
}

double completion_time(struct completion *o, const size_t *cores)
{
    memcpy(o->cores, cores, o->in->job_count * sizeof(*cores));
    return look_ahead(o, NULL);
}

double completion_layout(struct completion *o, const size_t *layout)
{
    size_t count = o->in->job_count;

    layout_cores(layout, o->in->machine->llc_domains, count, o->cores);
    for (size_t j = 0; j < count; j++)
        if (!o->cores[j])
            return NAN;
    return look_ahead(o, layout);
}

/* Equal shares by weight in parts of cores, into SHARE: of all that CORES has, and
 * nobody more than it may have, so that others get what is left. */
static void share_evenly(const struct completion *o, const size_t *cores,
                         double *share)
{
    double most[POLICY_MAX_JOBS], weight[POLICY_MAX_JOBS], pool = 0;
    size_t count = o->in->job_count;

    for (size_t j = 0; j < count; j++) {
        pool += (double)cores[j];
        most[j] = (double)o->in->jobs[j].max_cores;
        weight[j] = o->in->jobs[j].weight;
    }
    double level = maxmin_level(most, weight, count, pool);
    for (size_t j = 0; j < count; j++)
        share[j] = fmin(most[j], level * weight[j]);
}

void completion_floor(struct completion *o, const size_t *cores, double loss,
                   double regret, size_t *layout)
{
    double share[POLICY_MAX_JOBS];

    if (o->all_known)
        return;
    o->bets = true;
    o->regret = regret;
    placement_fresh(o->in, cores, layout);
    predict_layout(o->in, layout, o->speed);
    o->predictions++;
    share_evenly(o, cores, share);
    for (size_t j = 0; j < o->in->job_count; j++) {
        /* Who has one more than others by chance has no right to it. */
        o->shares[j] = cores[j];
        o->equal[j] = o->speed[j] * fmin(1, share[j] / (double)cores[j]);
        o->floor[j] = o->equal[j] * (1 - loss);
    }
}

/* Speed of job J with the present cores: on lines from that of the last completion's
 * beginning over that with equal shares, where these have more cores, to that
 * alone.  While OTHERS run it is not that alone on as many cores. */
static double interpolate(const struct completion *o, size_t j, bool others)
{
    double cores = (double)o->cores[j], most = (double)o->in->jobs[j].max_cores;
    double from = (double)o->start[j], low = o->first[j];
    double to = most, high = o->alone[j];

    if (cores <= from)
        return low;
    if (o->shares[j] > o->start[j] && others && o->equal[j] > low) {
        if (o->cores[j] <= o->shares[j]) {
            to = (double)o->shares[j];
            high = o->equal[j];
        } else {
            from = (double)o->shares[j];
            low = o->equal[j];
        }
    }
    return high > low ? low + (high - low) * (cores - from) / (to - from) : low;
}

/* By how much the last completion's division would be behind equal shares if all
 * jobs were just so long that these let them end at the same time. */
static double loses(struct completion *o)
{
    double now = 0, step;

    memcpy(o->left, o->equal, o->in->job_count * sizeof(*o->left));
    memcpy(o->cores, o->start, o->in->job_count * sizeof(*o->cores));
    o->count = 0;
    for (size_t j = 0; j < o->in->job_count; j++)
        if (o->in->jobs[j].kind == REGION_PARALLEL)
            o->living[o->count++] = j;
    while (o->count) {
        for (size_t n = 0; n < o->count; n++)
            o->speed[o->living[n]] = interpolate(o, o->living[n], o->count > 1);
        size_t gone = next_end(o, &step);
        now += step;
        advance(o, gone, step);
        if (o->count)
            hand_over(o, gone);
    }
    return now - 1;
}

/* How much the speeds of the last completion are below the floors. */
static double below_floor(const struct completion *o)
{
    double worst = 0;

    for (size_t j = 0; j < o->in->job_count; j++)
        if (o->in->jobs[j].kind == REGION_PARALLEL && o->floor[j] > 0)
            worst = fmax(worst, 1 - o->first[j] / o->floor[j]);
    return worst;
}

/* How much the speeds of the last completion are below FAIR[job_count] (see
 * fairness_bounds()), 0: nobody is wronged; 1: somebody does not run. */
static double unfairness(const struct completion *o, const double *fair)
{
    double worst = 0;

    for (size_t j = 0; j < o->in->job_count; j++)
        if (o->in->jobs[j].kind == REGION_PARALLEL && fair[j] > 0)
            worst = fmax(worst, 1 - o->first[j] / fair[j]);
    return worst;
}

double completion_cost(struct completion *o, const double *fair)
{
    double part = MEAN_PART, cost;
    double lost = o->bets ? fmax(0, loses(o) - o->regret) : 0;

    for (size_t j = 1; j < o->in->job_count; j++)
        if (o->in->jobs[j].weight != o->in->jobs[0].weight)
            part = WEIGHTED_PART;
    cost = (1 - part) * o->time + part * o->mean;
    return cost * (1 + UNFAIR * unfairness(o, fair) +
                   BELOW * below_floor(o) + BELOW * lost);
}

double completion_turns(const struct completion *o, const size_t *order)
{
    double now = 0, longest = 0, sum = 0, weights = 0;

    for (size_t i = 0; i < o->in->job_count; i++) {
        const struct policy_job *job = &o->in->jobs[order[i]];
        double time = o->work[order[i]] / o->alone[order[i]], end;
        if (job->kind == REGION_SERIAL) /* runs along */
            end = time;
        else
            end = now += time;
        longest = fmax(longest, end);
        sum += end * job->weight;
        weights += job->weight;
    }
    return o->average ? sum / weights : longest;
}

/* Smith's rule. */
static double rank(const struct completion *o, size_t j)
{
    return o->work[j] / o->alone[j] / mean_weight(o, j);
}

void completion_order(const struct completion *o, size_t *order)
{
    for (size_t j = 0; j < o->in->job_count; j++) {
        size_t i = j;
        for (; i > 0 && o->all_known && rank(o, order[i - 1]) > rank(o, j); i--)
            order[i] = order[i - 1];
        order[i] = j;
    }
}
