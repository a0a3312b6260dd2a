/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A plan: which CPUs each live job should have now. */

#include "node_agent/plan.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/cpulist.h"

/* What plan_make() works with. */
struct work {
    const struct plan_input *input;
    const struct machine *machine;
    size_t pool;             /* cores */
    size_t count;            /* jobs that run */
    size_t *index;           /* [count] into input->jobs */
    struct policy_job *jobs; /* [count] */
    int *before;             /* [machine->cpus] */
    int *owner;              /* [machine->cpus] */
    bool *runs;              /* [input->count] */
    struct cosched_cpuset *granted; /* [count] */
    enum policy_mode mode;          /* of the decision */
};

const struct policy *plan_policy(const struct plan_input *in)
{
    const char *wish = "";

    for (size_t i = 0; i < in->count; i++) {
        const char *name = in->jobs[i]->options.policy;
        if (!*name)
            continue;
        if (*wish && strcmp(wish, name))
            return policy_find(in->policy);
        wish = name;
    }
    return policy_find(*wish ? wish : in->policy);
}

void plan_limits(const struct job *job, const struct topology *topology,
                 size_t pool, size_t *min, size_t *max)
{
    size_t granted = topology_count_cores(topology, &job->granted);

    *max = job->options.max_cores > 0 ? (size_t)job->options.max_cores : pool;
    if (*max > granted)
        *max = granted;
    if (*max > pool)
        *max = pool;
    if (*max < 1)
        *max = 1;
    *min = job->options.min_cores > 0 ? (size_t)job->options.min_cores : 1;
    if (*min > *max)
        *min = *max;
}

static int allocate(struct work *w, const struct plan_input *in)
{
    w->input = in;
    w->machine = topology_machine(in->topology);
    w->index = calloc(in->count, sizeof(*w->index));
    w->jobs = calloc(in->count, sizeof(*w->jobs));
    w->granted = calloc(in->count, sizeof(*w->granted));
    w->runs = calloc(in->count, sizeof(*w->runs));
    w->before = calloc(w->machine->cpus, sizeof(*w->before));
    w->owner = calloc(w->machine->cpus, sizeof(*w->owner));
    return w->index && w->jobs && w->granted && w->runs && w->before && w->owner
               ? 0
               : -1;
}

static void release(struct work *w)
{
    free(w->index);
    free(w->jobs);
    free(w->granted);
    free(w->runs);
    free(w->before);
    free(w->owner);
}

/* Who runs in this turn, and the pool with its present owners. */
static void select_jobs(struct work *w, struct plan *plan)
{
    const struct plan_input *in = w->input;
    struct cosched_cpuset pool = {{0}}, cores;

    for (size_t i = 0; i < in->count; i++)
        cpuset_or(&pool, &in->jobs[i]->granted);
    topology_cores(in->topology, &pool, &cores);
    w->pool = (size_t)cpuset_count(&cores);
    plan->turns = in->count > w->pool;
    if (plan->turns)
        turns_select(in->count, w->pool, in->slice, w->runs);
    for (size_t c = 0; c < w->machine->cpus; c++)
        w->before[c] =
            cpuset_has(&cores, (int)c) ? POLICY_NOBODY : POLICY_NO_CPU;
    for (size_t i = 0; i < in->count; i++) {
        struct job *job = in->jobs[i];
        struct cosched_cpuset has;
        plan->share[i].parked = plan->turns && !w->runs[i];
        if (plan->share[i].parked)
            continue;
        topology_cores(in->topology, &job->cpus, &has);
        cpuset_and(&has, &cores);
        for (int c = -1; (c = cpuset_next(&has, c)) >= 0;)
            w->before[c] = (int)w->count;
        topology_cores(in->topology, &job->granted, &w->granted[w->count]);
        w->jobs[w->count] = (struct policy_job){
            .id = job->id,
            .kind = job->kind,
            .profile = job->section ? job->section->profile : NULL,
            .weight = 1,
            .section = job->section
                           ? job->section->object_id ^ job->section->offset
                           : 0,
        };
        plan_limits(job, in->topology, w->pool, &w->jobs[w->count].min_cores,
                    &w->jobs[w->count].max_cores);
        w->index[w->count++] = i;
    }
}

