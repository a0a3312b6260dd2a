/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Holds processes to CPUs by the cpuset cgroups of their jobs. */

#include "node_agent/enforce/cpuset_holder.h"

#include <stdlib.h>
#include <string.h>

#include "node_agent/enforce/cgroup.h"
#include "common/log.h"
#include "protocol/cpulist.h"

/* A group that is narrowed, or was. */
struct held_group {
    uint32_t job;
    bool used; /* in this round */
    bool over; /* to be restored, and that failed */
    size_t note;
    struct cgroup_group group;
    struct held_group *next;
};

struct cpuset_holder {
    struct cgroup_tree tree;
    struct supervisor *supervisor;
    struct held_group *first;
    /* the present round */
    uint32_t job;
    struct cosched_cpuset cpus;
};

struct cpuset_holder *cpuset_holder_new(const char *node, const char *procfs,
                                        struct supervisor *supervisor,
                                        struct errtext *err)
{
    struct cpuset_holder *h = calloc(1, sizeof(*h));

    if (!h) {
        errtext_set(err, ENOMEM, "out of memory");
        return NULL;
    }
    h->supervisor = supervisor;
    if (cgroup_tree_find(&h->tree, procfs, node, err) < 0) {
        int saved = errno;
        free(h);
        errno = saved;
        return NULL;
    }
    return h;
}

bool cpuset_holder_by_process(const struct cpuset_holder *h)
{
    return !h->tree.unified;
}

void cpuset_holder_begin(struct cpuset_holder *h, uint32_t job,
                         const struct cosched_cpuset *cpus, bool go_on)
{
    h->job = job;
    h->cpus = *cpus;
    for (struct held_group *g = h->first; g; g = g->next)
        if (g->job == job)
            g->used = go_on && g->used &&
                      cgroup_narrow(&h->tree, &g->group, cpus, NULL) == 0;
}

/* The entry for GROUP, made if need be; the supervisor is told before anything
 * happens. */
static struct held_group *entry(struct cpuset_holder *h,
                                const struct cgroup_group *group,
                                struct errtext *err)
{
    struct held_group *g;

    for (g = h->first; g; g = g->next)
        if (g->job == h->job && !strcmp(g->group.path, group->path))
            return g;
    if (cgroup_check(&h->tree, group, err) < 0)
        return NULL;
    if (!(g = calloc(1, sizeof(*g)))) {
        errtext_set(err, ENOMEM, "out of memory");
        return NULL;
    }
    if (supervisor_will_narrow(h->supervisor, group->path, &g->note) < 0) {
        errtext_set(err, errno, "supervisor: %s", strerror(errno));
        free(g);
        return NULL;
    }
    g->job = h->job;
    g->group = *group;
    g->next = h->first;
    return h->first = g;
}

int cpuset_holder_hold(struct cpuset_holder *h, pid_t pid, struct errtext *err)
{
    struct cgroup_group group;

    if (cgroup_group_of(&h->tree, pid, h->job, &group, err) < 0)
        return -1;
    struct held_group *g = entry(h, &group, err);
    if (!g)
        return -1;
    if (cgroup_narrow(&h->tree, &group, &h->cpus, err) < 0 ||
        cgroup_enter(&group, pid, err) < 0)
        return -1; /* what was made goes at the end of the round */
    g->used = true;
    g->over = false;
    return 0;
}

/* Restore *P and unlink it; returns what is next.  If that fails it is tried
 * again. */
static struct held_group **restore(struct cpuset_holder *h,
                                   struct held_group **p)
{
    struct held_group *g = *p;
    struct errtext err;

    if (cgroup_restore(g->group.path, &err) < 0) {
        if (!g->over)
            log_warn("job %u: %s", g->job, err.text);
        g->over = true;
        return &g->next;
    }
    supervisor_done(h->supervisor, &g->note);
    *p = g->next;
    free(g);
    return p;
}

void cpuset_holder_end(struct cpuset_holder *h)
{
    for (struct held_group **p = &h->first; *p;) {
        struct held_group *g = *p;
        /* What was started by a held process is in the group as well, where
         * groups have only such processes. */
        if (g->job != h->job) {
            p = &g->next;
            continue;
        }
        if (g->used ||
            (!h->tree.unified && cgroup_populated(g->group.path) &&
             cgroup_narrow(&h->tree, &g->group, &h->cpus, NULL) == 0)) {
            p = &g->next;
            continue;
        }
        p = restore(h, p);
    }
}

void cpuset_holder_let_go(struct cpuset_holder *h, uint32_t job, pid_t pid)
{
    if (h->tree.unified)
        cpuset_holder_release(h, job);
    else
        cgroup_leave(&h->tree, pid, job);
}

void cpuset_holder_release(struct cpuset_holder *h, uint32_t job)
{
    for (struct held_group **p = &h->first; *p;) {
        struct held_group *g = *p;
        if (g->job != job) {
            p = &g->next;
            continue;
        }
        p = restore(h, p);
    }
}

void cpuset_holder_look(struct cpuset_holder *h)
{
    for (struct held_group **p = &h->first; *p;)
        p = (*p)->over ? restore(h, p) : &(*p)->next;
}

void cpuset_holder_free(struct cpuset_holder *h)
{
    if (!h)
        return;
    while (h->first) {
        struct held_group *g = h->first;
        h->first = g->next;
        free(g);
    }
    free(h);
}
