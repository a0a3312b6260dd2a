/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Holds processes to CPUs by the cpuset cgroups of their jobs. */

#include "node_agent/enforce/cpuset_holder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/enforce/cgroup.h"
#include "common/log.h"
#include "node_agent/enforce/threads.h"
#include "protocol/cpulist.h"

/* A group that is narrowed, or was. */
struct held_group {
    uint32_t job;
    bool used;   /* in this round */
    bool over;   /* to be restored, */
    bool unless; /* unless there are processes in it, which would be those that its own started */
    bool failed; /* and that failed, and was said */
    size_t note;
    struct cosched_cpuset cpus; /* of the last round */
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
            g->used = go_on && g->used; /* on other CPUs, perhaps, until the next round */
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
    g->over = g->failed = false;
    g->cpus = h->cpus;
    return 0;
}

/* Is G, which is over, as it was before us, or used after all? */
static bool restore(struct cpuset_holder *h, struct held_group *g, size_t *work)
{
    struct errtext err;

    if (g->unless && cgroup_populated(g->group.path) &&
        cgroup_narrow(&h->tree, &g->group, &g->cpus, NULL) == 0) {
        g->over = false;
        return false;
    }
    if (cgroup_restore(g->group.path, work, &err) == 0) {
        supervisor_done(h->supervisor, &g->note);
        return true;
    }
    if (errno == EAGAIN)
        return false;
    if (!g->failed)
        log_warn("job %u: %s", g->job, err.text);
    g->failed = true;
    return false;
}

void cpuset_holder_look(struct cpuset_holder *h, size_t *work)
{
    struct held_group **p = &h->first, *waiting = NULL, **last = &waiting;

    while (*p && *work) {
        struct held_group *g = *p;
        if (!g->over) {
            p = &g->next;
            continue;
        }
        work_take(work, CPUSET_WORK);
        *p = g->next;
        if (restore(h, g, work)) {
            free(g);
        } else { /* others come first the next time */
            *last = g;
            last = &g->next;
        }
    }
    while (*p)
        p = &(*p)->next;
    *last = NULL;
    *p = waiting;
}

/* Groups of JOB are over: all, or UNUSED ones unless they have processes. */
static void end_groups(struct cpuset_holder *h, uint32_t job, bool unused, size_t *work)
{
    for (struct held_group *g = h->first; g; g = g->next)
        if (g->job == job && !(unused && g->used)) {
            g->over = true;
            g->unless = unused && !h->tree.unified;
            if (unused)
                g->cpus = h->cpus;
        }
    cpuset_holder_look(h, work);
}

void cpuset_holder_end(struct cpuset_holder *h, size_t *work)
{
    end_groups(h, h->job, true, work);
}

void cpuset_holder_let_go(struct cpuset_holder *h, uint32_t job, pid_t pid, size_t *work)
{
    if (h->tree.unified)
        cpuset_holder_release(h, job, work);
    else
        cgroup_leave(&h->tree, pid, job);
}

void cpuset_holder_release(struct cpuset_holder *h, uint32_t job, size_t *work)
{
    end_groups(h, job, false, work);
}

bool cpuset_holder_owes(const struct cpuset_holder *h)
{
    const struct held_group *g = h->first;

    while (g && !g->over)
        g = g->next;
    return g;
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
