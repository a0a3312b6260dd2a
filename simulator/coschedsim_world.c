/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From a command line to runs of scenarios. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/cpulist.h"
#include "model/io/concurrency_json.h"
#include "node_agent/core/plan.h"
#include "simulator/coschedsim.h"

/* A job alone under a policy; jobs with equal programs take as long. */
struct standalone {
    const struct scenario_job *job;
    char policy[64];
    double time_s;
    struct vnode_earlier record;
    struct standalone *next;
};

/* No scenario may ask for a NUMA node that the machine lacks. */
static int check_nodes(const struct world *w, const char *file)
{
    size_t nodes = w->machine->machine->numa_nodes;

    for (size_t i = 0; i < w->set->scenarios; i++)
        for (size_t j = 0; j < w->set->scenario[i].jobs; j++) {
            const struct scenario_job *job = &w->set->scenario[i].job[j];
            if (job->numa_node != SCENARIO_NO_NODE &&
                job->numa_node >= nodes)
                return fail(EXIT_REFUSED,
                            "%s: scenario %s: job %s: numa_node: %zu, but "
                            "machine %s has %zu", file,
                            w->set->scenario[i].name, job->name,
                            job->numa_node, w->arguments->machine, nodes);
        }
    return EXIT_DONE;
}

int world_open(struct world *w, const struct arguments *a)
{
    struct errtext err = {""};

    *w = (struct world){.arguments = a};
    if (!a->file)
        return fail(EXIT_USAGE, "needs a file of scenarios");
    if (!a->machine)
        return fail(EXIT_USAGE, "needs --machine");
    if (!(w->machine = machine_json_find(a->machine, &err)) ||
        !(w->set = scenario_load(a->file, a->library, &err)))
        return fail(EXIT_REFUSED, "%s", err.text);
    if (a->weights &&
        !(w->model = concurrency_json_load(a->weights, w->machine->machine, &err)))
        return fail(EXIT_REFUSED, "%s", err.text);
    if (a->scenario && !scenario_find(w->set, a->scenario))
        return fail(EXIT_REFUSED, "%s: has no scenario %s", a->file,
                    a->scenario);
    return check_nodes(w, a->file);
}

void world_forget(struct world *w)
{
    while (w->alone) {
        struct standalone *s = w->alone;
        w->alone = s->next;
        free(s);
    }
}

void world_close(struct world *w)
{
    world_forget(w);
    scenario_set_free(w->set);
    concurrency_model_free(w->model);
    machine_description_free(w->machine);
    machine_free(w->own);
}

/* ---- one run ------------------------------------------------------------- */

/* SchedulerParameters from --options, OPTIONS and POLICY, whose options come
 * behind a colon. */
static int parse_options(const char *policy, const char *more,
                         const struct arguments *a, struct vnode_config *c)
{
    const char *colon = strchr(policy, ':');
    int length = colon ? (int)(colon - policy) : (int)strlen(policy);
    char own[256] = "", text[1024];
    struct errtext err = {""};

    if (colon) {
        snprintf(own, sizeof(own), ",cosched_policy_options=%s", colon + 1);
        for (char *p = strchr(own + 1, '=') + 1; *p; p++)
            if (*p == '=')
                *p = ':';
    }
    if (snprintf(text, sizeof(text), "cosched_policy=%.*s%s%s%s%s%s", length,
                 policy, own, *a->options ? "," : "", a->options,
                 *more ? "," : "", more) >= (int)sizeof(text))
        return fail(EXIT_USAGE, "policy %.40s...: too long", policy);
    if (node_options_parse(&c->options, text, &err) < 0 ||
        plan_check_options(c->options.policy, c->options.policy_options,
                           &err) < 0)
        return fail(EXIT_USAGE, "%s", err.text);
    return EXIT_DONE;
}

static int configure(const struct world *w, const struct scenario *scenario,
                     const char *policy, const char *more,
                     struct vnode_config *c)
{
    const struct arguments *a = w->arguments;

    vnode_config_init(c, w->other ? w->other : w->machine->machine, scenario);
    c->model = w->model;
    c->counters = a->counters;
    c->noise = a->noise;
    c->seed = a->seed;
    c->limit_s = a->limit_s;
    c->wait = (enum timeshare_wait)a->wait;
    c->stock = a->stock;
    c->network = (enum network_method)a->network;
    return parse_options(policy, more, a, c);
}

