/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Makes processes stay on their job's CPUs, whether they cooperate or not. */

#include "node_agent/core/enforcer.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/hash.h"
#include "common/clock.h"
#include "node_agent/enforce/cpuset_holder.h"
#include "common/log.h"
#include "node_agent/enforce/proc.h"
#include "node_agent/enforce/proc_table.h"
#include "node_agent/core/process.h"
#include "node_agent/enforce/threads.h"
#include "node_agent/enforce/usage.h"
#include "node_agent/enforce/supervisor.h"
#include "protocol/cpulist.h"

/* A process is held when it used this much CPU time since the last look, at
 * most one look per window: a fifth of a CPU at 100 ticks a second. */
#define BUSY_TICKS 2
#define BUSY_WINDOW_NS (100 * NS_PER_MS)

/* What a task is called until it has executed its program: it is Slurm's until
 * then, but not for ever, as anybody may choose that name. */
#define STEPD "slurmstepd"
#define STEPD_NS (30 * NS_PER_S)

/* A process without a cpuset is seen so for so long before it is told. */
#define NO_CPUSET_NS NS_PER_S

/* New processes may appear while a job is stopped; passes until none does. */
#define MAX_PASSES 4

struct enforcer {
    struct supervisor *supervisor;
    const struct node_options *options;
    struct cpuset_holder *holder; /* NULL: there are no cpuset cgroups */
    struct proc_table procs;
    uint64_t next_scan_ns;
    uint64_t change_ns; /* last time that a process came, went or was held */
    uint64_t scan_ns;   /* of the last scan */
    uint64_t owners; /* owners_key() of the scan that found them; 0: none */
};

struct enforcer *enforcer_new(struct supervisor *supervisor,
                              const struct node_options *options)
{
    struct enforcer *e = calloc(1, sizeof(*e));

    if (e) {
        e->supervisor = supervisor;
        e->options = options;
    }
    return e;
}

void enforcer_free(struct enforcer *e)
{
    if (e) {
        cpuset_holder_free(e->holder);
        proc_table_clear(&e->procs);
    }
    free(e);
}

void enforcer_use_cgroups(struct enforcer *e, const char *node)
{
    struct errtext err;
    size_t count;

    if (!(e->holder = cpuset_holder_new(node, "/proc", e->supervisor, &err)))
        log_debug("cpuset cgroups: %s", err.text);
    else if ((count = cpuset_holder_recover(e->holder)))
        log_notice("restored %zu cpuset cgroups from before the restart", count);
}

static void tracked_free(struct tracked *t)
{
    threads_free(t->threads);
    usage_forget(t);
    free(t);
}

void tracked_clear(struct job *job)
{
    while (job->tracked) {
        struct tracked *t = job->tracked;
        job->tracked = t->next;
        tracked_free(t);
    }
}

static struct tracked *tracked_find(const struct job *job, pid_t pid)
{
    for (struct tracked *t = job->tracked; t; t = t->next)
        if (t->pid == pid)
            return t;
    return NULL;
}

/* ---- whose process is it ------------------------------------------------ */

struct scan {
    struct proc_table *procs;
    struct job **owner; /* [procs->count] */
};

static struct job *owner_of(const struct scan *scan, pid_t pid)
{
    const struct proc_entry *e = proc_table_find(scan->procs, pid);

    return e ? scan->owner[e - scan->procs->entry] : NULL;
}

/* The job that owned the dead leader of a group or session, or NULL. */
static struct job *dead_leader(const struct job_table *jobs, pid_t pid)
{
    for (struct job *j = jobs->first; j; j = j->next) {
        struct tracked *t = tracked_find(j, pid);
        if (t && t->dead)
            return j;
    }
    return NULL;
}

/* The job that the agent knows STAT to belong to, without looking around. */
static struct job *known_owner(const struct job_table *jobs,
                               const struct proc_stat *stat)
{
    for (struct job *j = jobs->first; j; j = j->next) {
        for (struct task *t = j->tasks; t; t = t->next)
            if (t->pid == stat->pid && t->start == stat->start)
                return j;
        for (struct process *p = j->processes; p; p = p->next)
            if (p->pid == stat->pid && p->start == stat->start)
                return j;
        for (struct tracked *t = j->tracked; t; t = t->next)
            if (t->pid == stat->pid && t->start == stat->start && !t->dead)
                return j;
    }
    return NULL;
}

