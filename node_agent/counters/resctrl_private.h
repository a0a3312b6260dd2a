/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the two halves of the resctrl backend share. */

#ifndef COSCHED_RESCTRL_PRIVATE_H
#define COSCHED_RESCTRL_PRIVATE_H

#include <limits.h>

#include "node_agent/counters/resctrl.h"

#define RESCTRL_TAG "coschedd." /* of our groups */
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

/* Start time of process PID in the kernel's ticks.  0: it does not live. */
unsigned long long resctrl_start_time(const char *procfs, long pid);

/* Look what there is: features, domains and their CPUs; remove what crashed
 * agents left.  -1 with errno and ERR as of open(). */
int resctrl_find(struct resctrl *resctrl, struct errtext *err);

#endif /* COSCHED_RESCTRL_PRIVATE_H */
