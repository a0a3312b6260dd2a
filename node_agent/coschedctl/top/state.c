/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl top: what is shown of a node. */

#include "node_agent/coschedctl/top/state.h"

#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "node_agent/coschedctl/ctl.h"
#include "node_agent/core/record.h"

/* Copy member KEY of OBJECT, which others may have written, into TO. */
static void copy_text(char *to, size_t size, const json_t *object, const char *key)
{
    snprintf(to, size, "%s", ctl_text(object, key, ""));
    errtext_clean(to);
}

/* A number that may be null. */
static double figure(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* A number from 0 to MOST; 0 for any other. */
static size_t count_of(const json_t *object, const char *key, double most)
{
    double value = figure(object, key);

    return value >= 0 && value <= most ? (size_t)value : 0;
}

static void hour(double when, char to[16])
{
    time_t seconds = when >= 0 && when < 1e11 ? (time_t)when : 0;
    struct tm local;

    if (!seconds || !localtime_r(&seconds, &local) || !strftime(to, 16, "%H:%M:%S", &local))
        to[0] = '\0';
}

static void set_user(struct top_job *job, double uid)
{
    bool is_one = uid >= 0 && uid < UINT32_MAX;
    const struct passwd *user = is_one ? getpwuid((uid_t)uid) : NULL;

    if (user)
        snprintf(job->user, sizeof(job->user), "%s", user->pw_name);
    else
        snprintf(job->user, sizeof(job->user), "%.0f", uid);
    errtext_clean(job->user);
}

static void set_region(struct top_job *job, const json_t *region, const struct region_names *names)
{
    const char *id = ctl_text(region, "region", "");

    job->rho = figure(region, "rho");
    /* A station with RHO: its server works for RHO of what the cores compute. */
    job->memory = isnan(job->rho) ? NAN : fmin(1, job->rho * record_speed(job->cores, job->rho));
    snprintf(job->region, sizeof(job->region), "%s", region_names_get(names, id));
    errtext_clean(job->region);
    copy_text(job->known, sizeof(job->known), region, "state");
}

/* Computing of its cores since BEFORE, else on average. */
static double efficiency(const struct top_job *job, const struct top_job *before)
{
    double core_s = job->mean_cores * job->live_s, work_s = job->work_s;

    if (before && job->live_s > before->live_s) {
        core_s -= before->mean_cores * before->live_s;
        work_s -= before->work_s;
    }
    return core_s > 0 && work_s >= 0 ? fmin(1, work_s / core_s) : NAN;
}

static void read_job(struct top_job *job, const json_t *entry, const struct region_names *names,
                     const struct top_state *before)
{
    const json_t *progress = json_object_get(entry, "progress");
    const json_t *speed = json_object_get(entry, "speed");

    job->id = (uint32_t)count_of(entry, "job", UINT32_MAX);
    copy_text(job->name, sizeof(job->name), entry, "name");
    copy_text(job->state, sizeof(job->state), entry, "state");
    copy_text(job->limit, sizeof(job->limit), speed, "limit");
    set_user(job, ctl_number(entry, "uid"));
    cpulist_parse(ctl_text(entry, "cpus", ""), &job->cpus, NULL);
    job->cores = count_of(entry, "cores", COSCHED_MAX_CPUS);
    job->mean_cores = ctl_number(entry, "mean_cores");
    job->weight = ctl_number(entry, "weight");
    job->live_s = ctl_number(entry, "live_s");
    job->work_s = ctl_number(progress, "work_s");
    job->predicted = figure(speed, "predicted");
    job->measured = figure(speed, "measured");
    job->attached = (unsigned)ctl_number(entry, "attached");
    job->decisions = (unsigned)ctl_number(entry, "decisions");
    set_region(job, json_object_get(entry, "region"), names);
    job->efficiency = efficiency(job, before ? top_state_job(before, job->id) : NULL);
}

/* Jobs that were there keep their slots; others have the lowest that are free. */
static void give_slots(struct top_state *s, const struct top_state *before)
{
    bool *taken = calloc(s->jobs + (before ? before->jobs : 0) + 1, sizeof(*taken));
    size_t room = s->jobs + (before ? before->jobs : 0), next = 0;

    for (size_t i = 0; taken && i < s->jobs; i++) {
        const struct top_job *old = before ? top_state_job(before, s->job[i].id) : NULL;
        s->job[i].slot = old && old->slot < room ? old->slot : SIZE_MAX;
        if (s->job[i].slot != SIZE_MAX)
            taken[s->job[i].slot] = true;
    }
    for (size_t i = 0; taken && i < s->jobs; i++) {
        if (s->job[i].slot != SIZE_MAX)
            continue;
        while (next < room && taken[next])
            next++;
        s->job[i].slot = next++;
    }
    free(taken);
}

static int read_jobs(struct top_state *s, const json_t *list, const struct region_names *names,
                     const struct top_state *before)
{
    json_t *entry;
    size_t i;

    if (!(s->job = calloc(json_array_size(list) + 1, sizeof(*s->job))))
        return -1;
    json_array_foreach(list, i, entry)
        read_job(&s->job[i], entry, names, before);
    s->jobs = json_array_size(list);
    give_slots(s, before);
    return 0;
}

/* By the agent's word; one of an earlier version says only which CPUs there are. */
static int read_domains(struct top_state *s, const json_t *list, const char *cpus)
{
    size_t count = json_array_size(list);

    if (!(s->domain = calloc(count + 1, sizeof(*s->domain))))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(list, i);
        double node = ctl_number(one, "node");
        struct top_domain *d = &s->domain[s->domains++];
        d->node = node > 0 && node < COSCHED_MAX_CPUS ? (size_t)node : 0;
        cpulist_parse(ctl_text(one, "cores", ""), &d->cores, NULL);
    }
    if (!count)
        cpulist_parse(cpus, &s->domain[s->domains++].cores, NULL);
    for (size_t i = 0; i < s->domains; i++)
        if (s->domain[i].node >= s->nodes)
            s->nodes = s->domain[i].node + 1;
    return 0;
}

