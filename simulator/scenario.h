/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a simulated node is given to run. */

#ifndef COSCHED_SIMULATOR_SCENARIO_H
#define COSCHED_SIMULATOR_SCENARIO_H

/* Concept
 *
 * A scenario is a list of jobs that arrive at given times on one empty node.  A job runs the
 * regions of its program in order: phases one after the other, each as often as it says.  Rates of
 * a region are per microsecond of computing (CPU time without memory stalls), so they do not depend
 * on the number of cores; its work is the sum of that computing over its cores.
 *
 * Programs live in libraries (simulator/workloads/), so that a scenario can be run with the
 * parameters of several machines.  A library:
 *
 *     {"name": "NPB class D on ...", "source": "where the numbers are from",
 *      "programs": [
 *       {"name": "FT", "source": "thesis table A.4",
 *        "sleeps": false, "malleable": true,
 *        "phases": [
 *         {"regions": [{"name": "init", "kind": "serial", "work_s": 4}]},
 *         {"repeat": 25, "regions": [
 *          {"name": "cffts1", "work_s": 60, "read_per_us": 20,
 *           "write_per_us": 6, "prefetch_per_us": 0,
 *           "placement": "interleaved", "llc_per_us": 60, "llc_loss": 0.3,
 *           "imbalance": 0.02, "sync_share": 0.01, "barriers": 4,
 *           "object": "ft", "offset": 4096}]}]}]}
 *
 * and a file of scenarios, whose jobs either name a program of the library or
 * bring "phases" of their own:
 *
 *     {"library": "../workloads/amd-opteron-6380.json",
 *      "scenarios": [
 *       {"name": "01-bt-ft", "source": "NuPoCo table 2", "history": false,
 *        "paper": {"nupoco": {"ntt": 0.95}},
 *        "jobs": [{"program": "BT"},
 *                 {"program": "FT", "name": "ft.2", "arrival_s": 20,
 *                  "scale": 0.5, "malleable": false, "threads": 16,
 *                  "min_cores": 1, "max_cores": 32, "weight": 2,
 *                  "numa_node": 0}]}]}
 *
 * A file that has "jobs" itself is one scenario.  docs/scenario.schema.json
 * defines each member and its default.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/workload.h"
#include "common/errtext.h"
#include "common/json_reader.h"

#define SCENARIO_MAX_JOBS 64
#define SCENARIO_MAX_REGIONS 256 /* of a program, before repetition */
#define SCENARIO_ALL 0 /* threads, max_cores: as many as the pool has */
#define SCENARIO_NO_NODE ((size_t)-1)

/* Where the memory lies that a region asks for. */
enum scenario_placement {
    SCENARIO_FIRST_TOUCH, /* touched by its initial thread before the first parallel region: all at
                             numa_node, if that is given.  Else a cooperative job's lies evenly on
                             all NUMA nodes where machine_interleaves(), another's at
                             the home of the CPU on which that thread starts */
    SCENARIO_INTERLEAVED, /* evenly over all NUMA nodes */
    SCENARIO_LOCAL, /* at the home of the LLC domain of each thread, if the
                       threads are where they were when they touched it: spread
                       over NUMA nodes as the job's cores were at its first
                       parallel region with this placement */
    SCENARIO_BY_THREAD, /* of a team with static schedules: of thread i's requests the part
                           thread_share is for node thread_node[i % thread_nodes], the rest is
                           spread evenly */
};

#define SCENARIO_THREAD_NODES 1024

