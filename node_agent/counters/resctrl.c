/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Memory traffic and cache of each job, from the kernel's resctrl. */

#include "node_agent/counters/resctrl.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
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

#define RESCTRL_TAG "coschedd." /* how names of our groups begin */
#define RESCTRL_LINE 4096 /* of a list of CPUs */

enum resctrl_file { LOCAL, TOTAL, OCCUPANCY, FILES };

/* Names of the files, and of the features likewise. */
static const char *const files[FILES] = {
    [LOCAL] = "mbm_local_bytes",
    [TOTAL] = "mbm_total_bytes",
    [OCCUPANCY] = "llc_occupancy",
};

/* A counter of a group in a domain. */
struct resctrl_reading {
    uint64_t value;
    bool valid; /* as it was when last looked at */
};

/* A job; its directory exists when `made`. */
struct resctrl_group {
    uint32_t job;
    struct cosched_cpuset wanted; /* CPUs that it has */
    struct cosched_cpuset has;    /* and that the kernel tags */
    bool made;
    struct resctrl_reading *reading; /* [domains * FILES] */
};

struct resctrl {
    const struct counters_setup *setup;
    const struct resctrl_source *source;
    char *root;
    char *prefix;     /* "coschedd.PID.START." */
    bool has[FILES];
    size_t domains;
    int *domain_id;   /* [domains] the kernel's */
    int *domain;      /* [cpus] CPU -> index of its domain, -1 */
    struct resctrl_group *group;
    size_t groups;
    uint64_t waited_ns;    /* since a group could not be made */
    uint64_t occupancy_ns; /* since occupancy was read */
    bool told_groups, told_values;
};

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

/* ---- files --------------------------------------------------------------- */

/* Path of the file that FORMAT names below the root.  False: too long. */
__attribute__((format(printf, 3, 4))) static bool
path_of(char path[PATH_MAX], const struct resctrl *r, const char *format, ...)
{
    int n = snprintf(path, PATH_MAX, "%s/", r->root);
    va_list ap;

    if (n >= PATH_MAX)
        return false;
    va_start(ap, format);
    int m = vsnprintf(path + n, (size_t)(PATH_MAX - n), format, ap);
    va_end(ap);
    return m < PATH_MAX - n;
}

/* Write TEXT to the file PATH in one piece.  -1 with errno, the kernel's. */
static int write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    if (!f)
        return -1;
    int rc = fputs(text, f) < 0 ? -1 : 0;
    int saved = errno;
    if (fclose(f) != 0 && rc == 0) {
        rc = -1; /* the kernel answers to the write that closing does */
        saved = errno;
    }
    errno = saved;
    return rc;
}

/* The CPUs of SET that are online: the kernel refuses lists with others. */
static void only_online(const struct counters_setup *setup,
                        struct cosched_cpuset *set)
{
    char list[RESCTRL_LINE];
    struct cosched_cpuset online;

    if (perf_sysfs_line(setup->sysfs, "devices/system/cpu/online", list,
                        sizeof(list)) == 0 &&
        cpulist_parse(list, &online, NULL) == 0)
        cpuset_and(set, &online);
}

