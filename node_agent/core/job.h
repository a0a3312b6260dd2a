/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Co-scheduled jobs of this node. */

#ifndef COSCHED_JOB_H
#define COSCHED_JOB_H

/* Concept
 *
 * A job is known from its announcement to its withdrawal.  It is live while a
 * task (started by slurmstepd) or an attached process lives; only live jobs have
 * CPUs.  Jobs stay in the order of their announcement, which is the order of
 * turns.  Each field has one writer, named below.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/log.h"
#include "common/number_map.h"
#include "model/workload.h"
#include "node_agent/core/growth.h"
#include "node_agent/core/history.h"
#include "node_agent/core/record.h"
#include "node_agent/core/region.h"
#include "node_agent/core/stretch.h"
#include "protocol/layout.h"
#include "protocol/message.h"
#include "protocol/options.h"

struct agent;
struct enforcer;
struct listener;
struct look;
struct process;
struct report;
struct sd_event_source;
struct thread_map;
struct tracked;

/* A process that slurmstepd started for the job. */
struct task {
    struct job *job;
    uint32_t step;
    pid_t pid;
    uint64_t start; /* start time in clock ticks: tells reused pids apart */
    int pidfd;
    struct sd_event_source *exit_source;
    struct task *next;
};

/* Of one job on this node: a larger one runs beyond them as an ordinary shared job. */
#define JOB_TASKS    4000
#define JOB_ATTACHED 1024
/* Report pages that are kept for processes of it that have detached (20 KB each): they may attach
 * again, and take over what is in them.  Of more the oldest are emptied. */
#define JOB_PAGES 256

/* A look at all processes of a job, which may take some epochs. */
struct round {
    uint64_t number;
    bool goes_on; /* some are left */
    uint64_t scan; /* parking: it ends when this one has found nobody; 0: has ended */
    bool changed; /* and some were seen with other CPUs than these: */
    struct cosched_cpuset cpus;
};

/* What a job is and does, as far as the agent can tell. */
enum job_state {
    JOB_ANNOUNCED, /* no process yet */
    JOB_STARTING,  /* its processes may still attach */
    JOB_SERIAL,    /* uses one core, attached or not */
    JOB_MALLEABLE, /* in a parallel region: runs on as many cores as it is given */
    JOB_PINNED,    /* did not attach in time, and uses several cores */
    JOB_PARKED,    /* waits for its turn */
    JOB_SUSPENDED, /* stopped, but not by us */
    JOB_ENDED,
};

struct job {
    /* agent: from the announcement */
    struct agent *agent;
    uint32_t id;
    uint32_t uid;
    uint32_t restarts; /* and the process of the batch script tell runs apart */
    pid_t batch_pid;   /* 0: none so far */
    uint32_t node; /* not 0: another node keeps the job's record */
    uint64_t memory_mb;
    struct job_options options;
    struct cosched_cpuset granted;
    uint64_t announced_wall_ns; /* for people; the clock may be set */
    uint64_t announced_ns;      /* the same as monotonic time */

    /* agent: from Slurm, some time after the announcement */
    struct history history; /* observer: what is believed of it */
    double weight;          /* that its QOS allows; 0: not known */

    /* agent: what lives */
    struct task *tasks;        /* [task_count] */
    size_t task_count;
    struct process *processes; /* [process_count] attached */
    size_t process_count;
    struct report *left[JOB_PAGES]; /* pages of processes that live, and have detached: a ring */
    size_t left_next;
    uint64_t live_since_ns;    /* 0: not live */
    bool started;              /* a task or process of it was known */
    bool ending;               /* it is over; nothing joins it any more */
    uint64_t ended_wall_ns;    /* last process gone; 0: never or live */
    uint64_t ended_ns;         /* the same as monotonic time */
    bool cooperative;          /* a process attached at some time */
    bool interim_sent;         /* first summary handed to Slurm */
    struct listener *listener; /* for its processes; NULL: they come by that for all */
    struct look *look;         /* at why it does not follow (looks.h), or NULL */
    uint64_t name_at_ns, name_pause_ns; /* namer's: when to ask what its regions are called */

    /* observer: what it does now */
    enum job_state doing;    /* JOB_STARTING to JOB_PINNED; job_state() */
    bool soon;               /* while it starts: it will probably attach in a moment */
    bool held;               /* was pinned at some time of this run */
    bool unpinned;              /* nothing of it is attached, and it uses one core:
                                runs wherever Slurm granted, as what it may be
                                about to start counts the CPUs it may use, once
                                and for ever */
    uint64_t wide_ns;        /* when it last did not, or could not show it */
    struct serial_stretch stretch;  /* serial, and others have its cores */
    struct growth growth;           /* it touches new memory */
    bool interleaved;  /* pages of a process of it are, and move */
    uint32_t near_share; /* that these should have, as in its allotments (colocation_watch.h) */
    struct cosched_cpuset lent; /* pinned: what it had when it began to lend, where its
                                   threads may still run; scheduler: it is no more */
    struct region *region; /* present parallel region; NULL: none */
    struct region_list regions;
    uint64_t unattached_since_ns; /* 0: not live, or attached */
    double expected_s; /* from begin to end when it has all that it was granted
                          to itself, as earlier runs of the program say (done_s
                          at their end); 0: not known */
    size_t threads; /* its team's, to which the present region's work is given in equal parts; 0:
                       not known, or the work is given out as they come for it */
    bool pauses;           /* is in a serial stretch, perhaps a short one */
    bool counted;          /* hardware counted for it in the last interval */
    struct record_totals ended; /* of processes that detached */

