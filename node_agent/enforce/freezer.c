/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Freezes the cgroups of a job's tasks, where Slurm made such of version 2. */

#include "node_agent/enforce/freezer.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/enforce/cgroup.h"
#include "node_agent/enforce/threads.h"

struct frozen {
    uint32_t job;
    bool over; /* to be thawed */
    size_t note;
    char path[CGROUP_PATH_MAX];
    struct frozen *next;
};

struct freezer {
    struct cgroup_tree tree;
    struct supervisor *supervisor;
    struct frozen *first;
    struct log_limit told;
};

struct freezer *freezer_new(const char *procfs, struct supervisor *supervisor,
                            struct errtext *err)
{
    struct freezer *f = calloc(1, sizeof(*f));

    if (!f) {
        errtext_set(err, ENOMEM, "out of memory");
        return NULL;
    }
    f->supervisor = supervisor;
    if (cgroup_tree_find_unified(&f->tree, procfs, err) < 0) {
        int saved = errno;
        free(f);
        errno = saved;
        return NULL;
    }
    return f;
}

int freezer_set(const char *path, bool frozen, struct errtext *err)
{
    int rc = cgroup_write(path, "cgroup.freeze", frozen ? "1" : "0", err);

    /* It ends with the last of its processes. */
    return rc < 0 && !frozen && (errno == ENOENT || errno == ENODEV) ? 0 : rc;
}

static struct frozen *find(const struct freezer *f, uint32_t job,
                           const char *path)
{
    for (struct frozen *g = f->first; g; g = g->next)
        if (g->job == job && !strcmp(g->path, path))
            return g;
    return NULL;
}

bool freezer_freeze(struct freezer *f, uint32_t job, pid_t pid)
{
    char path[CGROUP_PATH_MAX];

    if (cgroup_tasks_of(&f->tree, pid, job, path, NULL) < 0)
        return false;
    struct frozen *g = find(f, job, path);
    if (g && !g->over)
        return true;
    bool new = !g;
    if (new) {
        if (!(g = calloc(1, sizeof(*g))))
            return false;
        g->job = job;
        memcpy(g->path, path, sizeof(path));
        if (supervisor_will_freeze(f->supervisor, path, &g->note) < 0) {
            free(g);
            return false;
        }
        g->next = f->first;
        f->first = g;
    }
    g->over = freezer_set(path, true, NULL) < 0;
    return !g->over;
}

/* Thaw those that are to be, as far as *WORK goes. */
static void thaw(struct freezer *f, size_t *work)
{
    struct errtext err;

    for (struct frozen **p = &f->first; *p && *work;) {
        struct frozen *g = *p;
        if (g->over)
            work_take(work, FREEZER_WORK);
        if (g->over && freezer_set(g->path, false, &err) == 0) {
            supervisor_done(f->supervisor, &g->note);
            *p = g->next;
            free(g);
            continue;
        }
        if (g->over && log_limit_allows(&f->told, g->job, clock_ns()))
            log_error("job %u: %s", g->job, err.text);
        p = &g->next;
    }
}

void freezer_thaw(struct freezer *f, uint32_t job, size_t *work)
{
    for (struct frozen *g = f->first; g; g = g->next)
        g->over |= g->job == job;
    thaw(f, work);
}

bool freezer_owes(const struct freezer *f, uint32_t job)
{
    struct frozen *g = f->first;

    while (g && !(g->over && (!job || g->job == job)))
        g = g->next;
    return g;
}

void freezer_look(struct freezer *f, size_t *work)
{
    thaw(f, work);
}

void freezer_free(struct freezer *f)
{
    if (!f)
        return;
    while (f->first) {
        struct frozen *g = f->first;
        f->first = g->next;
        free(g);
    }
    free(f);
}
