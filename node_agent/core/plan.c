/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A plan: which CPUs each live job should have now. */

#include "node_agent/core/plan.h"

#include <stdlib.h>
#include <string.h>

#include "model/locality.h"
#include "node_agent/core/grants.h"
#include "node_agent/core/plan_probes.h"
#include "protocol/cpulist.h"

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

/* Smallest and largest number of cores for JOB in a pool of POOL cores. */
static void plan_limits(const struct job *job, const struct topology *topology,
                        const double *options, size_t pool, size_t *min, size_t *max)
{
    size_t granted = topology_count_cores(topology, &job->granted);

    *max = job->options.max_cores > 0 ? (size_t)job->options.max_cores : pool;
    if (*max > granted)
        *max = granted;
    if (*max > pool)
        *max = pool;
    if (*max < 1)
        *max = 1;
    size_t useful = job->region ? plan_useful(job, options) : 0;
    if (useful && useful < *max)
        *max = useful;
    *min = job->options.min_cores > 0 ? (size_t)job->options.min_cores : 1;
    if (*min > *max)
        *min = *max;
}

struct planner *planner_new(const struct topology *topology)
{
    const struct machine *machine = topology_machine(topology);
    size_t nodes = machine->llc_domains;
    struct planner *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->topology = topology;
    p->machine = machine;
    p->workspace = policy_workspace_new(machine, MOST);
    p->before = calloc(machine->cpus, sizeof(*p->before));
    p->owner = calloc(machine->cpus, sizeof(*p->owner));
    p->whole = calloc(machine->cpus, sizeof(*p->whole));
    p->llc = calloc(2 * MOST * nodes, sizeof(*p->llc));
    if (!p->workspace || !p->before || !p->owner || !p->whole || !p->llc) {
        planner_free(p);
        return NULL;
    }
    for (size_t j = 0; j < MOST; j++) {
        if (!(p->mean[j] = workload_new(machine->numa_nodes))) {
            planner_free(p);
            return NULL;
        }
        p->facts[j].llc_access = p->llc + 2 * j * nodes;
        p->facts[j].llc_miss = p->llc + (2 * j + 1) * nodes;
    }
    return p;
}

void planner_free(struct planner *p)
{
    if (!p)
        return;
    int saved = errno;
    policy_workspace_free(p->workspace);
    policy_state_free(p->state);
    for (size_t j = 0; j < MOST; j++)
        workload_free(p->mean[j]);
    free(p->before);
    free(p->owner);
    free(p->whole);
    free(p->llc);
    free(p->runs);
    free(p);
    errno = saved;
}

/* Begin a plan for IN. */
static int prepare(struct planner *p, const struct plan_input *in)
{
    p->input = in;
    p->count = 0;
    if (in->count <= p->room)
        return 0;
    bool *runs = realloc(p->runs, in->count * sizeof(*runs));
    if (!runs)
        return -1;
    p->runs = runs;
    p->room = in->count;
    return 0;
}

/* Have the state and the options of POLICY. */
static int prepare_policy(struct planner *p, const struct policy *policy,
                          struct errtext *err)
{
    const char *text = p->input->policy_options;

    if (!p->state || p->state_of != policy) {
        policy_state_free(p->state);
        p->state_of = policy;
        if (!(p->state = policy_state_new(policy, p->machine)))
            return errtext_set(err, ENOMEM, "policy %s: out of memory",
                               policy->name);
    }
    /* Options are for the node's policy, not for one that jobs ask for. */
    return plan_options(policy, text && !strcmp(policy->name, p->input->policy) ? text : "",
                        p->options, err);
}

double plan_weight(const struct job *job)
{
    if (job->weight > 0)
        return job->weight;
    return job->options.weight > 0 && job->options.weight < 1
               ? job->options.weight
               : 1;
}

/* The profile of JOB's region, or what may do instead, or NULL. */
static const struct workload *profile_of(struct planner *p,
                                         const struct job *job)
{
    struct workload *mean = p->mean[p->count];

    if (!job->region)
        return NULL;
    return job->region->profile ? job->region->profile
           : plan_facts_mean(job, mean) ? mean
                                        : NULL;
}

/* Running job number J owns those of CPUS that it may have. */
static void set_owner(struct planner *p, const struct cosched_cpuset *cpus,
                      const struct cosched_cpuset *may, size_t j)
{
    struct cosched_cpuset cores;

    topology_cores(p->topology, cpus, &cores);
    cpuset_and(&cores, may);
    for (int c = -1; (c = cpuset_next(&cores, c)) >= 0;)
        p->before[c] = (int)j;
}

/* Whether data of one lie where its cores were. */
static bool some_are_local(const struct planner *p)
{
    for (size_t j = 0; j < p->count; j++)
        if (p->jobs[j].profile && p->jobs[j].profile->locality > LOCALITY_HIGH)
            return true;
    return false;
}

/* Who lends no more owns again what others got when it began to, so that all come back to their
 * data.  Where these are anywhere, all are placed anew, as more is known than at first. */
