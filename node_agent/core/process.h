/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A process that attached: its two shared pages and what they say. */

#ifndef COSCHED_PROCESS_H
#define COSCHED_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "node_agent/core/allotment.h"
#include "node_agent/core/record.h"
#include "node_agent/counters/counters.h"
#include "node_agent/core/report.h"
#include "node_agent/topology/topology.h"

struct job;
struct sd_event_source;
struct task_maps;

struct process {
    struct job *job;
    pid_t pid;
    uint64_t start; /* start time in clock ticks */
    int pidfd;
    struct sd_event_source *exit_source;
    uint64_t connection; /* the server's number; its end is the process' detach */
    struct allotment *allotment;
    struct report *report;
    struct report_view *view;     /* last good reading */
    struct report_view *previous; /* the one before */
    struct cosched_cpuset part; /* of the job's CPUs, division.h */
    struct task_maps *maps; /* mapper's: where its tasks' data are; NULL: not known */
    uint32_t team;     /* the largest that it has reported */
    uint64_t cpu_ns;   /* CPU time that it had used, */
    uint64_t cpu_read_ns; /* then, */
    double cpu_rate;   /* and the cores that it had used on average just before */
    uint64_t round;    /* when strays of it were last looked for */
    struct record_totals before; /* what it did before it detached here, which its page has, too */
    bool bad;          /* its page is no report: treated as silent */
    bool must_ack;     /* a shrink waits for its applied generation */
    bool serial;       /* in a serial region now */
    uint64_t serial_since_ns;
    uint64_t begun_ns; /* its last parallel region, as it says */
    struct follow_finding follow; /* how, as it said with its attach */
    char program[RECORD_PROGRAM_MAX];
    struct process *next;
};

/* Attach process PID to JOB with pages for it.  NULL with errno ESRCH, ENOMEM or
 * that of creating the pages. */
struct process *process_attach(struct job *job, pid_t pid,
                               const struct topology *topology,
                               uint64_t lease_ns, struct errtext *err);

/* Read the report.  0, or -1 with errno EPROTO and ERR the first time that it is invalid (0
 * afterwards). */
int process_observe(struct process *process, uint64_t now_ns,
                    struct errtext *err);

/* True when the process ever handed out iterations, one after the other, of dynamic loops in the
 * region of that name, or with ALL in any region. */
bool process_hands_out(const struct process *process, bool all, uint64_t object_id,
                       uint64_t offset);

/* Only see whether it is in a serial region. */
void process_glance(struct process *process, uint64_t now_ns);

/* How long the process has been in its present serial region, 0 if it is in a
 * parallel one. */
uint64_t process_serial_ns(const struct process *process, uint64_t now_ns);

/* The present parallel region's table entry when it lasts at least MIN_NS, by
 * itself or on average; NULL in serial and in short regions. */
const struct cosched_region *process_long_region(
    const struct process *process, uint64_t now_ns, uint64_t min_ns);

/* The table entry of the parallel region in which it was at the last two readings, or
 * COSCHED_REGION_SERIAL: it was in none, in several, or nobody knows. */
uint32_t process_region(const struct process *process);

/* Work between the last two readings in the region called (OBJECT_ID, OFFSET),
 * or with ALL in every region, added to WORK, and what workers spun for, to
 * IDLE_NS.  Clamped: never negative. */
void process_add_work(const struct process *process, bool all,
                      uint64_t object_id, uint64_t offset,
                      double work[COUNTERS_UNITS], double *idle_ns);

/* Seconds of CPU time that it has used since the last call, or its attach; of a process that has
 * ended, as many as before. */
double process_take_cpu(struct process *process, uint64_t now_ns);

/* Add what the process has done so far, less what is counted since it was attached before. */
void process_add_totals(const struct process *process, struct record_totals *totals);

/* True when the last two readings differ in work: it runs.  False says nothing. */
bool process_got_on(const struct process *process);

/* True when the allotment is in effect, or the process has no runtime that could tell. */
bool process_acked(const struct process *process);

/* Unlink from its job and free.  Keeps errno. */
void process_detach(struct process *process);

#endif /* COSCHED_PROCESS_H */
