/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Decides when CPUs change hands. */

#include "node_agent/core/scheduler.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/hash.h"
#include "node_agent/core/journal.h"
#include "node_agent/core/affinity.h"
#include "common/log.h"
#include "node_agent/core/mapper.h"
#include "node_agent/core/mover.h"
#include "node_agent/core/plan.h"
#include "node_agent/core/plan_fields.h"
#include "node_agent/core/process.h"
#include "node_agent/core/standing.h"
#include "protocol/cpulist.h"

/* Regions come and go many times a second, and decisions for many jobs take
 * milliseconds: all together at most one part in so many of a core.  Jobs that
 * come or go do not wait. */
#define DECISION_REST 100

/* Who wants the cores back that it lends waits less, but then each job may. */
#define RETURN_REST 10

/* Half of a job's cores are idle for so many lengths of a probe at most. */
#define HALVED_MOST 10

/* While several jobs live it is seen between epochs whether serial stretches begin or end.  Those
 * looks, too, take at most one part in so many of a core. */
#define GLANCE_NS (10 * NS_PER_MS)
#define GLANCE_REST 100

/* What the trace has of speeds and loads comes at most so often, and takes at most one part in so
 * many of a core. */
#define CURVES_NS NS_PER_S
#define CURVES_REST 4000
#define CURVES_STATIONS 512

/* Epochs between two looks for jobs that somebody has stopped. */
#define SUSPEND_EPOCHS 4

struct scheduler {
    struct scheduler_parts p;
    struct mover mover;
    unsigned epochs; /* counts up to SUSPEND_EPOCHS */
    struct host_timer *turn_timer;
    struct host_timer *glance_timer; /* NULL: there are not several jobs */
    uint64_t turn; /* of affinity_epoch() */
    uint64_t signature; /* of what the last plan was made from */
    uint64_t turn_base_ns;
    bool turns;
    struct planner *planner;
    const struct policy *policy; /* that decided last */
    bool periodic;  /* there is a decision in each epoch */
    uint64_t epoch; /* number of the present one */
    struct scheduler_totals totals;
    uint64_t rest_until_ns; /* no decision because of regions before, */
    uint64_t return_at_ns;  /* nor because of who lends its cores before */
    uint64_t halved_ns;     /* since when a job has half of its cores; 0: none has */
    enum mapper_rule mapping; /* of the last plan */
    uint64_t curves_ns; /* when speeds and loads are next traced */
    char reason[sizeof(((struct plan *)0)->reason)]; /* last written down */
    struct log_limit plan_errors;
};

/* Measurements begin here, with the new CPUs. */
static void on_moved(void *arg)
{
    struct scheduler *s = arg;

    observer_update(s->p.observer, s->p.jobs, s->p.options, host_now_ns(s->p.host));
}

struct scheduler *scheduler_new(const struct scheduler_parts *parts)
{
    struct scheduler *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->p = *parts;
    mover_init(&s->mover, &(struct mover_parts){.host = parts->host,
                                                .jobs = parts->jobs,
                                                .topology = parts->topology,
                                                .enforcer = parts->enforcer,
                                                .trace = parts->trace,
                                                .moved = on_moved,
                                                .arg = s});
    if (!(s->planner = planner_new(parts->topology))) {
        free(s);
        return NULL;
    }
    return s;
}

void scheduler_free(struct scheduler *s)
{
    if (!s)
        return;
    host_timer_stop(&s->turn_timer);
    host_timer_stop(&s->glance_timer);
    mover_stop(&s->mover);
    planner_free(s->planner);
    free(s);
}

/* Why CPUs are not divided, or NULL. */
static const char *drained(const struct scheduler *s)
{
    return s->p.drained ? *s->p.drained : NULL;
}

static struct region_budget budget_of(const struct scheduler *s)
{
    return (struct region_budget){s->p.options->profile_ns,
                                   s->p.options->probe_percent / 100.0};
}

static void on_turn(void *arg)
{
    scheduler_trigger(arg, "the next turn");
}

/* While there are turns, wake up at the end of the present one. */
static void arm_turns(struct scheduler *s, bool turns, uint64_t now_ns)
{
    if (turns && !s->turns)
        s->turn_base_ns = now_ns;
    s->turns = turns;
    if (!turns) {
        host_timer_stop(&s->turn_timer);
        return;
    }
    uint64_t slice_ns = s->p.options->slice_ns;
    uint64_t left_ns = slice_ns - (now_ns - s->turn_base_ns) % slice_ns;
    host_timer_start(s->p.host, &s->turn_timer, left_ns + NS_PER_US, on_turn,
                     s);
}

