/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Energy from the kernel's powercap files. */

#include "node_agent/counters/energy.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/counters/perf_sysfs.h"

#define POWERCAP "class/powercap"
#define PREFIX "intel-rapl:"
#define MAX_ZONES 64
#define NAME_MAX_BYTES 32

struct zone {
    char name[NAME_MAX_BYTES]; /* directory, "intel-rapl:0:1" */
    int fd;                    /* of energy_uj */
    size_t package;            /* the setup's */
    uint64_t range_uj;         /* 0: not known */
    uint64_t value_uj;
    bool valid; /* value_uj is of the sample before */
};

struct powercap {
    const struct counters_setup *setup;
    struct zone zone[MAX_ZONES];
    size_t zones;
    size_t dram; /* of them */
    bool told;   /* that something is lost */
};

/* First line of FILE of zone NAME. */
static int zone_line(const char *sysfs, const char *name, const char *file,
                     char *text, size_t size)
{
    char path[NAME_MAX + 64];

    snprintf(path, sizeof(path), POWERCAP "/%s/%s", name, file);
    return perf_sysfs_line(sysfs, path, text, size);
}

static int read_energy(const struct zone *z, uint64_t *uj)
{
    char text[32], *end;
    ssize_t got = pread(z->fd, text, sizeof(text) - 1, 0);

    if (got <= 0) {
        errno = got < 0 ? errno : ENODATA;
        return -1;
    }
    text[got] = '\0';
    *uj = strtoull(text, &end, 10);
    if (end == text || !isdigit((unsigned char)text[0])) {
        errno = EBADMSG;
        return -1;
    }
    return 0;
}

/* ---- zones --------------------------------------------------------------- */

/* The setup's number of the package that the kernel calls ID. */
static size_t package_of(const struct counters_setup *setup, unsigned long id)
{
    char path[96], text[16];

    for (size_t c = 0; setup->package && c < setup->machine->cpus; c++) {
        if (setup->package[c] < 0)
            continue;
        snprintf(path, sizeof(path),
                 "devices/system/cpu/cpu%zu/topology/physical_package_id", c);
        if (perf_sysfs_line(setup->sysfs, path, text, sizeof(text)) == 0 &&
            strtoul(text, NULL, 10) == id)
            return (size_t)setup->package[c];
    }
    /* One outside the pool, or a kernel that does not say: by number. */
    return id;
}

/* What zone DIRECTORY counts: true with its *PACKAGE if that is wanted. */
static bool wanted(const struct powercap *p, const char *directory,
                   size_t *package, bool *dram)
{
    const char *sysfs = p->setup->sysfs;
    char text[64], parent[NAME_MAX_BYTES];

    if (strncmp(directory, PREFIX, strlen(PREFIX)) != 0 ||
        strlen(directory) >= sizeof(parent) ||
        zone_line(sysfs, directory, "name", text, sizeof(text)) < 0)
        return false;
    *dram = !strcmp(text, "dram");
    if (*dram) { /* "intel-rapl:0:1" is within "intel-rapl:0" */
        strcpy(parent, directory);
        char *colon = strrchr(parent, ':');
        if (colon == parent + strlen(PREFIX) - 1)
            return false;
        *colon = '\0';
        if (zone_line(sysfs, parent, "name", text, sizeof(text)) < 0)
            return false;
    }
    if (strncmp(text, "package-", 8) != 0 || !isdigit((unsigned char)text[8]))
        return false;
    *package = package_of(p->setup, strtoul(text + 8, NULL, 10));
    return *package < p->setup->packages;
}

/* Open zone DIRECTORY if it is wanted.  -1 with errno when it cannot be read. */
static int add_zone(struct powercap *p, const char *directory)
{
    struct zone *z = &p->zone[p->zones];
    char path[PATH_MAX], text[32];
    size_t package;
    bool dram;

    if (p->zones == MAX_ZONES || !wanted(p, directory, &package, &dram))
        return 0;
    *z = (struct zone){.package = package};
    strcpy(z->name, directory);
    if (zone_line(p->setup->sysfs, directory, "max_energy_range_uj", text,
                  sizeof(text)) == 0)
        z->range_uj = strtoull(text, NULL, 10);
    snprintf(path, sizeof(path), "%s/" POWERCAP "/%s/energy_uj",
             p->setup->sysfs, directory);
    z->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (z->fd < 0)
        return -1;
    if (read_energy(z, &z->value_uj) < 0) {
        int saved = errno;
        close(z->fd);
        errno = saved;
        return -1;
    }
    z->valid = true;
    p->zones++;
    p->dram += dram;
    return 0;
}

