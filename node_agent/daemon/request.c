/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What each request of the socket does. */

#include "config.h"

#include "node_agent/daemon/request.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/daemon/delivery.h"
#include "node_agent/daemon/ending.h"
#include "node_agent/daemon/replies.h"
#include "common/clock.h"
#include "common/log.h"
#include "node_agent/core/journal.h"
#include "node_agent/core/job_log.h"
#include "node_agent/core/process.h"
#include "node_agent/daemon/caller.h"
#include "node_agent/daemon/listener.h"
#include "node_agent/enforce/members.h"
#include "node_agent/enforce/proc.h"
#include "node_agent/recording/recording.h"
#include "protocol/cpulist.h"

/* ---- requests ------------------------------------------------------------- */

static int no_such_job(uint32_t job, struct errtext *err)
{
    return errtext_set(err, ENOENT, "job %u: not known to this agent", job);
}

/* Does REQUEST announce a later run of JOB?  Slurm starts the batch script once in each run, in
 * a process of its own, and only slurmctld can have it started.  What another step says is the
 * user's word. */
static bool is_later_run(const struct job *job, const struct message_request *request,
                         const struct peer *peer)
{
    if (request->step != MESSAGE_BATCH_STEP)
        return false;
    return job->restarts != request->restarts ||
           (job->batch_pid && job->batch_pid != peer->pid);
}

static void regrant(struct agent *a, struct job *job,
                    const struct cosched_cpuset *granted)
{
    if (cpuset_equal(&job->granted, granted))
        return;
    job->granted = *granted;
    for (struct process *p = job->processes; p; p = p->next)
        allotment_regrant(p->allotment, granted, a->options.lease_ns,
                          clock_ns());
}

/* Batch and step daemons all announce: the same job again is no news. */
static int announce(struct agent *a, const struct peer *peer,
                    const struct message_request *request, struct reply *reply,
                    struct errtext *err)
{
    struct job_options options;
    struct cosched_cpuset granted;
    char cpus[4096];

    job_options_init(&options);
    if (job_options_parse(&options, request->options, err) < 0 ||
        topology_map_cores(a->topology, request->cores, &granted, err) < 0)
        return -1;
    struct job *job = job_find(&a->jobs, request->job);
    if (job && (job->ending || is_later_run(job, request, peer))) {
        ending_finish(a, job);
        job = NULL;
    }
    if (!job) {
        if (!(job = job_add(&a->jobs, request->job)))
            return errtext_set(err, errno, "job %u: %s", request->job,
                               strerror(errno));
        job->agent = a;
        job->restarts = request->restarts;
        job->node = request->node;
        /* The job's own.  What a step says later comes from the user's srun: it
         * has not passed the controller, which keeps weights in bounds. */
        job->options = options;
        memcpy(job->options_text, request->options,
               sizeof(job->options_text));
        log_info("job %u announced: uid %u, CPUs %s", request->job,
                 request->uid, cpulist_format(&granted, cpus, sizeof(cpus)));
    }
    if (request->step == MESSAGE_BATCH_STEP)
        job->batch_pid = peer->pid;
    if (job->uid != request->uid) {
        listener_free(job->listener);
        job->listener = NULL;
    }
    job->uid = request->uid;
    agent_listen_for(a, job);
    job->memory_mb = request->memory_mb;
    memcpy(job->name, request->name, sizeof(job->name));
    if (a->slurm && !job->interim_sent && !job->history_text[0])
        slurm_link_ask(a->slurm, job->id);
    regrant(a, job, &granted);
    job->record.granted = topology_count_cores(a->topology, &granted);
    agent_keep_job(a, job);
    reply->body = json_pack(
        "{s:s, s:b}", "cpus", cpulist_format(&job->granted, cpus, sizeof(cpus)), "interleave",
        job->options.interleave == OPTION_INTERLEAVE_AUTO
            ? machine_interleaves(topology_machine(a->topology))
            : job->options.interleave == OPTION_INTERLEAVE_SERIAL);
    return 0;
}

static int add_task(struct agent *a, const struct message_request *request,
                    struct errtext *err)
{
    struct job *job = job_find(&a->jobs, request->job);
    char why[64];

    if (!job || job->ending)
        return no_such_job(request->job, err);
    struct task *task = job_add_task(job, request->step, request->pid);
    if (!task || agent_watch_task(a, task) < 0) {
        int saved = errno;
        if (task)
            job_remove_task(task);
        if (saved == EDQUOT)
            errtext_set(err, saved, "job %u: it has %d tasks on this node, and JOB_TASKS allows "
                        "no more", job->id, JOB_TASKS);
        else
            errtext_set(err, saved, "pid %d: %s", (int)request->pid, strerror(saved));
        job_log(job, LOG_WARNING, "a task is not known: %s", err->text);
        errno = saved;
        return -1;
    }
    enforcer_expect(a->enforcer, clock_ns());
    snprintf(why, sizeof(why), "task %d of job %u", (int)request->pid, job->id);
    agent_keep_task(a, task);
    agent_job_changed(a, job, task->next || job->processes, why);
    delivery_send_interim(a, job);
    return 0;
}