/* DoP at which running job number J should be measured, 0: none. */
static size_t wanted_dop(const struct work *w, size_t j)
{
    const struct job *job = w->input->jobs[w->index[j]];
    size_t most = w->pool - (w->count - 1);

    if (job->kind != SECTION_PARALLEL || !job->section)
        return 0;
    if (most > w->jobs[j].max_cores)
        most = w->jobs[j].max_cores;
    size_t dop = section_wants(job->section, most, w->input->profile_ns);
    if (dop < w->jobs[j].min_cores)
        return 0;
    /* Alone it has the whole pool anyway; nobody needs the second point yet. */
    return w->count == 1 && dop < most ? 0 : dop;
}

/* Choose whom to profile and bind its DoP by minimum and maximum.  The job
 * that is being profiled goes on, so that two never take turns at it. */
static void plan_profiling(struct work *w, struct plan *plan)
{
    size_t chosen = w->count, dop = 0;

    if (!w->input->profile_ns || plan->turns)
        return;
    if (!plan->policy->profiles) /* measuring would only disturb */
        return;
    for (size_t j = 0; j < w->count; j++) {
        const struct job *job = w->input->jobs[w->index[j]];
        size_t d = wanted_dop(w, j);
        if (d && (chosen == w->count || job->profiling)) {
            chosen = j;
            dop = d;
        }
    }
    if (chosen == w->count)
        return;
    plan->share[w->index[chosen]].profile_dop = dop;
    w->jobs[chosen].min_cores = w->jobs[chosen].max_cores = dop;
    /* A minimum that others asked for would take what the measurement needs;
     * it is given back in a fraction of a second. */
    for (size_t j = 0; j < w->count; j++)
        if (j != chosen)
            w->jobs[j].min_cores = 1;
}

static size_t count_owned(const int *owner, size_t cpus, size_t job)
{
    size_t n = 0;

    for (size_t c = 0; c < cpus; c++)
        n += owner[c] == (int)job;
    return n;
}

/* The job with the fewest cores that may have CPU, or POLICY_NOBODY. */
static int poorest(const struct cosched_cpuset *granted, size_t jobs,
                   const int *owner, size_t cpus, int cpu)
{
    int best = POLICY_NOBODY;
    size_t least = SIZE_MAX;

    for (size_t j = 0; j < jobs; j++) {
        size_t n = count_owned(owner, cpus, j);
        if (cpuset_has(&granted[j], cpu) && n < least) {
            least = n;
            best = (int)j;
        }
    }
    return best;
}

void plan_repair(const struct cosched_cpuset *granted, size_t jobs, int *owner,
                 size_t cpus)
{
    for (size_t c = 0; c < cpus; c++)
        if (owner[c] >= 0 && !cpuset_has(&granted[owner[c]], (int)c)) {
            owner[c] = POLICY_NOBODY;
            owner[c] = poorest(granted, jobs, owner, cpus, (int)c);
        }
    for (size_t j = 0; j < jobs; j++) {
        int from = -1;
        size_t most = 1;
        if (count_owned(owner, cpus, j))
            continue;
        for (int c = -1; (c = cpuset_next(&granted[j], c)) >= 0;) {
            if ((size_t)c >= cpus || owner[c] == POLICY_NO_CPU)
                continue;
            size_t n = owner[c] == POLICY_NOBODY
                           ? SIZE_MAX
                           : count_owned(owner, cpus, (size_t)owner[c]);
            if (n > most) {
                most = n;
                from = c;
            }
        }
        if (from >= 0)
            owner[from] = (int)j;
    }
}

/* As plan_repair() where jobs without a CPU wait for their turn: who runs has
 * as many CPUs as the policy gave it, from what it was granted. */
