/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A simulated job: a process, and the runtime library in it. */

#ifndef COSCHED_SIMULATOR_VJOB_H
#define COSCHED_SIMULATOR_VJOB_H

/* Concept
 *
 * To the agent a simulated job is a real one: a task, and from its first parallel region on, if
 * it is malleable, an attached process with an allotment page and a report page, the real memfds
 * of protocol/layout.h.  Nothing else passes between the two.
 *
 * It runs the regions of its scenario in order.  Between two events its cores compute at a
 * constant speed, which the node sets (vjob.speed).
 *
 * The runtime applies a new allotment after VJOB_WAKE_NS, the kernel's time to wake a thread,
 * and on average VJOB_CHUNK_NS until the workers come to a scheduling point; one runtime in fifty
 * is VJOB_LATE_NS late, because the kernel lets a busy thread end its slice first (both as
 * measured with libgomp-coop).
 *
 * Threads of a team and cores:
 *   malleable   T user-level threads on C cores go in ceil(T / C) rounds, so a static schedule
 *               with imbalance i stretches the time by ceil(T / C) C / T (1 + i / ceil(T / C))
 *   pinned      one kernel thread per core it was started on, stretched by 1 + i; with fewer
 *               cores they take turns (timeshare.h)
 * In either case the part sync_share * C / cores of the time goes into synchronisation.
 */

#include <stdbool.h>
#include <stdint.h>

#include "node_agent/core/enforcer.h"
#include "node_agent/core/job.h"
#include "node_agent/core/process.h"
#include "node_agent/topology/topology.h"
#include "protocol/layout.h"
#include "simulator/random.h"
#include "simulator/scenario.h"
#include "simulator/vpages.h"

#define VJOB_WAKE_NS 30000
#define VJOB_CHUNK_NS 70000
#define VJOB_LATE_NS 3000000
#define VJOB_LATE_PART 0.02
#define VJOB_GRAIN_S 1e-3 /* computing of one reported loop iteration */
#define VJOB_PID 100000   /* of job 1; the others follow */
#define VJOB_PAGES_NS 100000000 /* while its pages are moved it is looked at so often */
#define VJOB_THREAD 4096  /* threads of a team that are told apart */

struct vjob;

/* What the jobs of a node have in common. */
struct vjob_node {
    const struct topology *topology;
    const struct vjob *job; /* [jobs] all of them */
    size_t jobs;
    size_t cores; /* of the machine */
    uint64_t lease_ns;
    bool dynamic; /* iterations are handed out, and so reported; else loops are static */
    struct random random;
};

struct vjob {
    struct vjob_node *node;
    const struct scenario_job *what;
    uint32_t id; /* 1, 2, ... in the scenario's order */
    bool stock;  /* runs with the stock runtime, whatever it could do */

    /* where it is in its program */
    uint64_t arrival_ns;
    uint64_t end_ns; /* 0: not yet */
    size_t step;
    const struct scenario_region *region; /* NULL: not arrived, or ended */
    double left_s;                          /* of its work */
    uint64_t begin_ns;                      /* of the region */

    /* what it runs on */
    struct cosched_cpuset mask; /* affinity: what it may run on */
    bool stopped;               /* SIGSTOP */
    int cpu;                    /* of its initial thread, -1: none yet */
    size_t team;                /* threads in parallel regions */

    /* where its data lies: [numa_nodes] each, sum 1 */
    struct vpages pages; /* that are interleaved */
    double *even;
    double *touched;   /* by its initial thread */
    double *local;     /* by its threads, where they were */
    bool local_fixed;  /* they have touched all of it */
    bool interleaves;  /* what its initial thread touches lies as "even" says */

    /* the node's: at what speed it runs now */
    double speed;      /* computing, in cores' worth; 0: it does not */
    double busy;       /* cores on which it computes or is stalled */
    double spinning;   /* cores on which it waits, and does not sleep */
    double waiting;    /* threads that wait for a core */

