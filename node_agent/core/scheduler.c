/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Decides when CPUs change hands, and moves them. */

#include "node_agent/core/scheduler.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/hash.h"
#include "node_agent/core/division.h"
#include "node_agent/core/journal.h"
#include "node_agent/core/affinity.h"
#include "common/log.h"
#include "node_agent/core/mapper.h"
#include "node_agent/core/plan.h"
#include "node_agent/core/plan_fields.h"
#include "node_agent/core/process.h"
#include "node_agent/core/standing.h"
#include "protocol/cpulist.h"

/* How long runtimes have to obey by themselves: a revoked worker leaves at its
 * next scheduling point, about 30 us away; 5 ms are half of what a job may have
 * to wait for cores that became free. */
#define ACK_LIMIT_NS (5 * NS_PER_MS)
#define ACK_POLL_NS (200 * NS_PER_US)

/* One runtime in fifty is late, because the kernel lets a busy thread end its
 * time slice before the thread that is to obey.  A CPU has to be free within a
 * millisecond: its threads are then moved from here, which needs no answer. */
#define FORCE_NS (NS_PER_MS / 2)

/* A runtime may wake a thread on its old CPU just after it has acknowledged:
 * look again this often before the next epoch does. */
#define RECHECKS 3
#define RECHECK_NS (3 * NS_PER_MS)

/* Regions come and go many times a second, and decisions for many jobs take
 * milliseconds: all together at most one part in so many of a core.  Jobs that
 * come or go do not wait. */
#define DECISION_REST 100

/* Who wants the cores back that it lends waits less, but then each job may. */
#define RETURN_REST 10

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
    unsigned epochs; /* counts up to SUSPEND_EPOCHS */
    struct host_timer *recheck_timer;
    int rechecks; /* left */
    struct host_timer *ack_timer; /* runs while a shrink waits */
    struct host_timer *turn_timer;
    struct host_timer *glance_timer; /* NULL: there are not several jobs */
    uint64_t turn; /* of affinity_epoch() */
    bool moving; /* between the phases */
    bool applied; /* any allotment, since the jobs were last looked at */
    bool forced; /* threads of the late were moved in this transition */
    uint64_t ack_deadline_ns;
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
    enum mapper_rule mapping; /* of the last plan */
    uint64_t curves_ns; /* when speeds and loads are next traced */
    char reason[sizeof(((struct plan *)0)->reason)]; /* last written down */
    struct log_limit plan_errors;
};

struct scheduler *scheduler_new(const struct scheduler_parts *parts)
{
    struct scheduler *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->p = *parts;
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
    host_timer_stop(&s->ack_timer);
    host_timer_stop(&s->turn_timer);
    host_timer_stop(&s->glance_timer);
    host_timer_stop(&s->recheck_timer);
    planner_free(s->planner);
    free(s);
}

/* ---- putting allotments into effect ------------------------------------- */

/* Tell JOB's processes which of its CPUs are theirs. */
static void write_parts(const struct scheduler *s, struct job *job, bool parked,
                        uint64_t now_ns)
{
    division_make(s->p.topology, job, now_ns);
    for (struct process *p = job->processes; p; p = p->next)
        allotment_write(p->allotment, &p->part, parked, now_ns);
}

/* Put CPUS into effect for JOB: pages, held processes, trace. */
static void apply(struct scheduler *s, struct job *job,
                  const struct cosched_cpuset *cpus, bool parked,
                  uint64_t now_ns)
{
    job->cpus = *cpus;
    job->changed_ns = now_ns;
    job->unsettled = true;
    s->applied = true;
    write_parts(s, job, parked, now_ns);
    if (!cpuset_empty(cpus) && job_kept(job))
        affinity_hold(s->p.enforcer, job);
    trace_allotment(s->p.trace, now_ns, job->id, cpus,
                    topology_count_cores(s->p.topology, cpus));
}

/* Divide JOB's CPUs anew among its processes, where they are several.  That one
 * of them grows before another has left is the job's own affair. */
static void divide_again(struct scheduler *s, struct job *job, uint64_t now_ns)
{
    job->undivided = s->moving;
    if (!s->moving)
        write_parts(s, job, job->parked, now_ns);
}

/* In each epoch: processes that begin and end to compute change what several of
 * one job have, not what a single one has. */
static void divide_changing(struct scheduler *s, uint64_t now_ns)
{
    for (struct job *j = s->p.jobs->first; j; j = j->next)
        if (j->undivided || (j->processes && j->processes->next))
            divide_again(s, j, now_ns);
}

/* First phase for one job: keep only what it has now and may have next. */
static void shrink(struct scheduler *s, struct job *job, bool parked,
                   uint64_t now_ns)
{
    struct cosched_cpuset keep = job->cpus;

    cpuset_and(&keep, &job->target);
    if (parked && !job->parked) {
        job->parked = true;
        apply(s, job, &keep, true, now_ns);
        enforcer_park(s->p.enforcer, job);
        return;
    }
    if (cpuset_equal(&keep, &job->cpus))
        return;
    apply(s, job, &keep, false, now_ns);
    job->shrunk = true;
    for (struct process *p = job->processes; p; p = p->next)
        p->must_ack = true;
}

