/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's options: what Slurm says, and what follows from a change. */

#include <stdlib.h>
#include <string.h>

#include "node_agent/daemon/agent.h"
#include "common/clock.h"
#include "common/log.h"
#include "node_agent/core/process.h"
#include "node_agent/recording/recording.h"

/* The command line over slurm.conf. */
static const char *wanted_counters(const struct agent *a,
                                   const struct node_options *options)
{
    return a->settings->counters[0] ? a->settings->counters
                                    : options->counters;
}

int agent_open_counters(struct agent *a, struct errtext *err)
{
    char why[1024];
    struct counters *fresh =
        counters_open(wanted_counters(a, &a->options), &a->setup, why,
                      sizeof(why), err);

    if (!fresh)
        return -1;
    log_info("counters: %s", why);
    a->counters = fresh;
    return 0;
}

/* Count with something else.  What was measured cannot be compared with what
 * will be: every section is measured anew. */
static void switch_counters(struct agent *a)
{
    struct counters *before = a->counters;
    struct errtext err;

    if (recorder_active(a->recorder)) {
        log_warn("counters: not changed while a recording goes on");
        return;
    }
    if (agent_open_counters(a, &err) < 0) {
        log_error("cosched_counters=%s: %s; %s stays", a->options.counters,
                  err.text, counters_names(before));
        return;
    }
    for (struct job *j = a->jobs.first; j; j = j->next) {
        section_list_clear(&j->sections);
        j->section = NULL;
    }
    observer_use(a->observer, a->counters);
    counters_close(before);
    scheduler_forget(a->scheduler);
}

/* Say what is in force once, in one line. */
static void log_config(const struct node_config *c)
{
    char value[OPTIONS_TEXT_MAX], text[768];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < node_option_count() && used < sizeof(text); i++)
        if (c->origins.option[i].source != OPTION_DEFAULT)
            used += (size_t)snprintf(
                text + used, sizeof(text) - used, "%s%s=%s", used ? ", " : "",
                node_option_name(i),
                node_option_value(&c->options, i, value, sizeof(value)));
    log_notice("options: %s", used ? text : "all as by default");
}

void agent_configure(struct agent *a, const struct slurm_says *says)
{
    struct node_config fresh;

    node_config_make(&fresh, says, a->settings->overrides);
    if (fresh.problems.count &&
        strcmp(fresh.problems.text, a->config.problems.text))
        log_error("SchedulerParameters: %s (without effect)",
                  fresh.problems.text);
    bool changed = memcmp(&fresh.options, &a->options, sizeof(a->options)) != 0;
    bool counters =
        strcmp(wanted_counters(a, &fresh.options), wanted_counters(a, &a->options));
    a->config = fresh;
    if (!changed)
        return;
    a->options = fresh.options;
    log_config(&fresh);
    if (!a->scheduler)
        return; /* still at its start */
    if (counters)
        switch_counters(a);
    for (struct job *j = a->jobs.first; j; j = j->next) {
        j->unsettled = true; /* held by other means, perhaps */
        for (struct process *p = j->processes; p; p = p->next)
            allotment_regrant(p->allotment, &j->granted, a->options.lease_ns,
                              clock_ns());
    }
    scheduler_trigger(a->scheduler, "new options");
}

static int keep(char **to, const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        return -1;
    free(*to);
    *to = copy;
    return 0;
}

void agent_slurm_says(struct agent *a, const struct slurm_says *says)
{
    struct node_state *n = &a->node;

    a->slurm_absent[0] = '\0';
    /* For the next agent, which may find slurmctld away. */
    if (keep(&n->scheduler_parameters, says->scheduler_parameters) < 0 ||
        keep(&n->partitions, says->partitions) < 0)
        log_error("slurm.conf: out of memory");
    agent_configure(a, says);
    agent_touch(a);
}

void agent_slurm_absent(struct agent *a, const char *error)
{
    if (error && !a->slurm_absent[0])
        log_notice("slurmctld does not answer: %s; options stay as they are",
                   error);
    else if (!error && a->slurm_absent[0])
        log_notice("slurmctld answers again");
    snprintf(a->slurm_absent, sizeof(a->slurm_absent), "%s",
             error ? error : "");
}
