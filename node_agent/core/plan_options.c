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