static int withdraw(struct agent *a, const struct message_request *request)
{
    struct job *job = job_find(&a->jobs, request->job);

    /* The epilog runs for every job of the node: unknown ones are normal. */
    if (job)
        ending_begin(a, job);
    return 0;
}

/* What the library says of itself, and the name of the program that it is in. */
static void take_follow(struct process *process, const struct message_request *request)
{
    struct record *record = &process->job->record;
    struct record name = {.program = ""};
    char program[PATH_MAX];

    process->follow.word = strcmp(request->mode, "kthread") ? FOLLOW_YES : FOLLOW_KTHREAD;
    if (process->follow.word == FOLLOW_KTHREAD)
        follow_set_detail(&process->follow, request->why);
    record_set_follow(record, &process->follow);
    if (proc_program(process->pid, program, sizeof(program)) < 0)
        return;
    record_set_program(&name, program);
    memcpy(process->program, name.program, sizeof(process->program));
    record_set_program(record, program);
}

/* The attached process with PID, of whatever job; or NULL. */
static struct process *find_process(const struct agent *a, pid_t pid)
{
    for (const struct job *j = a->jobs.first; j; j = j->next)
        for (struct process *p = j->processes; p; p = p->next)
            if (p->pid == pid)
                return p;
    return NULL;
}

/* The process that connected, as one of JOB with pages of its own.  NULL with errno and ERR. */
static struct process *admit(struct agent *a, struct job *job, const struct peer *peer,
                             pid_t called, struct errtext *err)
{
    int caller = caller_open(peer->socket, peer->pid);
    struct process *process = NULL, *before;

    if (caller < 0) {
        errtext_set(err, errno, "pid %d: %s", (int)peer->pid,
                    errno == ESRCH ? "it has ended since it connected" : strerror(errno));
        return NULL;
    }
    if (members_admit(job, peer->pid, called, err) == 0) {
        /* Attached before: it has executed another program, or lost its connection. */
        if ((before = find_process(a, peer->pid)))
            agent_detach(a, before, "a new attach");
        process = process_attach(job, peer->pid, a->topology, a->options.lease_ns, err);
    } else if (errno == EPERM && log_limit_allows(&a->strangers, job->uid, clock_ns())) {
        log_notice("refused an attach: %s", err->text);
    }
    if (process && !caller_lives(caller)) {
        process_detach(process);
        process = NULL;
        errtext_set(err, ESRCH, "pid %d: it has ended", (int)peer->pid);
    }
    int saved = errno;
    close(caller);
    errno = saved;
    return process;
}

static int attach(struct agent *a, const struct peer *peer,
                  const struct message_request *request, struct reply *reply,
                  struct errtext *err)
{
    struct job *job = job_find(&a->jobs, request->job);
    char why[64];

    if (!job || job->ending)
        return no_such_job(request->job, err);
    if (peer->job)
        return errtext_set(err, EALREADY,
                           "job %u: a process has attached over this connection", peer->job);
    if (peer->uid != job->uid)
        return errtext_set(err, EPERM, "job %u: belongs to uid %u, not to %u",
                           job->id, job->uid, peer->uid);
    /* Pages have one version so far, which every library knows. */
    if (request->layout && request->layout < COSCHED_LAYOUT_VERSION)
        return errtext_set(err, EPROTO, "layout %u: this agent speaks %u",
                           request->layout, COSCHED_LAYOUT_VERSION);
    struct process *process = admit(a, job, peer, request->pid, err);
    if (!process)
        return -1;
    if (agent_watch_process(a, process) < 0) {
        int saved = errno;
        process_detach(process);
        return errtext_set(err, saved, "attach: %s", strerror(saved));
    }
    process->connection = peer->connection;
    server_attached(a->server, peer->connection, job->id);
    job->cooperative = true;
    job->record.attached = true;
    take_follow(process, request);
    enforcer_attached(a->enforcer, job, peer->pid);
    /* The page may stay without CPUs until others have left them; the lease
     * has to run all the same. */
    allotment_beat(process->allotment, clock_ns());
    allotment_write(process->allotment, &job->cpus, job->parked, clock_ns());
    job_log(job, LOG_INFO, "process %d attached", (int)peer->pid);
    snprintf(why, sizeof(why), "the attach of process %d of job %u",
             (int)peer->pid, job->id);
    /* It has the job's CPUs; of several, the next epoch gives each its part. */
    agent_job_changed(a, job, process->next, why);
    reply->fds[0] = allotment_fd(process->allotment);
    reply->fds[1] = report_fd(process->report);
    reply->nfds = 2;
    reply->body = json_pack("{s:i}", "layout", COSCHED_LAYOUT_VERSION);
    return 0;
}

static int body(struct reply *reply, json_t *object, struct errtext *err)
{
    if (!object)
        return errtext_set(err, ENOMEM, "out of memory");
    reply->body = object;
    return 0;
}