static void call_loans(struct planner *p)
{
    if (!some_are_local(p))
        return;
    for (size_t j = 0; j < p->count; j++) {
        const struct job *job = p->input->jobs[p->index[j]];
        if (!job->stretch.lends)
            set_owner(p, &job->loan, &p->granted[j], j);
    }
}

/* Who runs in this turn, and the pool with its present owners. */
static void select_jobs(struct planner *p, struct plan *plan)
{
    const struct plan_input *in = p->input;
    struct cosched_cpuset pool = {{0}}, cores;

    for (size_t i = 0; i < in->count; i++)
        cpuset_or(&pool, &in->jobs[i]->granted);
    topology_cores(in->topology, &pool, &cores);
    p->pool = (size_t)cpuset_count(&cores);
    size_t most = p->pool < MOST ? p->pool : MOST;
    if (in->max_jobs && in->max_jobs < most)
        most = in->max_jobs;
    plan->turns = in->count > most;
    if (plan->turns)
        turns_select(in->count, most, in->slice, p->runs);
    for (size_t c = 0; c < p->machine->cpus; c++)
        p->before[c] =
            cpuset_has(&cores, (int)c) ? POLICY_NOBODY : POLICY_NO_CPU;
    for (size_t i = 0; i < in->count; i++) {
        struct job *job = in->jobs[i];
        plan->share[i].parked = plan->turns && !p->runs[i];
        if (plan->share[i].parked)
            continue;
        set_owner(p, &job->cpus, &cores, p->count);
        topology_cores(in->topology, &job->granted, &p->granted[p->count]);
        plan_facts_fill(&p->facts[p->count], job,
                        topology_count_cores(in->topology, &job->cpus),
                        p->machine->llc_domains);
        p->jobs[p->count] = (struct policy_job){
            .id = job->id,
            .facts = &p->facts[p->count].facts,
            .kind = job_kind(job),
            .profile = profile_of(p, job),
            .weight = plan_weight(job),
            .pinned = job->doing == JOB_PINNED,
            .threads = job->threads,
            .grows = job->growth.grows,
            .objective = (enum policy_objective)job->options.objective,
            .region = job->region
                           ? job->region->object_id ^ job->region->offset
                           : 0,
        };
        plan_limits(job, in->topology, p->options, p->pool, &p->jobs[p->count].min_cores,
                    &p->jobs[p->count].max_cores);
        p->index[p->count++] = i;
    }
    call_loans(p);
    /* Nobody wants the cores that it would lend, and would be late to give them back. */
    if (in->count == 1)
        p->jobs[0].kind = REGION_PARALLEL;
}

/* Of the pool, by weight; one core at least. */
static size_t fair_share(const struct planner *p, const struct policy_job *job, double weights)
{
    size_t share = (size_t)((double)p->pool * job->weight / weights);

    return share ? share : 1;
}

/* Who has just attached has no more than its share while others are about to: with their cores,
 * too, it would deal its data out to more workers than it has a moment later.  As many on each
 * node, if they are enough: a core more on one would put more of its data there for good. */
static void leave_room(struct planner *p)
{
    size_t nodes = p->machine->numa_nodes;
    double weights = 0;
    bool due = false;

    for (size_t j = 0; j < p->count; j++) {
        const struct job *job = p->input->jobs[p->index[j]];
        bool soon = job->doing == JOB_STARTING && job->soon;
        if (soon || p->jobs[j].kind == REGION_PARALLEL)
            weights += p->jobs[j].weight;
        due |= soon;
    }
    for (size_t j = 0; due && j < p->count; j++) {
        struct policy_job *job = &p->jobs[j];
        size_t share = fair_share(p, job, weights);
        if (share > nodes)
            share -= share % nodes;
        if (job->kind == REGION_PARALLEL && !job->profile && share < job->max_cores)
            job->max_cores = share;
        if (job->min_cores > job->max_cores)
            job->min_cores = job->max_cores;
    }
}

/* Nobody's minimum takes from the others what is theirs: of a fair share of the pool, by
 * weight, as much as each can use. */
static void bound_minima(struct planner *p)
{
    size_t theirs[MOST], sum = 0;
    double weights = 0;

    for (size_t j = 0; j < p->count; j++)
        weights += p->jobs[j].weight;
    for (size_t j = 0; j < p->count; j++) {
        const struct policy_job *job = &p->jobs[j];
        size_t share = fair_share(p, job, weights);
        theirs[j] = job->kind == REGION_SERIAL ? 1
                    : share < job->max_cores   ? share
                                               : job->max_cores;
        sum += theirs[j];
    }
    for (size_t j = 0; j < p->count; j++) {
        size_t others = sum - theirs[j];
        size_t most = p->pool > others ? p->pool - others : 1;
        if (p->jobs[j].min_cores > most)
            p->jobs[j].min_cores = most;
    }
}

