/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters: choice of the backend, and measurements per DoP. */

#include "node_agent/counters/counters.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct counters {
    const struct counters_backend *backend;
    void *state;
};

const struct counters_backend *const counters_backends[] = {
    &counters_progress,
    NULL,
};

static void append(struct errtext *text, const char *more)
{
    if (!text)
        return;
    size_t used = strlen(text->text);
    snprintf(text->text + used, sizeof(text->text) - used, "%s%s",
             used ? "; " : "", more);
}

struct counters *counters_open(const char *name, const struct machine *machine,
                               const struct cosched_cpuset *cpus,
                               struct errtext *reason, struct errtext *err)
{
    struct counters *c = calloc(1, sizeof(*c));
    bool known = !strcmp(name, "auto");

    if (!c)
        return NULL;
    if (reason)
        reason->text[0] = '\0';
    for (size_t i = 0; counters_backends[i]; i++) {
        const struct counters_backend *b = counters_backends[i];
        struct errtext why = {""};
        if (strcmp(name, "auto") && strcmp(name, b->name))
            continue;
        known = true;
        if (b->open(machine, cpus, &c->state, &why) == 0) {
            c->backend = b;
            append(reason, b->help);
            return c;
        }
        append(reason, why.text);
    }
    free(c);
    if (!known)
        errtext_set(err, EINVAL, "counters %s: no such backend", name);
    else
        errtext_set(err, ENOTSUP, "counters %s: none works here", name);
    return NULL;
}

const char *counters_name(const struct counters *c)
{
    return c->backend->name;
}

int counters_sample(struct counters *c, struct counters_job *jobs, size_t count,
                    uint64_t elapsed_ns, struct errtext *err)
{
    return c->backend->sample(c->state, jobs, count, elapsed_ns, err);
}

struct workload *counters_fit(struct counters *c, const struct measure *measure,
                              uint64_t enough_ns, double *rho,
                              struct errtext *err)
{
    return c->backend->fit(c->state, measure, enough_ns, rho, err);
}

void counters_close(struct counters *c)
{
    if (!c)
        return;
    c->backend->close(c->state);
    free(c);
}

const struct measure_point *measure_find(const struct measure *m, size_t dop)
{
    for (size_t i = 0; i < MEASURE_POINTS; i++)
        if (m->point[i].dop == dop && dop)
            return &m->point[i];
    return NULL;
}

void measure_add(struct measure *m, size_t dop, uint64_t time_ns,
                 const double work[COUNTERS_UNITS])
{
    struct measure_point *p = (struct measure_point *)measure_find(m, dop);

    if (!dop)
        return;
    if (!p) {
        p = &m->point[0];
        for (size_t i = 1; i < MEASURE_POINTS; i++)
            if (m->point[i].time_ns < p->time_ns)
                p = &m->point[i];
        memset(p, 0, sizeof(*p));
        p->dop = dop;
    }
    p->time_ns += time_ns;
    for (size_t u = 0; u < COUNTERS_UNITS; u++)
        p->work[u] += work[u];
}
