/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What resctrl counts here, its groups, and what crashed agents left in it. */

#include "node_agent/counters/resctrl_private.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node_agent/counters/perf_sysfs.h"
#include "protocol/cpulist.h"

const char *const resctrl_files[FILES] = {
    [LOCAL] = "mbm_local_bytes",
    [TOTAL] = "mbm_total_bytes",
    [OCCUPANCY] = "llc_occupancy",
};

__attribute__((format(printf, 3, 4))) bool
resctrl_path(char path[PATH_MAX], const struct resctrl *r, const char *format, ...)
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

char *resctrl_root(const struct counters_setup *setup)
{
    char *root;
    int rc = setup->argument && setup->argument[0]
                 ? asprintf(&root, "%s", setup->argument)
                 : asprintf(&root, "%s/fs/resctrl", setup->sysfs);

    return rc < 0 ? NULL : root;
}

unsigned long long resctrl_start_time(const char *procfs, long pid)
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

char *resctrl_prefix(const struct counters_setup *setup)
{
    long pid = (long)getpid();
    char *prefix;

    return asprintf(&prefix, RESCTRL_TAG "%ld.%llu.", pid,
                    resctrl_start_time(setup->procfs, pid)) < 0
               ? NULL
               : prefix;
}

int resctrl_write(const char *path, const char *text)
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

void resctrl_only_online(const struct counters_setup *setup,
                         struct cosched_cpuset *set)
{
    char list[RESCTRL_LINE];
    struct cosched_cpuset online;

    if (perf_sysfs_line(setup->sysfs, "devices/system/cpu/online", list,
                        sizeof(list)) == 0 &&
        cpulist_parse(list, &online, NULL) == 0)
        cpuset_and(set, &online);
}

/* NAME is of an agent that no longer lives. */
static bool left_behind(const char *procfs, const char *name)
{
    long pid;
    unsigned long long start;
    unsigned job;
    int end = 0;

    return sscanf(name, RESCTRL_TAG "%ld.%llu.%u%n", &pid, &start, &job, &end) == 3 &&
           !name[end] && resctrl_start_time(procfs, pid) != start;
}

int resctrl_sweep(const struct counters_setup *setup,
                  const struct resctrl_source *source, const char *dir,
                  char *other, char *list)
{
    char path[PATH_MAX], line[RESCTRL_LINE];
    struct dirent *entry;
    DIR *groups = opendir(dir);

    if (other)
        *other = '\0';
    if (!groups)
        return -1;
    while ((entry = readdir(groups))) {
        const char *name = entry->d_name;
        if (name[0] == '.' || snprintf(path, sizeof(path), "%s/%s", dir, name) >=
                                  (int)sizeof(path))
            continue;
        if (left_behind(setup->procfs, name))
            source->remove(source->arg, path);
        else if (other && perf_sysfs_line(path, "cpus_list", line,
                                          sizeof(line)) == 0 && line[0]) {
            strcpy(other, name);
            strcpy(list, line);
        }
    }
    closedir(groups);
    return 0;
}

/* Remove what crashed agents left; refuse where another tool monitors CPUs. */
static int clean_up(const struct resctrl *r, struct errtext *err)
{
    char path[PATH_MAX], other[NAME_MAX + 1], list[RESCTRL_LINE];

    if (!resctrl_path(path, r, "mon_groups"))
        return errtext_set(err, ENAMETOOLONG, "resctrl: %s: too long", r->root);
    if (resctrl_sweep(r->setup, r->source, path, other, list) < 0)
        return errtext_set(err, errno == ENOENT ? ENOTSUP : errno,
                           "resctrl: %s: %s", path, strerror(errno));
    if (*other)
        return errtext_set(err, EBUSY, "resctrl: group %.100s of another tool "
                           "monitors CPUs %.40s", other, list);
    return 0;
}

static int find_features(struct resctrl *r, struct errtext *err)
{
    char path[PATH_MAX], line[64];
    struct stat st;
    bool any = false;

    if (stat(r->root, &st) < 0)
        return errtext_set(err, ENOTSUP, "resctrl: %s: %s (CPU or kernel "
                           "without resctrl)", r->root, strerror(errno));
    if (!resctrl_path(path, r, "info") || stat(path, &st) < 0)
        return errtext_set(err, ENOTSUP, "resctrl: nothing mounted at %s "
                           "(mount -t resctrl resctrl %s)", r->root, r->root);
    FILE *f = resctrl_path(path, r, "info/L3_MON/mon_features") ? fopen(path, "re")
                                                             : NULL;
    if (!f)
        return errtext_set(err, ENOTSUP, "resctrl: %s: %s (this CPU allocates "
                           "but does not monitor)", path, strerror(errno));
    while (fgets(line, sizeof(line), f))
        for (size_t i = 0; i < FILES; i++) {
            line[strcspn(line, "\n")] = '\0';
            r->has[i] |= !strcmp(line, resctrl_files[i]);
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

    if (!resctrl_path(path, r, "mon_data"))
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

int resctrl_map_cpus(const struct counters_setup *s, const int *id,
                     size_t domains, int *domain, struct errtext *err)
{
    char file[96], text[16];

    for (size_t c = 0; c < s->machine->cpus; c++) {
        domain[c] = -1;
        if (s->llc_domain[c] < 0)
            continue;
        snprintf(file, sizeof(file),
                 "devices/system/cpu/cpu%zu/cache/index3/id", c);
        if (perf_sysfs_line(s->sysfs, file, text, sizeof(text)) == 0) {
            for (size_t d = 0; d < domains; d++)
                if (id[d] == atoi(text))
                    domain[c] = (int)d;
        } else if (domains == s->machine->llc_domains) {
            domain[c] = s->llc_domain[c];
        } else if (domains == 1) {
            domain[c] = 0;
        }
        if (domain[c] < 0)
            return errtext_set(err, ENOTSUP, "resctrl: CPU %zu: its cache is "
                               "none of resctrl's", c);
    }
    return 0;
}

static int map_cpus(struct resctrl *r, struct errtext *err)
{
    r->domain = malloc(r->setup->machine->cpus * sizeof(*r->domain));
    if (!r->domain)
        return errtext_set(err, ENOMEM, "resctrl: out of memory");
    return resctrl_map_cpus(r->setup, r->domain_id, r->domains, r->domain, err);
}

int resctrl_find(struct resctrl *r, struct errtext *err)
{
    return find_features(r, err) < 0 || find_domains(r, err) < 0 ||
                   map_cpus(r, err) < 0 || clean_up(r, err) < 0
               ? -1
               : 0;
}