/* Cores that JOB gains and loses by SHARE. */
static size_t count_moves(const struct scheduler *s, const struct job *job,
                          const struct plan_share *share)
{
    struct cosched_cpuset both = job->cpus;

    cpuset_and(&both, &share->cpus);
    return topology_count_cores(s->p.topology, &job->cpus) +
           topology_count_cores(s->p.topology, &share->cpus) -
           2 * topology_count_cores(s->p.topology, &both);
}

/* What SHARE is for JOB's record. */
static void count_decision(struct scheduler *s, struct job *job,
                           const struct plan *plan,
                           const struct plan_share *share)
{
    if (!cpuset_equal(&job->cpus, &share->cpus)) {
        size_t moves = count_moves(s, job, share);
        job->record.decisions++;
        job->record.moves += moves;
        s->totals.moves += moves;
    }
    snprintf(job->record.policy, sizeof(job->record.policy), "%s",
             plan->policy->name);
}

static void write_down(struct scheduler *s, struct job **jobs,
                       const struct plan *plan, size_t count, const char *why)
{
    struct region_budget budget = budget_of(s);
    char text[DECISION_TEXT] = "", name[REGION_NAME_MAX];
    json_t *shares = json_array();
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        const struct plan_share *share = &plan->share[i];
        size_t cores = topology_count_cores(s->p.topology, &share->cpus);
        json_t *one = json_pack("{s:I, s:I}", "job", (json_int_t)jobs[i]->id, "cores",
                                (json_int_t)cores);
        if (jobs[i]->region)
            json_object_set_new(one, "region", json_string(region_name(jobs[i]->region, name)));
        json_array_append_new(shares, one);
        if (share->profile_dop && used < sizeof(text))
            used += (size_t)snprintf(
                text + used, sizeof(text) - used,
                "job %u gets %zu cores for %llu ms to be measured%s; ",
                jobs[i]->id, share->profile_dop,
                (unsigned long long)(region_probe_ns(&budget) / NS_PER_MS),
                share->alone ? " while the others wait" : "");
        count_decision(s, jobs[i], plan, share);
    }
    if (plan->turns && used < sizeof(text))
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "%zu jobs take turns of %llu ms; ", count,
                                 (unsigned long long)(s->p.options->slice_ns /
                                                      NS_PER_MS));
    if (used < sizeof(text))
        snprintf(text + used, sizeof(text) - used, "%s", plan->reason);
    snprintf(s->reason, sizeof(s->reason), "%s", plan->reason);
    decisions_add(s->p.decisions,
                  json_pack("{s:f, s:s, s:s, s:s, s:o}", "time",
                            (double)host_wall_ns(s->p.host) * 1e-9, "trigger",
                            why, "policy", plan->policy->name, "text", text,
                            "shares", shares));
    log_debug("decided because of %s: %s", why, text);
}

/* True when somebody else's CPUs are to be taken: all JOBS[COUNT] that are to
 * have some are in the plan. */
static bool others_have_cpus(const struct scheduler *s, size_t count)
{
    if (count == s->p.jobs->count)
        return false;
    for (const struct job *j = s->p.jobs->first; j; j = j->next)
        if ((!job_live(j) || j->suspended) &&
            (!cpuset_empty(&j->cpus) || j->parked || j->turns))
            return true;
    return false;
}

/* What JOB begins to lend is on loan, until it lends no more. */
static void note_loan(struct job *job)
{
    if (!job->stretch.lends) {
        cpuset_zero(&job->loan);
    } else if (!job->serial) {
        job->loan = job->cpus;
        cpuset_andnot(&job->loan, &job->target);
    }
}

/* Record the plan in the jobs, then move the CPUs if it MOVES any. */
static void carry_out(struct scheduler *s, struct job **jobs,
                      const struct plan *plan, size_t count, bool moves)
{
    struct region_budget budget = budget_of(s);
    bool parked[count], halved = false;

    for (size_t i = 0; i < count; i++) {
        struct job *j = jobs[i];
        halved |= plan->share[i].halved;
        parked[i] = plan->share[i].parked;
        j->target = plan->share[i].cpus;
        note_loan(j);
        j->serial = job_kind(j) == REGION_SERIAL;
        if (!j->stretch.lends && !cpuset_empty(&j->lent)) {
            cpuset_zero(&j->lent);
            j->unsettled = true;
        }
        j->turns = plan->turns;
        j->profiling = plan->share[i].profile_dop > 0;
        j->shared = plan->native && count > 1;
        j->relative_speed = plan->share[i].relative_speed;
        if (j->doing == JOB_MALLEABLE && j->region) {
            j->region->decided_cores = topology_count_cores(s->p.topology, &j->target);
            j->region->decided_speed = j->relative_speed;
        }
        plan_grant(&plan->share[i], j, &budget);
    }
    if (!halved || moves || !s->halved_ns)
        s->halved_ns = halved ? host_now_ns(s->p.host) : 0;
    if (moves || s->mover.moving || others_have_cpus(s, count))
        mover_move(&s->mover, parked, jobs, count);
}