static void repair_turns(struct work *w)
{
    size_t cpus = w->machine->cpus;

    for (size_t j = 0; j < w->count; j++) {
        size_t cores = count_owned(w->owner, cpus, j);
        for (size_t c = 0; c < cpus; c++)
            if (w->owner[c] == (int)j && !cpuset_has(&w->granted[j], (int)c))
                w->owner[c] = POLICY_NOBODY;
        size_t now = count_owned(w->owner, cpus, j);
        for (int c = -1; (c = cpuset_next(&w->granted[j], c)) >= 0;)
            if (now < cores && (size_t)c < cpus &&
                w->owner[c] == POLICY_NOBODY) {
                w->owner[c] = (int)j;
                now++;
            }
    }
}

static int decide(struct work *w, struct plan *plan, struct errtext *err)
{
    struct policy_input input = {.machine = w->machine,
                                 .jobs = w->jobs,
                                 .job_count = w->count,
                                 .owner = w->before,
                                 .slice = w->input->slice};
    struct policy_decision decision = {.owner = w->owner};
    enum model_status rc = policy_decide(plan->policy, &input, &decision);

    if (rc != MODEL_OK)
        return errtext_set(err, rc == MODEL_ENOMEM ? ENOMEM : EINVAL,
                           "policy %s: cannot decide (%d)", plan->policy->name,
                           (int)rc);
    snprintf(plan->reason, sizeof(plan->reason), "%s", decision.reason);
    w->mode = decision.mode;
    plan->turns |= decision.mode == POLICY_TURNS && decision.rotates;
    plan->native = decision.mode == POLICY_NATIVE;
    if (w->mode == POLICY_SPACE)
        plan_repair(w->granted, w->count, w->owner, w->machine->cpus);
    else if (w->mode == POLICY_TURNS)
        repair_turns(w);
    return 0;
}

/* What job J may use when the kernel shares the time: all that it was granted
 * of the pool, its maximum at most, those that it has now first. */
static void native_cores(const struct work *w, size_t j,
                         struct cosched_cpuset *cores)
{
    size_t left = w->jobs[j].max_cores;

    for (int had = 1; had >= 0; had--)
        for (int c = -1; (c = cpuset_next(&w->granted[j], c)) >= 0;)
            if (left && w->owner[c] != POLICY_NO_CPU &&
                (w->before[c] == (int)j) == had) {
                cpuset_add(cores, c);
                left--;
            }
}

static void fill_shares(const struct work *w, struct plan *plan)
{
    for (size_t j = 0; j < w->count; j++) {
        struct cosched_cpuset cores = {{0}};
        struct plan_share *share = &plan->share[w->index[j]];
        if (w->mode == POLICY_NATIVE)
            native_cores(w, j, &cores);
        for (size_t c = 0; c < w->machine->cpus; c++)
            if (w->owner[c] == (int)j)
                cpuset_add(&cores, (int)c);
        share->parked = cpuset_empty(&cores);
        topology_expand(w->input->topology, &cores, &share->cpus);
        cpuset_and(&share->cpus, &w->input->jobs[w->index[j]]->granted);
    }
}

int plan_make(const struct plan_input *in, struct plan *plan,
              struct errtext *err)
{
    struct work w = {0};
    int rc = -1;

    memset(plan->share, 0, in->count * sizeof(*plan->share));
    plan->reason[0] = '\0';
    plan->policy = plan_policy(in);
    if (!plan->policy) {
        errtext_set(err, EINVAL, "policy %s: no such policy", in->policy);
    } else if (allocate(&w, in) < 0) {
        errtext_set(err, ENOMEM, "plan: out of memory");
    } else {
        select_jobs(&w, plan);
        if (!w.pool) {
            errtext_set(err, ENODEV, "no CPU of this node is in the pool");
        } else {
            plan_profiling(&w, plan);
            if ((rc = decide(&w, plan, err)) == 0)
                fill_shares(&w, plan);
        }
    }
    release(&w);
    return rc;
}
