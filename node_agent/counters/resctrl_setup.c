/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What resctrl offers here, and what crashed agents left in it. */

#include "node_agent/counters/resctrl_private.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "node_agent/counters/perf_sysfs.h"

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
    for (int i = 2; field && i < 22; i++)
        field = strchr(field + 1, ' ');
    if (field)
        start = strtoull(field + 1, NULL, 10);
    return start;
}

/* NAME is of an agent that no longer lives. */
static bool left_behind(const struct resctrl *r, const char *name)
{
    long pid;
    unsigned long long start;
    unsigned job;
    int end = 0;

    return sscanf(name, RESCTRL_TAG "%ld.%llu.%u%n", &pid, &start, &job, &end) == 3 &&
           !name[end] && resctrl_start_time(r->setup->procfs, pid) != start;
}

/* Remove what crashed agents left; refuse where another tool monitors CPUs. */
static int clean_up(const struct resctrl *r, struct errtext *err)
{
    char path[PATH_MAX], file[NAME_MAX + 64], list[RESCTRL_LINE];
    struct dirent *entry;
    int rc = 0;

    if (!resctrl_path(path, r, "mon_groups"))
        return errtext_set(err, ENAMETOOLONG, "resctrl: %s: too long", r->root);
    DIR *dir = opendir(path);
    if (!dir)
        return errtext_set(err, errno == ENOENT ? ENOTSUP : errno,
                           "resctrl: %s: %s", path, strerror(errno));
    while (rc == 0 && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        if (left_behind(r, entry->d_name)) {
            if (resctrl_path(path, r, "mon_groups/%s", entry->d_name))
                r->source->remove(r->source->arg, path);
            continue;
        }
        snprintf(file, sizeof(file), "mon_groups/%s/cpus_list", entry->d_name);
        if (perf_sysfs_line(r->root, file, list, sizeof(list)) == 0 && list[0])
            rc = errtext_set(err, EBUSY, "resctrl: group %s of another tool "
                             "monitors CPUs %.40s", entry->d_name, list);
    }
    closedir(dir);
    return rc;
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

/* CPU -> domain by the cache ids; by order where the kernel does not tell. */
static int map_cpus(struct resctrl *r, struct errtext *err)
{
    const struct counters_setup *s = r->setup;
    char file[96], text[16];

    r->domain = malloc(s->machine->cpus * sizeof(*r->domain));
    if (!r->domain)
        return errtext_set(err, ENOMEM, "resctrl: out of memory");
    for (size_t c = 0; c < s->machine->cpus; c++) {
        r->domain[c] = -1;
        if (s->cpu_node[c] < 0)
            continue;
        snprintf(file, sizeof(file),
                 "devices/system/cpu/cpu%zu/cache/index3/id", c);
        if (perf_sysfs_line(s->sysfs, file, text, sizeof(text)) == 0) {
            int id = atoi(text);
            for (size_t d = 0; d < r->domains; d++)
                if (r->domain_id[d] == id)
                    r->domain[c] = (int)d;
        } else if (r->domains == s->machine->cpu_nodes) {
            r->domain[c] = s->cpu_node[c];
        } else if (r->domains == 1) {
            r->domain[c] = 0;
        }
        if (r->domain[c] < 0)
            return errtext_set(err, ENOTSUP, "resctrl: CPU %zu: no mon_L3_ID "
                               "for its cache", c);
    }
    return 0;
}

int resctrl_find(struct resctrl *r, struct errtext *err)
{
    return find_features(r, err) < 0 || find_domains(r, err) < 0 ||
                   map_cpus(r, err) < 0 || clean_up(r, err) < 0
               ? -1
               : 0;
}
