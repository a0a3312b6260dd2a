/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the subcommands of coschedsim share. */

#ifndef COSCHED_SIMULATOR_COSCHEDSIM_H
#define COSCHED_SIMULATOR_COSCHEDSIM_H

#include <jansson.h>
#include <stdbool.h>

#include "common/cli.h"
#include "model/io/machine_json.h"
#include "simulator/vnode.h"

#define ARGUMENTS_VARY 8

/* The command line behind the command's name. */
struct arguments {
    const char *machine;  /* --machine, or NULL */
    const char *file;     /* scenarios, or a recording; NULL: none was named */
    const char *library;  /* --library, or NULL */
    const char *scenario; /* --scenario, or NULL: all of the file */
    const char *policy;   /* --policy P[,P...], or NULL */
    const char *options;  /* --options, entries of SchedulerParameters, or "" */
    const char *counters; /* --counters */
    const char *weights;  /* --weights, or NULL */
    const char *vary[ARGUMENTS_VARY]; /* each --vary KEY=V[,V...] */
    const char *trace;    /* --trace, or NULL */
    const char *record;   /* --record, or NULL */
    double noise;         /* --noise */
    double limit_s;       /* --limit */
    size_t seed;          /* --seed */
    int wait;             /* --wait: enum timeshare_wait */
    int network;          /* --network: enum network_method */
    bool history;         /* --history */
    bool stock;           /* --stock */
    bool json;            /* --json */
    bool csv;             /* --csv */
    bool explain;         /* --explain */
};

int command_run(const struct arguments *arguments);
int command_compare(const struct arguments *arguments);
int command_sweep(const struct arguments *arguments);
int command_replay(const struct arguments *arguments);
int command_samples(const struct arguments *arguments);

/* ---- simulating ---------------------------------------------------------- */

/* Everything that a command simulates with. */
struct world {
    const struct arguments *arguments;
    struct machine_description *machine;
    struct scenario_set *set;
    struct concurrency_model *model; /* of --weights, or NULL */
    struct standalone *alone; /* times that are known already */
    struct machine *own; /* of a recording, or NULL */
    char recorded_policy[64]; /* of a recording, "" if none */
    double recorded_s;        /* how long it is */
    const struct machine *other; /* instead of the description's, or NULL */
};

/* Load what ARGUMENTS name.  0, or an exit status with the reason printed; to be
 * closed in either case. */
int world_open(struct world *world, const struct arguments *arguments);
void world_close(struct world *world);

/* The same with the jobs of a recording (a directory), and unless --machine names
 * another one, its machine. */
int world_open_recording(struct world *world, const struct arguments *arguments);

/* A run of a scenario under a policy, and what it means. */
struct outcome {
    char policy[64]; /* as typed */
    bool history;    /* the agent had records of earlier runs, alone under the same policy */
    struct vnode_result *result;
    double alone_s[SCENARIO_MAX_JOBS]; /* turnaround of each job that has the
                                          node to itself, under the kernel */
    double hmean;   /* harmonic mean of alone_s / turnaround */
    double mean_s;  /* turnaround */
    double worst;   /* slowdown of the job that lost most */
};

/* Turnaround of job J over that alone. */
double outcome_slowdown(const struct outcome *outcome, size_t job);

/* Simulate SCENARIO under POLICY ("NAME" or "NAME:OPTION=VALUE;..."), with more
 * SchedulerParameters in OPTIONS ("").  0, or an exit status with the reason
 * printed.  Release it with outcome_release(). */
int world_simulate(struct world *world, const struct scenario *scenario,
                   const char *policy, const char *options,
                   struct outcome *outcome);
void outcome_release(struct outcome *outcome);

/* Forget how long jobs take alone: the machine or a job was changed. */
void world_forget(struct world *world);

/* *MAKESPAN_S of SCENARIO under native time sharing. */
int world_native(struct world *world, const struct scenario *scenario,
                 double *makespan_s);

/* The outcome as --json has it: a new reference, NULL without memory. */
json_t *outcome_json(const struct outcome *outcome, bool explain);

/* Call EACH for every scenario that was asked for and each policy of NAMES (comma
 * separated), until it returns another exit status than 0, which is returned.
 * NEW is true for the first policy of a scenario. */
typedef int (*world_each_f)(struct world *world,
                            const struct scenario *scenario,
                            const char *policy, bool fresh, void *arg);
int world_each(struct world *world, const char *names, world_each_f each,
               void *arg);

/* The same for one SCENARIO. */
int world_policies(struct world *world, const struct scenario *scenario,
                   const char *names, world_each_f each, void *arg);

/* Write JSON to standard output, releasing it. */
int print_json(json_t *json);

#endif /* COSCHED_SIMULATOR_COSCHEDSIM_H */