/* Give owners to all processes, to the closure of the relation. */
static void find_owners(struct scan *scan, const struct job_table *jobs)
{
    pid_t self = getpid();
    bool found;

    for (size_t i = 0; i < scan->procs->count; i++)
        scan->owner[i] = known_owner(jobs, &scan->procs->entry[i].stat);
    do {
        found = false;
        for (size_t i = 0; i < scan->procs->count; i++) {
            const struct proc_stat *s = &scan->procs->entry[i].stat;
            struct job *j;
            if (scan->owner[i] || s->pid == 1 || s->pid == self ||
                !strcmp(s->comm, STEPD))
                continue;
            if ((j = owner_of(scan, s->parent)) ||
                (j = owner_of(scan, s->group)) ||
                (j = owner_of(scan, s->session)) ||
                (j = dead_leader(jobs, s->group)) ||
                (j = dead_leader(jobs, s->session))) {
                scan->owner[i] = j;
                found = true;
            }
        }
    } while (found);
}

static bool is_attached(const struct job *job, pid_t pid)
{
    for (const struct process *p = job->processes; p; p = p->next)
        if (p->pid == pid && !p->bad)
            return true;
    return false;
}

/* True when a process seen for the first time has been busy all its life. */
static bool busy_all_along(const struct proc_stat *stat)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    uint64_t age_ns = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
    uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
    age_ns -= stat->start * tick_ns < age_ns ? stat->start * tick_ns : age_ns;
    return age_ns >= BUSY_WINDOW_NS &&
           stat->ticks * BUSY_WINDOW_NS >= BUSY_TICKS * age_ns;
}

/* True while STAT is of a task that has not begun its program. */
static bool is_stepd(const struct tracked *t, const struct proc_stat *stat,
                     uint64_t now_ns)
{
    return stat->forked && !strcmp(stat->comm, STEPD) &&
           now_ns - t->first_ns < STEPD_NS;
}

double enforcer_use(const struct job *job, uint64_t *since_ns)
{
    *since_ns = job->use_from_ns;
    return job->use;
}

/* True when T may have the affinity that was set for its PARENT (NULL: not the
 * job's) when it was made. */
static bool inherits(const struct tracked *t, const struct tracked *parent)
{
    return parent && (parent->narrowed || parent->inherits ||
                      t->start <= parent->let_go_ticks);
}

/* True when T may be held by now if it is busy. */
static bool may_be_held(const struct enforcer *e, const struct tracked *t,
                        const struct job *job, uint64_t now_ns)
{
    return !job->unpinned &&
           (job->doing == JOB_PINNED ||
            now_ns - t->unattached_since_ns >= e->options->attach_ns);
}

/* Decide whether T is to be held from now on. */
static void look(struct enforcer *e, struct tracked *t,
                 struct job *job, const struct proc_stat *stat,
                 uint64_t now_ns)
{
    t->dead = false;
    t->attached = is_attached(job, t->pid);
    if (t->attached) {
        t->unattached_since_ns = 0;
        t->inherits = false;
    } else if (!t->unattached_since_ns) {
        t->unattached_since_ns = now_ns;
    }
    if (t->attached || is_stepd(t, stat, now_ns)) {
        usage_forget(t);
        return;
    }
    usage_note(t, stat);
    if (t->look_ns && now_ns - t->look_ns < BUSY_WINDOW_NS)
        return;
    bool busy = t->look_ns ? stat->ticks >= t->ticks + BUSY_TICKS
                           : busy_all_along(stat);
    t->ticks = stat->ticks;
    t->look_ns = now_ns;
    if (busy && !t->held && may_be_held(e, t, job, now_ns)) {
        t->held = true;
        e->change_ns = now_ns;
        job->unsettled = true;
    }
}

static void track(struct enforcer *e, struct job *job,
                  const struct proc_stat *stat, uint64_t now_ns)
{
    struct tracked *t = tracked_find(job, stat->pid);

    if (!t) {
        if (!(t = calloc(1, sizeof(*t))))
            return; /* seen again by the next scan */
        t->pid = stat->pid;
        t->next = job->tracked;
        job->tracked = t;
    }
    if (t->start != stat->start) { /* new, or the pid was used again */
        e->change_ns = now_ns;
        job->unsettled = true;
        t->start = stat->start;
        t->first_ns = now_ns;
        threads_free(t->threads);
        t->threads = NULL;
        t->held = t->stopped = t->narrowed = false;
        t->look_ns = t->unattached_since_ns = t->no_cpuset_ns = 0;
        t->let_go_ticks = 0;
        t->inherits = job->taken_over ||
                      inherits(t, tracked_find(job, stat->parent));
        usage_forget(t);
    }
    look(e, t, job, stat, now_ns);
}

