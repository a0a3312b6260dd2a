/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Memory traffic and cache of each job, from the kernel's resctrl. */

#include "node_agent/counters/resctrl_private.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node_agent/counters/perf_sysfs.h"
#include "protocol/cpulist.h"

#define RETRY_NS UINT64_C(1000000000) /* after no group could be made */
/* Occupancy says how much, not how fast; each read interrupts a CPU of the
 * domain, so that one a second is enough. */
#define OCCUPANCY_NS UINT64_C(1000000000)

/* ---- the kernel ---------------------------------------------------------- */

static int kernel_make(void *arg, const char *path)
{
    (void)arg;
    return mkdir(path, 0755);
}

static int kernel_remove(void *arg, const char *path)
{
    (void)arg;
    return rmdir(path);
}

const struct resctrl_source resctrl_kernel = {
    .make = kernel_make,
    .remove = kernel_remove,
};

/* ---- groups -------------------------------------------------------------- */

static bool group_path(char path[PATH_MAX], const struct resctrl *r,
                       const struct resctrl_group *g, const char *file)
{
    return resctrl_path(path, r, "mon_groups/%s%" PRIu32 "%s", r->prefix,
                        g->job, file);
}

static void forget_readings(const struct resctrl *r, struct resctrl_group *g)
{
    for (size_t i = 0; i < r->domains * FILES; i++)
        g->reading[i].valid = false;
}

static void remove_group(const struct resctrl *r, struct resctrl_group *g)
{
    char path[PATH_MAX];

    if (g->made && group_path(path, r, g, ""))
        r->source->remove(r->source->arg, path);
    g->made = false;
    cpuset_zero(&g->has);
}

/* Make the directory of G if it has none, and tag its CPUs. */
static int update_group(struct resctrl *r, struct resctrl_group *g,
                        struct errtext *err)
{
    char path[PATH_MAX], list[RESCTRL_LINE];
    struct cosched_cpuset want = g->wanted;
    bool made = g->made;

    resctrl_only_online(r->setup, &want);
    if (made && !memcmp(&want, &g->has, sizeof(want)))
        return 0;
    if (!made && cpuset_empty(&want))
        return 0; /* waits for its turn: no number is spent on it */
    if (!group_path(path, r, g, ""))
        return errtext_set(err, ENAMETOOLONG, "resctrl: %s: too long", r->root);
    if (!made && r->source->make(r->source->arg, path) < 0)
        return errtext_set(err, errno, "resctrl: job %" PRIu32 ": %s", g->job,
                           errno == ENOSPC
                               ? "all monitoring numbers (RMIDs) are in use"
                               : strerror(errno));
    g->made = true;
    group_path(path, r, g, "/cpus_list");
    cpulist_format(&want, list, sizeof(list) - 1);
    strcat(list, "\n");
    if (resctrl_write(path, list) < 0) {
        int saved = errno;
        remove_group(r, g);
        return errtext_set(err, saved, "resctrl: job %" PRIu32 ": CPUs %.40s: "
                           "%s", g->job, list,
                           saved == EINVAL ? "in a control group of another "
                                             "tool"
                                           : strerror(saved));
    }
    g->has = want;
    if (!made)
        forget_readings(r, g);
    return 0;
}

/* Bring all groups to what their jobs have.  *ERR: the first failure. */
static int update_groups(struct resctrl *r, struct errtext *err)
{
    int rc = 0;

    for (size_t i = 0; i < r->groups; i++)
        if (update_group(r, &r->group[i], rc ? NULL : err) < 0)
            rc = -1;
    r->waited_ns = 0;
    bool news = rc < 0 && !r->told_groups;
    r->told_groups = rc < 0;
    return news ? -1 : 0;
}

static struct resctrl_group *find_group(struct resctrl *r, uint32_t job)
{
    for (size_t i = 0; i < r->groups; i++)
        if (r->group[i].job == job)
            return &r->group[i];
    return NULL;
}

static void drop_groups(struct resctrl *r, const struct counters_job *jobs,
                        size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->groups; i++) {
        size_t j = 0;
        while (j < count && jobs[j].id != r->group[i].job)
            j++;
        if (j < count) {
            r->group[kept++] = r->group[i];
            continue;
        }
        remove_group(r, &r->group[i]);
        free(r->group[i].reading);
    }
    r->groups = kept;
}

