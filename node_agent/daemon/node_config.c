/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The options in force on this node, and where each is from. */

#include "node_agent/daemon/node_config.h"

#include <string.h>

#include "node_agent/core/plan.h"

/* Options of the policy that it does not have: its defaults then. */
static void check_policy_options(struct node_config *c)
{
    struct errtext err;

    if (plan_check_options(c->options.policy, c->options.policy_options, &err) <
        0) {
        node_problems_add(&c->problems, err.text);
        node_option_reset(&c->options, &c->origins, "policy_options");
    }
}

void node_config_make(struct node_config *c, const struct slurm_says *says,
                      const char *overrides)
{
    memset(c, 0, sizeof(*c));
    node_options_init(&c->options);
    if (says) {
        snprintf(c->partitions, sizeof(c->partitions), "%s",
                 says->partitions ? says->partitions : "");
        node_options_apply(&c->options, &c->origins, OPTION_SLURM_CONF,
                           says->scheduler_parameters, says->partitions,
                           says->others, &c->problems);
        check_policy_options(c);
    }
    node_options_apply(&c->options, &c->origins, OPTION_COMMAND_LINE, overrides,
                       NULL, NULL, &c->problems);
    check_policy_options(c);
}

int node_config_check(const char *overrides, struct errtext *err)
{
    struct node_config config;
    struct node_options options;

    /* Policy options may be for the policy of slurm.conf: without --policy they
     * are checked when that is known. */
    if (node_options_parse(&options, overrides, err) < 0)
        return -1;
    node_config_make(&config, NULL, overrides);
    size_t policy = node_option_find("policy");
    if (config.origins.option[policy].source == OPTION_COMMAND_LINE)
        return plan_check_options(options.policy, options.policy_options, err);
    return 0;
}

const char *node_config_origin(const struct node_config *c, size_t index,
                               char *buffer, size_t size)
{
    static const char *const names[] = {
        [OPTION_DEFAULT] = "default",
        [OPTION_SLURM_CONF] = "slurm.conf",
        [OPTION_PARTITION] = "slurm.conf, partition ",
        [OPTION_COMMAND_LINE] = "command line",
    };

    snprintf(buffer, size, "%s%s", names[c->origins.option[index].source],
             c->origins.option[index].partition);
    return buffer;
}
