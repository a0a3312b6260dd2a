/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Regions of a job: what is known of each, and how it gets known. */

#include "node_agent/core/region.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/throughput.h"

#define PROBES 3 /* that cosched_profile is divided into */

/* What a probe of a job alone costs, of its time: what a job does not gain when its cores
 * double, and as much again for each further doubling. */
#define ALONE_COST 0.1

#define CACHE_COST 0.5 /* and of one with half of its cores, */
#define CACHE_MOST 10  /* of which a job gets no more than this times cosched_profile */

/* A profile is replaced when a controller's load by all cores changes by this
 * part of it, and of what the controller can do. */
#define LOAD_PART 0.1
#define LOAD_LEAST 0.05
#define LOCALITY_PART 0.25 /* and by so much of its requests that go to threads' own data */
#define SYNC_PART 0.05 /* and of the time that it waits on all cores */
#define STALLS_PART 0.15 /* of the logarithm of their factor */
#define POWER_PART 0.1 /* and of the power law of its misses */

/* Counted requests, which are cheap to look at, are looked at so often. */
#define RENEW_NS 1000000000u

const char *region_knowledge(const struct region *s)
{
    return s->known ? "known" : s->probe_left_ns ? "probed" : "unknown";
}

const char *region_name(const struct region *s, char name[REGION_NAME_MAX])
{
    if (s->folded)
        strcpy(name, "short");
    else
        snprintf(name, REGION_NAME_MAX, "%016llx+%llx",
                 (unsigned long long)s->object_id,
                 (unsigned long long)s->offset);
    return name;
}

static struct region *add(struct region_list *list)
{
    struct region *s = calloc(1, sizeof(*s));

    if (s) {
        s->next = list->first;
        list->first = s;
    }
    return s;
}

struct region *region_folded(struct region_list *list)
{
    if (!list->folded && (list->folded = add(list)))
        list->folded->folded = true;
    return list->folded;
}

struct region *region_find(struct region_list *list, uint64_t object_id,
                             uint64_t offset)
{
    for (struct region *s = list->first; s; s = s->next)
        if (!s->folded && s->object_id == object_id && s->offset == offset)
            return s;
    if (list->count >= REGION_LIMIT)
        return region_folded(list);
    struct region *s = add(list);
    if (s) {
        s->object_id = object_id;
        s->offset = offset;
        list->count++;
    }
    return s;
}

/* ---- probes ------------------------------------------------------------- */

bool region_measure(struct region *s, size_t dop, uint64_t time_ns,
                     const double work[COUNTERS_UNITS], bool probed)
{
    s->dop = dop;
    s->probed = probed;
    s->run_ns += time_ns;
    if (probed) {
        /* A region that the job came to during another's probe was granted none. */
        double cost = s->probe_left_ns ? s->probe_cost : 1;
        s->probe_ns += (uint64_t)((double)time_ns * cost);
        s->probe_left_ns -= time_ns < s->probe_left_ns ? time_ns
                                                       : s->probe_left_ns;
    } else {
        s->probe_left_ns = 0;
    }
    if (!measure_add(&s->measure, dop, time_ns, work))
        return false;
    /* Other DoPs were measured before the change, or perhaps before: nothing
     * of that can be compared with what comes now. */
    measure_clear(&s->measure);
    s->seen = (struct counters_fit){0};
    s->fit_time_ns = 0;
    return true;
}

void region_forget(struct region *s)
{
    measure_clear(&s->measure);
    workload_free(s->profile);
    s->profile = NULL;
    useful_free(s->useful);
    s->useful = NULL;
    s->known = false;
    s->seen = s->fit = (struct counters_fit){0};
    s->fit_time_ns = 0;
    s->stalls = (struct stall_factor){0};
}

uint64_t region_probe_ns(const struct region_budget *budget)
{
    return budget->profile_ns / PROBES;
}

/* What is left of a probe need not be done: the epoch may end shortly before. */
static uint64_t probe_rest(const struct region_budget *budget)
{
    return region_probe_ns(budget) * 2 / 5;
}

static bool goes_on(const struct region *s, const struct region_budget *budget)
{
    return s->probe_left_ns > probe_rest(budget);
}

/* True when another probe of COST, of its time, fits the budget of who ran for RUN_NS and has spent
 * SPENT_NS. */
static bool fits(uint64_t run_ns, uint64_t spent_ns, double cost,
                 const struct region_budget *budget)
{
    /* It ends with an epoch: up to one more than its length. */
    uint64_t longest = 2 * region_probe_ns(budget) - probe_rest(budget);

    return (double)spent_ns + cost * (double)longest <= budget->share * (double)run_ns;
}

static bool affords(const struct region *s, double cost,
                    const struct region_budget *budget)
{
    return fits(s->run_ns, s->probe_ns, cost, budget);
}

bool region_may_probe(const struct region *s,
                       const struct region_budget *budget)
{
    if (!budget->profile_ns)
        return false;
    return goes_on(s, budget) || affords(s, 1, budget);
}