/* Write down what JOB does, "serial" or "malleable OBJECT+1f40 known", if that has
 * changed. */
static void trace_job(struct scheduler *s, struct job *job, uint64_t now_ns)
{
    enum job_state state = job_state(job);
    const struct region *region =
        state == JOB_MALLEABLE ? job->region : NULL;
    char name[REGION_NAME_MAX], text[TRACE_STATE];
    uint64_t key = HASH_START;

    hash_word(&key, state);
    hash_word(&key, (uintptr_t)region);
    if (region) /* there is one text for each */
        hash_word(&key, (uintptr_t)region_knowledge(region));
    if (key == job->traced)
        return;
    job->traced = key;
    if (region)
        snprintf(text, sizeof(text), "%s %s %s", job_state_name(state),
                 region_name(region, name), region_knowledge(region));
    trace_state(s->p.trace, now_ns, job->id,
                region ? text : job_state_name(state));
}

static void trace_states(struct scheduler *s, uint64_t now_ns)
{
    for (struct job *j = s->p.jobs->first; j; j = j->next)
        trace_job(s, j, now_ns);
}

/* Trace how fast the jobs are, and how loaded the node. */
static void trace_curves(struct scheduler *s, uint64_t now_ns)
{
    const struct machine *m = topology_machine(s->p.topology);
    double load[CURVES_STATIONS], computing;
    uint64_t begin_cpu_ns = host_cpu_ns(s->p.host);

    for (const struct job *j = s->p.jobs->first; j; j = j->next)
        if (job_live(j))
            trace_speed(s->p.trace, now_ns, j->id, standing_speed(j, s->p.topology),
                        j->record.total.barriers, j->record.total.waited_s);
    if (m->numa_nodes + m->links <= CURVES_STATIONS &&
        standing_load(s->p.jobs, s->p.topology, load, &computing))
        trace_use(s->p.trace, now_ns, computing, load, m->numa_nodes, m->links);
    uint64_t rest_ns = CURVES_REST * (host_cpu_ns(s->p.host) - begin_cpu_ns);
    s->curves_ns = now_ns + (rest_ns > CURVES_NS ? rest_ns : CURVES_NS);
}

static void count_plan(struct scheduler *s, uint64_t ns)
{
    struct scheduler_totals *t = &s->totals;

    t->plans++;
    t->plan_ns += ns;
    t->plan_max_ns = ns > t->plan_max_ns ? ns : t->plan_max_ns;
}

/* Plan and move if anything changed since the last plan. */
static void decide(struct scheduler *s, const char *why)
{
    uint64_t now_ns = host_now_ns(s->p.host);
    s->totals.decisions++;
    size_t room = s->p.jobs->count ? s->p.jobs->count : 1, count = 0;
    struct job *jobs[room];
    struct plan_share shares[room];

    trace_states(s, now_ns);
    for (struct job *j = s->p.jobs->first; j; j = j->next)
        if (job_live(j) && !j->suspended)
            jobs[count++] = j;
    uint64_t slice =
        s->turns ? (now_ns - s->turn_base_ns) / s->p.options->slice_ns : 0;
    struct plan_input input = {.topology = s->p.topology,
                               .policy = s->p.options->policy,
                               .policy_options = s->p.options->policy_options,
                               .jobs = jobs,
                               .count = count,
                               .slice = slice,
                               .budget = budget_of(s),
                               .clean_ns = s->p.options->clean_ns,
                               .max_jobs = (size_t)s->p.options->max_jobs,
                               .fairness_percent =
                                   s->p.options->fairness_percent,
                               .drained = drained(s)};
    input.terse = s->periodic && plan_policy(&input) == s->policy &&
                  !journal_active(s->p.recorder);
    if (plan_signature(&input, s->periodic ? s->epoch : 0) == s->signature)
        return;
    struct plan plan = {.share = shares};
    struct errtext err = {""};
    if (!count) {
        arm_turns(s, false, now_ns);
        mover_move(&s->mover, NULL, NULL, 0);
    } else if (plan_make(s->planner, &input, &plan, &err) < 0) {
        if (log_limit_allows(&s->plan_errors, 0, now_ns))
            log_error("%s; allotments stay as they are", err.text);
        return;
    } else {
        arm_turns(s, plan.turns, now_ns);
        bool taken_over = plan.policy != s->policy;
        s->policy = plan.policy;
        observer_move_pages(s->p.observer, s->policy->pages);
        s->periodic = plan.periodic;
        s->mapping = plan.mapping;
        /* A new reason for the same shares is worth knowing, too, unless
         * there is one in each epoch, or for each serial stretch of a job alone. */
        bool moves = plan_differs(&input, &plan);
        bool again = s->periodic || (count == 1 && job_kind(jobs[0]) == REGION_SERIAL);
        if (taken_over || moves || (!again && strcmp(plan.reason, s->reason)))
            write_down(s, jobs, &plan, count, why);
        journal_decision(s->p.recorder, &input, &plan, why);
        carry_out(s, jobs, &plan, count, moves);
    }
    /* Granting a measurement changed region states: sign what is now. */
    s->signature = plan_signature(&input, s->periodic ? s->epoch : 0);
    count_plan(s, host_now_ns(s->p.host) - now_ns);
}

