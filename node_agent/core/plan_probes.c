/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Plans in which a job is measured. */

#include "node_agent/core/plan_probes.h"

#include <string.h>

#include "common/hash.h"
#include "node_agent/core/grants.h"
#include "protocol/cpulist.h"

/* A job that computes for more of its time is not asked how it uses caches. */
#define CACHES_COMPUTING 0.8

/* Half of the cores tell little unless so many times as many share an LLC with the others. */
#define CACHES_CROWD 1.4

/* DoP at which running job number J should be measured, 0: none. */
static size_t wanted_dop(const struct planner *p, size_t j)
{
    const struct job *job = p->input->jobs[p->index[j]];
    size_t most = p->pool - (p->count - 1);

    if (job_kind(job) != REGION_PARALLEL || !job->region)
        return 0;
    if (most > p->jobs[j].max_cores)
        most = p->jobs[j].max_cores;
    size_t dop = region_wants(job->region, most, &p->input->budget);
    if (dop < p->jobs[j].min_cores)
        return 0;
    /* Alone it has the whole pool anyway, unless fewer cores may cost less: nobody else needs the
     * second point yet. */
    bool may_save = machine_has_power(p->machine) &&
                    plan_objective(job, p->options) != OBJECTIVE_TIME;
    return p->count == 1 && dop < most && !may_save ? 0 : dop;
}

void plan_profiling(struct planner *p, struct plan *plan)
{
    size_t chosen = p->count, dop = 0;

    if (!p->input->budget.profile_ns || plan->turns)
        return;
    if (!plan->policy->profiles) /* measuring would only disturb */
        return;
    for (size_t j = 0; j < p->count; j++) {
        const struct job *job = p->input->jobs[p->index[j]];
        size_t d = wanted_dop(p, j);
        if (d && (chosen == p->count || job->profiling)) {
            chosen = j;
            dop = d;
        }
    }
    if (chosen == p->count)
        return;
    plan->share[p->index[chosen]].profile_dop = dop;
    p->jobs[chosen].min_cores = p->jobs[chosen].max_cores = dop;
    /* A minimum that others asked for would take what the measurement needs;
     * it is given back in a fraction of a second. */
    for (size_t j = 0; j < p->count; j++)
        if (j != chosen)
            p->jobs[j].min_cores = 1;
}

/* Cores that running job number J would have if the others waited; serial jobs keep one each.
 * 0: it is serial, or no other has to wait for it. */
static size_t cores_alone(const struct planner *p, size_t j)
{
    size_t serial = 0;

    for (size_t i = 0; i < p->count; i++)
        serial += p->jobs[i].kind == REGION_SERIAL;
    if (p->jobs[j].kind == REGION_SERIAL || p->count - serial < 2)
        return 0;
    size_t pool = p->pool - serial;
    return pool < p->jobs[j].max_cores ? pool : p->jobs[j].max_cores;
}

/* The job that should be measured alone, or p->count.  One that is being measured so goes on. */
static size_t wanted_alone(const struct planner *p)
{
    size_t chosen = p->count;

    for (size_t j = 0; j < p->count; j++) {
        const struct job *job = p->input->jobs[p->index[j]];
        size_t whole = cores_alone(p, j);
        if (whole && job->region && region_wants_alone(job->region, whole, &p->input->budget) &&
            (chosen == p->count || job->profiling))
            chosen = j;
    }
    return chosen;
}

static void take_core(struct planner *p, size_t job)
{
    int free = -1;

    for (int c = -1; (c = cpuset_next(&p->granted[job], c)) >= 0;)
        if ((size_t)c < p->machine->cpus && p->owner[c] == POLICY_NOBODY &&
            (free < 0 || p->before[c] == (int)job))
            free = c;
    if (free >= 0)
        p->owner[free] = (int)job;
}