/* A dead leader matters while its group or session has members. */
static bool still_leads(const struct scan *scan, pid_t pid)
{
    for (size_t i = 0; i < scan->procs->count; i++) {
        const struct proc_stat *s = &scan->procs->entry[i].stat;
        if (s->group == pid || s->session == pid)
            return true;
    }
    return false;
}

/* True when there were any. */
static bool forget_dead(struct job *job, const struct scan *scan)
{
    bool any = false;

    for (struct tracked **p = &job->tracked; *p;) {
        struct tracked *t = *p;
        if (!t->dead || still_leads(scan, t->pid)) {
            p = &t->next;
            continue;
        }
        *p = t->next;
        tracked_free(t);
        any = true;
    }
    return any;
}

/* What says who owns which process: while it is the same, all are as they were
 * found. */
static uint64_t owners_key(const struct enforcer *e,
                           const struct job_table *jobs)
{
    uint64_t h = HASH_START;

    hash_word(&h, e->procs.changes);
    for (const struct job *j = jobs->first; j; j = j->next) {
        hash_word(&h, j->id);
        for (const struct task *t = j->tasks; t; t = t->next) {
            hash_word(&h, (uint64_t)t->pid);
            hash_word(&h, t->start);
        }
        hash_word(&h, j->processes != NULL);
        for (const struct process *p = j->processes; p; p = p->next) {
            hash_word(&h, (uint64_t)p->pid << 1 | p->bad);
            hash_word(&h, p->start);
        }
    }
    return h;
}

/* Give owners to all processes anew. */
static void scan_all(struct enforcer *e, struct job_table *jobs,
                     uint64_t now_ns)
{
    struct scan scan = {.procs = &e->procs};

    e->owners = 0;
    if (!(scan.owner = calloc(scan.procs->count + 1, sizeof(*scan.owner))))
        return;
    find_owners(&scan, jobs);
    for (struct job *j = jobs->first; j; j = j->next)
        for (struct tracked *t = j->tracked; t; t = t->next)
            t->dead = true;
    for (size_t i = 0; i < scan.procs->count; i++) {
        struct proc_entry *entry = &scan.procs->entry[i];
        if (!scan.owner[i])
            continue;
        /* The end of one that is attached is told by its pidfd, and what it
         * uses does not matter. */
        proc_table_watch(&e->procs, entry,
                         !is_attached(scan.owner[i], entry->stat.pid));
        track(e, scan.owner[i], &entry->stat, now_ns);
    }
    for (struct job *j = jobs->first; j; j = j->next)
        if (forget_dead(j, &scan))
            e->change_ns = now_ns;
    free(scan.owner);
    e->owners = owners_key(e, jobs);
}

/* The processes are those of the scan before: see what they use. */
static void look_at_tracked(struct enforcer *e, struct job_table *jobs,
                            uint64_t now_ns)
{
    for (struct job *j = jobs->first; j; j = j->next)
        for (struct tracked *t = j->tracked; t; t = t->next) {
            const struct proc_entry *entry =
                t->dead || t->attached ? NULL
                                       : proc_table_find(&e->procs, t->pid);
            if (entry)
                look(e, t, j, &entry->stat, now_ns);
        }
}

void enforcer_scan(struct enforcer *e, struct job_table *jobs, bool force,
                   uint64_t now_ns)
{
    if (!jobs->first || (!force && now_ns < e->next_scan_ns))
        return;
    uint64_t begin_ns = clock_cpu_ns(), wall_ns = clock_ns();
    uint64_t boot_ticks = usage_boot_ticks();
    if (proc_table_scan(&e->procs, now_ns) < 0)
        return;
    e->scan_ns = now_ns;
    if (force || owners_key(e, jobs) != e->owners)
        scan_all(e, jobs, now_ns);
    else
        look_at_tracked(e, jobs, now_ns);
    for (struct job *j = jobs->first; j; j = j->next) {
        usage_measure(j, now_ns, now_ns + (clock_ns() - wall_ns), boot_ticks);
        j->taken_over = false;
    }
    double cost_ns = (double)(clock_cpu_ns() - begin_ns);
    bool quiet = now_ns - e->change_ns >= SCAN_QUIET_NS;
    double pause_ns = cost_ns / (quiet ? SCAN_SHARE_QUIET : SCAN_SHARE);
    if (quiet)
        pause_ns = fmax(pause_ns, SCAN_LEAST_NS);
    e->next_scan_ns =
        now_ns + (pause_ns < SCAN_PAUSE_NS ? (uint64_t)pause_ns : SCAN_PAUSE_NS);
}

