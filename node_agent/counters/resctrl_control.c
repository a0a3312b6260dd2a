/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Control groups of resctrl: jobs that may not fill all of a cache. */

#include "node_agent/counters/resctrl_control.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/counters/perf_sysfs.h"
#include "node_agent/counters/resctrl_private.h"
#include "common/cpulist.h"

/* The kernel's megabytes are of 2^20 bytes. */
#define MB_PER_REQUEST_PER_US (SAMPLE_LINE_BYTES * 1e6 / (1 << 20))

struct group {
    uint32_t job;
    struct cosched_cpuset has;      /* CPUs that the kernel tags */
    char schemata[RESCTRL_LINE];    /* as last written; "": never */
    struct group *next;
};

struct resctrl_control {
    const struct counters_setup *setup;
    const struct resctrl_source *source;
    char *root;
    char *prefix;
    struct resctrl_info info;
    int *cache_id; /* [cpus] the kernel's, -1: of no CPU node */
    struct group *groups;
};

/* ---- schemata ------------------------------------------------------------ */

/* The least that SHARE has on the CPU nodes of the domain ID. */
static struct cache_share share_of(const struct resctrl_control *c, int id,
                                   const struct cache_share *share)
{
    struct cache_share least = cache_unlimited;

    for (size_t cpu = 0; cpu < c->setup->machine->cpus; cpu++) {
        const struct cache_share *s;
        if (c->cache_id[cpu] != id || c->setup->cpu_node[cpu] < 0)
            continue;
        s = &share[c->setup->cpu_node[cpu]];
        if (s->part < least.part)
            least.part = s->part;
        if (s->rate < least.rate) {
            least.rate = s->rate;
            least.requests = s->requests;
        }
    }
    return least;
}

static uint64_t mask_of(const struct resctrl_info *info,
                        const struct resctrl_domain *d,
                        const struct cache_share *share)
{
    struct cache_ways ways = info->ways;

    ways.usable &= d->base;
    return share->part < 1 && ways.usable ? cache_mask(&ways, share->part)
                                          : d->base;
}

static uint64_t bandwidth_of(const struct resctrl_info *info,
                             const struct resctrl_domain *d,
                             const struct cache_share *share)
{
    if (!(share->rate < 1))
        return d->base;
    double mbps = share->requests * MB_PER_REQUEST_PER_US;
    uint64_t limit =
        info->mbps ? (uint64_t)(mbps > 1 ? mbps : 1)
                   : cache_percent(share->rate, info->least, info->step);
    return limit < d->base ? limit : d->base;
}

/* Lines for SHARE in TEXT (RESCTRL_LINE bytes).  True when it is less than all of
 * something. */
static bool format_schemata(const struct resctrl_control *c,
                            const struct cache_share *share, char *text)
{
    const struct resctrl_resource *resources[] = {&c->info.cache,
                                                  &c->info.bandwidth};
    bool limited = false;
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < 2; i++) {
        const struct resctrl_resource *r = resources[i];
        for (size_t k = 0; k < r->domains && used < RESCTRL_LINE - 32; k++) {
            const struct resctrl_domain *d = &r->domain[k];
            struct cache_share s = share_of(c, d->id, share);
            uint64_t value = i == 0 ? mask_of(&c->info, d, &s)
                                    : bandwidth_of(&c->info, d, &s);
            limited |= value != d->base;
            used += (size_t)snprintf(text + used, RESCTRL_LINE - used,
                                     i == 0 ? "%s%s%d=%" PRIx64
                                            : "%s%s%d=%" PRIu64,
                                     k ? "" : r->name, k ? ";" : ":", d->id,
                                     value);
        }
        if (r->domains && used < RESCTRL_LINE - 1)
            used += (size_t)snprintf(text + used, RESCTRL_LINE - used, "\n");
    }
    return limited;
}

/* ---- groups -------------------------------------------------------------- */

static struct group *find(const struct resctrl_control *c, uint32_t job)
{
    struct group *g = c->groups;

    while (g && g->job != job)
        g = g->next;
    return g;
}