static bool same_region(const struct scenario_region *a,
                         const struct scenario_region *b)
{
    return scenario_asks_alike(a, b) && a->work_s == b->work_s && a->imbalance == b->imbalance &&
           a->sync_share == b->sync_share && a->barriers == b->barriers;
}

/* Does A take as long as B when it is alone? */
static bool same_job(const struct scenario_job *a, const struct scenario_job *b)
{
    if (a->threads != b->threads || a->numa_node != b->numa_node ||
        a->regions != b->regions || a->phases != b->phases ||
        a->sleeps != b->sleeps || a->max_cores != b->max_cores)
        return false;
    for (size_t i = 0; i < a->phases; i++)
        if (memcmp(&a->phase[i], &b->phase[i], sizeof(a->phase[i])))
            return false;
    for (size_t i = 0; i < a->regions; i++)
        if (!same_region(&a->region[i], &b->region[i]))
            return false;
    return true;
}

/* JOB alone under POLICY; NULL with the reason printed. */
static const struct standalone *alone(struct world *w, const struct scenario_job *job,
                                      const char *policy)
{
    struct scenario_job copy = *job;
    struct scenario scenario = {.name = job->name, .job = &copy, .jobs = 1};
    struct vnode_config c;
    struct errtext err = {""};

    for (const struct standalone *s = w->alone; s; s = s->next)
        if (!strcmp(s->policy, policy) && same_job(s->job, job))
            return s;
    copy.arrival_s = 0;
    if (configure(w, &scenario, policy, "", &c) != EXIT_DONE)
        return NULL;
    struct vnode_result *r = vnode_run(&c, &err);
    struct standalone *s = malloc(sizeof(*s));
    if (!r || !s) {
        fail(EXIT_REFUSED, "%s", r ? "out of memory" : err.text);
        vnode_result_free(r);
        free(s);
        return NULL;
    }
    *s = (struct standalone){.job = job, .time_s = r->makespan_s, .record = r->job->record,
                             .next = w->alone};
    snprintf(s->policy, sizeof(s->policy), "%s", policy);
    w->alone = s;
    vnode_result_free(r);
    return s;
}

double outcome_slowdown(const struct outcome *o, size_t job)
{
    return o->result->job[job].turnaround_s / o->alone_s[job];
}

int world_simulate(struct world *w, const struct scenario *scenario,
                   const char *policy, const char *options, struct outcome *o)
{
    struct vnode_config c;
    struct errtext err = {""};
    double slowdown = 0;

    *o = (struct outcome){.hmean = NAN,
                          .history = w->arguments->history ||
                                     scenario->history};
    snprintf(o->policy, sizeof(o->policy), "%s", policy);
    int status = configure(w, scenario, policy, options, &c);
    if (status != EXIT_DONE)
        return status;
    c.record = w->arguments->record;
    struct vnode_earlier earlier[SCENARIO_MAX_JOBS];
    for (size_t j = 0; o->history && j < scenario->jobs; j++) {
        const struct standalone *s = alone(w, &scenario->job[j], policy);
        if (!s)
            return EXIT_REFUSED;
        earlier[j] = s->record;
    }
    c.earlier = o->history ? earlier : NULL;
    if (!(o->result = vnode_run(&c, &err)))
        return fail(EXIT_REFUSED, "policy %s: %s", policy, err.text);
    for (size_t j = 0; j < scenario->jobs; j++) {
        const struct standalone *s = alone(w, &scenario->job[j], "native");
        if (!s)
            return EXIT_REFUSED;
        o->alone_s[j] = s->time_s;
        slowdown += outcome_slowdown(o, j);
        o->worst = fmax(o->worst, outcome_slowdown(o, j));
        o->mean_s += o->result->job[j].turnaround_s / (double)scenario->jobs;
    }
    o->hmean = (double)scenario->jobs / slowdown;
    return EXIT_DONE;
}

