/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a site says of policies: cosched_policy_options. */

#include <string.h>

#include "node_agent/core/plan.h"

static int bad_option(const struct policy *policy, const char *bad,
                    struct errtext *err)
{
    char names[200] = "";
    size_t used = 0, length = strcspn(bad, ";");

    for (size_t i = 0; i < policy_option_count(policy); i++) {
        const struct policy_option *o = policy_option(policy, i);
        int n = o->words ? snprintf(names + used, sizeof(names) - used,
                                    "%s%s:%s", i ? ", " : "", o->name, o->words)
                         : snprintf(names + used, sizeof(names) - used,
                                    "%s%s:%g..%g", i ? ", " : "", o->name,
                                    o->low, o->high);
        used += (size_t)n;
        if (used >= sizeof(names))
            break;
    }
    return errtext_set(err, EINVAL,
                       "cosched_policy_options: %.*s: not an option of policy "
                       "%s, which has %s", (int)(length < 40 ? length : 40),
                       bad, policy->name, names);
}

int plan_options(const struct policy *policy, const char *text, double *values,
                 struct errtext *err)
{
    const char *bad;

    policy_options_init(policy, values);
    return policy_options_parse(policy, text, values, &bad) == MODEL_OK
               ? 0
               : bad_option(policy, bad, err);
}

int plan_check_options(const char *name, const char *text, struct errtext *err)
{
    const struct policy *policy = policy_find(name);
    double values[POLICY_OPTIONS_MAX];

    if (!policy)
        return errtext_set(err, EINVAL, "policy %s: no such policy", name);
    return plan_options(policy, text, values, err);
}

bool plan_maps(const char *name, const char *text)
{
    const struct policy *policy = policy_find(name);
    double values[POLICY_OPTIONS_MAX];

    return policy && plan_options(policy, text, values, NULL) == 0 &&
           (enum mapper_rule)values[POLICY_MAPPING] != MAPPER_NONE;
}

/* Was REGION measured to be slower on CORES than on ALL by more than the predictor allows? */
static bool was_worse(const struct region *region, size_t cores, size_t all)
{
    const struct measure_point *few = measure_find(&region->measure, cores);
    const struct measure_point *many = measure_find(&region->measure, all);
    struct throughput_rate some, most;

    if (!few || !many)
        return false;
    enum counters_unit unit = measure_unit(few, &some);
    return unit != COUNTERS_UNITS && measure_unit(many, &most) == unit &&
           some.rate < (1 - 2 * USEFUL_TOLERANCE) * most.rate;
}

enum concurrency_objective plan_objective(const struct job *job, const double *options)
{
    int asked = job->options.objective; /* 0: as the site says */

    return (enum concurrency_objective)(asked ? asked - 1 : (int)options[POLICY_COST]);
}

size_t plan_useful(const struct job *job, const double *options)
{
    enum concurrency_objective objective = plan_objective(job, options);

    size_t cores =
        useful_cores(job->region->useful, (enum concurrency_kind)options[POLICY_CONCURRENCY],
                     objective);
    return cores && objective == OBJECTIVE_TIME &&
                   was_worse(job->region, cores, useful_of(job->region->useful))
               ? 0
               : cores;
}