struct scenario_region {
    char *name;
    enum region_kind kind;
    double work_s; /* > 0, computing of all cores, one execution */
    /* Requests per us of computing that reach memory while the job has the
     * LLC of its LLC domains for itself.  Only reads stall. */
    double read_per_us;
    double write_per_us;
    double prefetch_per_us;
    enum scenario_placement placement;
    size_t *thread_node; /* [thread_nodes] */
    size_t thread_nodes;
    double thread_share;
    double llc_per_us; /* LLC accesses per us of computing, >= the sum of the
                          requests */
    double llc_loss;   /* >= 0: with the part s of the LLC, requests are as many
                          as alone times 1 + llc_loss (1 - s), at most
                          llc_per_us */
    double llc_power;  /* 0..1: with the part c of an LLC domain's cores, c^llc_power times as
                          many requests as with all (model/workload.h) */
    double overlap;    /* 0..1: part of the reads that do not stall, as others are waited for */
    double latency;    /* >= 0: so many times its service a read takes more, on its way */
    double imbalance;  /* >= 0: with one thread per core and a static schedule
                          the last thread needs 1 + imbalance of the mean */
    double sync_share; /* 0 <= share < 1 of time in synchronisation on all
                          cores of the machine */
    size_t barriers;   /* of one execution of a parallel region, >= 1; their
                          distances are equal in work */
    char *object;      /* identity of the region's code: it is the same for all */
    uint64_t offset;   /* executions; both are made up if not given */
};

/* Regions first .. first + count - 1 of the program, REPEAT times. */
struct scenario_phase {
    size_t repeat; /* >= 1 */
    size_t first;
    size_t count; /* >= 1 */
};

struct scenario_job {
    char *name;    /* unique in the scenario; default is the program's */
    char *program; /* name in the library; that of the job if it has none */
    double arrival_s; /* >= 0 */
    bool malleable;   /* follows its allotment at once; else its threads share
                         what CPUs they are given */
    bool sleeps;      /* its threads block at once when they wait, whatever
                         OpenMP's policy is (a JVM) */
    size_t threads;   /* of the OpenMP team, SCENARIO_ALL or >= 1 */
    size_t min_cores; /* >= 1 */
    size_t max_cores; /* SCENARIO_ALL or >= min_cores */
    double weight;    /* > 0, 1 is normal */
    size_t numa_node; /* of first touch; SCENARIO_NO_NODE: see there */
    double memory_gib; /* >= 0: its interleaved pages, which take their time to move */
    struct scenario_region *region;
    size_t regions;
    struct scenario_phase *phase;
    size_t phases;
};

/* A published result for this scenario and a policy; NaN where the paper has
 * none. */
struct scenario_figure {
    char *policy;
    double ntt;
    double hmean;
};

struct scenario {
    char *name;
    char *source; /* or NULL */
    bool history; /* the agent has the record of each job alone, as if it had been
                     run before */
    struct scenario_job *job;
    size_t jobs; /* 1..SCENARIO_MAX_JOBS, in the file's order */
    struct scenario_figure *figure;
    size_t figures;
};

struct scenario_set {
    char *file; /* as typed */
    struct scenario *scenario;
    size_t scenarios; /* >= 1 */
};

/* Load FILE ("-": standard input).  LIBRARY, if not NULL, is used instead of
 * the one that the file names (which is relative to the file's directory).
 * NULL with the text set and errno as from open(2), read(2), or EINVAL, ENOMEM;
 * the text names the file, and line or path, as typed.  Free with
 * scenario_set_free(). */
struct scenario_set *scenario_load(const char *file, const char *library,
                                   struct errtext *err);

/* The same from VALUE, which is at the path of READER; a "library" in it is
 * relative to the working directory. */
struct scenario_set *scenario_read(struct json_reader *reader,
                                   const json_t *value, const char *library);

/* The scenario called NAME, or NULL. */
const struct scenario *scenario_find(const struct scenario_set *set,
                                     const char *name);

/* Region executions of JOB: sum over its phases of repeat * count. */
size_t scenario_steps(const struct scenario_job *job);

/* The region of execution STEP (0 .. scenario_steps() - 1). */
const struct scenario_region *
scenario_step(const struct scenario_job *job, size_t step);

/* How many times as many requests per us of computing REGION makes with the part LLC_SHARE (0..1)
 * of the LLC and the part CORES of the cores there (see llc_loss, llc_power), all kinds alike. */
double scenario_llc_factor(const struct scenario_region *region, double llc_share, double cores);

/* Do A and B ask the same of memory in a unit of computing, whatever there is to do? */
bool scenario_asks_alike(const struct scenario_region *a, const struct scenario_region *b);

/* Takes NULL. */
void scenario_set_free(struct scenario_set *set);

#endif /* COSCHED_SIMULATOR_SCENARIO_H */
