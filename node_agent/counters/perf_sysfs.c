/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Events that the kernel describes in sysfs. */

#include "node_agent/counters/perf_sysfs.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/cpulist.h"

#define DEVICES "bus/event_source/devices"

int perf_sysfs_line(const char *sysfs, const char *file, char *text,
                    size_t size)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/%s", sysfs, file) >=
        (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    errno = ENODATA;
    char *got = fgets(text, (int)size, f);
    int saved = errno;
    fclose(f);
    errno = saved;
    if (!got)
        return -1;
    text[strcspn(text, "\n")] = '\0';
    return 0;
}

__attribute__((format(printf, 4, 5))) static int
pmu_line(const char *sysfs, char *text, size_t size, const char *format, ...)
{
    char file[512];
    va_list ap;
    int n = snprintf(file, sizeof(file), DEVICES "/");

    va_start(ap, format);
    int m = vsnprintf(file + n, sizeof(file) - (size_t)n, format, ap);
    va_end(ap);
    if (m < 0 || m >= (int)sizeof(file) - n) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return perf_sysfs_line(sysfs, file, text, size);
}

/* Put VALUE into the bits "0-7,32-35" of *WORD, lowest first.  False when they
 * are no bits, or too few. */
static bool deposit(const char *bits, uint64_t value, uint64_t *word)
{
    while (*bits) {
        char *end;
        unsigned long low = strtoul(bits, &end, 10), high = low;
        if (end == bits)
            return false;
        if (*end == '-')
            high = strtoul(end + 1, &end, 10);
        if (low > high || high > 63)
            return false;
        for (unsigned long b = low; b <= high; b++, value >>= 1)
            *word = (*word & ~(UINT64_C(1) << b)) | (value & 1) << b;
        if (*end != ',' && *end)
            return false;
        bits = end + (*end == ',');
    }
    return value == 0;
}

/* Put TERM=VALUE where the PMU's format says. */
static int set_term(const char *sysfs, const char *pmu, const char *term,
                    uint64_t value, struct perf_pmu_event *event)
{
    static const char *const words[] = {"config:", "config1:", "config2:"};
    char line[128];

    if (pmu_line(sysfs, line, sizeof(line), "%s/format/%s", pmu, term) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strncmp(line, words[i], strlen(words[i])))
            return deposit(line + strlen(words[i]), value, &event->config[i])
                       ? 0
                       : -1;
    return -1;
}

static int set_terms(const char *sysfs, const char *pmu, char *terms,
                     struct perf_pmu_event *event)
{
    char *rest = NULL;

    for (char *t = strtok_r(terms, ",", &rest); t;
         t = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(t, '='), *end = NULL;
        uint64_t value = 1; /* a term without a value is a flag */
        if (equals) {
            *equals = '\0';
            value = strtoull(equals + 1, &end, 0);
            if (end == equals + 1 || *end)
                return -1;
        }
        if (!*t || strchr(t, '/') || set_term(sysfs, pmu, t, value, event) < 0)
            return -1;
    }
    return 0;
}

static int get_type(const char *sysfs, const char *pmu, struct perf_pmu_event *event,
                    struct errtext *err)
{
    char line[32], *end;

    *event = (struct perf_pmu_event){0};
    if (pmu_line(sysfs, line, sizeof(line), "%s/type", pmu) < 0)
        return errtext_set(err, ENOENT, "%s: no such PMU", pmu);
    event->type = (uint32_t)strtoul(line, &end, 10);
    if (end == line || *end)
        return errtext_set(err, EINVAL, "%s/type: %s: not a number", pmu, line);
    return 0;
}

int perf_sysfs_terms(const char *sysfs, const char *pmu, const char *terms,
                     struct perf_pmu_event *event, struct errtext *err)
{
    char line[256];

    if (get_type(sysfs, pmu, event, err) < 0)
        return -1;
    snprintf(line, sizeof(line), "%s", terms);
    if (set_terms(sysfs, pmu, line, event) < 0)
        return errtext_set(err, EINVAL, "%s: %s: not as its format describes", pmu, terms);
    return 0;
}

int perf_sysfs_event(const char *sysfs, const char *pmu, const char *name,
                     struct perf_pmu_event *event, struct errtext *err)
{
    char line[256];

    if (get_type(sysfs, pmu, event, err) < 0)
        return -1;
    if (pmu_line(sysfs, line, sizeof(line), "%s/events/%s", pmu, name) < 0)
        return errtext_set(err, ENOENT, "%s: no event %s", pmu, name);
    if (set_terms(sysfs, pmu, line, event) < 0)
        return errtext_set(err, EINVAL,
                           "%s/events/%s: not as %s/format describes", pmu,
                           name, pmu);
    return 0;
}

int perf_sysfs_cpus(const char *sysfs, const char *pmu,
                    struct cosched_cpuset *cpus)
{
    char line[4096];

    if (pmu_line(sysfs, line, sizeof(line), "%s/cpumask", pmu) < 0)
        return -1;
    return cpulist_parse(line, cpus, NULL);
}

size_t perf_sysfs_list(const char *sysfs, const char *prefix,
                       void (*each)(void *arg, const char *pmu), void *arg)
{
    char path[PATH_MAX];
    struct dirent **entry;
    size_t count = 0;

    snprintf(path, sizeof(path), "%s/" DEVICES, sysfs);
    int all = scandir(path, &entry, NULL, versionsort);
    for (int i = 0; i < all; i++) {
        const char *name = entry[i]->d_name;
        if (!strncmp(name, prefix, strlen(prefix)) &&
            strlen(name) < PERF_PMU_NAME_MAX) {
            each(arg, name);
            count++;
        }
        free(entry[i]);
    }
    if (all >= 0)
        free(entry);
    return count;
}
