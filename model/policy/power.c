/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Common rules: energy objectives of jobs, and a power budget of the node. */

#include "model/policy/power.h"

#include <math.h>
#include <string.h>

#include "common/hash.h"
#include "model/policy/rules.h"
#include "model/policy/search/placement.h"
#include "model/policy/search/predict.h"
#include "model/policy/search/workspace.h"

static size_t cores_of(const struct policy_input *input, const size_t *counts, size_t job)
{
    size_t sum = 0;

    for (size_t i = 0; i < input->machine->llc_domains; i++)
        sum += counts[i * input->job_count + job];
    return sum;
}

/* Watts of job JOB at SPEED on so many CORES, without LLC domains. */
static double job_watts(const struct policy_input *input, size_t job, double cores, double speed)
{
    const struct machine_power *p = &input->machine->power;
    const struct workload *profile = input->jobs[job].profile;
    double requests = 0;

    for (size_t m = 0; profile && m < input->machine->numa_nodes; m++)
        requests += speed * profile->rate[m].mrr_per_us;
    /* Requests per us times nanojoules are milliwatts. */
    return p->core_w * speed + p->stalled_w * fmax(0, cores - speed) +
           1e-3 * p->request_nj * requests;
}

/* The same of all jobs with their LLC domains and the idle node, at the speeds in the workspace. */
static double watts_at_speeds(const struct policy_input *input, const size_t *counts)
{
    const struct machine *m = input->machine;
    double watts = m->power.idle_w;

    for (size_t i = 0; i < m->llc_domains; i++) {
        size_t here = 0;
        for (size_t j = 0; j < input->job_count; j++)
            here += counts[i * input->job_count + j];
        watts += here ? m->power.domain_w : 0;
    }
    for (size_t j = 0; j < input->job_count; j++)
        watts += job_watts(input, j, (double)cores_of(input, counts, j),
                           input->workspace->speed[j]);
    return watts;
}

/* Speeds of COUNTS into the workspace: predicted, or without KNOWN profiles the cores. */
static void fill_speeds(const struct policy_input *input, const size_t *counts, bool known)
{
    if (known)
        predict_layout(input, counts, input->workspace->speed);
    for (size_t j = 0; j < input->job_count && !known; j++)
        input->workspace->speed[j] = (double)cores_of(input, counts, j);
}

double power_layout(const struct policy_input *input, const size_t *counts)
{
    fill_speeds(input, counts, predict_begin(input));
    return watts_at_speeds(input, counts);
}

/* ---- objectives ----------------------------------------------------------------- */

static enum policy_objective objective_of(const struct policy_input *input,
                                          const struct policy_job *job)
{
    return job->objective != POLICY_AS_SITE
               ? job->objective
               : (enum policy_objective)(POLICY_LEAST_TIME + (int)input->options[POLICY_COST]);
}

/* Energy, or energy times time, of a unit of work of JOB alone on CORES. */
static double cost_alone(const struct policy_input *input, size_t job, size_t cores)
{
    struct policy_workspace *ws = input->workspace;
    size_t jobs = input->job_count, domains = 0;

    memset(ws->trial, 0, jobs * sizeof(*ws->trial));
    ws->trial[job] = cores;
    predict_cores(input, ws->trial, ws->speed);
    for (size_t i = 0; i < input->machine->llc_domains; i++)
        domains += ws->fresh[i * jobs + job] > 0;
    double speed = ws->speed[job];
    double watts = job_watts(input, job, (double)cores, speed) +
                   (double)domains * input->machine->power.domain_w +
                   input->machine->power.idle_w / (double)jobs;
    double energy = watts / speed;
    return objective_of(input, &input->jobs[job]) == POLICY_LEAST_EDP ? energy / speed : energy;
}

/* The cores with the least cost, by steps of half the size, single ones at last. */
static size_t best_cores(const struct policy_input *input, size_t job)
{
    const struct policy_job *j = &input->jobs[job];
    size_t best = j->max_cores, step = 1;
    double least = cost_alone(input, job, best);

    while (step < j->max_cores / 2)
        step *= 2;
    while (step >= 1) {
        size_t down = best > step + j->min_cores ? best - step : j->min_cores;
        size_t up = best + step < j->max_cores ? best + step : j->max_cores;
        double below = down < best ? cost_alone(input, job, down) : INFINITY;
        double above = up > best ? cost_alone(input, job, up) : INFINITY;
        if (fmin(below, above) < least) {
            best = below <= above ? down : up;
            least = fmin(below, above);
        } else
            step /= 2;
    }
    return best;
}

/* The same, as known from an earlier decision where nothing of it has changed. */
static size_t bound_of(const struct policy_input *input, size_t job)
{
    const struct policy_job *j = &input->jobs[job];
    uint64_t key = HASH_START;

    hash_word(&key, input->job_count);
    hash_word(&key, objective_of(input, j));
    hash_word(&key, j->min_cores);
    hash_word(&key, j->max_cores);
    hash_word(&key, j->pinned);
    hash_word(&key, j->threads);
    hash_bytes(&key, input->workspace->pool,
               input->machine->llc_domains * sizeof(*input->workspace->pool));
    workload_hash(j->profile, &key);
    key += key == 0;
    if (input->workspace->bound[job].key != key) {
        input->workspace->bound[job].cores = best_cores(input, job);
        input->workspace->bound[job].key = key;
    }
    return input->workspace->bound[job].cores;
}