int scheduler_forget(struct scheduler *s)
{
    struct planner *fresh = planner_new(s->p.topology);

    if (!fresh)
        return -1;
    planner_free(s->planner);
    s->planner = fresh;
    s->signature = 0;
    return 0;
}

void scheduler_trigger(struct scheduler *s, const char *why)
{
    observer_update(s->p.observer, s->p.jobs, s->p.options, host_now_ns(s->p.host));
    decide(s, why);
}

/* A job has come, and may have begun on what others lend, or has gone, and made room. */
static void forget_loans(struct scheduler *s)
{
    for (struct job *j = s->p.jobs->first; j; j = j->next)
        cpuset_zero(&j->loan);
}

void scheduler_job_changed(struct scheduler *s, struct job *job,
                           const char *why)
{
    uint64_t now_ns = host_now_ns(s->p.host);

    if (job_live(job) && !job->live_since_ns) {
        job->live_since_ns = now_ns;
        job->unattached_since_ns = 0;
        job->ended_wall_ns = job->ended_ns = 0;
        job->started = true;
        forget_loans(s);
    } else if (!job_live(job) && job->live_since_ns) {
        /* What it had until now still counts for its record. */
        observer_update(s->p.observer, s->p.jobs, s->p.options, now_ns);
        job->live_since_ns = 0;
        job->ended_wall_ns = host_wall_ns(s->p.host);
        job->ended_ns = now_ns;
        job->doing = JOB_ANNOUNCED;
        job->unpinned = job->serial = false;
        job->stretch = (struct serial_stretch){0};
        job->growth = (struct growth){0};
        cpuset_zero(&job->lent);
        job->region = NULL;
        job->unattached_since_ns = job->wide_ns = 0;
        enforcer_release(s->p.enforcer, job);
        forget_loans(s);
    }
    mover_divide_again(&s->mover, job, now_ns);
    scheduler_trigger(s, why);
}

const struct scheduler_totals *scheduler_totals(const struct scheduler *s)
{
    return &s->totals;
}

/* Cores of a job that Slurm, or its user, has stopped are for the others.  One
 * that has been stopped while it waited for its turn stays so in its turn, and is
 * seen then. */
static void look_for_suspended(struct scheduler *s)
{
    if (++s->epochs < SUSPEND_EPOCHS)
        return;
    s->epochs = 0;
    for (struct job *j = s->p.jobs->first; j; j = j->next)
        if (!j->parked && !s->mover.moving && !enforcer_owes(s->p.enforcer, j))
            j->suspended = job_stopped(j, s->p.enforcer);
}

/* For how long the job that has begun last has been there. */
static uint64_t youngest_age_ns(const struct scheduler *s, uint64_t now_ns)
{
    uint64_t since_ns = 0;

    for (const struct job *j = s->p.jobs->first; j; j = j->next)
        if (job_live(j) && j->live_since_ns > since_ns)
            since_ns = j->live_since_ns;
    return now_ns - since_ns;
}

/* Decide because of WHY at NOW_NS; the CPU time since CPU_NS went into that.  Where a job has just
 * begun there is no long rest: what its first moments tell may be wrong for the next ones. */
