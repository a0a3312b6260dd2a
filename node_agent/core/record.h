/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The summary of a job that goes into its AdminComment. */

#ifndef COSCHED_RECORD_H
#define COSCHED_RECORD_H

/* Concept
 *
 * One line per job, at most 1000 bytes (docs/record.md): what it had, what it did,
 * and what kind of program it is.  Later runs of the program use the latter
 * (coschedhistory(8), history.h), so it must mean the same on each node:
 *
 *   work    core-seconds of computing, as the model counts it: a core that waits
 *           for memory half of the time does half a core-second per second
 *   steps   parallel regions begun, on however many cores: the better measure of
 *           progress
 *   class   how well it would use all cores of the node (NuPoCo, table 1), see
 *           record_class()
 *
 * Entries that were not measured are left out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/fields.h"
#include "protocol/follow.h"

#define RECORD_TEXT_MAX 1001   /* with its terminating zero */
#define RECORD_PARTNERS 32     /* named in the record */
#define RECORD_PROGRAM_MAX 48  /* name of a program with its zero */
#define RECORD_FOLLOW_MAX 64   /* word and detail, likewise */
#define RECORD_HOT_MAX 168     /* regions and their shares (hot.h), likewise */

/* What a job's processes say they have done. */
struct record_totals {
    size_t regions;   /* different parallel ones */
    double steps;     /* parallel regions begun */
    double barriers;  /* completed */
    double waited_s;  /* core-seconds that workers spun for, as at barriers */
    double preempted; /* times that a thread spun in a loop of the program's own and made room */
    size_t threads;   /* in the largest team */
};

struct record {
    char policy[32];
    uint64_t live_ns;     /* with a live process */
    double core_s;        /* integral of cores over that time */
    double parallel_s;    /* in parallel regions, as the job reports */
    size_t final_cores;   /* at its end, or now */
    uint64_t decisions;   /* that changed its CPUs */
    bool attached;        /* a process attached at some time */
    bool unseen;          /* the agent was never told of a process: nothing is known */
    double energy_j;      /* estimated share of the packages' energy; 0: not
                             measured */
    uint32_t partner[RECORD_PARTNERS]; /* jobs it shared the node with */
    size_t partners;
    uint64_t moves;       /* cores that came or went by those decisions */
    char program[RECORD_PROGRAM_MAX]; /* first that attached; "": none */
    size_t granted;       /* cores that Slurm gave it */
    double work_s;        /* computing, in core-seconds */
    double cpu_s;         /* CPU time that its processes used: work_s is never more */
    double done_s;        /* time alone for what it has done, by prediction */
    double ahead_s;       /* the same of what jobs announced before it did meanwhile: with the
                             node to itself it would have waited for that */
    struct record_totals total;
    double alone_s;       /* with all granted cores and no other live job, */
    double alone_work_s;  /* and the computing done then */
    bool profiled;        /* the next three are known */
    double rho;           /* effective, mean over its parallel time */
    double saturation;    /* cores that it can use, likewise: see record_ults() */
    double profiled_share; /* part of that time of which both are known */
    char follow[RECORD_FOLLOW_MAX]; /* why it is malleable or not, "static:libgomp"
                                       (protocol/follow.h); "": not known */
    char hot[RECORD_HOT_MAX]; /* regions that took most of its time (hot.h); "": not known */
};

/* Its numbers and words, as the state file names them (where: 1); the partners
 * are beside it. */
extern const struct field record_fields[];

/* What a job did for a while. */
struct record_time {
    uint64_t ns;
    size_t cores;    /* that it had */
    bool reports;    /* it is known what it does; else only cores count */
    bool parallel;   /* else it computed on one core */
    bool alone;      /* nobody else was live */
    double rho;      /* of the present region; NAN: not known */
};

/* Account for TIME. */
void record_add_time(struct record *record, const struct record_time *time);

/* TOTALS are what it has done so far.  What is known to be more, as the agent was killed before it
 * could save that a process had ended, stays. */
void record_set_totals(struct record *record, const struct record_totals *totals);

/* What it says of its work is more than its CPU time, perhaps: cut it down to that. */
void record_bound_work(struct record *record);

/* The job shared the node with job ID. */
void record_add_partner(struct record *record, uint32_t id);

/* Its program is the file at PATH: the last component counts.  The first that
 * is told stays.  Bytes other than letters, digits and "._+-" become "_". */
void record_set_program(struct record *record, const char *path);

/* Whether and why it follows is FINDING.  Of a program that does, the first stays.  A detail that
 * is a path is left out. */
void record_set_follow(struct record *record, const struct follow_finding *finding);

/* Cores' worth of computing of CORES cores at effective RHO (NAN: as 0) without other jobs:
 * throughput of the station of thesis 3.2. */
double record_speed(size_t cores, double rho);

/* "compute", "mixed", "memory", "serial", or NULL when nothing is known.  A
 * program that is parallel in less than a quarter of its time is serial.  Else
 * the efficiency of all granted cores at its rho decides: at least 0.85 is
 * compute, at most 0.6 memory. */
const char *record_class(const struct record *record);

/* Fewest cores on which it has 95 % of the speed that it has on all granted
 * ones; 0 when nothing is known. */
size_t record_best_cores(const struct record *record);

/* Threads per core for a later run, the fewer of two; 0: as the runtime chooses.
 *
 * Those with which barriers, which regions begin and end with, take at most 2 % of its time for
 * threads; one if making room while they spin took more.  (A thread more per core adds 0.02 us to
 * a barrier, by make bench-runtime, and lines of its stack and control block to what caches hold.
 * A look that finds one spinning comes after 20 us.)
 *
 * Those that fold well over the cores that it can use (protocol/tasks_per_cpu.h): beyond the
 * saturation point of a closed queue, 1 + 1 / rho cores (asymptotic bounds: Kleinrock, Queueing
 * Systems II, 4.12), all wait for memory, and one that is idle at the end of a loop costs nothing.
 * Neighbours are together then. */
size_t record_ults(const struct record *record);

/* Its time alone on all granted cores, in seconds, from its speed while it was alone; NAN when
 * that was less than a tenth of its work or less than a second. */
double record_alone_s(const struct record *record);

/* One line as in docs/record.md, STATE "running" or "final". */
void record_format(const struct record *record, const char *state,
                   char text[RECORD_TEXT_MAX]);

#endif /* COSCHED_RECORD_H */