const struct measure_point *region_usual(const struct region *s, size_t whole)
{
    const struct measure_point *usual = NULL;

    for (size_t i = 0; i < MEASURE_POINTS; i++) {
        const struct measure_point *p = &s->measure.point[i];
        if (p->dop && p->dop < whole && p->time_ns > (usual ? usual->time_ns : 0))
            usual = p;
    }
    return usual;
}

static double alone_cost(size_t dop, size_t whole)
{
    return ALONE_COST * fmax(1, log2((double)whole / (double)dop));
}

bool region_may_probe_alone(const struct region *s,
                            const struct region_budget *budget)
{
    if (!budget->profile_ns || s->seen.from == FIT_OF_REQUESTS)
        return false;
    return goes_on(s, budget) || affords(s, ALONE_COST, budget);
}

bool region_wants_alone(const struct region *s, size_t whole,
                        const struct region_budget *budget)
{
    const struct measure_point *p = measure_find(&s->measure, whole);
    const struct measure_point *usual = region_usual(s, whole);
    uint64_t enough_ns = budget->profile_ns / 6;

    if (!region_may_probe_alone(s, budget) || !usual)
        return false;
    if (goes_on(s, budget))
        return s->probe_alone && s->probe_dop == whole;
    if (usual->time_ns < budget->profile_ns ||
        !affords(s, alone_cost(usual->dop, whole), budget))
        return false;
    if (budget->share * (double)usual->time_ns > (double)enough_ns)
        enough_ns = (uint64_t)(budget->share * (double)usual->time_ns);
    return !p || p->time_ns < enough_ns;
}

/* The known DoPs of REGION in CORES, and how well the least known one is. */
static size_t known_dops(const struct region *s, size_t most, size_t *cores,
                         size_t *worst)
{
    struct throughput_rate rate;
    double error = 0;
    size_t count = 0;

    *worst = 0;
    for (size_t i = 0; i < MEASURE_POINTS; i++) {
        const struct measure_point *p = &s->measure.point[i];
        if (!p->dop || measure_unit(p, &rate) == COUNTERS_UNITS)
            continue;
        cores[count++] = p->dop;
        if (rate.error > error && p->dop != s->dop && p->dop <= most) {
            error = rate.error;
            *worst = p->dop;
        }
    }
    return count;
}

size_t region_wants(const struct region *s, size_t most,
                     const struct region_budget *budget)
{
    const struct throughput_rho fit = {s->seen.rho, s->seen.low, s->seen.high};
    size_t cores[MEASURE_POINTS], worst;

    if (most < 2 || !region_may_probe(s, budget) ||
        (s->probe_alone && goes_on(s, budget)))
        return 0;
    if (s->probe_left_ns && s->probe_dop <= most)
        return s->probe_dop;
    if (s->seen.points && !throughput_matters(&fit, most))
        return 0;
    size_t count = known_dops(s, most, cores, &worst);
    /* Without any, what it does now is measured without asking. */
    if (!count)
        return 0;
    size_t next = throughput_next(s->seen.points ? &fit : NULL, cores, count,
                                  most);
    /* When all were tried, what is known worst is tried again. */
    next = next ? next : worst;
    return next == s->dop ? 0 : next;
}

void region_grant(struct region *s, size_t dop, bool alone,
                   const struct region_budget *budget)
{
    const struct measure_point *usual = region_usual(s, dop);

    if (!s->probe_left_ns || s->probe_dop != dop)
        s->probe_left_ns = region_probe_ns(budget);
    s->probe_dop = dop;
    s->probe_alone = alone;
    s->probe_cost = alone && usual ? alone_cost(usual->dop, dop) : 1;
}

/* How the job of LIST misses, from all its regions. */
static struct cache_power_line all_power(const struct region_list *list)
{
    struct cache_power_line sum = {.noise = CACHE_POWER_NOISE};

    for (const struct region *s = list->first; s; s = s->next) {
        struct cache_power_line line = cache_power_line(&s->measure.power);
        cache_power_join(&sum, &line);
    }
    return sum;
}

bool region_list_probes_cache(const struct region_list *list, const struct region_budget *budget)
{
    return list->cache_left_ns > probe_rest(budget);
}

bool region_list_wants_cache(const struct region_list *list, const struct region_budget *budget)
{
    uint64_t spent_ns = (uint64_t)(CACHE_COST * (double)list->cache_ns);

    if (list->cache_ns >= CACHE_MOST * budget->profile_ns ||
        !fits(region_list_run_ns(list), spent_ns, CACHE_COST, budget))
        return false;
    struct cache_power_line line = all_power(list);
    return !cache_power_known(&line);
}

void region_list_grant_cache(struct region_list *list, const struct region_budget *budget)
{
    if (!region_list_probes_cache(list, budget))
        list->cache_left_ns = region_probe_ns(budget);
}