    /* shared with the agent */
    struct job *job;         /* NULL: not known to it */
    struct process *process; /* NULL: not attached */
    struct tracked tracked;  /* how the enforcer finds us */
    const struct cosched_allotment *allotment;
    struct cosched_report *report;
    uint32_t seen;       /* generation noticed */
    uint64_t apply_ns;   /* when it will be in effect; VIRTUAL_NEVER */
    uint32_t entry;      /* of regions[] */

    /* counted over its life */
    double core_s;   /* cores it had, times time */
    double busy_s;   /* of them computing or stalled */
    double cpu_s;    /* computing, stalled or spinning */
    double waited_s; /* of its threads, for a core */
    double work_s;   /* of them computing */
    double done_s;   /* of its record, at its end */
    size_t ults;     /* likewise */
    uint64_t changes; /* of the CPUs it runs on */
};

/* A job that will run WHAT as job number ID of NODE; false when out of memory.
 * Release it with vjob_release(). */
bool vjob_init(struct vjob *job, struct vjob_node *node,
               const struct scenario_job *what, uint32_t id, bool stock);
/* It starts ULTS threads per core, if it chooses itself; 0: as many as it would. */
void vjob_set_ults(struct vjob *job, size_t ults);
void vjob_release(struct vjob *job);

/* Its process begins at NOW_NS. */
void vjob_start(struct vjob *job, uint64_t now_ns);

/* True when it should attach: it has come to its first parallel region. */
bool vjob_wants_attach(const struct vjob *job);

/* Map the pages of PROCESS.  -1 with errno and ERR. */
int vjob_attach(struct vjob *job, struct process *process, uint64_t now_ns,
                struct errtext *err);

/* Unmap them: the process is about to be detached. */
void vjob_detach(struct vjob *job);

/* CPUs on which its threads may run now, none when it is stopped; in a serial
 * region it uses one of them, job->cpu. */
void vjob_cpus(struct vjob *job, struct cosched_cpuset *cpus);

/* Part of its cores' time in which they compute or are stalled, when it runs
 * on CORES of its own; the rest is waiting at barriers. */
double vjob_efficiency(const struct vjob *job, size_t cores);

/* Where the data lies of the region it is in: [numa_nodes], sum 1; NULL: where
 * it is touched. */
const double *vjob_data(const struct vjob *job);

/* Has each thread data of its own in the region that it is in (SCENARIO_BY_THREAD)? */
bool vjob_by_thread(const struct vjob *job);

/* The thread number I of its team: a thread id like the kernel's. */
pid_t vjob_thread(const struct vjob *job, size_t i);

/* Add to PART[numa_nodes] what part of thread I's requests goes where, times TIMES. */
void vjob_thread_asks(const struct vjob *job, size_t i, double times, double *part);

/* Fill ASKED[llc_domains * numa_nodes] by which threads are on each LLC domain of CPUS: each at
 * its home by the agent's map, else one after the other on all. */
void vjob_asks(const struct vjob *job, const struct cosched_cpuset *cpus, double *asked);

/* When something happens to it by itself, at its present speed. */
uint64_t vjob_next(const struct vjob *job, uint64_t now_ns);

/* It has run at its present speed from FROM_NS to NOW_NS. */
void vjob_advance(struct vjob *job, uint64_t from_ns, uint64_t now_ns);

/* Look at the allotment page; put it into effect if it is time to.  True when
 * it changed where it runs. */
bool vjob_look(struct vjob *job, uint64_t now_ns);

/* When the region's work is done, go on to the next; true if it did.
 * job->region is NULL after the last. */
bool vjob_step(struct vjob *job, uint64_t now_ns);

/* The job that the enforcer knows as TRACKED. */
struct vjob *vjob_of(struct tracked *tracked);

#endif /* COSCHED_SIMULATOR_VJOB_H */
