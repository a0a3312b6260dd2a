/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Makes processes stay on their job's CPUs, whether they cooperate or not. */

#ifndef COSCHED_ENFORCER_H
#define COSCHED_ENFORCER_H

/* Concept
 *
 * A job's processes are its tasks, what attached, who is in the cgroup that Slurm made for
 * it, and all their descendants (enforce/owners.h).  slurmstepd is not one of them; a task
 * counts once it has executed its program.
 *
 *   attached processes  follow the allotment; a thread that is elsewhere a few
 *                       milliseconds later is moved
 *   other processes     are pinned to the job's CPUs once they use CPU time: a
 *                       waiting shell runs nowhere, and programs count the CPUs
 *                       of the mask they inherit.  In a malleable job a process
 *                       first has the attach timeout.  An unpinned job (nothing
 *                       attached, all of it uses one core) is left alone.
 *
 * Threads that have a home (thread_map.h) are pinned to those of the CPUs that are there.
 *
 * Pinning is by the cpuset cgroup that Slurm made, if cosched_enforcement says so
 * (cpuset_holder.h), else by the affinity of all threads.
 *
 * Reading /proc costs time (proc_table.h), so the periodic scan takes at most
 * SCAN_SHARE of one CPU, and SCAN_SHARE_QUIET once nothing has changed for
 * SCAN_QUIET_NS.  It is delayed by SCAN_PAUSE_NS at most, and always done after a
 * change of CPUs.
 *
 * Users make processes and threads, and undo what was done to them, as often as they like.  So
 * what is done to processes is counted as work, a unit of which takes about half a microsecond:
 * there is ENFORCER_WORK for each epoch, and for each call ENFORCER_LEAST even when that is
 * gone, so that no job keeps another from being held.  Scans are paid for with it, too.  What is
 * not done is done in the next epochs, everybody in turn: the job is unsettled until then.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "node_agent/core/job.h"

#define SCAN_SHARE 0.01
#define SCAN_SHARE_QUIET 0.0005
#define SCAN_QUIET_NS UINT64_C(2000000000)
#define SCAN_LEAST_NS UINT64_C(90000000) /* while quiet */
#define SCAN_PAUSE_NS UINT64_C(5000000000)
#define ENFORCER_WORK 16384
#define ENFORCER_LEAST 512

/* A process of a job. */
struct tracked {
    pid_t pid;
    uint64_t start;
    bool dead;      /* kept while its group or session has members */
    bool attached;
    bool task;      /* slurmstepd has named it */
    bool held;
    uint64_t round; /* when it was last held or let go */
    bool stopped;   /* by us */
    bool narrowed;  /* its affinity, by us, */
    size_t note;    /* as the supervisor knows */
    uint64_t ticks; /* CPU time when last looked at */
    uint64_t look_ns;
    bool noted;     /* usage: the scan did, */
    uint64_t noted_ticks;   /* this CPU time, */
    uint64_t threads_noted; /* and so many threads */
    bool counted;           /* usage: in the window before, */
    uint64_t counted_ticks; /* up to here */
    struct usage_threads *waits; /* what its threads waited until then */
    bool inherits;       /* an affinity that its parent had by us, perhaps */
    uint64_t let_go_ticks; /* since boot: children made up to then inherit */
    uint64_t first_ns; /* when it was found */
    uint64_t no_cpuset_ns; /* since when it has none to hold it by; 0: it has */
    uint64_t unattached_since_ns; /* 0: attached */
    struct threads *threads; /* as of the last look at them; NULL: none so far */
    struct tracked *next;
};

struct enforcer;
struct node_options;
struct supervisor;

/* SUPERVISOR may be NULL: nothing is undone if the agent dies.  OPTIONS must outlive the
 * enforcer. */
struct enforcer *enforcer_new(struct supervisor *supervisor,
                              const struct node_options *options);

/* Use the cgroups of NODE: cpusets where the options say so, and version 2's freezer; see what
 * Slurm has frozen.  Without
 * this call cgroups are never used. */
void enforcer_use_cgroups(struct enforcer *enforcer, const char *node);

/* Find the processes of all jobs, very many of them in several calls.  Unless FORCE, which
 * finds all, only when a scan is due. */
void enforcer_scan(struct enforcer *enforcer, struct job_table *jobs,
                   bool force, uint64_t now_ns);

/* Cores that the unattached processes of JOB used, or would have used, between the last
 * two scans that were far enough apart (usage.h); *SINCE_NS: time of the first, 0: none. */
double enforcer_use(const struct job *job, uint64_t *since_ns);

/* CPU time that the unattached processes of JOB have used so far, and for how long the newest of
 * their threads have waited for a CPU.  STRETCH_UNKNOWN: nobody can tell (usage.h).  The first
 * takes a microsecond for each process, the second three for each thread. */
uint64_t enforcer_cpu_ns(const struct job *job);
uint64_t enforcer_waited_ns(const struct job *job);

/* A task has begun: scan soon, and as often as while processes come and go. */
void enforcer_expect(struct enforcer *enforcer, uint64_t now_ns);

/* Pin the processes of JOB that need it to CPUS (not empty). */
void enforcer_hold(struct enforcer *enforcer, struct job *job,
                   const struct cosched_cpuset *cpus);

/* JOB is unpinned: its processes may run wherever Slurm granted, also those that inherited
 * their affinity from a pinned parent, once they have had the time to attach.  Others may be
 * bound as their user likes. */
void enforcer_let_go(struct enforcer *enforcer, struct job *job);

/* JOB is from before the agent's restart: its processes may still be pinned by an agent that
 * was killed together with its supervisor, which cannot be seen. */
void enforcer_take_over(struct job *job);

/* Process PID of JOB has attached: its runtime binds its threads. */
void enforcer_attached(struct enforcer *enforcer, struct job *job, pid_t pid);

/* JOB is over: undo stopping and narrowing, forget its processes. */
void enforcer_release(struct enforcer *enforcer, struct job *job);

/* Move threads of attached processes of JOB that are not within CPUS.  Returns
 * the number of threads moved. */
size_t enforcer_move_strays(struct enforcer *enforcer, struct job *job,
                            const struct cosched_cpuset *cpus);

/* For tests: the work done so far, and whether the next scan is the rest of one. */
size_t enforcer_work(const struct enforcer *enforcer);
bool enforcer_scans(const struct enforcer *enforcer);

/* Stop all processes of JOB that run (or nothing, without a living supervisor), again where new
 * ones may have begun; continue those that were stopped by this, if nobody else has stopped them
 * since (enforce/stopper.h): of thousands some at once, others with the next epochs. */
void enforcer_park(struct enforcer *enforcer, struct job *job);
void enforcer_unpark(struct enforcer *enforcer, struct job *job);

/* For thread_map_make(). */
bool enforcer_thread_lives(const struct sample_thread *thread);

/* True while some of JOB are still to be continued; with NULL some of any, or to be let go. */
bool enforcer_owes(const struct enforcer *enforcer, const struct job *job);

/* True when Slurm has suspended process PID of JOB by freezing its cgroup, which cannot be seen as
 * a stop. */
bool enforcer_suspended(const struct enforcer *enforcer, const struct job *job, pid_t pid);

/* In each epoch: work again, a new supervisor if need be, another try at what could not be undone,
 * and a look at some of the stopped. */
void enforcer_look(struct enforcer *enforcer);

/* Takes NULL. */
void enforcer_free(struct enforcer *enforcer);

/* Forget the tracked processes of JOB. */
void tracked_clear(struct job *job);

#endif /* COSCHED_ENFORCER_H */