/* Start or stop recording. */
static int record(struct agent *a, const struct message_request *request,
                  struct reply *reply, struct errtext *err)
{
    if (!*request->dir && !recorder_active(a->recorder))
        return errtext_set(err, ENOENT, "nothing is being recorded");
    if (!*request->dir) {
        recorder_stop(a->recorder);
        log_notice("recording into %s ended", recorder_dir(a->recorder));
    } else {
        if (request->dir[0] != '/')
            return errtext_set(err, EINVAL, "%.150s: not an absolute path",
                               request->dir);
        if (scheduler_forget(a->scheduler) < 0)
            return errtext_set(err, ENOMEM, "out of memory");
        if (journal_start(a->recorder, request->dir, a->topology, a->counters,
                          &a->options, &a->jobs, err) < 0)
            return -1;
        log_notice("recording into %s", request->dir);
        scheduler_trigger(a->scheduler, "the start of a recording");
    }
    return body(reply, json_pack("{s:s}", "dir", recorder_dir(a->recorder)),
                err);
}

/* Stop to divide the node's CPUs, or begin again.  Survives a restart. */
static int drain(struct agent *a, const struct peer *peer,
                 const struct message_request *request, struct errtext *err)
{
    struct node_state *n = &a->node;
    bool begin = request->op == MESSAGE_DRAIN;
    char *reason = begin ? strdup(request->reason) : NULL;

    if (begin && !reason)
        return errtext_set(err, ENOMEM, "out of memory");
    if (!begin && !n->drained)
        return errtext_set(err, EALREADY, "sharing is not drained");
    if (begin) {
        errtext_clean(reason);
        n->drained_uid = peer->uid;
        n->drained_wall_ns = clock_wall_ns();
    }
    free(n->drained);
    n->drained = reason;
    if (begin)
        log_notice("sharing is drained by uid %u%s%s", peer->uid,
                   *reason ? ": " : "", reason);
    else
        log_notice("sharing is resumed by uid %u", peer->uid);
    scheduler_trigger(a->scheduler,
                      begin ? "coschedctl drain" : "coschedctl resume");
    agent_save(a);
    return 0;
}

static int on_request(void *arg, const struct peer *peer,
                      const struct message_request *request,
                      struct reply *reply, struct errtext *err)
{
    struct agent *a = arg;
    struct job *job = request->job ? job_find(&a->jobs, request->job) : NULL;

    if ((request->op == MESSAGE_STATUS || request->op == MESSAGE_EXPLAIN ||
         request->op == MESSAGE_TRACE || request->op == MESSAGE_WHY) &&
        request->job && (!job || !reply_may_see(a, peer, job->uid)))
        return no_such_job(request->job, err);
    switch (request->op) {
    case MESSAGE_ANNOUNCE:
        return announce(a, peer, request, reply, err);
    case MESSAGE_TASK:
        return add_task(a, request, err);
    case MESSAGE_WITHDRAW:
        return withdraw(a, request);
    case MESSAGE_ATTACH:
        return attach(a, peer, request, reply, err);
    case MESSAGE_TRACE:
        if (!reply_may_see_all(a, peer))
            return errtext_set(err, EPERM, "PrivateData in slurm.conf has jobs: only "
                               "root and SlurmUser may see those of all users");
        reply->fds[reply->nfds++] = trace_fd(a->trace);
        return 0;
    case MESSAGE_STATUS:
        return body(reply, reply_status(a, peer, request->job), err);
    case MESSAGE_EXPLAIN:
        return body(reply, reply_explain(a, peer, request->job), err);
    case MESSAGE_CONFIG:
        return body(reply, reply_config(a), err);
    case MESSAGE_PING:
        return body(reply, reply_ping(a), err);
    case MESSAGE_COUNTERS:
        return body(reply, reply_counters(a), err);
    case MESSAGE_RECORD:
        return record(a, request, reply, err);
    case MESSAGE_DRAIN:
    case MESSAGE_RESUME:
        return drain(a, peer, request, err);
    case MESSAGE_WHY:
        if (!reply_may_look(peer, job))
            return errtext_set(err, EPERM, "job %u: belongs to uid %u, not to %u",
                               job->id, job->uid, peer->uid);
        return body(reply, reply_why(a, job), err);
    case MESSAGE_OPS:
        break;
    }
    return errtext_set(err, EOPNOTSUPP, "unknown request");
}

static void on_hangup(void *arg, uint64_t connection, uint32_t id)
{
    struct agent *a = arg;
    const struct job *job = job_find(&a->jobs, id);
    struct process *p = job ? job->processes : NULL;

    while (p && p->connection != connection)
        p = p->next;
    if (p)
        agent_detach(a, p, "the hang-up");
}

static bool on_resident(void *arg, uid_t uid)
{
    const struct agent *a = arg;
    const struct job *j = a->jobs.first;

    while (j && j->uid != uid)
        j = j->next;
    return j;
}

const struct server_handler request_handler = {
    .request = on_request,
    .hangup = on_hangup,
    .resident = on_resident,
};
