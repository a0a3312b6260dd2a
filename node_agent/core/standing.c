/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How jobs and the node stand now (standing.h). */

#include "node_agent/core/standing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/aggregated_mva.h"
#include "model/policy.h"
#include "protocol/cpulist.h"

/* A region that makes less of its cores than this is limited by memory (record_class()). */
#define GOOD_EFFICIENCY 0.85

/* ---- a job --------------------------------------------------------------- */

/* Cores that JOB would have alone. */
static size_t whole(const struct job *job, const struct topology *topology)
{
    size_t granted = topology_count_cores(topology, &job->granted);
    size_t most = job->options.max_cores > 0 ? (size_t)job->options.max_cores : granted;

    return most < granted ? most : granted;
}

/* What was measured of REGION at the most cores, in UNIT. */
static const struct measure_point *widest(const struct region *region, enum counters_unit unit,
                                          struct throughput_rate *rate)
{
    const struct measure_point *best = NULL;

    for (size_t i = 0; i < MEASURE_POINTS; i++) {
        const struct measure_point *p = &region->measure.point[i];
        struct throughput_rate found;
        if (p->dop && p->series && (!best || p->dop > best->dop) &&
            throughput_rate(&p->series[unit], &found) == MODEL_OK) {
            best = p;
            *rate = found;
        }
    }
    return best;
}

static double measured(const struct job *job, const struct topology *topology)
{
    const struct region *region = job->region;
    size_t dop = topology_count_cores(topology, &job->cpus), most = whole(job, topology);
    struct throughput_rate here, there;
    const struct measure_point *now, *best;

    if (!region || !dop || !(now = measure_find(&region->measure, dop)))
        return NAN;
    enum counters_unit unit = measure_unit(now, &here);
    if (unit == COUNTERS_UNITS || !(best = widest(region, unit, &there)) || best->dop <= dop)
        return NAN;
    double rest = 1;
    if (best->dop != most && !region->profile)
        return NAN;
    if (best->dop != most)
        rest = record_speed(most, region->fit.rho) / record_speed(best->dop, region->fit.rho);
    return here.rate / (there.rate * rest);
}

static const char *limit(const struct job *job, const struct topology *topology)
{
    size_t cores = topology_count_cores(topology, &job->cpus);

    switch (job_state(job)) {
    case JOB_PARKED:
        return "turn";
    case JOB_SUSPENDED:
        return "stopped";
    case JOB_SERIAL:
        return "serial";
    case JOB_MALLEABLE:
    case JOB_PINNED:
        break;
    case JOB_ANNOUNCED:
    case JOB_STARTING:
    case JOB_ENDED:
        return NULL;
    }
    if (record_ults(&job->record) == 1)
        return "barrier";
    if (!job->region || !job->region->profile || !cores)
        return NULL;
    double efficiency = record_speed(cores, job->region->fit.rho) / (double)cores;
    return job->region->fit.compute_bound || efficiency >= GOOD_EFFICIENCY ? "compute" : "memory";
}

double standing_speed(const struct job *job, const struct topology *topology)
{
    const struct region *region = job->region;
    size_t cores = topology_count_cores(topology, &job->cpus);

    if (!cores)
        return 0;
    if (job_kind(job) == REGION_SERIAL)
        return 1;
    if (job->doing != JOB_MALLEABLE || job->shared || !region)
        return job->relative_speed;
    if (region->decided_cores == cores)
        return region->decided_speed;
    return fmin(1, (double)cores / (double)whole(job, topology));
}

void standing_of(const struct job *job, const struct topology *topology, struct standing *s)
{
    enum job_state state = job_state(job);
    bool runs = state == JOB_SERIAL || state == JOB_MALLEABLE || state == JOB_PINNED;

    s->predicted = runs ? standing_speed(job, topology) : state == JOB_PARKED ? 0 : NAN;
    s->measured = runs ? measured(job, topology) : state == JOB_PARKED ? 0 : NAN;
    s->limit = limit(job, topology);
}

/* ---- the node ------------------------------------------------------------ */

