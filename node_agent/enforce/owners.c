/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which job each process of the node belongs to. */

#include "node_agent/enforce/owners.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/core/enforcer.h"
#include "node_agent/core/process.h"
#include "node_agent/enforce/job_cgroup.h"

#define STEPD "slurmstepd"

/* Half of a process number, which has 22 bits at most. */
#define DIGIT_BITS 12
#define DIGITS     (1U << DIGIT_BITS)

/* Entry FROM has the parent, or is in the group or session, with number TO. */
struct owners_link {
    pid_t to;
    uint32_t from;
    bool member; /* of a group or session */
};

static void add_link(struct owners *o, pid_t to, size_t from, bool member)
{
    o->link[o->links++] = (struct owners_link){to, (uint32_t)from, member};
}

static size_t digit_of(const struct owners_link *l, unsigned shift)
{
    return (unsigned)l->to >> shift & (DIGITS - 1);
}

/* Sort the links FROM by the digit at SHIFT into TO, otherwise as they are. */
static void sort_by_digit(struct owners *o, const struct owners_link *from,
                          struct owners_link *to, unsigned shift)
{
    size_t first[DIGITS + 1] = {0};

    for (size_t i = 0; i < o->links; i++)
        first[digit_of(&from[i], shift) + 1]++;
    for (size_t d = 1; d < DIGITS; d++)
        first[d] += first[d - 1];
    for (size_t i = 0; i < o->links; i++)
        to[first[digit_of(&from[i], shift)]++] = from[i];
    o->moves += o->links;
}

/* All processes of the node are in one epoch: in a time that is linear in their number. */
static void make_links(struct owners *o)
{
    struct owners_link *spare = o->link + 3 * (o->procs->count + 1);

    for (size_t i = 0; i < o->procs->count; i++) {
        const struct proc_stat *s = &o->procs->entry[i].stat;
        if (s->parent > 1)
            add_link(o, s->parent, i, false);
        if (s->group > 1 && s->group != s->pid)
            add_link(o, s->group, i, true);
        if (s->session > 1 && s->session != s->pid && s->session != s->group)
            add_link(o, s->session, i, true);
    }
    sort_by_digit(o, o->link, spare, 0);
    sort_by_digit(o, spare, o->link, DIGIT_BITS);
}

