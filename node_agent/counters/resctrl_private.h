/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the files about resctrl share. */

#ifndef COSCHED_RESCTRL_PRIVATE_H
#define COSCHED_RESCTRL_PRIVATE_H

#include <limits.h>

#include "node_agent/counters/resctrl.h"

#define RESCTRL_LINE 4096       /* of a list of CPUs */

enum resctrl_file { LOCAL, TOTAL, OCCUPANCY, FILES };

/* Names of the files, and of the features likewise. */
extern const char *const resctrl_files[FILES];

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

/* Path of the file that FORMAT names below the root.  False: too long. */
__attribute__((format(printf, 3, 4))) bool
resctrl_path(char path[PATH_MAX], const struct resctrl *resctrl,
             const char *format, ...);

/* Root of resctrl: SETUP's argument, else where it is below sysfs.  The caller
 * frees it; NULL when out of memory. */
char *resctrl_root(const struct counters_setup *setup);

/* Start time of process PID in the kernel's ticks.  0: it does not live. */
unsigned long long resctrl_start_time(const char *procfs, long pid);

/* How the names of this process's groups begin: "coschedd.PID.START.".  The
 * caller frees it; NULL when out of memory. */
char *resctrl_prefix(const struct counters_setup *setup);

/* Write TEXT to the file PATH in one piece.  -1 with errno, the kernel's. */
int resctrl_write(const char *path, const char *text);

/* The CPUs of SET that are online: the kernel refuses lists with others. */
void resctrl_only_online(const struct counters_setup *setup,
                         struct cosched_cpuset *set);

/* Into DOMAIN, [SETUP's cpus], the index of each CPU's domain in ID, [DOMAINS]
 * cache ids; -1 for CPUs that are none of SETUP's nodes'.  By order where the
 * kernel does not tell the ids of caches.  -1 with errno ENOTSUP. */
int resctrl_map_cpus(const struct counters_setup *setup, const int *id,
                     size_t domains, int *domain, struct errtext *err);

/* Remove from DIR, a directory with groups, those of agents that no longer live.
 * OTHER (may be NULL, NAME_MAX + 1 bytes) becomes the name of a group there that
 * has CPUs, LIST (RESCTRL_LINE bytes) these; "" if there is none.  -1 with errno:
 * it cannot be read. */
int resctrl_sweep(const struct counters_setup *setup,
                  const struct resctrl_source *source, const char *dir,
                  char *other, char *list);

/* Look what there is: features, domains and their CPUs; remove what crashed
 * agents left.  -1 with errno and ERR as of open(). */
int resctrl_find(struct resctrl *resctrl, struct errtext *err);

#endif /* COSCHED_RESCTRL_PRIVATE_H */