/* A plan without the policy: job number CHOSEN is alone, as WHY says of it. */
static void measure_alone(struct planner *p, struct plan *plan, size_t chosen, const char *why)
{
    for (size_t c = 0; c < p->machine->cpus; c++)
        p->owner[c] = p->before[c] == POLICY_NO_CPU ? POLICY_NO_CPU
                                                    : POLICY_NOBODY;
    for (size_t j = 0; j < p->count; j++) {
        p->relative_speed[j] = j == chosen;
        if (p->jobs[j].kind == REGION_SERIAL)
            take_core(p, j);
    }
    for (size_t whole = cores_alone(p, chosen); whole-- > 0;)
        take_core(p, chosen);
    p->mode = POLICY_TURNS;
    plan->periodic = false;
    struct plan_share *share = &plan->share[p->index[chosen]];
    share->profile_dop = grants_owned(p->owner, p->machine->cpus, chosen);
    share->alone = true;
    snprintf(plan->reason, sizeof(plan->reason), "job %u %s", p->jobs[chosen].id, why);
}

bool plan_alone(struct planner *p, struct plan *plan)
{
    bool profiling = false;

    if (!plan->policy->turns)
        return false;
    for (size_t j = 0; j < p->count; j++) {
        size_t whole = cores_alone(p, j);
        const struct job *job = p->input->jobs[p->index[j]];
        profiling |= plan->share[p->index[j]].profile_dop > 0;
        if (whole && job->region)
            plan_facts_alone(&p->facts[j], job, whole);
    }
    size_t chosen = profiling ? p->count : wanted_alone(p);
    if (chosen == p->count)
        return false;
    measure_alone(p, plan, chosen, "with all cores tells whether turns pay");
    return true;
}

/* ---- probes of caches ------------------------------------------------------- */

/* Which jobs and CPUs there are. */
static uint64_t cast(const struct planner *p)
{
    uint64_t h = HASH_START;

    for (size_t c = 0; c < p->machine->cpus; c++)
        hash_word(&h, p->before[c] == POLICY_NO_CPU);
    for (size_t j = 0; j < p->count; j++)
        hash_word(&h, p->jobs[j].id);
    return h ? h : 1;
}

/* And who of them can use more than one. */
static uint64_t kinds(const struct planner *p)
{
    uint64_t h = HASH_START;

    for (size_t j = 0; j < p->count; j++)
        hash_word(&h, p->jobs[j].kind);
    return h;
}

/* Without SPARE[cpus], every second core of each LLC domain, job number J has how many of those
 * that it has by OWNER, and how many times as many share an LLC with these? */
static size_t find_spare(const struct planner *p, size_t j, bool *spare, double *crowd)
{
    size_t domains = p->machine->llc_domains, whole[domains], half[domains], kept = 0;

    memset(whole, 0, sizeof(whole));
    memset(half, 0, sizeof(half));
    for (size_t c = 0; c < p->machine->cpus; c++) {
        bool own = p->owner[c] == (int)j;
        spare[c] = own && whole[p->machine->llc_domain[c]]++ % 2;
        if (own && !spare[c]) {
            half[p->machine->llc_domain[c]]++;
            kept++;
        }
    }
    *crowd = kept ? cache_power_cores(whole, domains) / cache_power_cores(half, domains) : 1;
    return kept;
}

/* Should job number J be probed on half of its cores of each LLC?  Not if it hardly waits for
 * memory, if its threads cannot leave the others, or if few of them share a cache anyway. */
static bool wants_cache(const struct planner *p, size_t j)
{
    const struct job *job = p->input->jobs[p->index[j]];
    bool spare[p->machine->cpus];
    double crowd;

    return p->jobs[j].kind == REGION_PARALLEL && !p->jobs[j].pinned && job->region &&
           job->region->profile && job->region->profile->llc_cores > 0 &&
           p->facts[j].facts.cpu_share <= CACHES_COMPUTING &&
           region_list_wants_cache(&job->regions, &p->input->budget) &&
           find_spare(p, j, spare, &crowd) >= p->jobs[j].min_cores && crowd >= CACHES_CROWD;
}

/* Job number J is probed with the cores that it has by OWNER now. */
static void probe_cache(struct planner *p, struct plan *plan, size_t j)
{
    struct plan_share *share = &plan->share[p->index[j]];

    share->profile_dop = grants_owned(p->owner, p->machine->cpus, j);
    share->halved = true;
    snprintf(plan->reason, sizeof(plan->reason),
             "job %u with half of its cores on each LLC tells how often it misses", p->jobs[j].id);
}