static int path_of(const struct resctrl_control *c, uint32_t job,
                   const char *file, char path[PATH_MAX], struct errtext *err)
{
    if (snprintf(path, PATH_MAX, "%s/%s%" PRIu32 "%s", c->root, c->prefix, job,
                 file) >= PATH_MAX)
        return errtext_set(err, ENAMETOOLONG, "resctrl: %.100s: too long",
                           c->root);
    return 0;
}

/* Forget the group of JOB and remove its directory. */
static void drop(struct resctrl_control *c, uint32_t job)
{
    char path[PATH_MAX];
    struct group **link = &c->groups;

    while (*link && (*link)->job != job)
        link = &(*link)->next;
    struct group *g = *link;
    if (!g)
        return;
    if (path_of(c, job, "", path, NULL) == 0)
        c->source->remove(c->source->arg, path);
    *link = g->next;
    free(g);
}

/* Why the kernel refused to take TEXT for FILE of JOB's group: ERRNUM, and what
 * it says about it. */
static int refused(const struct resctrl_control *c, uint32_t job,
                   const char *file, int errnum, struct errtext *err)
{
    char why[128] = "";

    if (perf_sysfs_line(c->root, "info/last_cmd_status", why, sizeof(why)) < 0 ||
        !strcmp(why, "ok"))
        why[0] = '\0';
    return errtext_set(err, errnum, "resctrl: job %" PRIu32 ": %s: %s%s%s%s", job,
                       file, strerror(errnum), *why ? " (" : "", why,
                       *why ? ")" : "");
}

static int write_file(struct resctrl_control *c, uint32_t job, const char *file,
                      const char *text, struct errtext *err)
{
    char path[PATH_MAX], name[32];

    snprintf(name, sizeof(name), "/%s", file);
    if (path_of(c, job, name, path, err) < 0)
        return -1;
    if (resctrl_write(path, text) == 0)
        return 0;
    return refused(c, job, file, errno, err);
}

/* Let the kernel tag CPUS for G, and remember from whom it thereby takes some. */
static int tag(struct resctrl_control *c, struct group *g,
               const struct cosched_cpuset *cpus, struct errtext *err)
{
    struct cosched_cpuset want = *cpus;
    char list[RESCTRL_LINE];

    resctrl_only_online(c->setup, &want);
    if (cpuset_equal(&want, &g->has))
        return 0;
    cpulist_format(&want, list, sizeof(list) - 1);
    strcat(list, "\n");
    if (write_file(c, g->job, "cpus_list", list, err) < 0)
        return -1;
    for (struct group *other = c->groups; other; other = other->next)
        if (other != g)
            cpuset_andnot(&other->has, &want);
    g->has = want;
    return 0;
}

static struct group *add(struct resctrl_control *c, uint32_t job,
                         struct errtext *err)
{
    struct group *g = calloc(1, sizeof(*g));
    char path[PATH_MAX];

    if (!g) {
        errtext_set(err, ENOMEM, "resctrl: out of memory");
        return NULL;
    }
    if (path_of(c, job, "", path, err) < 0 ||
        c->source->make(c->source->arg, path) < 0) {
        int saved = errno;
        free(g);
        errtext_set(err, saved, "resctrl: job %" PRIu32 " is not limited: %s",
                    job, saved == ENOSPC ? "all classes of service (CLOSIDs) "
                                           "are in use"
                                         : strerror(saved));
        return NULL;
    }
    g->job = job;
    g->next = c->groups;
    return c->groups = g;
}

bool resctrl_control_has(const struct resctrl_control *c, uint32_t job)
{
    return find(c, job) != NULL;
}

int resctrl_control_set(struct resctrl_control *c, uint32_t job,
                        const struct cosched_cpuset *cpus,
                        const struct cache_share *share, struct errtext *err)
{
    char text[RESCTRL_LINE];
    bool limited = format_schemata(c, share, text);
    struct group *g = find(c, job);
    bool fresh = !g;

    if (!g && !limited)
        return 0;
    if (!g && !(g = add(c, job, err)))
        return -1;
    /* Limits first: a new group has no CPUs yet that could have other ones. */
    if (strcmp(text, g->schemata)) {
        if (write_file(c, job, "schemata", text, err) < 0)
            goto fail;
        strcpy(g->schemata, text);
    }
    if (tag(c, g, cpus, err) == 0)
        return 0;
fail:
    /* Of no use, or somebody has removed it: made again at the next occasion. */
    if (fresh || errno == ENOENT) {
        int saved = errno;
        drop(c, job);
        errno = saved;
    }
    return -1;
}

