/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What was counted on the node between two looks. */

#include "node_agent/counters/sample.h"

#include <stdlib.h>
#include <string.h>

/* All structures of a sample are of doubles alone. */
#define DOUBLES(type) (sizeof(type) / sizeof(double))

static void forget(void *values, size_t count)
{
    double *v = values;

    for (size_t i = 0; i < count; i++)
        v[i] = NAN;
}

struct sample *sample_new(size_t cpus, size_t llc_domains, size_t numa_nodes,
                          size_t packages)
{
    struct sample *s = NULL;

    if (!cpus || !llc_domains || !numa_nodes || !(s = calloc(1, sizeof(*s))))
        return NULL;
    s->cpus = cpus;
    s->llc_domains = llc_domains;
    s->numa_nodes = numa_nodes;
    s->packages = packages;
    s->cpu = calloc(cpus, sizeof(*s->cpu));
    s->memory = calloc(numa_nodes, sizeof(*s->memory));
    s->traffic = calloc(llc_domains * numa_nodes, sizeof(*s->traffic));
    s->energy_j = calloc(packages ? packages : 1, sizeof(*s->energy_j));
    if (!s->cpu || !s->memory || !s->traffic || !s->energy_j) {
        sample_free(s);
        return NULL;
    }
    sample_clear(s);
    return s;
}

void sample_clear(struct sample *s)
{
    s->time_ns = 0;
    s->coverage = 1;
    s->threads = 0;
    forget(s->cpu, s->cpus * DOUBLES(struct sample_cpu));
    forget(s->memory, s->numa_nodes * DOUBLES(struct sample_memory));
    forget(s->traffic,
           s->llc_domains * s->numa_nodes * DOUBLES(struct sample_memory));
    forget(s->energy_j, s->packages);
    forget(s->group, s->groups * s->llc_domains * DOUBLES(struct sample_group));
}

/* True when any of COUNT doubles at VALUES is known and above 0. */
static bool any_moved(const void *values, size_t count)
{
    const double *v = values;

    for (size_t i = 0; i < count; i++)
        if (v[i] > 0)
            return true;
    return false;
}

bool sample_moved(const struct sample *s)
{
    size_t pairs = s->llc_domains * s->numa_nodes;

    return any_moved(s->cpu, s->cpus * DOUBLES(struct sample_cpu)) ||
           any_moved(s->memory, s->numa_nodes * DOUBLES(struct sample_memory)) ||
           any_moved(s->traffic, pairs * DOUBLES(struct sample_memory)) ||
           any_moved(s->energy_j, s->packages) || s->threads ||
           any_moved(s->group, s->groups * s->llc_domains *
                                   DOUBLES(struct sample_group));
}

int sample_set_groups(struct sample *s, const uint32_t *job, size_t count)
{
    if (count > s->groups) {
        uint32_t *jobs = realloc(s->group_job, count * sizeof(*jobs));
        if (!jobs)
            return -1;
        s->group_job = jobs;
        struct sample_group *groups =
            realloc(s->group, count * s->llc_domains * sizeof(*groups));
        if (!groups)
            return -1;
        s->group = groups;
    }
    if (count)
        memcpy(s->group_job, job, count * sizeof(*job));
    s->groups = count;
    forget(s->group, count * s->llc_domains * DOUBLES(struct sample_group));
    return 0;
}

size_t sample_add_thread(struct sample *s, const struct sample_thread *thread)
{
    if (!s->thread) {
        s->thread = calloc(SAMPLE_THREADS, sizeof(*s->thread));
        s->thread_requests = calloc(SAMPLE_THREADS * s->numa_nodes, sizeof(*s->thread_requests));
    }
    if (!s->thread || !s->thread_requests || s->threads == SAMPLE_THREADS)
        return SAMPLE_THREADS;
    s->thread[s->threads] = *thread;
    memset(s->thread_requests + s->threads * s->numa_nodes, 0,
           s->numa_nodes * sizeof(*s->thread_requests));
    return s->threads++;
}

/* A failure leaves what there was room for. */
static void fill_threads(struct sample *s, const struct sample *more)
{
    size_t width = s->numa_nodes;

    for (size_t i = 0; i < more->threads; i++) {
        size_t at = sample_add_thread(s, &more->thread[i]);
        if (at == SAMPLE_THREADS)
            return;
        memcpy(s->thread_requests + at * width, more->thread_requests + i * width,
               width * sizeof(*s->thread_requests));
    }
}

static void fill(void *values, const void *more, size_t count)
{
    double *v = values;
    const double *m = more;

    for (size_t i = 0; i < count; i++)
        if (isnan(v[i]))
            v[i] = m[i];
}

int sample_fill(struct sample *s, const struct sample *more)
{
    if (!s->groups && more->groups) {
        if (sample_set_groups(s, more->group_job, more->groups) < 0)
            return -1;
        memcpy(s->group, more->group,
               more->groups * s->llc_domains * sizeof(*s->group));
    }
    if (!s->threads)
        fill_threads(s, more);
    fill(s->cpu, more->cpu, s->cpus * DOUBLES(struct sample_cpu));
    fill(s->memory, more->memory,
         s->numa_nodes * DOUBLES(struct sample_memory));
    fill(s->traffic, more->traffic,
         s->llc_domains * s->numa_nodes * DOUBLES(struct sample_memory));
    fill(s->energy_j, more->energy_j, s->packages);
    if (more->coverage < s->coverage)
        s->coverage = more->coverage;
    return 0;
}

void sample_free(struct sample *s)
{
    if (!s)
        return;
    free(s->cpu);
    free(s->memory);
    free(s->traffic);
    free(s->energy_j);
    free(s->group_job);
    free(s->group);
    free(s->thread);
    free(s->thread_requests);
    free(s);
}

double sample_wrap(uint64_t before, uint64_t now, unsigned bits)
{
    uint64_t mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;

    return (double)((now - before) & mask);
}

double sample_scale(double count, double enabled, double running,
                    double *coverage)
{
    double part = enabled > 0 ? running / enabled : 0;

    if (part < *coverage)
        *coverage = part > 0 ? part : 0;
    if (!(part > 0))
        return NAN;
    return part < 1 ? count / part : count;
}

double sample_add(double a, double b)
{
    if (isnan(a))
        return b;
    return isnan(b) ? a : a + b;
}
