/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedsim run: scenarios under policies, one by one. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "node_agent/core/trace_json.h"
#include "simulator/coschedsim.h"

static void print_outcome(const struct outcome *o, bool explain)
{
    const struct vnode_result *r = o->result;
    double most = 0;

    for (size_t i = 0; i < r->controllers; i++)
        most = r->utilisation[i] > most ? r->utilisation[i] : most;
    printf("%s under %s: makespan %.2f s, Hmean %.3f, cores busy %.0f %% "
           "(computing %.0f %%), busiest controller %.0f %%, %zu decisions, "
           "%zu CPUs moved\n",
           r->scenario->name, o->policy, r->makespan_s, o->hmean,
           100 * r->core_util, 100 * r->compute_util, 100 * most, r->decisions,
           r->moved_cpus);
    printf("  %3s %-16s %10s %12s %10s %9s %8s %8s\n", "job", "", "arrival s",
           "turnaround s", "alone s", "slowdown", "cores", "moves");
    for (size_t j = 0; j < r->scenario->jobs; j++) {
        const struct vnode_job *job = &r->job[j];
        printf("  %3zu %-16s %10.2f %12.2f %10.2f %9.2f %8.2f %8llu\n", j + 1,
               job->name, job->arrival_s, job->turnaround_s, o->alone_s[j],
               outcome_slowdown(o, j),
               job->core_s / job->turnaround_s, (unsigned long long)job->moves);
    }
    for (size_t i = 0; explain && i < json_array_size(r->log); i++) {
        const json_t *d = json_array_get(r->log, i);
        const char *trigger = json_string_value(json_object_get(d, "trigger"));
        const char *text = json_string_value(json_object_get(d, "text"));
        printf("  %10.3f s, %s: %s\n",
               json_number_value(json_object_get(d, "time")),
               trigger ? trigger : "", text ? text : "");
    }
}

static int copy_trace(const struct vnode_result *r, const char *file)
{
    FILE *out = fopen(file, "we");
    struct trace_view view = {.now_ns = r->trace_end_ns, .decisions = r->log};
    bool good = out && trace_json(r->trace_fd, &view, out, NULL) == 0;

    if (out && fclose(out))
        good = false;
    return good ? EXIT_DONE
                : fail(EXIT_REFUSED, "%s: %s", file, strerror(errno));
}

struct run {
    json_t *all;
    size_t runs;
};

static int one(struct world *w, const struct scenario *scenario,
               const char *policy, bool fresh, void *arg)
{
    const struct arguments *a = w->arguments;
    struct run *run = arg;
    struct outcome o;
    int status = world_simulate(w, scenario, policy, "", &o);

    (void)fresh;
    if (status == EXIT_DONE && run->runs++ && (a->trace || a->record))
        status = fail(EXIT_USAGE, "--%s: is for one scenario and one policy",
                      a->trace ? "trace" : "record");
    if (status == EXIT_DONE && a->trace)
        status = copy_trace(o.result, a->trace);
    if (status == EXIT_DONE) {
        if (a->json)
            json_array_append_new(run->all, outcome_json(&o, a->explain));
        else
            print_outcome(&o, a->explain);
    }
    outcome_release(&o);
    return status;
}

/* Run everything of W, which is open with STATUS. */
static int run_all(struct world *w, int status)
{
    const struct arguments *a = w->arguments;
    struct run run = {.all = json_array()};

    if (status == EXIT_DONE && !a->json && *w->recorded_policy)
        printf("recorded: %.2f s under %s\n", w->recorded_s,
               w->recorded_policy);
    if (status == EXIT_DONE)
        status = world_each(w, a->policy ? a->policy : OPTIONS_POLICY, one, &run);
    if (status == EXIT_DONE && a->json)
        status = print_json(json_incref(run.all));
    json_decref(run.all);
    world_close(w);
    return status;
}

int command_run(const struct arguments *a)
{
    struct world w;

    return run_all(&w, world_open(&w, a));
}

int command_replay(const struct arguments *a)
{
    struct world w;

    return run_all(&w, world_open_recording(&w, a));
}