int resctrl_control_assign(struct resctrl_control *c,
                           const struct counters_job *jobs, size_t count,
                           struct errtext *err)
{
    struct group *next;
    int rc = 0, saved = 0;

    for (struct group *g = c->groups; g; g = next) {
        size_t j = 0;
        next = g->next;
        while (j < count && jobs[j].id != g->job)
            j++;
        if (j == count) {
            drop(c, g->job);
            continue;
        }
        if (tag(c, g, &jobs[j].cpus, rc ? NULL : err) == 0)
            continue;
        saved = rc ? saved : errno;
        rc = -1;
        if (errno == ENOENT)
            drop(c, g->job);
    }
    errno = saved;
    return rc;
}

/* ---- open and close ------------------------------------------------------ */

/* The cache of each CPU, by the domains that there are. */
static int find_caches(struct resctrl_control *c, struct errtext *err)
{
    const struct resctrl_resource *r =
        c->info.cache.domains ? &c->info.cache : &c->info.bandwidth;
    int id[RESCTRL_DOMAINS];

    if (!(c->cache_id = calloc(c->setup->machine->cpus, sizeof(*c->cache_id))))
        return errtext_set(err, ENOMEM, "resctrl: out of memory");
    for (size_t d = 0; d < r->domains; d++)
        id[d] = r->domain[d].id;
    if (resctrl_map_cpus(c->setup, id, r->domains, c->cache_id, err) < 0)
        return -1;
    for (size_t cpu = 0; cpu < c->setup->machine->cpus; cpu++)
        if (c->cache_id[cpu] >= 0)
            c->cache_id[cpu] = id[c->cache_id[cpu]];
    return 0;
}

static int clean_up(const struct resctrl_control *c, struct errtext *err)
{
    char other[NAME_MAX + 1], list[RESCTRL_LINE];

    if (resctrl_sweep(c->setup, c->source, c->root, other, list) < 0)
        return errtext_set(err, errno, "resctrl: %s: %s", c->root,
                           strerror(errno));
    if (*other)
        return errtext_set(err, EBUSY, "resctrl: control group %.100s of another "
                           "tool has CPUs %.40s", other, list);
    return 0;
}

struct resctrl_control *resctrl_control_new(const struct counters_setup *setup,
                                            const struct resctrl_source *source,
                                            struct errtext *err)
{
    struct resctrl_control *c = calloc(1, sizeof(*c));

    if (!c) {
        errtext_set(err, ENOMEM, "resctrl: out of memory");
        return NULL;
    }
    c->setup = setup;
    c->source = source;
    c->root = resctrl_root(setup);
    c->prefix = resctrl_prefix(setup);
    if (!c->root || !c->prefix)
        errtext_set(err, ENOMEM, "resctrl: out of memory");
    else if (resctrl_info_read(c->root, setup->procfs, &c->info, err) == 0 &&
             find_caches(c, err) == 0 && clean_up(c, err) == 0)
        return c;
    resctrl_control_free(c);
    return NULL;
}

const struct resctrl_info *resctrl_control_info(const struct resctrl_control *c)
{
    return &c->info;
}

void resctrl_control_free(struct resctrl_control *c)
{
    if (!c)
        return;
    int saved = errno;
    while (c->groups)
        drop(c, c->groups->job);
    free(c->cache_id);
    free(c->prefix);
    free(c->root);
    free(c);
    errno = saved;
}

void resctrl_control_sweep(const struct counters_setup *setup,
                           const struct resctrl_source *source)
{
    char *root = resctrl_root(setup);

    if (root)
        resctrl_sweep(setup, source, root, NULL, NULL);
    free(root);
}