/* A probe of a cache goes on: true.  When one has ended all have what they had before. */
static bool goes_on_halved(struct planner *p, struct plan *plan)
{
    size_t bytes = p->machine->cpus * sizeof(*p->before);

    if (!p->halved)
        return false;
    bool same = p->halved == cast(p);
    for (size_t j = 0; j < p->count && same; j++) {
        if (p->halved_kinds == kinds(p) &&
            region_list_probes_cache(&p->input->jobs[p->index[j]]->regions, &p->input->budget)) {
            memcpy(p->owner, p->before, bytes);
            for (size_t i = 0; i < p->count; i++)
                p->relative_speed[i] = p->input->jobs[p->index[i]]->relative_speed;
            p->mode = POLICY_SPACE;
            plan->periodic = false;
            probe_cache(p, plan, j);
            return true;
        }
    }
    if (same)
        memcpy(p->before, p->whole, bytes);
    p->halved = 0;
    return false;
}

/* Who has CPU C while job number J is probed without it: of the others that can use it who has the
 * fewest CPUs, HAS[jobs].  They would have it after a decision, too, and what J leaves of a cache
 * they take. */
static int heir(const struct planner *p, size_t j, int c, const size_t *has)
{
    int best = POLICY_NOBODY;

    for (size_t i = 0; i < p->count; i++)
        if (i != j && p->jobs[i].kind == REGION_PARALLEL && !p->jobs[i].pinned &&
            cpuset_has(&p->granted[i], c) && has[i] < p->jobs[i].max_cores &&
            (best == POLICY_NOBODY || has[i] < has[best]))
            best = (int)i;
    return best;
}

/* Job number J does without its SPARE[cpus]. */
static void give_spare(struct planner *p, size_t j, const bool *spare)
{
    size_t cpus = p->machine->cpus, has[MOST];

    for (size_t i = 0; i < p->count; i++)
        has[i] = grants_owned(p->owner, cpus, i);
    for (size_t c = 0; c < cpus; c++) {
        if (!spare[c])
            continue;
        p->owner[c] = heir(p, j, (int)c, has);
        if (p->owner[c] != POLICY_NOBODY)
            has[p->owner[c]]++;
    }
}

void plan_caches(struct planner *p, struct plan *plan)
{
    bool spare[p->machine->cpus];
    double crowd;

    if (!plan->policy->caches || p->mode != POLICY_SPACE || plan->turns || p->count < 2)
        return;
    for (size_t j = 0; j < p->count; j++)
        if (plan->share[p->index[j]].profile_dop)
            return;
    memcpy(p->whole, p->owner, p->machine->cpus * sizeof(*p->whole));
    size_t chosen = p->count; /* who waits for memory most */
    for (size_t j = 0; j < p->count; j++)
        if (wants_cache(p, j) &&
            (chosen == p->count ||
             p->facts[j].facts.cpu_share < p->facts[chosen].facts.cpu_share))
            chosen = j;
    if (chosen == p->count)
        return;
    find_spare(p, chosen, spare, &crowd);
    give_spare(p, chosen, spare);
    p->halved = cast(p);
    p->halved_kinds = kinds(p);
    probe_cache(p, plan, chosen);
}

bool plan_is_new(const struct plan_input *in, const struct job *job)
{
    return in->clean_ns && job->region &&
           region_list_run_ns(&job->regions) < in->clean_ns;
}

/* Let a new job run alone, if there is one: true.  Where jobs wait for a place anyway, no
 * others wait for that. */
static bool plan_clean(struct planner *p, struct plan *plan)
{
    if (!plan->policy->profiles || plan->turns)
        return false;
    for (size_t j = 0; j < p->count; j++)
        if (cores_alone(p, j) && plan_is_new(p->input, p->input->jobs[p->index[j]])) {
            measure_alone(p, plan, j, "is new and runs alone at first");
            return true;
        }
    return false;
}

bool plan_before_policy(struct planner *p, struct plan *plan)
{
    return goes_on_halved(p, plan) || plan_clean(p, plan);
}

void plan_grant(const struct plan_share *share, struct job *job,
                const struct region_budget *budget)
{
    if (share->halved)
        region_list_grant_cache(&job->regions, budget);
    else if (share->profile_dop && job->region)
        region_grant(job->region, share->profile_dop, share->alone, budget);
}