static int read_load(struct top_state *s, const json_t *load)
{
    const json_t *list = json_object_get(load, "controllers");

    s->computing = figure(load, "cores");
    if (!json_array_size(list))
        return 0;
    if (!(s->controller = calloc(s->nodes + 1, sizeof(*s->controller))))
        return -1;
    for (size_t i = 0; i < s->nodes; i++)
        s->controller[i] = i < json_array_size(list) ? json_number_value(json_array_get(list, i))
                                                     : NAN;
    return 0;
}

static void read_reason(struct top_state *s, const json_t *explain)
{
    const json_t *decisions = json_object_get(explain, "decisions");
    const json_t *last = json_array_get(decisions, json_array_size(decisions) - 1);
    char at[16];

    if (!last)
        return;
    hour(ctl_number(last, "time"), at);
    snprintf(s->reason, sizeof(s->reason), "%s %s: %s", at, ctl_text(last, "trigger", ""),
             ctl_text(last, "text", ""));
    errtext_clean(s->reason);
}

static void read_node(struct top_state *s, const json_t *status)
{
    const json_t *drained = json_object_get(status, "drained");

    copy_text(s->node, sizeof(s->node), status, "node");
    copy_text(s->policy, sizeof(s->policy), status, "policy");
    copy_text(s->counters, sizeof(s->counters), status, "counters");
    if (json_is_object(drained))
        snprintf(s->drained, sizeof(s->drained), "sharing is drained%s%s",
                 *ctl_text(drained, "reason", "") ? ": " : "", ctl_text(drained, "reason", ""));
    errtext_clean(s->drained);
    s->omitted = count_of(status, "omitted", UINT32_MAX);
}

struct top_state *top_state_new(const json_t *status, const json_t *explain, const json_t *config,
                                const struct region_names *names, const struct top_state *before,
                                double when)
{
    struct top_state *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    read_node(s, status);
    hour(when, s->when);
    if (read_domains(s, json_object_get(config, "domains"), ctl_text(status, "cpus", "")) < 0 ||
        read_load(s, json_object_get(status, "load")) < 0 ||
        read_jobs(s, json_object_get(status, "jobs"), names, before) < 0) {
        top_state_free(s);
        return NULL;
    }
    for (size_t i = 0; i < s->domains; i++)
        s->cores += (size_t)cpuset_count(&s->domain[i].cores);
    read_reason(s, explain);
    return s;
}

const struct top_job *top_state_job(const struct top_state *s, uint32_t id)
{
    for (size_t i = 0; i < s->jobs; i++)
        if (s->job[i].id == id)
            return &s->job[i];
    return NULL;
}

void top_state_free(struct top_state *s)
{
    if (!s)
        return;
    free(s->controller);
    free(s->domain);
    free(s->job);
    free(s);
}