void region_list_probed_cache(struct region_list *list, uint64_t time_ns)
{
    list->cache_ns += time_ns;
    list->cache_left_ns -= time_ns < list->cache_left_ns ? time_ns : list->cache_left_ns;
}

/* ---- profiles ----------------------------------------------------------- */

static uint64_t measured_time(const struct measure *m)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < MEASURE_POINTS; i++)
        sum += m->point[i].time_ns;
    return sum;
}

/* True when all of MACHINE's cores load a controller otherwise by W than by the
 * present profile.  The links to it, which may be slower, are loaded likewise:
 * what one controller alone would make of it (throughput_matters()) says little
 * of them. */
static bool loads_differ(const struct region *s, const struct workload *w,
                         const struct machine *machine)
{
    double cores = (double)machine_all_cpus(machine);

    for (size_t m = 0; m < w->numa_nodes; m++) {
        double unit = cores * machine->controller_service_us[m];
        double before = unit * s->profile->rate[m].mrr_per_us;
        double now = unit * w->rate[m].mrr_per_us;
        if (fabs(now - before) > fmax(LOAD_PART * fmax(now, before),
                                      LOAD_LEAST))
            return true;
    }
    return false;
}

/* True when what W says of locality differs from what the present profile says. */
static bool locality_differs(const struct region *s, const struct workload *w)
{
    double before = s->profile->locality > 0 ? s->profile->locality : 0;

    return fabs(w->locality - before) > LOCALITY_PART; /* not where W does not know */
}

/* True when W, of fit FIT, differs from the present profile so much that a
 * decision over all of MACHINE could depend on it. */
static bool differs(const struct region *s, const struct workload *w,
                    const struct counters_fit *fit,
                    const struct machine *machine)
{
    struct throughput_rho both = {
        .rho = fit->rho,
        .low = fit->rho < s->fit.rho ? fit->rho : s->fit.rho,
        .high = fit->rho > s->fit.rho ? fit->rho : s->fit.rho,
    };

    /* Counted requests are exact; what comes from work alone is not. */
    if (fit->from == FIT_OF_REQUESTS &&
        (loads_differ(s, w, machine) || locality_differs(s, w) ||
         fabs(w->sync_share - s->profile->sync_share) > SYNC_PART ||
         fabs(w->llc_power - s->profile->llc_power) > POWER_PART))
        return true;
    return throughput_matters(&both, machine_all_cpus(machine));
}

void region_take_stalls(struct region *s)
{
    if (fabs(s->stalls.log - log(s->profile->stall_factor)) > STALLS_PART)
        s->profile->stall_factor = stall_factor(&s->stalls);
}

bool region_advance(struct region *s, const struct region_list *list,
                    const struct counters *counters, uint64_t profile_ns)
{
    uint64_t enough_ns = profile_ns ? profile_ns : 1;
    uint64_t time_ns = measured_time(&s->measure);
    struct counters_fit fit;

    uint64_t pause_ns = s->fit_time_ns / 2;
    if (s->seen.from == FIT_OF_REQUESTS && pause_ns > RENEW_NS)
        pause_ns = RENEW_NS;
    /* With a half more data again, so that it costs nothing in the long run;
     * and after each probe, which was made to learn something. */
    if (time_ns < s->fit_time_ns + pause_ns && !s->probed)
        return false;
    s->fit_time_ns = time_ns;
    struct workload *w =
        counters_profile(counters, &s->measure, enough_ns, &fit, NULL);
    s->seen = fit;
    if (!w && errno == EAGAIN)
        return false;
    if (w && w->llc_cores > 0) {
        struct cache_power_line own = cache_power_line(&s->measure.power), all = all_power(list);
        w->llc_power = cache_power_slope(&own, cache_power_slope(&all, CACHE_POWER_USUAL));
    }
    if (w)
        w->stall_factor = stall_factor(&s->stalls);
    bool before = s->known;
    s->known = true;
    /* Cores gathered on one NUMA node no longer tell what they did on several. */
    if (w && isnan(w->locality) && s->profile)
        w->locality = s->profile->locality;
    /* A known profile stays while it might do: to follow each small change of
     * a measurement would move cores for nothing. */
    if (!w || (s->profile &&
               !differs(s, w, &fit, counters_setup(counters)->machine))) {
        if (w) { /* the same, better known */
            fit.rho = s->fit.rho;
            s->fit = fit;
        }
        workload_free(w);
        return !before;
    }
    workload_free(s->profile);
    s->profile = w;
    s->fit = fit;
    return true;
}

uint64_t region_list_run_ns(const struct region_list *list)
{
    uint64_t sum = 0;

    for (const struct region *s = list->first; s; s = s->next)
        sum += s->run_ns;
    return sum;
}

void region_list_clear(struct region_list *list)
{
    while (list->first) {
        struct region *s = list->first;
        list->first = s->next;
        workload_free(s->profile);
        useful_free(s->useful);
        measure_clear(&s->measure);
        free(s->label);
        free(s);
    }
    *list = (struct region_list){0};
}