/* Start time of process PID in the kernel's ticks.  0: it does not live. */
static unsigned long long start_time(const char *procfs, long pid)
{
    char path[PATH_MAX], text[1024];
    unsigned long long start = 0;

    snprintf(path, sizeof(path), "%s/%ld/stat", procfs, pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    size_t got = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[got] = '\0';
    /* Field 22; the name, field 2, may hold anything but ends at the last ). */
    char *field = strrchr(text, ')');
    if (field && (!strncmp(field, ") Z", 3) || !strncmp(field, ") X", 3)))
        return 0; /* has ended, but its parent has not looked */
    for (int i = 2; field && i < 22; i++)
        field = strchr(field + 1, ' ');
    if (field)
        start = strtoull(field + 1, NULL, 10);
    return start;
}

/* ---- groups -------------------------------------------------------------- */

static bool group_path(char path[PATH_MAX], const struct resctrl *r,
                       const struct resctrl_group *g, const char *file)
{
    return path_of(path, r, "mon_groups/%s%" PRIu32 "%s", r->prefix,
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

    only_online(r->setup, &want);
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
    if (write_file(path, list) < 0) {
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
             r->prefix, g->job, r->domain_id[d], files[file]);
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

/* ---- what there is -------------------------------------------------------- */

static int find_features(struct resctrl *r, struct errtext *err)
{
    char path[PATH_MAX], line[64];
    struct stat st;
    bool any = false;

    if (stat(r->root, &st) < 0)
        return errtext_set(err, ENOTSUP, "resctrl: %s: %s (CPU or kernel "
                           "without resctrl)", r->root, strerror(errno));
    if (!path_of(path, r, "info") || stat(path, &st) < 0)
        return errtext_set(err, ENOTSUP, "resctrl: nothing mounted at %s "
                           "(mount -t resctrl resctrl %s)", r->root, r->root);
    FILE *f = path_of(path, r, "info/L3_MON/mon_features") ? fopen(path, "re")
                                                           : NULL;
    if (!f)
        return errtext_set(err, ENOTSUP, "resctrl: %s: %s (this CPU allocates "
                           "but does not monitor)", path, strerror(errno));
    while (fgets(line, sizeof(line), f))
        for (size_t i = 0; i < FILES; i++) {
            line[strcspn(line, "\n")] = '\0';
            r->has[i] |= !strcmp(line, files[i]);
        }
    fclose(f);
    for (size_t i = 0; i < FILES; i++)
        any |= r->has[i];
    if (!any)
        return errtext_set(err, ENOTSUP, "resctrl: %s names neither traffic "
                           "nor occupancy", path);
    return 0;
}

static int by_value(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) -
           (*(const int *)a < *(const int *)b);
}

/* Cache ids of the domains, from the directories of the default group. */
static int find_domains(struct resctrl *r, struct errtext *err)
{
    char path[PATH_MAX];
    struct dirent *entry;

    if (!path_of(path, r, "mon_data"))
        return errtext_set(err, ENAMETOOLONG, "resctrl: %s: too long", r->root);
    DIR *dir = opendir(path);
    if (!dir)
        return errtext_set(err, errno == ENOENT ? ENOTSUP : errno,
                           "resctrl: %s: %s", path, strerror(errno));
    r->domain_id = calloc(COSCHED_MAX_CPUS, sizeof(*r->domain_id));
    while (r->domain_id && r->domains < COSCHED_MAX_CPUS &&
           (entry = readdir(dir))) {
        const char *digits = entry->d_name + 7;
        if (!strncmp(entry->d_name, "mon_L3_", 7) &&
            isdigit((unsigned char)*digits))
            r->domain_id[r->domains++] = atoi(digits);
    }
    closedir(dir);
    if (!r->domain_id)
        return errtext_set(err, ENOMEM, "resctrl: out of memory");
    if (!r->domains)
        return errtext_set(err, ENOTSUP, "resctrl: %s: no mon_L3_ID", path);
    qsort(r->domain_id, r->domains, sizeof(int), by_value);
    return 0;
}

/* The index of each CPU's domain, -1 for CPUs of no LLC domain.  By order where the
 * kernel does not tell the ids of caches.  -1 with errno ENOTSUP or ENOMEM. */
static int map_cpus(struct resctrl *r, struct errtext *err)
{
    const struct counters_setup *s = r->setup;
    char file[96], text[16];

    if (!(r->domain = malloc(s->machine->cpus * sizeof(*r->domain))))
        return errtext_set(err, ENOMEM, "resctrl: out of memory");
    for (size_t c = 0; c < s->machine->cpus; c++) {
        r->domain[c] = -1;
        if (s->llc_domain[c] < 0)
            continue;
        snprintf(file, sizeof(file),
                 "devices/system/cpu/cpu%zu/cache/index3/id", c);
        if (perf_sysfs_line(s->sysfs, file, text, sizeof(text)) == 0) {
            for (size_t d = 0; d < r->domains; d++)
                if (r->domain_id[d] == atoi(text))
                    r->domain[c] = (int)d;
        } else if (r->domains == s->machine->llc_domains) {
            r->domain[c] = s->llc_domain[c];
        } else if (r->domains == 1) {
            r->domain[c] = 0;
        }
        if (r->domain[c] < 0)
            return errtext_set(err, ENOTSUP, "resctrl: CPU %zu: its cache is "
                               "none of resctrl's", c);
    }
    return 0;
}

/* NAME is of an agent that no longer lives. */
static bool left_behind(const char *procfs, const char *name)
{
    long pid;
    unsigned long long start;
    unsigned job;
    int end = 0;

    return sscanf(name, RESCTRL_TAG "%ld.%llu.%u%n", &pid, &start, &job, &end) == 3 &&
           !name[end] && start_time(procfs, pid) != start;
}

/* Remove what crashed agents left; refuse where another tool monitors CPUs. */
static int clean_up(const struct resctrl *r, struct errtext *err)
{
    char path[PATH_MAX], group[PATH_MAX], list[RESCTRL_LINE];
    struct dirent *entry;
    int rc = 0;

    if (!path_of(path, r, "mon_groups"))
        return errtext_set(err, ENAMETOOLONG, "resctrl: %s: too long", r->root);
    DIR *groups = opendir(path);
    if (!groups)
        return errtext_set(err, errno == ENOENT ? ENOTSUP : errno,
                           "resctrl: %s: %s", path, strerror(errno));
    while ((entry = readdir(groups))) {
        const char *name = entry->d_name;
        if (name[0] == '.' || !path_of(group, r, "mon_groups/%s", name))
            continue;
        if (left_behind(r->setup->procfs, name))
            r->source->remove(r->source->arg, group);
        else if (perf_sysfs_line(group, "cpus_list", list, sizeof(list)) == 0 &&
                 list[0])
            rc = errtext_set(err, EBUSY, "resctrl: group %.100s of another tool "
                             "monitors CPUs %.40s", name, list);
    }
    closedir(groups);
    errno = EBUSY; /* if at all */
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

/* Root of resctrl: SETUP's argument, else where it is below sysfs.  The caller
 * frees it; NULL when out of memory. */
static char *find_root(const struct counters_setup *setup)
{
    char *root;
    int rc = setup->argument && setup->argument[0]
                 ? asprintf(&root, "%s", setup->argument)
                 : asprintf(&root, "%s/fs/resctrl", setup->sysfs);

    return rc < 0 ? NULL : root;
}

/* How the names of this process's groups begin: "coschedd.PID.START.".  The
 * caller frees it; NULL when out of memory. */
static char *make_prefix(const struct counters_setup *setup)
{
    long pid = (long)getpid();
    char *prefix;

    return asprintf(&prefix, RESCTRL_TAG "%ld.%llu.", pid,
                    start_time(setup->procfs, pid)) < 0
               ? NULL
               : prefix;
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
    r->root = find_root(setup);
    r->prefix = make_prefix(setup);
    if (!r->root || !r->prefix)
        errtext_set(err, ENOMEM, "resctrl: out of memory");
    else if (find_features(r, err) == 0 && find_domains(r, err) == 0 &&
             map_cpus(r, err) == 0 && clean_up(r, err) == 0) {
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