void power_bound(const struct policy_input *input, struct policy_job *jobs)
{
    size_t bound[POLICY_MAX_JOBS];
    bool some = false;

    if (!machine_has_power(input->machine))
        return;
    for (size_t j = 0; j < input->job_count; j++)
        some |= objective_of(input, &jobs[j]) != POLICY_LEAST_TIME;
    if (!some || !predict_begin(input))
        return;
    for (size_t j = 0; j < input->job_count; j++)
        bound[j] = objective_of(input, &jobs[j]) != POLICY_LEAST_TIME &&
                           jobs[j].kind == REGION_PARALLEL
                       ? bound_of(input, j)
                       : jobs[j].max_cores;
    for (size_t j = 0; j < input->job_count; j++)
        jobs[j].max_cores = bound[j];
}

/* ---- budget ---------------------------------------------------------------------- */

/* Take COUNT cores of JOB from COUNTS, where it has the fewest first, so that LLC domains fall
 * idle. */
static void take(const struct policy_input *input, size_t *counts, size_t job, size_t count)
{
    size_t jobs = input->job_count;

    while (count > 0) {
        size_t *fewest = NULL;
        for (size_t i = 0; i < input->machine->llc_domains; i++) {
            size_t *here = &counts[i * jobs + job];
            if (*here && (!fewest || *here < *fewest))
                fewest = here;
        }
        size_t some = *fewest < count ? *fewest : count;
        *fewest -= some;
        count -= some;
    }
}

/* What a proposal does. */
struct budget {
    const struct policy_input *input;
    struct policy_proposal *proposal;
    bool known;
    double watts; /* of the proposal */
    double speed[POLICY_MAX_JOBS];
    struct loss {
        double each;  /* parts of their speeds that jobs lose for each watt; INFINITY: keep all */
        double after; /* speed */
        double saved; /* watts */
    } loss[POLICY_MAX_JOBS]; /* if a job loses a core */
};

/* What it costs if JOB loses a core: a job of speed S on n cores is taken to have
 * n / (1 + a (n - 1)) on others. */
static void find_loss(struct budget *b, size_t job)
{
    struct loss *loss = &b->loss[job];
    const struct policy_job *j = &b->input->jobs[job];
    double n = (double)b->proposal->cores[job], speed = b->speed[job];

    *loss = (struct loss){.each = INFINITY};
    if (b->proposal->cores[job] <= j->min_cores || !(speed > 0))
        return;
    double a = fmax(0, (n / speed - 1) / (n - 1));
    loss->after = fmin(speed, (n - 1) / (1 + a * (n - 2)));
    loss->saved = job_watts(b->input, job, n, speed) -
                  job_watts(b->input, job, n - 1, loss->after);
    if (loss->saved > 0)
        loss->each = j->weight * (1 - loss->after / speed) / loss->saved;
}

/* Take cores one by one, where that costs least, until half of what is too much is saved by
 * this estimate: few predictions bring the rest to light.  False when nobody can lose any. */
static bool cut(struct budget *b, double limit, size_t *idle)
{
    double excess = (b->watts - limit) / 2;
    size_t before = *idle;

    for (size_t j = 0; j < b->input->job_count; j++)
        find_loss(b, j);
    do {
        double least = INFINITY;
        size_t best = b->input->job_count;
        for (size_t j = 0; j < b->input->job_count; j++)
            if (b->loss[j].each < least) {
                least = b->loss[j].each;
                best = j;
            }
        if (best == b->input->job_count)
            break;
        take(b->input, b->proposal->layout, best, 1);
        b->proposal->cores[best]--;
        b->speed[best] = b->loss[best].after;
        excess -= b->loss[best].saved;
        find_loss(b, best);
        ++*idle;
    } while (excess > 0);
    return *idle > before;
}

static void measure(struct budget *b)
{
    fill_speeds(b->input, b->proposal->layout, b->known);
    b->watts = watts_at_speeds(b->input, b->proposal->layout);
    memcpy(b->speed, b->input->workspace->speed, b->input->job_count * sizeof(*b->speed));
}

void power_apply(const struct policy_input *input, struct policy_proposal *proposal,
                 struct power_ruling *ruling)
{
    double limit = input->options[POLICY_POWER];
    struct budget b = {.input = input, .proposal = proposal};

    *ruling = (struct power_ruling){.watts = NAN};
    if (!(limit > 0) || proposal->mode == POLICY_NATIVE || !machine_has_power(input->machine))
        return;
    if (!proposal->placed)
        placement_counts(input, proposal->cores, proposal->layout);
    b.known = predict_begin(input);
    for (measure(&b); b.watts > limit && cut(&b, limit, &ruling->idle); measure(&b))
        ;
    ruling->watts = b.watts;
    proposal->placed |= ruling->idle > 0;
}

/* ---- words ----------------------------------------------------------------------- */

void power_explain(const struct policy_input *input, const struct policy_proposal *proposal,
                   const struct power_ruling *ruling, char *text, size_t size)
{
    bool wanted = input->options[POLICY_POWER] > 0;

    for (size_t j = 0; j < input->job_count; j++) {
        const struct policy_job *job = &input->jobs[j];
        enum policy_objective objective = objective_of(input, job);
        if (objective == POLICY_LEAST_TIME || job->kind != REGION_PARALLEL)
            continue;
        wanted = true;
        /* One that is above what it got has decided nothing. */
        if (machine_has_power(input->machine) && proposal->mode == POLICY_SPACE &&
            proposal->cores[j] == job->max_cores &&
            input->workspace->bound[j].cores == job->max_cores)
            policy_append(text, size, "; job %u: not more than %zu for least energy%s", job->id,
                   job->max_cores, objective == POLICY_LEAST_EDP ? " times time" : "");
    }
    if (ruling->idle)
        policy_append(text, size, "; %zu core%s idle to draw %.0f W of %.0f", ruling->idle,
               ruling->idle == 1 ? "" : "s", ruling->watts, input->options[POLICY_POWER]);
    if (wanted && !machine_has_power(input->machine))
        policy_append(text, size, "; what the machine draws is not known");
}