struct mix {
    size_t count;
    const struct workload *profile[POLICY_MAX_JOBS];
    bool pinned[POLICY_MAX_JOBS];
    double speed[POLICY_MAX_JOBS];
    size_t cores[POLICY_MAX_JOBS];
    size_t *counts; /* [llc_domains * count] */
};

/* The jobs that run into MIX, whose counts are not there yet. */
static bool take_jobs(const struct job_table *jobs, const struct workload *compute,
                      const struct job *job[POLICY_MAX_JOBS], struct mix *mix)
{
    for (const struct job *j = jobs->first; j; j = j->next) {
        if (!job_live(j) || j->parked || j->suspended || cpuset_empty(&j->cpus))
            continue;
        const struct workload *profile = j->region ? j->region->profile : NULL;
        if (mix->count == POLICY_MAX_JOBS || j->shared ||
            (!profile && job_kind(j) == REGION_PARALLEL))
            return false;
        job[mix->count] = j;
        mix->profile[mix->count] = profile ? profile : compute;
        mix->pinned[mix->count++] = j->doing == JOB_PINNED;
    }
    return true;
}

static void count_cores(const struct topology *topology, const struct job *const *job,
                        struct mix *mix)
{
    const struct machine *m = topology_machine(topology);

    for (size_t j = 0; j < mix->count; j++) {
        struct cosched_cpuset cores;
        topology_cores(topology, &job[j]->cpus, &cores);
        for (int c = -1; (c = cpuset_next(&cores, c)) >= 0;)
            if ((size_t)c < m->cpus && m->llc_domain[c] >= 0) {
                mix->counts[(size_t)m->llc_domain[c] * mix->count + j]++;
                mix->cores[j]++;
            }
    }
}

/* The requests of what MIX computes, each with its service time. */
static void add_up(const struct machine *m, const struct mix *mix, double *load)
{
    for (size_t j = 0; j < mix->count; j++)
        for (size_t n = 0; n < m->numa_nodes; n++) {
            double requests = mix->speed[j] * mix->profile[j]->rate[n].mrr_per_us;
            load[n] += requests * m->controller_service_us[n];
            for (size_t i = 0; i < m->llc_domains && mix->cores[j]; i++) {
                const struct machine_route *route = &m->route[i * m->numa_nodes + n];
                double part = (double)mix->counts[i * mix->count + j] / (double)mix->cores[j];
                for (size_t l = 0; l < route->links; l++)
                    load[m->numa_nodes + route->link[l]] +=
                        part * requests * m->link_service_us[route->link[l]];
            }
        }
    for (size_t i = 0; i < m->numa_nodes + m->links; i++)
        load[i] = fmin(1, load[i]);
}

bool standing_load(const struct job_table *jobs, const struct topology *topology, double *load,
                   double *computing)
{
    const struct machine *m = topology_machine(topology);
    const struct job *job[POLICY_MAX_JOBS];
    struct mix mix = {0};
    struct workload *compute = workload_new(m->numa_nodes);
    struct aggregated_mva *aggregated = NULL;
    bool known = compute && take_jobs(jobs, compute, job, &mix);

    if (known && mix.count)
        known = (mix.counts = calloc(m->llc_domains * mix.count, sizeof(*mix.counts))) &&
                (aggregated = aggregated_new(m, mix.count));
    if (known) {
        memset(load, 0, (m->numa_nodes + m->links) * sizeof(*load));
        *computing = 0;
    }
    if (known && mix.count) {
        count_cores(topology, job, &mix);
        aggregated_prepare(aggregated, mix.profile, mix.count);
        for (size_t j = 0; j < mix.count; j++)
            if (mix.pinned[j])
                aggregated_waits(aggregated, j);
        aggregated_predict(aggregated, mix.counts, mix.speed);
        for (size_t j = 0; j < mix.count; j++)
            *computing += mix.speed[j];
        add_up(m, &mix, load);
    }
    aggregated_free(aggregated);
    free(mix.counts);
    workload_free(compute);
    return known;
}
