/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which processes belong to which job. */

#include "node_agent/enforce/members.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/hash.h"
#include "node_agent/core/process.h"
#include "node_agent/enforce/proc.h"
#include "node_agent/enforce/proc_table.h"
#include "node_agent/enforce/threads.h"
#include "node_agent/enforce/usage.h"

/* A process is held when it used this much CPU time since the last look, at
 * most one look per window: a fifth of a CPU at 100 ticks a second. */
#define BUSY_TICKS     2
#define BUSY_WINDOW_NS (100 * NS_PER_MS)

/* What a task is called until it has executed its program: it is Slurm's until
 * then, but not for ever, as anybody may choose that name. */
#define STEPD    "slurmstepd"
#define STEPD_NS (30 * NS_PER_S)

struct members {
    const struct node_options *options;
    struct proc_table procs;
    uint64_t next_scan_ns;
    uint64_t change_ns; /* last time that a process came, went or was held */
    uint64_t scan_ns;   /* of the last scan */
    uint64_t owners;    /* owners_key() of the scan that found them; 0: none */
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
}

struct tracked *members_find(const struct job *job, pid_t pid)
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
        struct tracked *t = members_find(j, pid);
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

/* True when T may have the affinity that was set for its PARENT (NULL: not the
 * job's) when it was made. */
static bool inherits(const struct tracked *t, const struct tracked *parent)
{
    return parent && (parent->narrowed || parent->inherits ||
                      t->start <= parent->let_go_ticks);
}

/* True when T may be held by now if it is busy. */
static bool may_be_held(const struct members *m, const struct tracked *t,
                        const struct job *job, uint64_t now_ns)
{
    return !job->unpinned &&
           (job->doing == JOB_PINNED ||
            now_ns - t->unattached_since_ns >= m->options->attach_ns);
}

/* Decide whether T is to be held from now on. */
static void look(struct members *m, struct tracked *t, struct job *job,
                 const struct proc_stat *stat, uint64_t now_ns)
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
    if (busy && !t->held && may_be_held(m, t, job, now_ns)) {
        t->held = true;
        m->change_ns = now_ns;
        job->unsettled = true;
    }
}

static void track(struct members *m, struct job *job,
                  const struct proc_stat *stat, uint64_t now_ns)
{
    struct tracked *t = members_find(job, stat->pid);

    if (!t) {
        if (!(t = calloc(1, sizeof(*t))))
            return; /* seen again by the next scan */
        t->pid = stat->pid;
        t->next = job->tracked;
        job->tracked = t;
    }
    if (t->start != stat->start) { /* new, or the pid was used again */
        m->change_ns = now_ns;
        job->unsettled = true;
        t->start = stat->start;
        t->first_ns = now_ns;
        threads_free(t->threads);
        t->threads = NULL;
        t->held = t->stopped = t->narrowed = false;
        t->look_ns = t->unattached_since_ns = t->no_cpuset_ns = 0;
        t->let_go_ticks = 0;
        t->inherits = job->taken_over ||
                      inherits(t, members_find(job, stat->parent));
        usage_forget(t);
    }
    look(m, t, job, stat, now_ns);
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

/* Give owners to all processes anew. */
static void scan_all(struct members *m, struct job_table *jobs, uint64_t now_ns)
{
    struct scan scan = {.procs = &m->procs};

    m->owners = 0;
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
        proc_table_watch(&m->procs, entry,
                         !is_attached(scan.owner[i], entry->stat.pid));
        track(m, scan.owner[i], &entry->stat, now_ns);
    }
    for (struct job *j = jobs->first; j; j = j->next)
        if (forget_dead(j, &scan))
            m->change_ns = now_ns;
    free(scan.owner);
    m->owners = owners_key(m, jobs);
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
                look(m, t, j, &entry->stat, now_ns);
        }
}

void members_scan(struct members *m, struct job_table *jobs, bool force,
                  uint64_t now_ns)
{
    if (!jobs->first || (!force && now_ns < m->next_scan_ns))
        return;
    uint64_t begin_ns = clock_cpu_ns(), wall_ns = clock_ns();
    uint64_t boot_ticks = usage_boot_ticks();
    if (proc_table_scan(&m->procs, now_ns) < 0)
        return;
    m->scan_ns = now_ns;
    if (force || owners_key(m, jobs) != m->owners)
        scan_all(m, jobs, now_ns);
    else
        look_at_tracked(m, jobs, now_ns);
    for (struct job *j = jobs->first; j; j = j->next) {
        usage_measure(j, now_ns, now_ns + (clock_ns() - wall_ns), boot_ticks);
        j->taken_over = false;
    }
    double cost_ns = (double)(clock_cpu_ns() - begin_ns);
    bool quiet = now_ns - m->change_ns >= SCAN_QUIET_NS;
    double pause_ns = cost_ns / (quiet ? SCAN_SHARE_QUIET : SCAN_SHARE);
    if (quiet)
        pause_ns = fmax(pause_ns, SCAN_LEAST_NS);
    m->next_scan_ns = now_ns + (pause_ns < SCAN_PAUSE_NS ? (uint64_t)pause_ns
                                                         : SCAN_PAUSE_NS);
}

void members_expect(struct members *m, uint64_t now_ns)
{
    m->change_ns = now_ns;
    m->next_scan_ns = 0;
}

void members_scan_one(struct members *m, struct job *job)
{
    struct job_table alone = {.first = job, .count = 1};
    struct job *next = job->next;

    job->next = NULL;
    members_scan(m, &alone, true, clock_ns());
    job->next = next;
}

uint64_t members_scanned_ns(const struct members *m)
{
    return m->scan_ns;
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
