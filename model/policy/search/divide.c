/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Divide the pool's cores among jobs step by step, best step first. */

#include "model/policy/search/divide.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "model/policy/search/workspace.h"

size_t divide_pool(const struct policy_input *input)
{
    size_t count = 0;

    for (size_t cpu = 0; cpu < input->machine->cpus; cpu++)
        count += input->owner[cpu] != POLICY_NO_CPU;
    return count;
}

/* True when every CPU of NODE, which has SIZE, is in the pool. */
static bool node_whole(const struct policy_input *input, size_t node,
                       size_t *size)
{
    size_t pooled = 0;

    if (input->workspace) {
        *size = input->workspace->size[node];
        return *size && input->workspace->pool[node] == *size;
    }
    *size = 0;
    for (size_t cpu = 0; cpu < input->machine->cpus; cpu++)
        if (input->machine->llc_domain[cpu] == (int)node) {
            pooled += input->owner[cpu] != POLICY_NO_CPU;
            ++*size;
        }
    return *size && pooled == *size;
}

size_t divide_unit(const struct policy_input *input)
{
    size_t parallel = 0, whole = 0, smallest = 0;

    for (size_t j = 0; j < input->job_count; j++)
        parallel += input->jobs[j].kind == REGION_PARALLEL;
    size_t broken = parallel < input->job_count; /* by cores of serial jobs */
    for (size_t i = 0; i < input->machine->llc_domains; i++) {
        size_t size;
        if (node_whole(input, i, &size)) {
            smallest = whole && smallest < size ? smallest : size;
            whole++;
        }
    }
    return parallel && whole > 1 && whole >= parallel + broken ? smallest : 1;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Cores that job JOB gets in the next step, of REST that are left: up to the
 * next multiple of UNIT. */
static size_t step(const struct policy_input *input, const size_t *cores,
                   size_t job, size_t unit, size_t rest)
{
    size_t room = input->jobs[job].max_cores - cores[job];
    size_t want = unit - cores[job] % unit;

    return least(least(want, room), rest);
}

/* The job that SCORE prefers for the next step, or job_count if none may. */
static size_t best_job(const struct policy_input *input, divide_score_f score,
                       void *arg, size_t *cores, size_t unit, size_t rest)
{
    size_t best = input->job_count;
    double best_score = 0;

    for (size_t j = 0; j < input->job_count; j++) {
        size_t more = step(input, cores, j, unit, rest);

        if (more == 0)
            continue;
        cores[j] += more;
        double value = score(arg, cores, j);
        cores[j] -= more;
        /* Rounding must not decide between equal jobs. */
        if (best == input->job_count || value > best_score + 1e-12) {
            best = j;
            best_score = value;
        }
    }
    return best;
}

/* Give each job its minimum, and each parallel one a whole unit if it may have
 * it.  Returns the cores that are left. */
static size_t start(const struct policy_input *input, size_t unit,
                    size_t *cores)
{
    size_t rest = divide_pool(input);

    for (size_t j = 0; j < input->job_count; j++) {
        cores[j] = input->jobs[j].min_cores;
        rest -= cores[j];
    }
    for (size_t j = 0; j < input->job_count; j++) {
        size_t more = step(input, cores, j, unit, rest);
        if (input->jobs[j].kind == REGION_PARALLEL && cores[j] < unit) {
            cores[j] += more;
            rest -= more;
        }
    }
    return rest;
}

void divide_from(const struct policy_input *input, divide_begin_f begin,
                 divide_score_f score, void *arg, size_t *cores)
{
    size_t unit = divide_unit(input);
    size_t rest = start(input, unit, cores);

    while (rest) {
        if (begin)
            begin(arg, cores);
        size_t best = best_job(input, score, arg, cores, unit, rest);
        if (best == input->job_count)
            return;
        size_t more = step(input, cores, best, unit, rest);
        cores[best] += more;
        rest -= more;
    }
}

void divide(const struct policy_input *input, divide_score_f score, void *arg,
            size_t *cores)
{
    divide_from(input, NULL, score, arg, cores);
}

/* What each job promised to add, and whether it was asked in this step. */
struct promises {
    double gain[POLICY_MAX_JOBS];
    bool asked[POLICY_MAX_JOBS];
};

/* The job with the greatest promise that may have more, or job_count. */
static size_t most_promising(const struct policy_input *input,
                             const struct promises *p, const size_t *cores,
                             size_t unit, size_t rest)
{
    size_t best = input->job_count;

    for (size_t j = 0; j < input->job_count; j++)
        if (step(input, cores, j, unit, rest) &&
            (best == input->job_count || p->gain[j] > p->gain[best] + 1e-12))
            best = j;
    return best;
}

void divide_lazy(const struct policy_input *input, divide_score_f score,
                 void *arg, size_t *cores)
{
    size_t unit = divide_unit(input);
    size_t rest = start(input, unit, cores);
    struct promises p;
    double now = score(arg, cores, 0);

    for (size_t j = 0; j < input->job_count; j++) {
        p.gain[j] = INFINITY;
        p.asked[j] = false;
    }
    while (rest) {
        size_t j = most_promising(input, &p, cores, unit, rest);
        if (j == input->job_count)
            break;
        size_t more = step(input, cores, j, unit, rest);
        cores[j] += more;
        if (p.asked[j]) {
            now += p.gain[j];
            rest -= more;
            memset(p.asked, 0, sizeof(p.asked));
            continue;
        }
        p.gain[j] = score(arg, cores, j) - now;
        cores[j] -= more;
        p.asked[j] = true;
    }
}