static int resctrl_assign(void *state, const struct counters_job *jobs,
                          size_t count, struct errtext *err)
{
    struct resctrl *r = state;

    drop_groups(r, jobs, count);
    struct resctrl_group *grown =
        realloc(r->group, (count ? count : 1) * sizeof(*grown));
    if (!grown)
        return errtext_set(err, ENOMEM, "resctrl: out of memory");
    r->group = grown;
    for (size_t j = 0; j < count; j++) {
        struct resctrl_group *g = find_group(r, jobs[j].id);
        if (!g) {
            struct resctrl_reading *reading =
                calloc(r->domains * FILES, sizeof(*reading));
            if (!reading)
                return errtext_set(err, ENOMEM, "resctrl: out of memory");
            g = &r->group[r->groups++];
            *g = (struct resctrl_group){.job = jobs[j].id, .reading = reading};
        }
        g->wanted = jobs[j].cpus;
    }
    return update_groups(r, err);
}

/* ---- counting ------------------------------------------------------------ */

/* Value of FILE of G in domain D.  False where the kernel has none to give. */
static bool read_value(const struct resctrl *r, const struct resctrl_group *g,
                       size_t d, enum resctrl_file file, uint64_t *value)
{
    char path[NAME_MAX + 64], text[32], *end;

    snprintf(path, sizeof(path), "mon_groups/%s%" PRIu32 "/mon_data/mon_L3_%02d/%s",
             r->prefix, g->job, r->domain_id[d], resctrl_files[file]);
    if (perf_sysfs_line(r->root, path, text, sizeof(text)) < 0 ||
        !isdigit((unsigned char)text[0])) /* "Unavailable" or "Error" */
        return false;
    *value = strtoull(text, &end, 10);
    return !*end;
}

/* Bytes that G moved in domain D since the look before, NAN if not known. */
static double bytes_moved(const struct resctrl *r, struct resctrl_group *g,
                          size_t d, enum resctrl_file file)
{
    struct resctrl_reading *reading = &g->reading[d * FILES + file];
    uint64_t now, before = reading->value;
    bool valid = reading->valid;

    reading->valid = read_value(r, g, d, file, &now);
    if (!reading->valid)
        return NAN;
    reading->value = now;
    if (!valid) /* would be of more than this interval */
        return NAN;
    /* The kernel widens the hardware's counters to 64 bits; what runs back by
     * less than half of that did not wrap around but began anew. */
    double moved = sample_wrap(before, now, 64);
    return now < before && moved > 0x1p63 ? NAN : moved;
}

static double occupied(const struct resctrl *r, struct resctrl_group *g,
                       size_t d)
{
    struct resctrl_reading *reading = &g->reading[d * FILES + OCCUPANCY];

    if (!reading->valid || r->occupancy_ns >= OCCUPANCY_NS)
        reading->valid = read_value(r, g, d, OCCUPANCY, &reading->value);
    return reading->valid ? (double)reading->value : NAN;
}

/* CPUs that G has in domain D, by LLC domain in COUNT[llc_domains]; their sum. */
static size_t count_cpus(const struct resctrl *r, const struct resctrl_group *g,
                         size_t d, size_t *count)
{
    size_t sum = 0;

    memset(count, 0, r->setup->machine->llc_domains * sizeof(*count));
    for (int c = -1; (c = cpuset_next(&g->has, c)) >= 0;)
        if ((size_t)c < r->setup->machine->cpus && r->domain[c] == (int)d) {
            count[r->setup->llc_domain[c]]++;
            sum++;
        }
    return sum;
}

/* What G did, into GROUP[llc_domains].  False when a value is missing. */
static bool sample_group_of(struct resctrl *r, struct resctrl_group *g,
                            struct sample_group *group)
{
    size_t nodes = r->setup->machine->llc_domains, count[nodes];
    bool all = true;