static int decide(struct planner *p, struct plan *plan, struct errtext *err)
{
    struct policy_input input = {.machine = p->machine,
                                 .jobs = p->jobs,
                                 .job_count = p->count,
                                 .owner = p->before,
                                 .workspace = p->workspace,
                                 .options = p->options,
                                 .fairness_percent = p->input->fairness_percent,
                                 .state = p->state,
                                 .slice = p->input->slice,
                                 .terse = p->input->terse};
    struct policy_decision decision = {.owner = p->owner, .relative_speed = p->relative_speed};
    enum model_status rc = policy_decide(plan->policy, &input, &decision);

    if (rc != MODEL_OK)
        return errtext_set(err, rc == MODEL_ENOMEM ? ENOMEM : EINVAL,
                           "policy %s: cannot decide (%d)", plan->policy->name,
                           (int)rc);
    snprintf(plan->reason, sizeof(plan->reason), "%s", decision.reason);
    p->mode = decision.mode;
    plan->turns |= decision.mode == POLICY_TURNS && decision.rotates;
    plan->native = decision.mode == POLICY_NATIVE;
    plan->periodic = decision.periodic;
    if (p->mode == POLICY_SPACE)
        grants_repair(p->granted, p->count, p->owner, p->machine->cpus);
    else if (p->mode == POLICY_TURNS)
        grants_repair_turns(p->granted, p->count, p->owner, p->machine->cpus);
    return 0;
}

/* What each job may use when the kernel shares the time. */
static void native_cores(struct planner *p)
{
    size_t most[MOST];

    for (size_t j = 0; j < p->count; j++) {
        most[j] = p->jobs[j].max_cores;
        topology_cores(p->topology, &p->input->jobs[p->index[j]]->cpus, &p->native[j]);
    }
    grants_overlap(p->granted, most, p->count, p->owner, p->native);
}

static void fill_shares(struct planner *p, struct plan *plan)
{
    if (p->mode == POLICY_NATIVE)
        native_cores(p);
    for (size_t j = 0; j < p->count; j++) {
        struct cosched_cpuset cores = {{0}};
        struct plan_share *share = &plan->share[p->index[j]];
        if (p->mode == POLICY_NATIVE)
            cores = p->native[j];
        for (size_t c = 0; c < p->machine->cpus; c++)
            if (p->owner[c] == (int)j)
                cpuset_add(&cores, (int)c);
        share->parked = cpuset_empty(&cores);
        share->relative_speed = p->relative_speed[j];
        topology_expand(p->input->topology, &cores, &share->cpus);
        cpuset_and(&share->cpus, &p->input->jobs[p->index[j]]->granted);
    }
}

bool plan_differs(const struct plan_input *in, const struct plan *plan)
{
    for (size_t i = 0; i < in->count; i++)
        if (!cpuset_equal(&in->jobs[i]->cpus, &plan->share[i].cpus) ||
            in->jobs[i]->parked != plan->share[i].parked)
            return true;
    return false;
}

/* Nothing is divided: all share the time. */
static void fill_drained(const struct plan_input *in, struct plan *plan)
{
    plan->policy = policy_find("native");
    plan->native = true;
    plan->mapping = MAPPER_NONE;
    plan->turns = plan->periodic = false;
    for (size_t i = 0; i < in->count; i++) {
        plan->share[i].cpus = in->jobs[i]->granted;
        plan->share[i].relative_speed = 1 / (double)in->count;
    }
    snprintf(plan->reason, sizeof(plan->reason),
             "sharing is drained%s%.200s: every job has what Slurm gave it",
             *in->drained ? ", " : "", in->drained);
}

int plan_make(struct planner *p, const struct plan_input *in, struct plan *plan,
              struct errtext *err)
{
    memset(plan->share, 0, in->count * sizeof(*plan->share));
    plan->reason[0] = '\0';
    plan->native = false;
    if (in->drained) {
        fill_drained(in, plan);
        return 0;
    }
    plan->policy = plan_policy(in);
    if (!plan->policy)
        return errtext_set(err, EINVAL, "policy %s: no such policy",
                           in->policy);
    if (prepare(p, in) < 0)
        return errtext_set(err, ENOMEM, "plan: out of memory");
    if (prepare_policy(p, plan->policy, err) < 0)
        return -1;
    plan->mapping = (enum mapper_rule)p->options[POLICY_MAPPING];
    select_jobs(p, plan);
    if (!p->pool)
        return errtext_set(err, ENODEV, "no CPU of this node is in the pool");
    leave_room(p);
    bound_minima(p);
    if (!plan_before_policy(p, plan)) {
        plan_profiling(p, plan);
        if (!plan_alone(p, plan)) {
            if (decide(p, plan, err) < 0)
                return -1;
            plan_caches(p, plan);
        }
    }
    fill_shares(p, plan);
    /* What the policy does not see: threads of cores, CPUs no longer granted. */
    if (!plan->reason[0] && plan_differs(in, plan))
        snprintf(plan->reason, sizeof(plan->reason),
                 "the same cores as before, with the CPUs that go with them");
    return 0;
}