static void decide_regions(struct scheduler *s, const char *why, uint64_t now_ns, uint64_t cpu_ns)
{
    decide(s, why);
    uint64_t cost_ns = host_cpu_ns(s->p.host) - cpu_ns;
    uint64_t rest_ns = DECISION_REST * cost_ns, age_ns = youngest_age_ns(s, now_ns);
    s->return_at_ns = now_ns + RETURN_REST * cost_ns;
    s->rest_until_ns = now_ns + (rest_ns < age_ns ? rest_ns : age_ns);
    if (s->rest_until_ns < s->return_at_ns)
        s->rest_until_ns = s->return_at_ns;
}

static void on_glance(void *arg);

/* The next glance; the last one took COST_NS. */
static void start_glances(struct scheduler *s, uint64_t cost_ns)
{
    size_t live = 0;

    for (const struct job *j = s->p.jobs->first; j && live < 2; j = j->next)
        live += job_live(j);
    if (live < 2)
        host_timer_stop(&s->glance_timer);
    else
        host_timer_start(s->p.host, &s->glance_timer,
                         cost_ns * GLANCE_REST > GLANCE_NS ? cost_ns * GLANCE_REST : GLANCE_NS,
                         on_glance, s);
}

/* True when a decision because of FOUND has rested for long enough. */
static bool rested(const struct scheduler *s, enum observer_glance found, uint64_t now_ns)
{
    return now_ns >= (found == OBSERVER_PARALLEL ? s->return_at_ns : s->rest_until_ns);
}

/* True when a job is short of cores for a probe that has ended: no rest is worth that.  One in
 * which nothing is counted ends, too. */
static bool probed(const struct scheduler *s, uint64_t now_ns)
{
    struct region_budget budget = budget_of(s);

    if (!s->halved_ns)
        return false;
    bool late = now_ns - s->halved_ns >= HALVED_MOST * region_probe_ns(&budget);
    for (struct job *j = s->p.jobs->first; j; j = j->next) {
        if (late && j->regions.cache_left_ns)
            region_list_probed_cache(&j->regions, now_ns - s->halved_ns);
        if (region_list_probes_cache(&j->regions, &budget))
            return false;
    }
    return true;
}

static void on_glance(void *arg)
{
    struct scheduler *s = arg;
    uint64_t now_ns = host_now_ns(s->p.host), cpu_ns = host_cpu_ns(s->p.host);
    enum observer_glance found =
        s->mover.moving || drained(s) ? OBSERVER_NOTHING : observer_glance(s->p.jobs, now_ns);
    uint64_t cost_ns = host_cpu_ns(s->p.host) - cpu_ns;

    if (found != OBSERVER_NOTHING && rested(s, found, now_ns)) {
        observer_update(s->p.observer, s->p.jobs, s->p.options, now_ns);
        decide_regions(s, found == OBSERVER_PARALLEL ? "the end of a serial stretch"
                                                     : "a serial stretch", now_ns, cpu_ns);
    }
    start_glances(s, cost_ns);
}

void scheduler_epoch(struct scheduler *s)
{
    uint64_t now_ns = host_now_ns(s->p.host);
    enum observer_glance found = observer_glance(s->p.jobs, now_ns);

    for (struct job *j = s->p.jobs->first; j; j = j->next)
        for (struct process *p = j->processes; p; p = p->next) {
            allotment_write_near_share(p->allotment, j->near_share);
            allotment_beat(p->allotment, now_ns);
        }
    observer_update(s->p.observer, s->p.jobs, s->p.options, now_ns);
    enforcer_look(s->p.enforcer);
    look_for_suspended(s);
    if (!s->mover.moving)
        s->epoch++;
    mover_divide_changing(&s->mover, now_ns);
    uint64_t begin_ns = host_now_ns(s->p.host);
    if (probed(s, begin_ns) || rested(s, found, begin_ns))
        decide_regions(s, s->periodic ? "the next epoch" : "a region that changed", begin_ns,
                       host_cpu_ns(s->p.host));
    if (!s->glance_timer)
        start_glances(s, 0);
    if (now_ns >= s->curves_ns)
        trace_curves(s, host_now_ns(s->p.host));
    if (!s->mover.moving)
        mapper_epoch(s->p.jobs, drained(s) ? MAPPER_NONE : s->mapping,
                     s->policy ? s->policy->name : "", s->p.topology, s->p.decisions,
                     host_wall_ns(s->p.host), host_now_ns(s->p.host));
    if (!s->mover.moving && !drained(s))
        affinity_epoch(&s->turn, s->p.enforcer, s->p.jobs,
                     host_now_ns(s->p.host));
}
