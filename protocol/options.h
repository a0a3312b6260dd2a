/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The user's and the administrator's options: one table for parser, default,
 * help text and manual. */

#ifndef COSCHED_OPTIONS_H
#define COSCHED_OPTIONS_H

/* Concept
 *
 * Job options are the value of --coschedule: comma separated, each a
 * key=value pair or a bare policy name ("nupoco" is "policy=nupoco").  The
 * empty string and the text "(null)" (what Slurm passes for an option without
 * value) mean all defaults.
 *
 * Node options are the entries cosched_KEY=VALUE of SchedulerParameters in
 * slurm.conf.  Entries without that prefix belong to Slurm and are skipped.
 * As entries are comma separated, the options of a policy are separated by
 * semicolons and set with a colon: cosched_policy_options=gain:0.1;effort:50.
 * cosched_KEY@PARTITION=VALUE is for the nodes of that partition.
 *
 * Node options come in layers, each on top of the one before: defaults,
 * slurm.conf, slurm.conf for one of the node's partitions, the agent's command
 * line.  policy_options belong to the policy that is set in the same layer or
 * below: a layer that sets another policy starts from that policy's defaults.
 *
 * Parsing validates everything before it changes anything: on error the
 * structure is untouched and the text names the entry as typed and what is
 * allowed.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/errtext.h"

#define OPTIONS_POLICY_MAX 32
#define OPTIONS_TEXT_MAX 128

/* How processes that do not cooperate are held to their share. */
enum enforcement {
    ENFORCEMENT_AFFINITY, /* sched_setaffinity on all threads */
    ENFORCEMENT_CPUSET,   /* cpuset cgroup; affinity, with a warning, where
                             there is none */
    ENFORCEMENT_AUTO,     /* cpuset cgroup where Slurm has made one */
};

/* What a user may ask for.  "Unset" differs from any value. */
struct job_options {
    char policy[OPTIONS_POLICY_MAX]; /* "": the node's policy */
    int ults;      /* threads per core, 1..64; 0: unset, runtime chooses */
    int min_cores; /* 0: unset (1) */
    int max_cores; /* 0: unset (no limit) */
    /* Importance in the policies' objectives, 0.1..10, 1 is normal; 0: unset
     * (1).  That it is within what the user's QOS allows is for the controller
     * (job_submit.lua) to see to; the first announcement of a job counts. */
    double weight;
    int report; /* 1: a summary ends the output, -1: none; 0: unset (none) */
    int libgomp; /* 1: programs keep their own; 0: ours, also where unset */
    int objective; /* what it wants least of; 0: as the site says (unset), 1: time, 2: energy,
                      3: energy-delay product */
    int interleave; /* memory that is touched before the first region: 0: as is better on this
                       machine, also where unset, 1: on all NUMA nodes in turn, 2: where it is
                       touched */
};

/* Of job_options.interleave. */
enum { OPTION_INTERLEAVE_AUTO, OPTION_INTERLEAVE_SERIAL, OPTION_INTERLEAVE_OFF };

/* What is written into AdminComment. */
enum report_level {
    REPORT_ALL,   /* a first summary while the job runs, and the final one */
    REPORT_FINAL, /* the final one */
    REPORT_NONE,
};

#define OPTIONS_POLICY "corun" /* where nobody names one */

/* What an administrator may set. */
struct node_options {
    char policy[OPTIONS_POLICY_MAX]; /* cosched_policy, OPTIONS_POLICY */
    /* cosched_policy_options, none; "NAME:VALUE;NAME:VALUE" in form, but which
     * names and values there are is the policy's (model/policy.h) */
    char policy_options[OPTIONS_TEXT_MAX];
    uint64_t epoch_ns;       /* cosched_epoch, 50ms; 10ms..10s */
    uint64_t profile_ns;     /* cosched_profile, 150ms; 0..60s */
    int probe_percent;       /* cosched_probe, 2: of a region's time; 0..100 */
    uint64_t clean_ns;       /* cosched_clean, 0: a job's first regions alone; 0..60s */
    uint64_t min_region_ns; /* cosched_min_region, 100ms; 0..60s */
    uint64_t attach_ns;      /* cosched_attach_timeout, 1s; 100ms..60s */
    uint64_t slice_ns;       /* cosched_slice, 2s: turn when jobs > cores */
    uint64_t lease_ns;       /* cosched_lease, 1s: agent counted as dead */
    uint64_t forget_ns;      /* cosched_forget, 1h: an epilog counted as lost */
    int fairness_percent;    /* cosched_fairness, 25; 0..100: margin of the
                                fairness bound of every policy; 100: no bound */
    int max_jobs;            /* cosched_max_jobs, 0..1024: so many have cores at a
                                time, more take turns; 0: as many as there are */
    int enforcement;         /* cosched_enforcement, enum enforcement */
    int report;              /* cosched_report, enum report_level */
    char counters[OPTIONS_TEXT_MAX]; /* cosched_counters, auto */
    /* cosched_collector, none; HOST or HOST:PORT: who writes final records */
    char collector[OPTIONS_TEXT_MAX];
};

