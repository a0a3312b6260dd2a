/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A scenario and a machine with something about them changed. */

#include "simulator/variation.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A change of each region of a job, or of the parallel ones only, where
 * NUMBER or COUNT is what it sets. */
struct change {
    const char *key;
    double least, most;
    size_t number, count; /* offset in struct scenario_region, or 0 */
};

#define MEMBER(name) offsetof(struct scenario_region, name)

static const struct change changes[] = {
    {"scale", 1e-6, 1e6, 0, 0},
    {"rates", 0, 1e6, 0, 0},
    {"imbalance", 0, 100, MEMBER(imbalance), 0},
    {"sync_share", 0, 0.99, MEMBER(sync_share), 0},
    {"llc_loss", 0, 1e6, MEMBER(llc_loss), 0},
    {"llc_power", 0, 1, MEMBER(llc_power), 0},
    {"overlap", 0, 1, MEMBER(overlap), 0},
    {"latency", 0, 1e3, MEMBER(latency), 0},
    {"barriers", 1, 1e9, 0, MEMBER(barriers)},
    {0},
};

static void change_region(const struct change *c, struct scenario_region *s, double value)
{
    if (!strcmp(c->key, "scale")) {
        s->work_s *= value;
    } else if (!strcmp(c->key, "rates")) {
        s->read_per_us *= value;
        s->write_per_us *= value;
        s->prefetch_per_us *= value;
        s->llc_per_us *= value;
    } else if (s->kind == REGION_PARALLEL && c->number) {
        *(double *)((char *)s + c->number) = value;
    } else if (s->kind == REGION_PARALLEL) {
        *(size_t *)((char *)s + c->count) = (size_t)value;
    }
}

static const struct change *find_change(const char *key)
{
    const char *dot = strrchr(key, '.');

    for (const struct change *c = changes; c->key; c++)
        if (!strcmp(c->key, dot ? dot + 1 : key))
            return c;
    return NULL;
}

bool variation_has(const char *key)
{
    return !strcmp(key, "cores") || !strcmp(key, "jobs") ||
           !strcmp(key, "arrival") || find_change(key);
}

/* A copy of JOB with regions of its own; false when out of memory. */
static bool copy_job(struct scenario_job *to, const struct scenario_job *job)
{
    *to = *job;
    to->region = malloc(job->regions * sizeof(*to->region));
    if (to->region)
        memcpy(to->region, job->region,
               job->regions * sizeof(*to->region));
    return to->region;
}

int variation_init(struct variation *v, const struct machine *machine,
                   const struct scenario *scenario, struct errtext *err)
{
    *v = (struct variation){.machine = *machine, .scenario = *scenario};
    v->job = calloc(SCENARIO_MAX_JOBS, sizeof(*v->job));
    v->name = calloc(SCENARIO_MAX_JOBS, sizeof(*v->name));
    v->llc_domain = malloc(machine->cpus * sizeof(*v->llc_domain));
    if (v->job && v->name && v->llc_domain) {
        memcpy(v->llc_domain, machine->llc_domain,
               machine->cpus * sizeof(*v->llc_domain));
        v->machine.llc_domain = v->llc_domain;
        v->scenario.job = v->job;
        while (v->jobs < scenario->jobs &&
               copy_job(&v->job[v->jobs], &scenario->job[v->jobs]))
            v->jobs++;
        if (v->jobs == scenario->jobs)
            return 0;
    }
    variation_release(v);
    return errtext_set(err, ENOMEM, "variation: out of memory");
}

void variation_release(struct variation *v)
{
    for (size_t j = 0; j < v->jobs; j++)
        free(v->job[j].region);
    free(v->job);
    free(v->name);
    free(v->llc_domain);
    *v = (struct variation){.jobs = 0};
}

/* ---- cores and jobs ----------------------------------------------------- */

/* VALUE as a number from LEAST to MOST. */
static int number(const char *key, const char *value, double least, double most,
                  bool whole, double *result, struct errtext *err)
{
    char *end;

    errno = 0;
    *result = strtod(value, &end);
    if (end == value || *end || errno || !isfinite(*result) ||
        *result < least || *result > most ||
        (whole && *result != floor(*result)))
        return errtext_set(err, EINVAL, "%s=%s: is not a%s number from %g to %g",
                           key, value, whole ? " whole" : "", least, most);
    return 0;
}

static int set_cores(struct variation *v, const char *key, const char *value,
                     struct errtext *err)
{
    struct machine *m = &v->machine;
    size_t all = machine_all_cpus(m), taken = 0;
    double wanted;

    if (number(key, value, 1, (double)all, true, &wanted, err) < 0)
        return -1;
    size_t nodes = m->llc_domains;
    m->llc_domains = 0;
    for (size_t i = 0; i < nodes; i++)
        for (size_t c = 0; c < m->cpus; c++) {
            if (m->llc_domain[c] != (int)i)
                continue;
            if (taken++ < (size_t)wanted)
                m->llc_domains = i + 1; /* routes are in order of LLC domains */
            else
                m->llc_domain[c] = -1;
        }
    return 0;
}

static int set_jobs(struct variation *v, const char *key, const char *value,
                    struct errtext *err)
{
    size_t there = v->scenario.jobs;
    double wanted;

    if (number(key, value, 1, SCENARIO_MAX_JOBS, true, &wanted, err) < 0)
        return -1;
    while (v->jobs < (size_t)wanted) {
        size_t j = v->jobs;
        if (!copy_job(&v->job[j], &v->job[j % there]))
            return errtext_set(err, ENOMEM, "variation: out of memory");
        snprintf(v->name[j], sizeof(v->name[j]), "%.40s.%u",
                 v->job[j % there].name, (unsigned)(j / there + 1));
        v->job[j].name = v->name[j];
        v->jobs++;
    }
    v->scenario.jobs = (size_t)wanted;
    return 0;
}

/* ---- jobs' parameters --------------------------------------------------- */

static bool meant(const struct scenario_job *job, const char *key,
                  const char *dot)
{
    size_t length = dot ? (size_t)(dot - key) : 0;

    return !dot ||
           (strlen(job->name) == length && !strncmp(job->name, key, length));
}

int variation_set(struct variation *v, const char *key, const char *value,
                  struct errtext *err)
{
    const char *dot = strrchr(key, '.');
    const struct change *c = find_change(key);
    size_t found = 0;
    double x;

    if (!strcmp(key, "cores"))
        return set_cores(v, key, value, err);
    if (!strcmp(key, "jobs"))
        return set_jobs(v, key, value, err);
    if (!strcmp(key, "arrival")) {
        if (number(key, value, 0, 1e6, false, &x, err) < 0)
            return -1;
        for (size_t j = 0; j < v->jobs; j++)
            v->job[j].arrival_s = (double)j * x;
        return 0;
    }
    if (!c)
        return errtext_set(err, EINVAL, "%s: nothing that can be varied", key);
    if (number(key, value, c->least, c->most, c->count != 0, &x, err) < 0)
        return -1;
    for (size_t j = 0; j < v->scenario.jobs; j++) {
        if (!meant(&v->job[j], key, dot))
            continue;
        found++;
        for (size_t i = 0; i < v->job[j].regions; i++)
            change_region(c, &v->job[j].region[i], x);
    }
    return found ? 0
                 : errtext_set(err, EINVAL, "%s=%s: scenario %s has no job "
                               "%.*s", key, value, v->scenario.name,
                               dot ? (int)(dot - key) : 0, key);
}