void enforcer_expect(struct enforcer *e, uint64_t now_ns)
{
    e->change_ns = now_ns;
    e->next_scan_ns = 0;
}

/* ---- affinity ----------------------------------------------------------- */

/* Put all threads of T on CPUS (threads.h). */
static size_t keep_tracked(struct tracked *t, const struct cosched_cpuset *cpus,
                           bool strays)
{
    if (!t->threads && !(t->threads = threads_new(t->pid)))
        return 0;
    return threads_keep(t->threads, cpus, strays);
}

/* Those of an attached process that no scan has seen so far. */
static size_t keep_unseen(pid_t pid, const struct cosched_cpuset *cpus)
{
    struct threads *threads = threads_new(pid);
    size_t moved = threads ? threads_keep(threads, cpus, true) : 0;

    threads_free(threads);
    return moved;
}

/* A pidfd of T, which the caller closes; -1: it has ended, or is about to. */
static int open_process(const struct tracked *t)
{
    struct proc_stat stat;
    int fd = (int)syscall(SYS_pidfd_open, t->pid, 0);

    /* The pid may have been used again; the pidfd pins what we look at.  One that
     * is ending has left its cgroup, and nothing of it runs. */
    if (fd >= 0 && (proc_read(t->pid, &stat) < 0 || stat.start != t->start ||
                    stat.exiting)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void hold_by_affinity(struct enforcer *e, struct job *job,
                             struct tracked *t, int fd,
                             const struct cosched_cpuset *cpus)
{
    if (e->supervisor)
        supervisor_held(e->supervisor, t->pid, fd, &job->granted);
    keep_tracked(t, cpus, false);
    job->narrowed = t->narrowed = true;
}

/* T is pinned by affinity instead, because of WHY: said once for each job, and
 * only of who is still there a while later.  Before, it may be on its way into
 * its cgroup, or at its end out of it. */
static void no_cpuset(const struct enforcer *e, struct job *job,
                      struct tracked *t, const char *why)
{
    if (!t->no_cpuset_ns)
        t->no_cpuset_ns = e->scan_ns + 1;
    if (job->no_cpuset || e->scan_ns < t->no_cpuset_ns + NO_CPUSET_NS)
        return;
    job->no_cpuset = true;
    if (e->options->enforcement == ENFORCEMENT_CPUSET)
        log_warn("job %u: pinned by affinity: %s", job->id, why);
    else
        log_debug("job %u: pinned by affinity: %s", job->id, why);
}

/* Returns false where there is no cpuset to hold it by. */
static bool hold_by_cpuset(struct enforcer *e, struct job *job,
                           struct tracked *t)
{
    struct errtext err = {"no cgroup hierarchy with cpuset"};

    if (!e->holder || cpuset_holder_hold(e->holder, t->pid, &err) < 0) {
        no_cpuset(e, job, t, err.text);
        return false;
    }
    t->no_cpuset_ns = 0;
    /* From before: would be intersected with the cpuset. */
    if (t->narrowed || t->inherits)
        keep_tracked(t, &job->granted, false);
    t->narrowed = t->inherits = false;
    return true;
}

void enforcer_hold(struct enforcer *e, struct job *job,
                   const struct cosched_cpuset *cpus)
{
    bool cpuset = e->options->enforcement != ENFORCEMENT_AFFINITY &&
                  !(job->processes && e->holder &&
                    !cpuset_holder_by_process(e->holder));

    if (e->holder && !cpuset)
        cpuset_holder_release(e->holder, job->id);
    else if (e->holder)
        cpuset_holder_begin(e->holder, job->id, cpus);
    for (struct tracked *t = job->tracked; t; t = t->next) {
        if (t->dead || t->attached || !t->held)
            continue;
        if (!cpuset && t->narrowed && t->threads &&
            threads_kept(t->threads, cpus, false))
            continue; /* as the supervisor knows */
        int fd = open_process(t);
        if (fd < 0)
            continue;
        if (!cpuset || !hold_by_cpuset(e, job, t))
            hold_by_affinity(e, job, t, fd, cpus);
        close(fd);
    }
    if (e->holder && cpuset)
        cpuset_holder_end(e->holder);
}

/* Give T all that Slurm granted. */
static void widen(const struct job *job, struct tracked *t)
{
    int fd = open_process(t);

    if (fd < 0)
        return;
    keep_tracked(t, &job->granted, false);
    close(fd);
    t->let_go_ticks = usage_boot_ticks();
    t->narrowed = t->inherits = false;
}

void enforcer_let_go(struct enforcer *e, struct job *job)
{
    if (e->holder)
        cpuset_holder_release(e->holder, job->id);
    for (struct tracked *t = job->tracked; t; t = t->next) {
        if (t->dead || t->attached)
            continue;
        t->held = false;
        if (t->narrowed || (t->inherits && e->scan_ns - t->unattached_since_ns >=
                                               e->options->attach_ns))
            widen(job, t);
    }
}

void enforcer_take_over(struct job *job)
{
    job->narrowed = job->taken_over = true;
}

void enforcer_attached(struct enforcer *e, struct job *job, pid_t pid)
{
    struct tracked *t = tracked_find(job, pid);

    if (t) /* before the next scan sees it */
        t->attached = true;
    if (e->holder)
        cpuset_holder_let_go(e->holder, job->id, pid);
}

void enforcer_release(struct enforcer *e, struct job *job)
{
    enforcer_unpark(e, job);
    if (e->holder)
        cpuset_holder_release(e->holder, job->id);
    tracked_clear(job);
    job->narrowed = job->taken_over = false;
    job->use = 0;
    job->use_from_ns = job->use_until_ns = 0;
}

size_t enforcer_move_strays(struct job *job, const struct cosched_cpuset *cpus)
{
    size_t moved = 0;

    for (struct process *p = job->processes; p; p = p->next) {
        struct tracked *t = p->bad ? NULL : tracked_find(job, p->pid);
        if (t && t->start == p->start)
            moved += keep_tracked(t, cpus, true);
        else if (!p->bad)
            moved += keep_unseen(p->pid, cpus);
    }
    return moved;
}

/* ---- turns ---------------------------------------------------------------- */

static bool stop_one(struct enforcer *e, struct tracked *t)
{
    int fd = open_process(t);

    if (fd < 0)
        return false;
    if (e->supervisor)
        supervisor_stopped(e->supervisor, t->pid, fd);
    t->stopped = syscall(SYS_pidfd_send_signal, fd, SIGSTOP, NULL, 0) == 0;
    close(fd);
    return t->stopped;
}

/* Find the processes of JOB, of no other. */
static void scan_one(struct enforcer *e, struct job *job)
{
    struct job_table alone = {.first = job, .count = 1};
    struct job *next = job->next;

    job->next = NULL;
    enforcer_scan(e, &alone, true, clock_ns());
    job->next = next;
}

void enforcer_park(struct enforcer *e, struct job *job)
{
    /* A process that forks while it is being stopped leaves a running child:
     * look again until nothing new is found. */
    for (int pass = 0; pass < MAX_PASSES; pass++) {
        bool found = false;
        for (struct tracked *t = job->tracked; t; t = t->next)
            if (!t->dead && !t->stopped)
                found |= stop_one(e, t);
        if (pass > 0 && !found)
            break;
        scan_one(e, job);
    }
}

void enforcer_continue(struct enforcer *e, struct job *job)
{
    scan_one(e, job);
    for (struct tracked *t = job->tracked; t; t = t->next)
        t->stopped = !t->dead;
    enforcer_unpark(e, job);
}

void enforcer_unpark(struct enforcer *e, struct job *job)
{
    for (struct tracked *t = job->tracked; t; t = t->next) {
        if (!t->stopped)
            continue;
        t->stopped = false;
        int fd = t->dead ? -1 : open_process(t);
        if (fd >= 0) {
            syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
            close(fd);
        }
        if (e->supervisor)
            supervisor_continued(e->supervisor, t->pid);
    }
}
