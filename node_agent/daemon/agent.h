/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The node agent: what holds its parts together. */

#ifndef COSCHED_AGENT_H
#define COSCHED_AGENT_H

/* Concept
 *
 * The agent owns the job table and all parts.  It turns what arrives (requests, ends of
 * processes, epochs, news from Slurm) into changes of the table and tells the scheduler.
 * Requests are in request.c, ends of jobs in ending.c.
 */

#include "node_agent/counters/counters.h"
#include "node_agent/core/decisions.h"
#include "node_agent/core/enforcer.h"
#include "node_agent/daemon/event.h"
#include "node_agent/daemon/host_event.h"
#include "node_agent/core/job.h"
#include "common/log.h"
#include "node_agent/daemon/looks.h"
#include "node_agent/daemon/namer.h"
#include "node_agent/daemon/node_config.h"
#include "node_agent/daemon/opening.h"
#include "node_agent/core/observer.h"
#include "node_agent/core/scheduler.h"
#include "node_agent/daemon/server.h"
#include "node_agent/daemon/settings.h"
#include "node_agent/daemon/slurm_link.h"
#include "node_agent/daemon/state.h"
#include "node_agent/topology/topology.h"
#include "node_agent/core/trace.h"
#include "node_agent/enforce/supervisor.h"

struct agent {
    const struct settings *settings;
    struct node_options options; /* in force */
    struct node_config config;   /* the same, and where they are from */
    sd_event *event;
    struct host *host; /* on the event loop */
    struct job_table jobs;
    struct pending_list pending; /* final records that Slurm has not got yet */
    struct topology *topology;
    struct counters_setup setup; /* for the counters */
    char cpu_model[32];
    struct counters *counters;
    struct opening *opening; /* of others; NULL: none */
    struct recorder *recorder;
    struct observer *observer;
    struct concurrency_model *model; /* of --weights, or NULL */
    struct supervisor *supervisor; /* the caller's */
    struct enforcer *enforcer;
    struct trace *trace;
    struct decisions *decisions;
    struct scheduler *scheduler;
    struct slurm_link *slurm;   /* NULL: --no-slurm */
    struct slurm_link *records; /* likewise: the helper that keeps them */
    struct server *server;
    struct looks *looks;
    struct namer *namer;
    sd_event_source *epoch_source, *ending_source;
    struct state_file state;
    sd_event_source *save_source; /* writes the state some time after a change */
    uint64_t saved_ns;
    uint64_t save_cpu_ns; /* that writing it took last */
    uint64_t notes_ns; /* when notes of ended jobs were last looked for */
    struct log_limit notes_lost;
    struct log_limit deaf;      /* no socket of its own for a job */
    struct log_limit strangers; /* who may not attach to a job of their user's */
    /* Since its start: epochs, those that were due and did not begin, and those for which the
     * work of one took so much CPU time that they could not have. */
    uint64_t epochs, epochs_missed, epochs_overrun;
    uint64_t epoch_cpu_ns; /* when the last began; 0: there are none now */
    uint64_t late; /* that began half an epoch late or more */
    struct node_state node; /* what survives beside jobs and records */
    /* Why the state could not be kept, slurmctld does not answer, records wait or are not kept;
     * "": all is well. */
    char save_error[sizeof(struct errtext)];
    bool private_jobs; /* users may see only their own (PrivateData) */
    uid_t slurm_user;  /* but for this one */
    char slurm_absent[sizeof(struct errtext)];
    char records_trouble[sizeof(struct errtext)];
};

/* Build all parts, read the state and listen for HANDLER, whose argument is the
 * agent.  NULL with errno and ERR. */
struct agent *agent_new(const struct settings *settings, struct supervisor *supervisor,
                        sd_event *event, const struct server_handler *handler,
                        struct errtext *err);

/* Save the state and take all parts down.  Takes NULL. */
void agent_free(struct agent *agent);

/* The state has changed in what a crash may cost: it is written soon, together with
 * what changes until then. */
void agent_touch(struct agent *agent);

/* Keep what the answer relies on: that JOB is known, with what was announced of it, or
 * TASK.  The cost is that of one, however many there are. */
void agent_keep_job(struct agent *agent, const struct job *job);
void agent_keep_task(struct agent *agent, const struct task *task);

/* A change was appended to the state, or, RC -1, was not: then all is written, unless that failed
 * a moment ago. */
void agent_kept(struct agent *agent, int rc);

/* Write the state now. */
void agent_save(struct agent *agent);

/* A job's task or process began or ended: keep its times, start the epochs, tell the scheduler
 * WHY.  With ONE_MORE of several that stay the next epoch decides, once for however many there
 * were until then. */
void agent_job_changed(struct agent *agent, struct job *job, bool one_more, const char *why);

/* Listen for what attaches to JOB. */
void agent_listen_for(struct agent *agent, struct job *job);

/* Watch a task or an attached process for its end. */
int agent_watch_task(struct agent *agent, struct task *task);
int agent_watch_process(struct agent *agent, struct process *process);

/* Detach PROCESS and drop its connection. */
void agent_detach(struct agent *agent, struct process *process,
                  const char *why);

#endif /* COSCHED_AGENT_H */
