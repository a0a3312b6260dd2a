/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a simulated node is given to run. */

#include "simulator/scenario.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void job_release(struct scenario_job *job)
{
    for (size_t i = 0; job->region && i < job->regions; i++) {
        free(job->region[i].name);
        free(job->region[i].object);
        free(job->region[i].thread_node);
    }
    free(job->region);
    free(job->phase);
    free(job->name);
    free(job->program);
}

static void scenario_release(struct scenario *scenario)
{
    for (size_t i = 0; scenario->job && i < scenario->jobs; i++)
        job_release(&scenario->job[i]);
    for (size_t i = 0; scenario->figure && i < scenario->figures; i++)
        free(scenario->figure[i].policy);
    free(scenario->job);
    free(scenario->figure);
    free(scenario->name);
    free(scenario->source);
}

void scenario_set_free(struct scenario_set *set)
{
    int saved = errno;

    if (!set)
        return;
    for (size_t i = 0; set->scenario && i < set->scenarios; i++)
        scenario_release(&set->scenario[i]);
    free(set->scenario);
    free(set->file);
    free(set);
    errno = saved;
}

const struct scenario *scenario_find(const struct scenario_set *set,
                                     const char *name)
{
    for (size_t i = 0; i < set->scenarios; i++)
        if (strcmp(set->scenario[i].name, name) == 0)
            return &set->scenario[i];
    return NULL;
}

size_t scenario_steps(const struct scenario_job *job)
{
    size_t steps = 0;

    for (size_t i = 0; i < job->phases; i++)
        steps += job->phase[i].repeat * job->phase[i].count;
    return steps;
}

const struct scenario_region *
scenario_step(const struct scenario_job *job, size_t step)
{
    const struct scenario_phase *phase = job->phase;

    while (step >= phase->repeat * phase->count) {
        step -= phase->repeat * phase->count;
        phase++;
    }
    return &job->region[phase->first + step % phase->count];
}

double scenario_llc_factor(const struct scenario_region *region, double llc_share, double cores)
{
    double requests = region->read_per_us + region->write_per_us +
                      region->prefetch_per_us;
    double factor = (1 + region->llc_loss * (1 - llc_share)) * pow(cores, region->llc_power);

    /* An access that misses is still one access. */
    return requests > 0 ? fmin(factor, region->llc_per_us / requests) : 1;
}

bool scenario_asks_alike(const struct scenario_region *a, const struct scenario_region *b)
{
    return a->kind == b->kind && a->read_per_us == b->read_per_us &&
           a->write_per_us == b->write_per_us && a->prefetch_per_us == b->prefetch_per_us &&
           a->placement == b->placement && a->thread_share == b->thread_share &&
           a->thread_nodes == b->thread_nodes &&
           (!a->thread_nodes || !memcmp(a->thread_node, b->thread_node,
                                        a->thread_nodes * sizeof(*a->thread_node))) &&
           a->llc_per_us == b->llc_per_us && a->llc_loss == b->llc_loss &&
           a->llc_power == b->llc_power && a->overlap == b->overlap && a->latency == b->latency;
}