    /* scheduler: what it has */
    struct cosched_cpuset cpus;   /* in effect */
    struct cosched_cpuset target; /* after the transition under way */
    bool turns;                   /* there are more jobs than cores */
    bool parked;                  /* waits for its turn */
    bool suspended;               /* stopped, but not by us */
    bool profiling;               /* has its cores to be measured */
    bool serial;                  /* it was when that was decided */
    struct cosched_cpuset loan;   /* serial: what others got when that began, and no job has come
                                     or gone since; its own again when it returns */
    bool shared;                  /* others run on its CPUs, too */
    bool shrunk;                  /* lost CPUs in the transition under way */
    bool recheck;                 /* shrunk a few milliseconds ago */
    uint64_t changed_ns;          /* last change of cpus */
    uint64_t look_at;             /* affinity's turn */
    uint64_t look_pause;          /* turns since the one before */
    bool unsettled;               /* look at its threads as soon as possible */
    struct thread_map *map;       /* mapper's: where its threads' data are; NULL: not known */
    bool undivided;               /* its processes wait for their parts */
    uint64_t traced;              /* hash of the state last traced */
    struct log_rate lines;        /* about what its user does */
    double done_s; /* time that it would have taken alone for what it has done,
                      as its profiles predict: its time, less what it lost by
                      fewer cores and by others.  At its end an estimate of its
                      time alone even if it never was */
    double relative_speed;   /* relative to that alone, as predicted in the last decision */

    /* enforcer: its processes as last seen in /proc */
    struct tracked *tracked;
    struct number_map tracked_by_pid; /* the same */
    char *cgroup;   /* that Slurm gave it (enforce/job_cgroup.h), once known; or NULL */
    bool crowded;   /* has more processes than are tracked, and that was said */
    bool no_cpuset; /* and that was said: there is none to hold it by */
    bool narrowed;  /* the affinity of some, at some time of this run */
    bool taken_over; /* from an agent before, and not looked at so far */
    struct round hold, strays; /* of those not attached, and attached */
    double use;      /* cores that those not attached used, or would,
                        between two scans, */
    uint64_t use_from_ns;  /* from here; 0: not known */
    uint64_t use_until_ns; /* until here; 0: from the next scan on */
    uint64_t use_ticks;    /* the same as time since boot */
    uint64_t joined_ns;    /* when a process of it last came or went */

    struct record record;
    struct job *next, *previous;
    struct job *same; /* next with the same hash */

    /* agent: texts.  They are last, because epochs read none of them. */
    char name[MESSAGE_NAME_MAX];
    char options_text[MESSAGE_OPTIONS_MAX];
    char history_text[RECORD_TEXT_MAX]; /* as history_parse() takes it, "" */
};

#define JOB_LIMIT 4096 /* jobs known at a time */
#define JOB_BUCKETS 1024

/* All zero: empty. */
struct job_table {
    struct job *first, *last;
    size_t count;
    struct job *bucket[JOB_BUCKETS]; /* by id */
};

/* The job called ID, or NULL. */
struct job *job_find(const struct job_table *table, uint32_t id);

/* A new job at the end of the table.  NULL with errno ENOMEM or ENOSPC. */
struct job *job_add(struct job_table *table, uint32_t id);

/* The state of JOB: what keeps it from running, else what it does. */
enum job_state job_state(const struct job *job);

/* "announced", "starting", "serial", "malleable", "pinned", "parked",
 * "suspended" or "ended": in status, trace and recordings.  NULL ends the list. */
extern const char *const job_state_names[];
const char *job_state_name(enum job_state state);

/* What policies take JOB for: as nobody knows, one that is pinned is parallel. */
enum region_kind job_kind(const struct job *job);

/* True while one of its tasks or attached processes lives. */
bool job_live(const struct job *job);

/* True when all of its known processes are stopped, by whomever, or frozen by Slurm
 * (`scontrol suspend`). */
bool job_stopped(const struct job *job, const struct enforcer *enforcer);

/* True when the agent controls where its processes run: one attached at some time, or was
 * pinned, perhaps by an earlier agent. */
bool job_kept(const struct job *job);

/* Add a task, or return the known one.  NULL with errno ESRCH (no such process), ENOMEM, or
 * EDQUOT: it has JOB_TASKS. */
struct task *job_add_task(struct job *job, uint32_t step, pid_t pid);

/* Keep REPORT, which now is JOB's, of a process that has detached and lives. */
void job_leave_page(struct job *job, struct report *report);

/* Forget TASK (and close its pidfd and source). */
void job_remove_task(struct task *task);

/* Forget the job.  Its processes must be detached before. */
void job_remove(struct job_table *table, struct job *job);


#endif /* COSCHED_JOB_H */
