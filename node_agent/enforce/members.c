/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which processes belong to which job. */

#include "node_agent/enforce/members.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/syscalls.h"
#include "node_agent/core/process.h"
#include "node_agent/enforce/job_cgroup.h"
#include "node_agent/enforce/owners.h"
#include "node_agent/enforce/proc.h"
#include "node_agent/enforce/proc_table.h"
#include "node_agent/enforce/threads.h"
#include "node_agent/enforce/usage.h"

/* A process is held when it used this much CPU time since the last look, at
 * most one look per window: a fifth of a CPU at 100 ticks a second. */
#define BUSY_TICKS     2
#define BUSY_WINDOW_NS (100 * NS_PER_MS)

/* So many generations may be between a task and a process that attaches. */
#define LEVELS 256

struct members {
    const struct node_options *options;
    struct proc_table procs;
    uint64_t next_scan_ns;
    uint64_t change_ns; /* last time that a process came, went or was held */
    uint64_t scan_ns;   /* of the last scan */
    uint64_t begun, finished;               /* scans */
    uint64_t begun_ns, wall_ns, boot_ticks; /* of that which goes on */
    double cost_ns;
    size_t steps, places; /* of all scans: owners.h */
    uint64_t key; /* owners_key() of the scan that found them; 0: none */
    bool untracked; /* it found more than are tracked */
};

struct members *members_new(const struct node_options *options)
{
    struct members *m = calloc(1, sizeof(*m));

    if (m)
        m->options = options;
    return m;
}

void members_free(struct members *m)
{
    if (m)
        proc_table_clear(&m->procs);
    free(m);
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
    number_map_clear(&job->tracked_by_pid);
}