/* The first link to a number of at least PID. */
static size_t first_link(const struct owners *o, pid_t pid)
{
    size_t low = 0, high = o->links;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (o->link[middle].to < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool owners_leads(const struct owners *o, pid_t pid)
{
    for (size_t i = first_link(o, pid); i < o->links && o->link[i].to == pid;
         i++)
        if (o->link[i].member)
            return true;
    return false;
}

/* Entry I is JOB's, unless it is somebody's. */
static void own(struct owners *o, size_t i, struct job *job)
{
    if (o->of[i].job)
        return;
    o->of[i].job = job;
    o->found[o->found_count++] = (uint32_t)i;
}

/* Who stems from number PID is JOB's; of a dead leader, its MEMBERS. */
static void own_kin(struct owners *o, pid_t pid, bool members, struct job *job)
{
    pid_t self = getpid();

    for (size_t i = first_link(o, pid); i < o->links && o->link[i].to == pid;
         i++) {
        const struct owners_link *l = &o->link[i];
        const struct proc_stat *s = &o->procs->entry[l->from].stat;
        o->steps++;
        if ((l->member || !members) && s->pid != 1 && s->pid != self &&
            !s->kernel)
            own(o, l->from, job);
    }
}

/* Follow the kin of those found since number *NEXT. */
static void follow(struct owners *o, size_t *next)
{
    for (; *next < o->found_count; ++*next) {
        size_t i = o->found[*next];
        own_kin(o, o->procs->entry[i].stat.pid, false, o->of[i].job);
    }
}

/* The entry of PID, begun at START, as JOB's, or NULL. */
static struct owner *know(struct owners *o, pid_t pid, uint64_t start,
                          struct job *job)
{
    const struct proc_entry *e = proc_table_find(o->procs, pid);

    if (!e || e->stat.start != start)
        return NULL;
    size_t i = (size_t)(e - o->procs->entry);
    own(o, i, job);
    return o->of[i].job == job ? &o->of[i] : NULL;
}

static void know_job(struct owners *o, struct job *j)
{
    struct owner *owner;

    for (const struct task *t = j->tasks; t; t = t->next)
        if ((owner = know(o, t->pid, t->start, j)))
            owner->task = true;
    for (const struct process *p = j->processes; p; p = p->next)
        if ((owner = know(o, p->pid, p->start, j)))
            owner->attached |= !p->bad;
    for (struct tracked *t = j->tracked; t; t = t->next)
        if ((owner = know(o, t->pid, t->start, j)))
            owner->tracked = t;
        else if (!proc_table_find(o->procs, t->pid))
            own_kin(o, t->pid, true, j);
}

/* ---- cgroups ---------------------------------------------------------------
 */

static bool is_stepd(const struct proc_stat *s)
{
    struct proc_identity identity;

    return !strcmp(s->comm, STEPD) && proc_identify(s->pid, &identity) == 0 &&
           identity.real == 0;
}

/* Whose cgroup the process of S, with TEXT, is in, or NULL. */
static struct job *job_at(const struct job_table *jobs,
                          const struct proc_stat *s, const char *text)
{
    const char *at = text;
    uint32_t id;

    while ((at = job_cgroup_next(at, &id))) {
        struct job *j = job_find(jobs, id);
        if (j && j->cgroup && job_cgroup_has(j->cgroup, text))
            return is_stepd(s) ? NULL : j;
    }
    return NULL;
}

/* Learn the cgroup of J from a task.  True when it has one. */
static bool learn(struct owners *o, struct job *j, char *text)
{
    const struct task *t = j->tasks;

    if (!j->cgroup && t) {
        o->places++;
        if (proc_cgroups(t->pid, text, JOB_CGROUP_TEXT) == 0)
            j->cgroup = job_cgroup_find(text, j->id);
    }
    return j->cgroup != NULL;
}

/* Find who is in the cgroup of a job and nobody's by descent. */
static void look_in_cgroups(struct owners *o, const struct job_table *jobs, bool all)
{
    static char text[JOB_CGROUP_TEXT];
    size_t next = o->found_count;
    bool any = false;

    for (struct job *j = jobs->first; j; j = j->next)
        any |= learn(o, j, text);
    for (size_t i = 0; any && i < o->procs->count; i++) {
        struct proc_entry *e = &o->procs->entry[i];
        if (o->of[i].job || e->placed || e->watched || e->stat.kernel)
            continue;
        if (!proc_table_works(o->procs)) {
            o->unfinished = true;
            break;
        }
        o->places++;
        proc_table_spend(o->procs, PROC_READ_WORK);
        if (proc_cgroups(e->stat.pid, text, sizeof(text)) < 0)
            continue;
        struct job *j = job_at(jobs, &e->stat, text);
        e->placed = j || all;
        if (j)
            own(o, i, j);
        follow(o, &next);
    }
}

int owners_find(struct owners *o, struct proc_table *procs,
                const struct job_table *jobs, bool all)
{
    size_t count = procs->count + 1, next = 0;

    *o = (struct owners){.procs = procs,
                         .of = calloc(count, sizeof(*o->of)),
                         .link = calloc(2 * 3 * count, sizeof(*o->link)),
                         .found = calloc(count, sizeof(*o->found))};
    if (!o->of || !o->link || !o->found) {
        owners_clear(o);
        errno = ENOMEM;
        return -1;
    }
    make_links(o);
    for (struct job *j = jobs->first; j; j = j->next)
        know_job(o, j);
    follow(o, &next);
    look_in_cgroups(o, jobs, all);
    return 0;
}

void owners_clear(struct owners *o)
{
    free(o->of);
    free(o->link);
    free(o->found);
    *o = (struct owners){0};
}
