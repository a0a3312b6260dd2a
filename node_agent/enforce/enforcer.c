/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Makes processes stay on their job's CPUs, whether they cooperate or not. */

#include "node_agent/core/enforcer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "node_agent/enforce/cgroup.h"
#include "node_agent/enforce/cpuset_holder.h"
#include "node_agent/enforce/freezer.h"
#include "common/log.h"
#include "node_agent/enforce/members.h"
#include "node_agent/core/process.h"
#include "node_agent/enforce/stopper.h"
#include "node_agent/enforce/threads.h"
#include "node_agent/enforce/usage.h"
#include "node_agent/enforce/supervisor.h"
#include "protocol/cpulist.h"

/* A process without a cpuset is seen so for so long before it is told. */
#define NO_CPUSET_NS NS_PER_S

/* Work of looking whether a process lives and what it is. */
#define WORK_LOOK 16

/* New processes may appear while a job is stopped; passes until none does. */
#define MAX_PASSES 4

/* Looks at a job that is over, as of one whose processes fork all the time. */
#define LEAVING_LOOKS 256

/* A job that is over: its processes that live are given back their affinity. */
struct leaving {
    struct job job; /* its number, cgroup, what it was granted, and its processes */
    size_t looks;
    struct leaving *next;
};

struct enforcer {
    struct supervisor *supervisor;
    const struct node_options *options;
    struct cpuset_holder *holder; /* NULL: there are no cpuset cgroups */
    struct freezer *freezer;      /* NULL: there are no cgroups of version 2 */
    struct cgroup_tree slurms;    /* in which Slurm freezes what it suspends; */
    bool frozen_seen;             /* there is one */
    struct stopper *stopper;
    struct members *members;
    struct leaving *leaving;
    size_t left; /* of the work of this epoch */
    size_t done; /* so far */
};

struct enforcer *enforcer_new(struct supervisor *supervisor,
                              const struct node_options *options)
{
    struct enforcer *e = calloc(1, sizeof(*e));

    if (!e || !(e->members = members_new(options)) ||
        !(e->stopper = stopper_new(supervisor))) {
        enforcer_free(e);
        return NULL;
    }
    e->supervisor = supervisor;
    e->options = options;
    e->left = ENFORCER_WORK;
    return e;
}

static void leaving_free(struct leaving *l)
{
    tracked_clear(&l->job);
    free(l->job.cgroup);
    free(l);
}

void enforcer_free(struct enforcer *e)
{
    while (e && e->leaving) {
        struct leaving *l = e->leaving;
        e->leaving = l->next;
        leaving_free(l);
    }
    if (e) {
        cpuset_holder_free(e->holder);
        freezer_free(e->freezer);
        stopper_free(e->stopper);
        members_free(e->members);
    }
    free(e);
}

void enforcer_use_cgroups(struct enforcer *e, const char *node)
{
    struct errtext err;

    if (!(e->holder = cpuset_holder_new(node, "/proc", e->supervisor, &err)))
        log_debug("cpuset cgroups: %s", err.text);
    if (!(e->freezer = freezer_new("/proc", e->supervisor, &err)))
        log_debug("freezer: %s", err.text);
    e->frozen_seen = cgroup_tree_find_freezer(&e->slurms, "/proc", &err) == 0;
}

/* ---- work ---------------------------------------------------------------- */

/* The work that may be done: never all, so that others come next. */
static size_t give(const struct enforcer *e)
{
    return e->left / 2 > ENFORCER_LEAST ? e->left / 2 : ENFORCER_LEAST;
}

/* Of the work that was GIVEN this much is LEFT. */
static void account(struct enforcer *e, size_t given, size_t left)
{
    e->done += given - left;
    work_take(&e->left, given - left);
}

/* Begin round R over processes of a job, or go on with it, for CPUS.  Returns the work that may be
 * done. */
static size_t begin_round(const struct enforcer *e, struct round *r,
                          const struct cosched_cpuset *cpus)
{
    if (!r->goes_on)
        r->number++;
    r->changed = r->goes_on && (r->changed || !cpuset_equal(&r->cpus, cpus));
    r->goes_on = false;
    r->cpus = *cpus;
    return give(e);
}

/* Is it the turn of who was last looked at in round *SEEN, and is there WORK left for that? */
static bool take_turn(struct round *r, uint64_t *seen, size_t work)
{
    if (*seen == r->number)
        return false;
    if (work)
        *seen = r->number;
    else
        r->goes_on = true;
    return work;
}

