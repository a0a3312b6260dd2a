/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the agent counts with. */

#include "node_agent/daemon/agent_counters.h"

#include <string.h>

#include "node_agent/core/observer.h"
#include "node_agent/recording/recording.h"

/* The command line over slurm.conf. */
static const char *wanted(const struct agent *a)
{
    return a->settings->counters[0] ? a->settings->counters : a->options.counters;
}

/* Count with FRESH.  What was measured cannot be compared with what will be: every region is
 * measured anew. */
static void use(struct agent *a, struct counters *fresh, const char *why)
{
    struct counters *before = a->counters;

    if (recorder_active(a->recorder)) {
        log_warn("counters: not changed while a recording goes on");
        counters_close(fresh);
        return;
    }
    log_info("counters: %s", why);
    a->counters = fresh;
    for (struct job *j = a->jobs.first; j; j = j->next) {
        region_list_clear(&j->regions);
        j->region = NULL;
    }
    observer_use(a->observer, a->counters);
    counters_close(before);
    scheduler_forget(a->scheduler);
}

static void on_counters(void *arg, const char *specification, struct counters *fresh,
                        const char *why)
{
    struct agent *a = arg;
    bool stale = strcmp(specification, wanted(a)) != 0;

    if (!fresh && !stale)
        log_error("cosched_counters=%s: %s; %s stays", specification, why,
                  counters_names(a->counters));
    else if (stale || strcmp(counters_names(fresh), counters_names(a->counters)) == 0)
        counters_close(fresh); /* nothing better was found */
    else
        use(a, fresh, why);
    opening_free(a->opening);
    a->opening = NULL;
    if (stale)
        agent_switch_counters(a);
}

void agent_switch_counters(struct agent *a)
{
    struct errtext err;

    if (!a->opening && !(a->opening = opening_new(a->event, wanted(a),
                                                  &a->setup, on_counters, a, &err)))
        log_error("%s; %s stays", err.text, counters_names(a->counters));
}

int agent_open_counters(struct agent *a, struct errtext *err)
{
    const char *first = opening_is_slow(wanted(a)) ? "progress" : wanted(a);
    char why[1024];

    a->counters = counters_open(first, &a->setup, why, sizeof(why), err);
    if (!a->counters)
        return -1;
    log_info("counters: %s", why);
    return 0;
}

void agent_open_slow_counters(struct agent *a)
{
    if (opening_is_slow(wanted(a)))
        agent_switch_counters(a);
}