static void powercap_close(void *state)
{
    struct powercap *p = state;

    if (!p)
        return;
    for (size_t i = 0; i < p->zones; i++)
        close(p->zone[i].fd);
    free(p);
}

static int powercap_open(const struct counters_setup *setup, void **state,
                         struct errtext *err)
{
    char path[PATH_MAX];
    struct dirent *entry;
    int failed = 0;

    snprintf(path, sizeof(path), "%s/" POWERCAP, setup->sysfs);
    DIR *dir = opendir(path);
    if (!dir)
        return errtext_set(err, ENOTSUP, "powercap: %s: %s", path,
                           strerror(errno));
    struct powercap *p = calloc(1, sizeof(*p));
    if (!p) {
        closedir(dir);
        return errtext_set(err, ENOMEM, "powercap: out of memory");
    }
    p->setup = setup;
    while ((entry = readdir(dir)))
        if (add_zone(p, entry->d_name) < 0)
            failed = errno;
    closedir(dir);
    /* A package without one of its parts would be a wrong sum. */
    if (failed || !p->zones) {
        powercap_close(p);
        if (!failed)
            return errtext_set(err, ENOTSUP,
                               "powercap: %s: no " PREFIX "N of a package",
                               path);
        return errtext_set(err, failed, "powercap: %s/" PREFIX "N/energy_uj: "
                           "%s%s", path, strerror(failed),
                           failed == EACCES ? " (root only)" : "");
    }
    *state = p;
    return 0;
}

/* ---- counting ------------------------------------------------------------ */

/* Joules of zone Z since the sample before, NAN if not known. */
static double increment(struct zone *z)
{
    uint64_t now, before = z->value_uj;
    bool valid = z->valid;

    z->valid = read_energy(z, &now) == 0;
    if (!z->valid)
        return NAN;
    z->value_uj = now;
    if (!valid)
        return NAN; /* would be of more than this interval */
    if (now >= before)
        return (double)(now - before) * 1e-6;
    /* It began again: from the end of its range, or nobody knows from where. */
    if (before > z->range_uj)
        return NAN;
    return (double)(z->range_uj - before + now) * 1e-6;
}

static int powercap_sample(void *state, struct sample *sample,
                           struct errtext *err)
{
    struct powercap *p = state;
    const struct zone *lost = NULL;
    bool unknown[MAX_ZONES];

    for (size_t i = 0; i < p->zones; i++) {
        double joules = increment(&p->zone[i]);
        double *sum = &sample->energy_j[p->zone[i].package];
        unknown[i] = isnan(joules);
        if (!p->zone[i].valid)
            lost = &p->zone[i];
        *sum = sample_add(*sum, joules);
    }
    /* A sum that lacks a part is no sum. */
    for (size_t i = 0; i < p->zones; i++)
        if (unknown[i])
            sample->energy_j[p->zone[i].package] = NAN;
    bool news = lost && !p->told;
    p->told = lost != NULL;
    if (!news)
        return 0;
    return errtext_set(err, EIO, "powercap: %s/energy_uj can no longer be read",
                       lost->name);
}

static void powercap_describe(const void *state,
                              struct counters_ability *ability)
{
    const struct powercap *p = state;
    struct counters_ability *a = &ability[COUNTERS_ENERGY];

    a->can = a->shared = true;
    snprintf(a->why, sizeof(a->why), "RAPL through powercap: packages%s",
             p->dram ? " and memory" : " without memory");
}

const struct counters_backend counters_powercap = {
    .name = "powercap",
    .help = "energy of the packages, from the kernel's powercap files",
    .flags = COUNTERS_SUPPLEMENT,
    .open = powercap_open,
    .sample = powercap_sample,
    .describe = powercap_describe,
    .close = powercap_close,
};