int world_native(struct world *w, const struct scenario *scenario,
                 double *makespan_s)
{
    struct outcome o;
    int status = world_simulate(w, scenario, "native", "", &o);

    if (status == EXIT_DONE)
        *makespan_s = o.result->makespan_s;
    outcome_release(&o);
    return status;
}

void outcome_release(struct outcome *o)
{
    vnode_result_free(o->result);
    o->result = NULL;
}

int world_policies(struct world *w, const struct scenario *scenario,
                   const char *names, world_each_f each, void *arg)
{
    bool fresh = true;
    int status = EXIT_DONE;

    for (const char *p = names; status == EXIT_DONE; fresh = false) {
        size_t length = strcspn(p, ",");
        char policy[64];
        if (!length || length >= sizeof(policy))
            return fail(EXIT_USAGE, "--policy %s: a name is missing or too "
                        "long", names);
        memcpy(policy, p, length);
        policy[length] = '\0';
        status = each(w, scenario, policy, fresh, arg);
        if (!p[length])
            break;
        p += length + 1;
    }
    return status;
}

int world_each(struct world *w, const char *names, world_each_f each,
               void *arg)
{
    const char *wish = w->arguments->scenario;
    int status = EXIT_DONE;

    for (size_t i = 0; i < w->set->scenarios && status == EXIT_DONE; i++) {
        const struct scenario *s = &w->set->scenario[i];
        if (!wish || !strcmp(wish, s->name))
            status = world_policies(w, s, names, each, arg);
    }
    return status;
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *job_json(const struct outcome *o, size_t j)
{
    const struct vnode_job *job = &o->result->job[j];

    return json_pack("{s:s,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:I}", "name",
                     job->name, "arrival_s", job->arrival_s, "end_s",
                     job->end_s, "turnaround_s", job->turnaround_s, "alone_s",
                     o->alone_s[j], "slowdown", outcome_slowdown(o, j),
                     "core_s", job->core_s, "busy_s", job->busy_s, "work_s",
                     job->work_s, "done_s", job->record.done_s, "moves", (json_int_t)job->moves);
}

/* Which CPUs each job had from when on. */
static json_t *allocation_json(const struct vnode_result *r)
{
    json_t *changes = json_array();
    char cpus[4096];

    for (size_t i = 0; i < r->changes; i++) {
        cpulist_format(&r->change[i].cpus, cpus, sizeof(cpus));
        json_array_append_new(changes, json_pack("{s:f,s:I,s:s}", "time_s",
                                                 r->change[i].time_s, "job",
                                                 (json_int_t)r->change[i].job,
                                                 "cpus", cpus));
    }
    return changes;
}

json_t *outcome_json(const struct outcome *o, bool explain)
{
    const struct vnode_result *r = o->result;
    json_t *jobs = json_array(), *controllers = json_array();
    json_t *links = json_array();

    for (size_t j = 0; j < r->scenario->jobs; j++)
        json_array_append_new(jobs, job_json(o, j));
    for (size_t i = 0; i < r->controllers + r->links; i++)
        json_array_append_new(i < r->controllers ? controllers : links,
                              json_real(r->utilisation[i]));
    json_t *json = json_pack(
        "{s:s,s:s,s:f,s:f,s:f,s:f,s:f,s:f,s:o,s:o,s:I,s:I,s:{s:f,s:f},s:o}",
        "scenario", r->scenario->name, "policy", o->policy, "makespan_s",
        r->makespan_s, "mean_turnaround_s", o->mean_s, "worst_slowdown",
        o->worst, "hmean", o->hmean, "core_util", r->core_util, "compute_util",
        r->compute_util, "controller_util", controllers, "link_util", links,
        "decisions", (json_int_t)r->decisions, "moved_cpus", (json_int_t)r->moved_cpus,
        "decide_us", "mean", r->decide_mean_us, "max", r->decide_max_us, "jobs",
        jobs);
    if (json && o->history)
        json_object_set_new(json, "history", json_true());
    if (json && explain) {
        json_object_set(json, "log", r->log);
        json_object_set_new(json, "allocation", allocation_json(r));
    }
    return json;
}

int print_json(json_t *json)
{
    if (!json)
        return fail(EXIT_REFUSED, "out of memory");
    json_dumpf(json, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
    putchar('\n');
    json_decref(json);
    return EXIT_DONE;
}