/* True when every process of JOB that lost CPUs has said so. */
static bool job_acked(const struct job *job)
{
    for (const struct process *p = job->processes; p; p = p->next)
        if (p->must_ack && !process_acked(p))
            return false;
    return true;
}

static bool all_acked(const struct scheduler *s)
{
    for (struct job *j = s->p.jobs->first; j; j = j->next)
        if (!job_acked(j))
            return false;
    return true;
}

static void on_recheck(void *arg)
{
    struct scheduler *s = arg;

    s->rechecks--;
    for (struct job *j = s->p.jobs->first; j; j = j->next) {
        if (j->recheck && job_live(j) && !s->moving)
            affinity_move_strays(s->p.enforcer, j);
        j->recheck = j->recheck && s->rechecks > 0;
    }
    if (s->rechecks > 0)
        host_timer_start(s->p.host, &s->recheck_timer, RECHECK_NS, on_recheck,
                         s);
}

static void recheck_later(struct scheduler *s)
{
    s->rechecks = RECHECKS;
    host_timer_start(s->p.host, &s->recheck_timer, RECHECK_NS, on_recheck, s);
}

/* Second phase: everybody who lost is out; now the others get theirs. */
static void grow_all(struct scheduler *s)
{
    uint64_t now_ns = host_now_ns(s->p.host);

    for (struct job *j = s->p.jobs->first; j; j = j->next) {
        if (j->shrunk) {
            affinity_move_strays(s->p.enforcer, j);
            j->recheck = true;
            recheck_later(s);
        }
        j->shrunk = false;
        for (struct process *p = j->processes; p; p = p->next)
            p->must_ack = false;
    }
    for (struct job *j = s->p.jobs->first; j; j = j->next) {
        bool parked = job_live(j) && cpuset_empty(&j->target) && j->parked;
        if (!parked && (j->parked || !cpuset_equal(&j->cpus, &j->target))) {
            apply(s, j, &j->target, false, now_ns);
            if (j->parked)
                enforcer_unpark(s->p.enforcer, j);
            j->parked = false;
        }
    }
    s->moving = false;
    host_timer_stop(&s->ack_timer);
    if (!s->applied)
        return;
    /* Measurements begin here, with the new CPUs. */
    observer_update(s->p.observer, s->p.jobs, s->p.options, host_now_ns(s->p.host));
    s->applied = false;
}

static void on_ack_timer(void *arg)
{
    struct scheduler *s = arg;
    uint64_t now_ns = host_now_ns(s->p.host);

    if (all_acked(s) || now_ns >= s->ack_deadline_ns) {
        grow_all(s);
        return;
    }
    if (!s->forced && now_ns + ACK_LIMIT_NS - FORCE_NS >= s->ack_deadline_ns) {
        s->forced = true;
        for (struct job *j = s->p.jobs->first; j; j = j->next)
            if (!job_acked(j))
                affinity_move_strays(s->p.enforcer, j);
    }
    if (host_timer_start(s->p.host, &s->ack_timer, ACK_POLL_NS, on_ack_timer,
                         s) < 0)
        grow_all(s); /* nobody would come back */
}

static void move_cpus(struct scheduler *s, const bool *parked,
                      struct job **jobs, size_t count)
{
    uint64_t now_ns = host_now_ns(s->p.host);

    for (struct job *j = s->p.jobs->first; j; j = j->next)
        if (!job_live(j) || j->suspended) {
            cpuset_zero(&j->target);
            if (!cpuset_empty(&j->cpus))
                apply(s, j, &j->target, j->suspended, now_ns);
            j->parked = j->turns = false;
        }
    for (size_t i = 0; i < count; i++)
        shrink(s, jobs[i], parked[i], now_ns);
    if (all_acked(s)) {
        grow_all(s);
        return;
    }
    if (!s->moving) {
        s->ack_deadline_ns = now_ns + ACK_LIMIT_NS;
        s->forced = false;
    }
    s->moving = true;
    if (host_timer_start(s->p.host, &s->ack_timer, ACK_POLL_NS, on_ack_timer,
                         s) < 0)
        grow_all(s); /* nobody would come back */
}

/* ---- deciding ----------------------------------------------------------- */

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