/* Of the work that was GIVEN to JOB for R this much is LEFT. */
static void end_round(struct enforcer *e, struct job *job, const struct round *r,
                      size_t given, size_t left)
{
    account(e, given, left);
    job->unsettled |= !left || r->goes_on || r->changed;
}

bool enforcer_scans(const struct enforcer *e)
{
    return members_finished(e->members) < members_begun(e->members);
}

size_t enforcer_work(const struct enforcer *e)
{
    return e->done;
}

/* ---- which processes ---------------------------------------------------- */

/* Note T, or let its note go, as the scan has found it.  False: it cannot be noted. */
static bool note_heir(struct enforcer *e, const struct job *job, struct tracked *t)
{
    bool inherits = t->inherits && !t->dead;

    if (t->note && !t->narrowed && !inherits)
        supervisor_done(e->supervisor, &t->note);
    return t->note || !inherits ||
           supervisor_will_hold(e->supervisor, job->id, t->pid, t->start, &job->granted,
                                &t->note) == 0;
}

/* A scan has finished: the supervisor is to know all who have inherited an affinity. */
static void note_heirs(struct enforcer *e, const struct job_table *jobs)
{
    uint64_t ticks = members_seen_ticks(e->members);
    bool all = ticks && !e->leaving;

    for (const struct job *j = jobs->first; j; j = j->next)
        for (struct tracked *t = j->tracked; t; t = t->next)
            all &= note_heir(e, j, t);
    if (all)
        supervisor_saw(e->supervisor, ticks);
}

/* JOB, which was over, goes on: what its processes have of it is JOB's again. */
static void rejoin(struct enforcer *e, struct job *job)
{
    struct leaving **p = &e->leaving, *l;

    while (*p && (*p)->job.id != job->id)
        p = &(*p)->next;
    if (!(l = *p))
        return;
    *p = l->next;
    tracked_clear(job); /* found since, and nothing was done to them */
    job->tracked = l->job.tracked;
    job->tracked_by_pid = l->job.tracked_by_pid;
    job->narrowed = job->unsettled = true;
    l->job.tracked = NULL;
    l->job.tracked_by_pid = (struct number_map){0};
    leaving_free(l);
}

void enforcer_scan(struct enforcer *e, struct job_table *jobs, bool force,
                   uint64_t now_ns)
{
    for (struct job *j = jobs->first; j && e->leaving; j = j->next)
        if (job_live(j))
            rejoin(e, j);
    size_t given = give(e), work = given;
    uint64_t before = members_finished(e->members);

    members_scan(e->members, jobs, force, now_ns, force ? NULL : &work);
    if (members_finished(e->members) != before)
        note_heirs(e, jobs);
    account(e, given, work);
}

void enforcer_expect(struct enforcer *e, uint64_t now_ns)
{
    members_expect(e->members, now_ns);
}

double enforcer_use(const struct job *job, uint64_t *since_ns)
{
    *since_ns = job->use_from_ns;
    return job->use;
}

uint64_t enforcer_cpu_ns(const struct job *job)
{
    return usage_cpu_ns(job, clock_ns());
}

uint64_t enforcer_waited_ns(const struct job *job)
{
    return usage_waited_ns(job);
}

/* ---- affinity ----------------------------------------------------------- */

/* Put all threads of T on CPUS (threads.h). */
static size_t keep_tracked(struct tracked *t, const struct cosched_cpuset *cpus,
                           const struct thread_map *map, bool strays, size_t *work)
{
    if (!t->threads && !(t->threads = threads_new(t->pid)))
        return 0;
    return threads_keep(t->threads, cpus, map, strays, work);
}

/* Those of an attached process that no scan has seen so far. */
static size_t keep_unseen(pid_t pid, const struct cosched_cpuset *cpus, size_t *work)
{
    struct threads *threads = threads_new(pid);
    size_t moved = threads ? threads_keep(threads, cpus, NULL, true, work) : 0;

    threads_free(threads);
    return moved;
}

static void hold_by_affinity(struct enforcer *e, struct job *job,
                             struct tracked *t,
                             const struct cosched_cpuset *cpus, size_t *work)
{
    if (!t->narrowed && !t->note &&
        supervisor_will_hold(e->supervisor, job->id, t->pid, t->start, &job->granted,
                             &t->note) < 0)
        return;
    job->narrowed = t->narrowed = true;
    keep_tracked(t, cpus, job->map, false, work);
}

