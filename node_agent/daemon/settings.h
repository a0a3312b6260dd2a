/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedd's command line. */

#ifndef COSCHED_SETTINGS_H
#define COSCHED_SETTINGS_H

#include <stdbool.h>

#include "node_agent/daemon/server.h"
#include "protocol/layout.h"
#include "protocol/options.h"

#define SETTINGS_PATH_MAX 512

struct settings {
    bool foreground;
    bool check; /* these settings, and end */
    char socket[SETTINGS_PATH_MAX];
    char state[SETTINGS_PATH_MAX];
    char records[SETTINGS_PATH_MAX];
    char helper[SETTINGS_PATH_MAX];
    char pidfile[SETTINGS_PATH_MAX]; /* "": none */
    char node[64];
    char munge_socket[SETTINGS_PATH_MAX]; /* "": munge's default */
    enum server_auth auth;
    bool slurm; /* talk to Slurm through the helper */
    char counters[SETTINGS_PATH_MAX]; /* as counters_open() takes it; "": as
                                         slurm.conf has it */
    char replay[SETTINGS_PATH_MAX];   /* "": serve; else a recording */
    bool policy_given;                /* --policy, for --replay */
    char policy[64];
    char machine[SETTINGS_PATH_MAX]; /* its description; "": hwloc's */
    char weights[SETTINGS_PATH_MAX]; /* of predictors of concurrency; "": none */
    bool machine_given;  /* else it is the default, which may be absent */
    int log_level;
    bool restrict_cpus;
    struct cosched_cpuset cpus; /* with restrict_cpus */
    /* --policy and --set, as SchedulerParameters entries; they apply
     * on top of what slurm.conf says (node_config.h). */
    char overrides[1024];
};

/* Parse the command line.  0: go on; 1: --help, --version or --check, done;
 * -1 with errno EINVAL and ERR. */
int settings_parse(struct settings *settings, int argc, char **argv,
                   struct errtext *err);

#endif /* COSCHED_SETTINGS_H */
