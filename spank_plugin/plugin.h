/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the contexts of the SPANK plugin share. */

#ifndef COSCHED_SPANK_PLUGIN_H
#define COSCHED_SPANK_PLUGIN_H

/* Concept
 *
 * Slurm loads the plugin into sbatch, salloc and srun (allocator, local), into each slurmstepd
 * (remote) and into the epilog's process (job_script).  One dispatcher (dispatch.c) sees all
 * hooks; each context has a file.
 *
 *   allocator, local  validate the option where the user sees the message; carry it in job
 *                     control variables as well, because --export=NONE hides options
 *   remote            in the task's process, still root: announce job and task, then set the
 *                     task's environment
 *   job_script        the epilog: withdraw the job
 *
 * On the node no hook fails: an error there drains the node or loses the job.  Without an agent
 * the job runs as an ordinary shared job and says so in one line of its output.
 */

#include <limits.h>
#include <slurm/spank.h>
#include <stdbool.h>

#include "protocol/message.h"

/* Job control variable with the option's value; the node sees it as
 * SLURM_SPANK_COSCHEDULE in a job's, SPANK_COSCHEDULE in the epilog's
 * environment. */
#define PLUGIN_CONTROL "COSCHEDULE"
#define PLUGIN_CONTROL_JOB "SLURM_SPANK_" PLUGIN_CONTROL
#define PLUGIN_CONTROL_SCRIPT "SPANK_" PLUGIN_CONTROL

/* Another one, with what of it the submitter's environment said, if anything:
 * job_submit.lua names the culprit, but sees the environment of batch jobs
 * only. */
#define PLUGIN_CONTROL_ENVIRONMENT PLUGIN_CONTROL "_ENVIRONMENT"
#define PLUGIN_CONTROL_ENVIRONMENT_JOB "SLURM_SPANK_" PLUGIN_CONTROL_ENVIRONMENT

/* The longest that a task's start, its end or the epilog waits for an agent that
 * does not answer, if plugstack.conf says nothing else. */
#define PLUGIN_TIMEOUT_MS 200

struct plugin {
    char socket[PATH_MAX];  /* socket=, may hold %n; "": default */
    char libgomp[PATH_MAX]; /* libgomp=, directory of the cooperative libgomp */
    char munge[PATH_MAX];   /* munge=, munged's socket; "": default */
    char defaults[MESSAGE_OPTIONS_MAX]; /* defaults=, the site's options */
    int timeout_ms;         /* timeout=, PLUGIN_TIMEOUT_MS */
    bool requested;         /* --coschedule was given */
    /* Its value, "" for none; completed by the environment's and the site's
     * defaults where the user submits. */
    char value[MESSAGE_OPTIONS_MAX];
    char environment[MESSAGE_OPTIONS_MAX]; /* the environment's part of it */
};

/* The process's only instance. */
extern struct plugin plugin;

/* The option, for registration and for the epilog's look-up. */
extern struct spank_option plugin_option;

/* Read the arguments of plugstack.conf.  What is not understood is reported in
 * Slurm's log and skipped. */
void plugin_args(int ac, char **av);

/* The option was given with VALUE (NULL, "" or Slurm's "(null)": none).  For the
 * node: a value that is not understood, which a submission host with another
 * version let pass, counts as none, since the job shares its node already. */
void plugin_accept(const char *value);

/* Allocator and local: hand the option on. */
void plugin_submit(spank_t spank);

/* Remote: was the option given?  Completes plugin.value by what was decided at
 * the job's submission. */
bool plugin_is_ours(spank_t spank);

/* Remote: see above.  Never fails. */
void plugin_task(spank_t spank);

/* Remote, at a task's end: with the option report, or COSCHED_REPORT=1 in the
 * job's environment, one line in the batch script's output.  Never fails. */
void plugin_summary(spank_t spank);

/* Job script: see above.  Never fails. */
void plugin_epilog(spank_t spank);

#endif /* COSCHED_SPANK_PLUGIN_H */