struct tracked *members_find(struct job *job, pid_t pid)
{
    return number_map_find(&job->tracked_by_pid, (uint64_t)pid);
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

/* True while T is Slurm's still: a task that has not executed its program.  The
 * kernel forgets that at the first program, so no program can pretend. */
static bool is_stepds(const struct tracked *t, const struct proc_stat *stat)
{
    return t->task && stat->forked;
}

/* True when T of JOB may have the affinity that was set for its PARENT (NULL: not the job's; then
 * it is a task, or whoever made it has ended) when it was made. */
static bool inherits(const struct job *job, const struct tracked *t, const struct tracked *parent)
{
    if (!parent)
        return job->narrowed && !t->task;
    return parent->narrowed || parent->inherits || t->start <= parent->let_go_ticks;
}

/* True when T may be held by now if it is busy. */
static bool may_be_held(const struct members *m, const struct tracked *t,
                        const struct job *job, uint64_t now_ns)
{
    return !job->unpinned &&
           (job->doing == JOB_PINNED ||
            now_ns - t->unattached_since_ns >= m->options->attach_ns);
}

/* Decide whether T, which is or is not ATTACHED, is to be held from now on. */
static void look(struct members *m, struct tracked *t, struct job *job,
                 bool attached, const struct proc_stat *stat, uint64_t now_ns)
{
    t->dead = false;
    t->attached = attached;
    if (t->attached) {
        t->unattached_since_ns = 0;
        t->inherits = false;
    } else if (!t->unattached_since_ns) {
        t->unattached_since_ns = now_ns;
    }
    if (t->attached || is_stepds(t, stat)) {
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
    if (busy && !t->held && may_be_held(m, t, job, now_ns)) {
        t->held = true;
        m->change_ns = now_ns;
        job->unsettled = true;
    }
}

/* A new entry for process PID of JOB.  NULL: there is no memory, and the next
 * scan will try again, or the job has too many. */
static struct tracked *add(struct job *job, pid_t pid)
{
    if (job->tracked_by_pid.count >= MEMBERS_MAX) {
        if (!job->crowded)
            log_warn("job %u has more than %d processes on this node: more are "
                     "held only "
                     "by what they inherit, and not stopped",
                     job->id, MEMBERS_MAX);
        job->crowded = true;
        return NULL;
    }
    struct tracked *t = calloc(1, sizeof(*t));
    if (!t || number_map_put(&job->tracked_by_pid, (uint64_t)pid, t) < 0) {
        free(t);
        return NULL;
    }
    t->pid = pid;
    t->next = job->tracked;
    return job->tracked = t;
}

/* T is now the process of STAT, a TASK or not: new, or the number was used again. */
static void begin(struct members *m, struct job *job, struct tracked *t,
                  const struct proc_stat *stat, bool task, uint64_t now_ns)
{
    struct tracked *next = t->next;

    threads_free(t->threads);
    usage_forget(t);
    *t = (struct tracked){
        .pid = stat->pid,
        .start = stat->start,
        .task = task,
        .first_ns = now_ns,
        .round = job->hold.number, /* who is there comes first */
        .next = next};
    job->joined_ns = now_ns;
    t->inherits = job->taken_over || inherits(job, t, members_find(job, stat->parent));
    m->change_ns = now_ns;
    job->unsettled = true;
}

/* Entry E belongs to OWNER's job.  False when it is not tracked. */
static bool track(struct members *m, const struct proc_entry *e,
                  const struct owner *owner, uint64_t now_ns)
{
    struct job *job = owner->job;
    struct tracked *t = members_find(job, e->stat.pid);

    if (!t && !(t = add(job, e->stat.pid)))
        return false;
    if (t->start != e->stat.start)
        begin(m, job, t, &e->stat, owner->task, now_ns);
    t->task = owner->task;
    look(m, t, job, owner->attached, &e->stat, now_ns);
    return true;
}

/* A dead leader matters while its group or session has members.  True when
 * there were any that do not. */
static bool forget_dead(struct job *job, const struct owners *owners, uint64_t now_ns)
{
    bool any = false;

    for (struct tracked **p = &job->tracked; *p;) {
        struct tracked *t = *p;
        if (!t->dead || owners_leads(owners, t->pid)) {
            p = &t->next;
            continue;
        }
        *p = t->next;
        number_map_remove(&job->tracked_by_pid, (uint64_t)t->pid);
        tracked_free(t);
        job->joined_ns = now_ns;
        any = true;
    }
    return any;
}

/* What says who owns which process: while it is the same, all are as they were
 * found. */
static uint64_t owners_key(const struct members *m,
                           const struct job_table *jobs)
{
    uint64_t h = HASH_START;

    hash_word(&h, m->procs.changes);
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

/* Give owners to all processes anew.  JOBS are ALL there are, or some. */
static void scan_all(struct members *m, struct job_table *jobs, bool all,
                     uint64_t now_ns)
{
    struct owners owners;

    m->key = 0;
    m->untracked = false;
    if (owners_find(&owners, &m->procs, jobs, all) < 0)
        return;
    for (struct job *j = jobs->first; j; j = j->next)
        for (struct tracked *t = j->tracked; t; t = t->next)
            t->dead = true;
    for (size_t i = 0; i < m->procs.count; i++) {
        struct proc_entry *entry = &m->procs.entry[i];
        const struct owner *owner = &owners.of[i];
        /* The end of one that is attached is told by its pidfd, and what it
         * uses does not matter. */
        bool tracked = owner->job && track(m, entry, owner, now_ns);
        m->untracked |= owner->job && !tracked;
        if (owner->job)
            proc_table_watch(&m->procs, entry, tracked && !owner->attached);
        else if (all)
            proc_table_watch(&m->procs, entry, false);
    }
    for (struct job *j = jobs->first; j; j = j->next)
        if (forget_dead(j, &owners, now_ns))
            m->change_ns = now_ns;
    m->steps += owners.steps;
    m->places += owners.places;
    proc_table_spend(&m->procs, m->procs.count);
    m->key = owners.unfinished ? 0 : owners_key(m, jobs);
    owners_clear(&owners);
}

/* The processes are those of the scan before: see what they use. */
static void look_at_tracked(struct members *m, struct job_table *jobs,
                            uint64_t now_ns)
{
    for (struct job *j = jobs->first; j; j = j->next)
        for (struct tracked *t = j->tracked; t; t = t->next) {
            const struct proc_entry *entry = t->dead || t->attached
                                                 ? NULL
                                                 : proc_table_find(&m->procs,
                                                                   t->pid);
            if (entry)
                look(m, t, j, false, &entry->stat, now_ns);
        }
}

/* The table is up to date: what it says of JOBS. */
static void take_table(struct members *m, struct job_table *jobs, bool force,
                       bool all, uint64_t now_ns)
{
    m->finished = m->begun;
    m->scan_ns = now_ns;
    if (force || owners_key(m, jobs) != m->key)
        scan_all(m, jobs, all, now_ns);
    else
        look_at_tracked(m, jobs, now_ns);
    for (struct job *j = jobs->first; j; j = j->next) {
        usage_measure(j, m->begun_ns, m->begun_ns + (clock_ns() - m->wall_ns),
                      m->boot_ticks);
        j->taken_over = false;
    }
}

/* When the next scan of all is due, this one having taken what it did. */
static uint64_t next_scan(const struct members *m, uint64_t now_ns)
{
    bool quiet = now_ns - m->change_ns >= SCAN_QUIET_NS;
    double pause_ns = m->cost_ns / (quiet ? SCAN_SHARE_QUIET : SCAN_SHARE);

    if (!m->key || m->procs.unfinished)
        return 0;
    if (quiet)
        pause_ns = fmax(pause_ns, SCAN_LEAST_NS);
    return now_ns +
           (pause_ns < SCAN_PAUSE_NS ? (uint64_t)pause_ns : SCAN_PAUSE_NS);
}

static void scan(struct members *m, struct job_table *jobs, bool force,
                 bool all, uint64_t now_ns, size_t *work)
{
    uint64_t begin_ns = clock_cpu_ns();

    if (!m->procs.unfinished) {
        m->begun++;
        m->begun_ns = now_ns;
        m->wall_ns = clock_ns();
        m->boot_ticks = usage_boot_ticks();
        m->cost_ns = 0;
    }
    m->procs.work = work;
    if (proc_table_scan(&m->procs, now_ns) < 0)
        return;
    if (!m->procs.unfinished)
        take_table(m, jobs, force, all, now_ns);
    m->cost_ns += (double)(clock_cpu_ns() - begin_ns);
    /* What a job needs for itself does not put off that of all. */
    if (all || m->procs.unfinished)
        m->next_scan_ns = next_scan(m, now_ns);
}

void members_scan(struct members *m, struct job_table *jobs, bool force,
                  uint64_t now_ns, size_t *work)
{
    if (jobs->first && (force || now_ns >= m->next_scan_ns))
        scan(m, jobs, force, true, now_ns, work);
}

void members_expect(struct members *m, uint64_t now_ns)
{
    m->change_ns = now_ns;
    m->next_scan_ns = 0;
}

void members_scan_one(struct members *m, struct job *job, size_t *work)
{
    struct job_table alone = {.first = job, .count = 1};
    struct job *next = job->next, *same = job->same;

    alone.bucket[job->id % JOB_BUCKETS] = job;
    job->next = job->same = NULL;
    scan(m, &alone, true, false, clock_ns(), work);
    job->next = next;
    job->same = same;
}

uint64_t members_begun(const struct members *m)
{
    return m->begun;
}

uint64_t members_finished(const struct members *m)
{
    return m->finished;
}

uint64_t members_scanned_ns(const struct members *m)
{
    return m->scan_ns;
}

uint64_t members_seen_ticks(const struct members *m)
{
    return m->key && !m->untracked ? m->boot_ticks : 0;
}

int members_open(const struct tracked *t)
{
    struct proc_stat stat;
    int fd = (int)syscall(SYS_pidfd_open, t->pid, 0);

    /* The pid may have been used again; the pidfd pins what we look at.  One
     * that is ending has left its cgroup, and nothing of it runs. */
    if (fd >= 0 && (proc_read(t->pid, &stat) < 0 || stat.start != t->start ||
                    stat.exiting)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* ---- who may attach ------------------------------------------------------ */

static bool is_task(const struct job *job, const struct proc_stat *s)
{
    for (const struct task *t = job->tasks; t; t = t->next)
        if (t->pid == s->pid && t->start == s->start)
            return true;
    return false;
}

/* True when process PID, which has its number from STAT's group or session, is
 * or was JOB's. */
static bool was_ours(struct job *job, pid_t pid)
{
    const struct tracked *t = members_find(job, pid);
    struct proc_stat now;

    return t && (proc_read(pid, &now) < 0 || now.start == t->start);
}

/* True when STAT is of a process that is JOB's or descends from one. */
static bool descends(struct job *job, struct proc_stat stat)
{
    for (int level = 0; level < LEVELS && stat.pid > 1; level++) {
        const struct tracked *t = members_find(job, stat.pid);
        struct proc_stat parent;
        if ((t && t->start == stat.start) || is_task(job, &stat) ||
            was_ours(job, stat.group) || was_ours(job, stat.session))
            return true;
        /* A parent that began later has only its number from ours. */
        if (proc_read(stat.parent, &parent) < 0 || parent.start > stat.start)
            return false;
        stat = parent;
    }
    return false;
}

/* True when process PID is in the cgroup that Slurm made for JOB. */
static bool is_in_cgroup(const struct job *job, pid_t pid)
{
    static char text[JOB_CGROUP_TEXT];

    return job->cgroup && proc_cgroups(pid, text, sizeof(text)) == 0 &&
           job_cgroup_has(job->cgroup, text);
}

int members_admit(struct job *job, pid_t pid, pid_t called, struct errtext *err)
{
    struct proc_identity who;
    struct proc_stat stat;

    if (proc_read(pid, &stat) < 0 || proc_identify(pid, &who) < 0)
        return errtext_set(err, ESRCH, "pid %d: no such process", (int)pid);
    if (called != pid && called != who.inner)
        return errtext_set(err, EPERM, "pid %d: the sender is process %d",
                           (int)called, (int)pid);
    if (who.real != job->uid || who.effective != job->uid)
        return errtext_set(err, EPERM,
                           "job %u: belongs to uid %u, process %d to %u",
                           job->id, job->uid, (int)pid,
                           who.real != job->uid ? who.real : who.effective);
    if (!is_in_cgroup(job, pid) && !descends(job, stat))
        return errtext_set(err, EPERM,
                           "job %u: process %d (%s) is not of this job: it is "
                           "neither in its cgroup nor started by its tasks",
                           job->id, (int)pid, stat.comm);
    return 0;
}