/* Record the plan in the jobs, then move the CPUs if it MOVES any. */
static void carry_out(struct scheduler *s, struct job **jobs,
                      const struct plan *plan, size_t count, bool moves)
{
    struct region_budget budget = budget_of(s);
    bool parked[count];

    for (size_t i = 0; i < count; i++) {
        struct job *j = jobs[i];
        parked[i] = plan->share[i].parked;
        j->target = plan->share[i].cpus;
        if (!j->stretch.lends && !cpuset_empty(&j->lent)) {
            cpuset_zero(&j->lent);
            j->unsettled = true;
        }
        j->turns = plan->turns;
        j->profiling = plan->share[i].profile_dop > 0;
        j->shared = plan->native && count > 1;
        j->relative_speed = plan->share[i].relative_speed;
        if (j->profiling && j->region)
            region_grant(j->region, plan->share[i].profile_dop,
                         plan->share[i].alone, &budget);
    }
    if (moves || s->moving || others_have_cpus(s, count))
        move_cpus(s, parked, jobs, count);
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

    for (const struct job *j = s->p.jobs->first; j; j = j->next)
        if (job_live(j))
            trace_speed(s->p.trace, now_ns, j->id, j->relative_speed, j->record.barriers,
                        j->record.waited_s);
    if (m->numa_nodes + m->links <= CURVES_STATIONS &&
        standing_load(s->p.jobs, s->p.topology, load, &computing))
        trace_use(s->p.trace, now_ns, computing, load, m->numa_nodes, m->links);
    uint64_t rest_ns = CURVES_REST * (host_now_ns(s->p.host) - now_ns);
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
        move_cpus(s, NULL, NULL, 0);
    } else if (plan_make(s->planner, &input, &plan, &err) < 0) {
        if (log_limit_allows(&s->plan_errors, 0, now_ns))
            log_error("%s; allotments stay as they are", err.text);
        return;
    } else {
        arm_turns(s, plan.turns, now_ns);
        bool taken_over = plan.policy != s->policy;
        s->policy = plan.policy;
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

void scheduler_job_changed(struct scheduler *s, struct job *job,
                           const char *why)
{
    uint64_t now_ns = host_now_ns(s->p.host);

    if (job_live(job) && !job->live_since_ns) {
        job->live_since_ns = now_ns;
        job->unattached_since_ns = 0;
        job->ended_wall_ns = job->ended_ns = 0;
        job->started = true;
    } else if (!job_live(job) && job->live_since_ns) {
        /* What it had until now still counts for its record. */
        observer_update(s->p.observer, s->p.jobs, s->p.options, now_ns);
        job->live_since_ns = 0;
        job->ended_wall_ns = host_wall_ns(s->p.host);
        job->ended_ns = now_ns;
        job->doing = JOB_ANNOUNCED;
        job->unpinned = false;
        job->stretch = (struct serial_stretch){0};
        cpuset_zero(&job->lent);
        job->region = NULL;
        job->unattached_since_ns = job->wide_ns = 0;
        enforcer_release(s->p.enforcer, job);
    }
    divide_again(s, job, now_ns);
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
        if (!j->parked && !s->moving && !enforcer_owes(s->p.enforcer, j))
            j->suspended = job_stopped(j, s->p.enforcer);
}

/* Decide because of WHY; the time since BEGIN_NS went into that. */
static void decide_regions(struct scheduler *s, const char *why, uint64_t begin_ns)
{
    decide(s, why);
    uint64_t cost_ns = host_now_ns(s->p.host) - begin_ns;
    s->rest_until_ns = begin_ns + DECISION_REST * cost_ns;
    s->return_at_ns = begin_ns + RETURN_REST * cost_ns;
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

static void on_glance(void *arg)
{
    struct scheduler *s = arg;
    uint64_t begin_ns = host_now_ns(s->p.host);
    enum observer_glance found =
        s->moving || drained(s) ? OBSERVER_NOTHING : observer_glance(s->p.jobs, begin_ns);
    uint64_t cost_ns = host_now_ns(s->p.host) - begin_ns;

    if (found != OBSERVER_NOTHING && rested(s, found, begin_ns)) {
        observer_update(s->p.observer, s->p.jobs, s->p.options, begin_ns);
        decide_regions(s, found == OBSERVER_PARALLEL ? "the end of a serial stretch"
                                                     : "a serial stretch", begin_ns);
    }
    start_glances(s, cost_ns);
}

void scheduler_epoch(struct scheduler *s)
{
    uint64_t now_ns = host_now_ns(s->p.host);
    enum observer_glance found = observer_glance(s->p.jobs, now_ns);

    for (struct job *j = s->p.jobs->first; j; j = j->next)
        for (struct process *p = j->processes; p; p = p->next)
            allotment_beat(p->allotment, now_ns);
    observer_update(s->p.observer, s->p.jobs, s->p.options, now_ns);
    enforcer_look(s->p.enforcer);
    look_for_suspended(s);
    if (!s->moving)
        s->epoch++;
    divide_changing(s, now_ns);
    uint64_t begin_ns = host_now_ns(s->p.host);
    if (rested(s, found, begin_ns))
        decide_regions(s, s->periodic ? "the next epoch" : "a region that changed", begin_ns);
    if (!s->glance_timer)
        start_glances(s, 0);
    if (now_ns >= s->curves_ns)
        trace_curves(s, host_now_ns(s->p.host));
    if (!s->moving)
        mapper_epoch(s->p.jobs, drained(s) ? MAPPER_NONE : s->mapping,
                     s->policy ? s->policy->name : "", s->p.topology, s->p.decisions,
                     host_wall_ns(s->p.host), host_now_ns(s->p.host));
    if (!s->moving && !drained(s))
        affinity_epoch(&s->turn, s->p.enforcer, s->p.jobs,
                     host_now_ns(s->p.host));
}