/* T may have been narrowed by somebody: not if it reaches beyond what JOB was granted. */
static bool may_be_narrow(const struct job *job, const struct tracked *t)
{
    struct cosched_cpuset cpus;

    return t->narrowed || cpuset_get_affinity(t->pid, &cpus) < 0 ||
           cpuset_subset(&cpus, &job->granted);
}

/* Give T all that Slurm granted.  False: some of it is narrowed still. */
static bool widen(struct enforcer *e, const struct job *job, struct tracked *t, size_t *work)
{
    if (!t->threads && !(t->threads = threads_new(t->pid)) && errno != ENOENT)
        return false;
    if (may_be_narrow(job, t)) {
        keep_tracked(t, &job->granted, NULL, false, work);
        if (t->threads && threads_failed(t->threads))
            return false;
    }
    t->narrowed = t->inherits = false;
    t->let_go_ticks = usage_boot_ticks();
    supervisor_done(e->supervisor, &t->note);
    return true;
}

/* T is pinned by affinity instead, because of WHY: said once for each job, and
 * only of who is still there a while later.  Before, it may be on its way into
 * its cgroup, or at its end out of it. */
static void no_cpuset(const struct enforcer *e, struct job *job,
                      struct tracked *t, const char *why)
{
    if (!t->no_cpuset_ns)
        t->no_cpuset_ns = members_scanned_ns(e->members) + 1;
    if (job->no_cpuset ||
        members_scanned_ns(e->members) < t->no_cpuset_ns + NO_CPUSET_NS)
        return;
    job->no_cpuset = true;
    if (e->options->enforcement == ENFORCEMENT_CPUSET)
        log_warn("job %u: pinned by affinity: %s", job->id, why);
    else
        log_debug("job %u: pinned by affinity: %s", job->id, why);
}

/* Returns false where there is no cpuset to hold it by. */
static bool hold_by_cpuset(struct enforcer *e, struct job *job,
                           struct tracked *t, size_t *work)
{
    struct errtext err = {"no cgroup hierarchy with cpuset"};

    work_take(work, CPUSET_WORK);
    if (!e->holder || cpuset_holder_hold(e->holder, t->pid, &err) < 0) {
        no_cpuset(e, job, t, err.text);
        return false;
    }
    t->no_cpuset_ns = 0;
    /* From before: would be intersected with the cpuset. */
    if ((t->narrowed || t->inherits) && !thread_map_holds(job->map))
        widen(e, job, t, work);
    return true;
}