/* Where a value is from, weakest first. */
enum option_source {
    OPTION_DEFAULT,
    OPTION_SLURM_CONF,
    OPTION_PARTITION, /* slurm.conf, for a partition of this node */
    OPTION_COMMAND_LINE,
};

#define NODE_OPTIONS_MAX 32    /* room for so many options */
#define OPTIONS_PARTITION_MAX 64

/* Where each of the node's options is from, by its number (0 ..
 * node_option_count() - 1). */
struct node_origins {
    struct {
        enum option_source source;
        char partition[OPTIONS_PARTITION_MAX]; /* of OPTION_PARTITION */
    } option[NODE_OPTIONS_MAX];
};

/* What node_options_apply() refuses: text of one line, "" for nothing. */
struct node_problems {
    size_t count;
    char text[1024]; /* the entries as typed with what is wrong, "; " between;
                        cut short at a whole entry */
};

/* Set *OPTIONS to the defaults. */
void job_options_init(struct job_options *options);
void node_options_init(struct node_options *options);

/* Parse the value of --coschedule.  TEXT may be NULL.  Returns 0, or -1 with
 * errno EINVAL and ERR such as
 *   "bogus: neither a policy (nupoco, greedy, ...) nor key=value (policy,
 *    ults, min_cores, max_cores)".  *OPTIONS changes only on success. */
int job_options_parse(struct job_options *options, const char *text,
                      struct errtext *err);

/* Key number I of the job options, NULL behind the last. */
const char *job_options_key(size_t i);

/* Parse the value of SchedulerParameters.  As above; starts from the defaults,
 * so that an entry removed from slurm.conf returns to its default. */
int node_options_parse(struct node_options *options, const char *text,
                       struct errtext *err);

/* Apply the entries of TEXT (may be NULL; SchedulerParameters, say) to *OPTIONS
 * as SOURCE, and note in ORIGINS what was set.  An entry that is wrong has no
 * effect and is added to PROBLEMS.  With OPTION_SLURM_CONF, entries for
 * partitions in the comma separated list MINE are applied on top, the others are
 * only checked; when OTHERS is not NULL, a partition in neither list is a
 * problem.  Other sources take no partitions. */
void node_options_apply(struct node_options *options,
                        struct node_origins *origins,
                        enum option_source source, const char *text,
                        const char *mine, const char *others,
                        struct node_problems *problems);

/* Add one to PROBLEMS: ENTRY is what is wrong. */
void node_problems_add(struct node_problems *problems, const char *entry);

/* Number of node options, name of one without prefix, number of the one called
 * NAME (node_option_count() if there is none), and its value in OPTIONS as it
 * would be typed, in BUFFER (at least OPTIONS_TEXT_MAX bytes); "" where unset. */
size_t node_option_count(void);
const char *node_option_name(size_t index);
size_t node_option_find(const char *name);
const char *node_option_value(const struct node_options *options, size_t index,
                              char *buffer, size_t size);

/* Set the option NAME of *OPTIONS back to its default, and its origin. */
void node_option_reset(struct node_options *options,
                       struct node_origins *origins, const char *name);

/* Print one line per option (key, default, meaning) for --help. */
void node_options_help(FILE *out);

/* Names of the policies, terminated by NULL.  model/policy.h has the
 * descriptors; a test holds both lists equal. */
extern const char *const options_policies[];

/* Names of enum enforcement by value, terminated by NULL. */
extern const char *const options_enforcements[];

/* Parse a duration: digits, optional fraction, unit ns, us, ms, s, m or h
 * (required unless zero).  Returns 0, or -1 with errno EINVAL or ERANGE. */
int duration_parse(const char *text, uint64_t *ns);

#endif /* COSCHED_OPTIONS_H */