    for (size_t d = 0; d < r->domains; d++) {
        double value[FILES] = {NAN, NAN, NAN};
        size_t cpus = count_cpus(r, g, d, count);
        if (!cpus)
            continue;
        for (enum resctrl_file f = LOCAL; f <= TOTAL; f++) {
            bool first = !g->reading[d * FILES + f].valid;
            if (!r->has[f])
                continue;
            value[f] = bytes_moved(r, g, d, f) / SAMPLE_LINE_BYTES;
            all &= !isnan(value[f]) ||
                   (first && g->reading[d * FILES + f].valid);
        }
        if (r->has[OCCUPANCY])
            value[OCCUPANCY] = occupied(r, g, d);
        for (size_t n = 0; n < nodes; n++) {
            double part = (double)count[n] / (double)cpus;
            if (!count[n])
                continue;
            group[n].local = sample_add(group[n].local, value[LOCAL] * part);
            group[n].total = sample_add(group[n].total, value[TOTAL] * part);
            group[n].llc_bytes =
                sample_add(group[n].llc_bytes, value[OCCUPANCY] * part);
        }
    }
    return all;
}

static int resctrl_sample(void *state, struct sample *sample,
                          struct errtext *err)
{
    struct resctrl *r = state;
    uint32_t job[r->groups ? r->groups : 1];
    bool all = true;
    int rc = 0;

    r->waited_ns += sample->time_ns;
    if (r->told_groups && r->waited_ns >= RETRY_NS)
        rc = update_groups(r, err);
    for (size_t i = 0; i < r->groups; i++)
        job[i] = r->group[i].job;
    if (sample_set_groups(sample, job, r->groups) < 0)
        return errtext_set(err, ENOMEM, "resctrl: out of memory");
    r->occupancy_ns += sample->time_ns;
    for (size_t i = 0; i < r->groups; i++)
        if (r->group[i].made)
            all &= sample_group_of(
                r, &r->group[i],
                &sample->group[i * r->setup->machine->llc_domains]);
    if (r->occupancy_ns >= OCCUPANCY_NS)
        r->occupancy_ns = 0;
    bool news = !all && !r->told_values;
    r->told_values = !all;
    if (news && rc == 0)
        return errtext_set(err, EIO, "resctrl: the kernel has no value for a "
                                     "job (Unavailable, Error, or its group is "
                                     "gone)");
    return rc;
}

/* ---- open and close ------------------------------------------------------ */

static void resctrl_describe(const void *state,
                             struct counters_ability *ability)
{
    const struct resctrl *r = state;
    struct counters_ability *traffic = &ability[COUNTERS_JOB_TRAFFIC];
    struct counters_ability *llc = &ability[COUNTERS_JOB_LLC];

    traffic->can = r->has[TOTAL];
    snprintf(traffic->why, sizeof(traffic->why), "%s%s",
             traffic->can ? "mbm_total_bytes" : "no mbm_total_bytes",
             traffic->can && r->has[LOCAL] ? ", mbm_local_bytes" : "");
    llc->can = r->has[OCCUPANCY];
    snprintf(llc->why, sizeof(llc->why), "%sllc_occupancy",
             llc->can ? "" : "no ");
}

static void resctrl_close(void *state)
{
    struct resctrl *r = state;

    if (!r)
        return;
    drop_groups(r, NULL, 0);
    free(r->group);
    free(r->domain);
    free(r->domain_id);
    free(r->prefix);
    free(r->root);
    free(r);
}

int resctrl_open(const struct counters_setup *setup,
                 const struct resctrl_source *source, void **state,
                 struct errtext *err)
{
    struct resctrl *r = calloc(1, sizeof(*r));

    if (!r)
        return errtext_set(err, ENOMEM, "resctrl: out of memory");
    r->setup = setup;
    r->source = source;
    r->root = resctrl_root(setup);
    r->prefix = resctrl_prefix(setup);
    if (!r->root || !r->prefix)
        errtext_set(err, ENOMEM, "resctrl: out of memory");
    else if (resctrl_find(r, err) == 0) {
        *state = r;
        return 0;
    }
    int saved = errno;
    resctrl_close(r);
    errno = saved;
    return -1;
}

static int open_kernel(const struct counters_setup *setup, void **state,
                       struct errtext *err)
{
    return resctrl_open(setup, &resctrl_kernel, state, err);
}

/* Without a job there is no group and no value that could move: STILL. */
const struct counters_backend counters_resctrl = {
    .name = "resctrl",
    .help = "memory traffic and cache of each job, from the kernel's resctrl",
    .flags = COUNTERS_AUTO | COUNTERS_SUPPLEMENT | COUNTERS_STILL,
    .open = open_kernel,
    .assign = resctrl_assign,
    .sample = resctrl_sample,
    .describe = resctrl_describe,
    .close = resctrl_close,
};