/* PID of T is T's, and it is not about to end. */
static bool lives(const struct tracked *t)
{
    int fd = members_open(t);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Hold T, by its cgroup if CPUSET. */
static void hold(struct enforcer *e, struct job *job, struct tracked *t,
                 const struct cosched_cpuset *cpus, bool cpuset, size_t *work)
{
    if (!cpuset && t->narrowed && t->threads &&
        threads_kept(t->threads, cpus, job->map, false, work))
        return; /* as the supervisor knows */
    work_take(work, WORK_LOOK);
    if (lives(t) && (!cpuset || !hold_by_cpuset(e, job, t, work) || thread_map_holds(job->map)))
        hold_by_affinity(e, job, t, cpus, work);
}

void enforcer_hold(struct enforcer *e, struct job *job,
                   const struct cosched_cpuset *cpus)
{
    bool cpuset = e->options->enforcement != ENFORCEMENT_AFFINITY &&
                  !(job->processes && e->holder &&
                    !cpuset_holder_by_process(e->holder));
    struct round *r = &job->hold;

    if (!supervisor_ready(e->supervisor))
        return;
    if (e->holder && cpuset)
        cpuset_holder_begin(e->holder, job->id, cpus, r->goes_on);
    size_t given = begin_round(e, r, cpus), work = given;
    if (e->holder && !cpuset)
        cpuset_holder_release(e->holder, job->id, &work);
    for (struct tracked *t = job->tracked; t && !r->goes_on; t = t->next)
        if (!t->dead && !t->attached && t->held && take_turn(r, &t->round, work))
            hold(e, job, t, cpus, cpuset, &work);
    if (e->holder && cpuset && !r->goes_on)
        cpuset_holder_end(e->holder, &work);
    end_round(e, job, r, given, work);
}

/* T may have an affinity by us, and no runtime that could still set its own. */
static bool is_narrow(const struct enforcer *e, const struct tracked *t)
{
    return t->narrowed ||
           (t->inherits && members_scanned_ns(e->members) - t->unattached_since_ns >=
                               e->options->attach_ns);
}

void enforcer_let_go(struct enforcer *e, struct job *job)
{
    struct round *r = &job->hold;
    size_t given = begin_round(e, r, &job->granted), work = given;

    if (e->holder)
        cpuset_holder_release(e->holder, job->id, &work);
    for (struct tracked *t = job->tracked; t; t = t->next) {
        if (t->dead || t->attached)
            continue;
        t->held = false;
        if (!is_narrow(e, t) || !take_turn(r, &t->round, work))
            continue;
        work_take(&work, WORK_LOOK);
        if (lives(t))
            widen(e, job, t, &work);
    }
    end_round(e, job, r, given, work);
}

void enforcer_take_over(struct job *job)
{
    job->narrowed = job->taken_over = true;
}

void enforcer_attached(struct enforcer *e, struct job *job, pid_t pid)
{
    struct tracked *t = members_find(job, pid);

    if (t) /* before the next scan sees it */
        t->attached = true;
    if (!e->holder)
        return;
    size_t given = give(e), work = given;
    cpuset_holder_let_go(e->holder, job->id, pid, &work);
    account(e, given, work);
}

/* JOB is over, but its processes may live, and others of theirs.  Without memory the supervisor
 * widens them, at the agent's end. */
static void leave(struct enforcer *e, struct job *job)
{
    struct leaving **last = &e->leaving;
    struct leaving *l = job->narrowed && job->tracked ? calloc(1, sizeof(*l)) : NULL;

    if (!l)
        return;
    l->job.id = job->id;
    l->job.granted = job->granted;
    l->job.cgroup = job->cgroup ? strdup(job->cgroup) : NULL;
    l->job.hold.number = job->hold.number;
    l->job.narrowed = l->job.unpinned = true;
    l->job.taken_over = job->taken_over;
    l->job.tracked = job->tracked;
    l->job.tracked_by_pid = job->tracked_by_pid;
    job->tracked = NULL;
    job->tracked_by_pid = (struct number_map){0};
    while (*last)
        last = &(*last)->next;
    *last = l;
}

void enforcer_release(struct enforcer *e, struct job *job)
{
    enforcer_unpark(e, job);
    size_t given = give(e), work = given;
    if (e->holder)
        cpuset_holder_release(e->holder, job->id, &work);
    account(e, given, work);
    leave(e, job);
    tracked_clear(job);
    job->narrowed = job->taken_over = false;
    job->use = 0;
    job->use_from_ns = job->use_until_ns = 0;
}

static bool has_ended(const struct tracked *t)
{
    struct proc_stat stat;

    return proc_read(t->pid, &stat) < 0 ? errno == ESRCH
                                        : stat.start != t->start || stat.exiting;
}

/* Whether T of L is as it would be without us; it is made so if there is WORK left. */
static bool has_left(struct enforcer *e, struct leaving *l, struct tracked *t, size_t *work)
{
    if (t->dead || !(t->narrowed || t->inherits))
        return true;
    if (!take_turn(&l->job.hold, &t->round, *work))
        return false;
    work_take(work, WORK_LOOK);
    if (has_ended(t)) {
        t->narrowed = t->inherits = false;
        supervisor_done(e->supervisor, &t->note);
    } else if (lives(t)) {
        widen(e, &l->job, t, work);
    }
    return false; /* it may have made another meanwhile */
}

/* True when all have left, as a scan has found that began when nobody was known any more. */
static bool see_off(struct enforcer *e, struct leaving *l)
{
    struct round *r = &l->job.hold;
    size_t given = begin_round(e, r, &l->job.granted), work = given;
    bool all = true;

    for (struct tracked *t = l->job.tracked; t; t = t->next)
        all &= has_left(e, l, t, &work);
    if (!r->scan || !all)
        r->scan = members_begun(e->members) + 1;
    members_scan_one(e->members, &l->job, &work);
    all = members_finished(e->members) >= r->scan;
    for (struct tracked *t = l->job.tracked; t; t = t->next) {
        note_heir(e, &l->job, t);
        all &= t->dead || !(t->narrowed || t->inherits);
    }
    account(e, given, work);
    return all;
}

/* As many as there is work for; others come first the next time. */
static void see_off_some(struct enforcer *e)
{
    struct leaving *waiting = NULL, **last = &waiting, *l;

    while ((l = e->leaving) && e->left) {
        e->leaving = l->next;
        l->next = NULL;
        bool all = see_off(e, l);
        if (all || ++l->looks >= LEAVING_LOOKS) {
            if (!all)
                log_warn("job %u: some of its processes have still its affinity", l->job.id);
            leaving_free(l);
        } else {
            *last = l;
            last = &l->next;
        }
    }
    for (last = &e->leaving; *last;)
        last = &(*last)->next;
    *last = waiting;
}

size_t enforcer_move_strays(struct enforcer *e, struct job *job,
                            const struct cosched_cpuset *cpus)
{
    struct round *r = &job->strays;
    size_t given = begin_round(e, r, cpus), work = given, moved = 0;

    for (struct process *p = job->processes; p && !r->goes_on; p = p->next) {
        if (p->bad || !take_turn(r, &p->round, work))
            continue;
        struct tracked *t = members_find(job, p->pid);
        work_take(&work, 1);
        if (t && t->start == p->start)
            moved += keep_tracked(t, cpus, NULL, true, &work);
        else
            moved += keep_unseen(p->pid, cpus, &work);
    }
    end_round(e, job, r, given, work);
    return moved;
}

/* ---- turns --------------------------------------------------------------- */

/* True when it runs no more, and did before. */
static bool stop_one(struct enforcer *e, const struct job *job,
                     struct tracked *t)
{
    t->stopped = (e->freezer && freezer_freeze(e->freezer, job->id, t->pid)) ||
                 stopper_stop(e->stopper, job->id, t->pid, t->start) > 0;
    return t->stopped;
}

/* Stop those that run, as far as *WORK goes.  True when there were any. */
static bool stop_some(struct enforcer *e, struct job *job, struct round *r, size_t *work)
{
    bool found = false;

    for (struct tracked *t = job->tracked; t && !r->goes_on; t = t->next)
        if (!t->dead && !t->stopped && take_turn(r, &t->round, *work)) {
            work_take(work, STOPPER_WORK);
            found |= stop_one(e, job, t);
        }
    return found;
}

void enforcer_park(struct enforcer *e, struct job *job)
{
    static const struct cosched_cpuset none;
    struct round *r = &job->hold;

    rejoin(e, job);
    size_t given = begin_round(e, r, &none), work = given;

    /* A process that forks while it is being stopped leaves a running child: look again until
     * a scan that began when all were stopped has found nobody else. */
    if (!r->scan)
        r->scan = members_begun(e->members) + 1;
    for (int pass = 0; pass < MAX_PASSES && supervisor_ready(e->supervisor); pass++) {
        if (stop_some(e, job, r, &work))
            r->scan = members_begun(e->members) + 1;
        if (!r->goes_on && members_finished(e->members) >= r->scan)
            r->scan = 0;
        if (r->goes_on || !r->scan)
            break;
        members_scan_one(e->members, job, &work);
        r->number++;
        if (enforcer_scans(e))
            break;
    }
    end_round(e, job, r, given, work);
    job->unsettled |= r->scan != 0;
}

void enforcer_unpark(struct enforcer *e, struct job *job)
{
    size_t given = give(e), work = given;

    if (e->freezer)
        freezer_thaw(e->freezer, job->id, &work);
    stopper_continue(e->stopper, job->id, &work);
    account(e, given, work);
    job->hold.scan = 0;
    for (struct tracked *t = job->tracked; t; t = t->next)
        t->stopped = false;
}

bool enforcer_suspended(const struct enforcer *e, const struct job *job, pid_t pid)
{
    return e->frozen_seen && cgroup_suspended(&e->slurms, pid, job->id);
}

bool enforcer_thread_lives(const struct sample_thread *thread)
{
    return syscall(SYS_tgkill, thread->pid, thread->tid, 0) == 0; /* glibc has it since 2.30 */
}

bool enforcer_owes(const struct enforcer *e, const struct job *job)
{
    uint32_t id = job ? job->id : 0;

    return stopper_owes(e->stopper, id) || (e->freezer && freezer_owes(e->freezer, id)) ||
           (!job && (e->leaving || (e->holder && cpuset_holder_owes(e->holder))));
}

void enforcer_look(struct enforcer *e)
{
    e->left = ENFORCER_WORK;
    size_t given = give(e), work = given;
    supervisor_ready(e->supervisor);
    supervisor_tidy(e->supervisor);
    if (e->freezer)
        freezer_look(e->freezer, &work);
    stopper_look(e->stopper, &work);
    if (e->holder)
        cpuset_holder_look(e->holder, &work);
    account(e, given, work);
    see_off_some(e);
}
