/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What each request of the socket does. */

#include "config.h"

#include "node_agent/daemon/request.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/daemon/agent.h"
#include "common/clock.h"
#include "common/log.h"
#include "node_agent/core/journal.h"
#include "node_agent/core/plan.h"
#include "node_agent/core/process.h"
#include "node_agent/counters/probe.h"
#include "node_agent/enforce/proc.h"
#include "node_agent/recording/recording.h"
#include "protocol/cpulist.h"

/* ---- replies that describe the agent (protocol/replies.md) ---------------- */

/* What is known of the present region, or null. */
static json_t *region_json(const struct job *job)
{
    const struct region *s = job->region;
    char name[REGION_NAME_MAX];

    if (!s)
        return json_null();
    json_t *object = json_pack("{s:s, s:s}", "region", region_name(s, name),
                               "state", region_knowledge(s));
    if (s->profile) {
        json_object_set_new(object, "rho", json_real(s->fit.rho));
        json_object_set_new(object, "rho_low", json_real(s->fit.low));
        json_object_set_new(object, "rho_high",
                            isfinite(s->fit.high) ? json_real(s->fit.high)
                                                  : json_null());
        json_object_set_new(object, "compute_bound",
                            json_boolean(s->fit.compute_bound));
    }
    return object;
}

static size_t count_attached(const struct job *job)
{
    size_t n = 0;

    for (const struct process *p = job->processes; p; p = p->next)
        n++;
    return n;
}

static json_t *partners_json(const struct record *record)
{
    json_t *array = json_array();
    size_t count = record->partners < RECORD_PARTNERS ? record->partners
                                                      : RECORD_PARTNERS;

    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_integer(record->partner[i]));
    return array;
}

/* What earlier runs tell, or null. */
static json_t *history_json(const struct job *job)
{
    const struct history *h = &job->history;

    if (!h->known)
        return json_null();
    return json_pack("{s:I, s:s, s:f, s:o, s:s?}", "runs",
                     (json_int_t)h->runs, "program", h->program, "expected_s",
                     job->expected_s, "alone_s",
                     isnan(h->alone_s) ? json_null() : json_real(h->alone_s),
                     "dropped", h->dropped);
}

/* A process, and why it follows or does not. */
static json_t *finding_json(pid_t pid, const char *program,
                            const struct follow_finding *f)
{
    char sentence[FOLLOW_TEXT_MAX], advice[FOLLOW_TEXT_MAX];

    return json_pack("{s:I, s:s, s:s, s:b, s:b, s:s, s:s, s:s}", "pid",
                     (json_int_t)pid, "program", program, "word",
                     follow_word(f->word), "malleable",
                     (int)follow_is_malleable(f->word), "probably",
                     (int)f->probably, "detail", f->detail, "sentence",
                     follow_sentence(f, sentence), "advice",
                     follow_advice(f, advice));
}

/* The same of what stands for JOB, or null: of an attached process, that with kernel threads first;
 * else of the one that used most CPU time. */
static json_t *follow_json(const struct job *job)
{
    const struct process *best = NULL;
    size_t count;
    const struct follow_process *found = looks_found(job, &count);

    for (const struct process *p = job->processes; p; p = p->next)
        if (!p->bad && (!best || p->follow.word > best->follow.word))
            best = p;
    if (best)
        return finding_json(best->pid, best->program, &best->follow);
    return count && !job->cooperative
               ? finding_json(found->pid, found->program, &found->finding)
               : json_null();
}

/* True when PEER may hear what a job of its user has loaded. */
static bool may_look(const struct peer *peer, const struct job *job)
{
    return peer->uid == job->uid || peer->uid == 0 || peer->uid == getuid();
}

static json_t *job_json(const struct agent *a, const struct peer *peer,
                        const struct job *job)
{
    char cpus[4096], granted[4096];
    double live_s = (double)job->record.live_ns * 1e-9;

    json_t *object = json_pack(
        "{s:I, s:I, s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:f, s:I, s:f}",
        "job",
        (json_int_t)job->id, "uid", (json_int_t)job->uid, "name", job->name,
        "state", job_state_name(job_state(job)), "cpus",
        cpulist_format(&job->cpus, cpus, sizeof(cpus)), "granted",
        cpulist_format(&job->granted, granted, sizeof(granted)), "cores",
        (json_int_t)topology_count_cores(a->topology, &job->cpus), "attached",
        (json_int_t)count_attached(job), "region", region_json(job),
        "partners", partners_json(&job->record), "mean_cores",
        live_s > 0 ? job->record.core_s / live_s : 0.0,
        "decisions", (json_int_t)job->record.decisions, "live_s", live_s);
    json_object_set_new(object, "weight", json_real(plan_weight(job)));
    json_object_set_new(object, "history", history_json(job));
    /* Nothing of it ever followed the allotment by itself. */
    json_object_set_new(object, "held",
                        json_boolean(job->held && !job->cooperative));
    json_object_set_new(object, "follow",
                        may_look(peer, job) ? follow_json(job) : json_null());
    if (object && job->record.energy_j > 0)
        json_object_set_new(object, "energy_j",
                            json_real(job->record.energy_j));
    return object;
}

/* Remove elements of ARRAY, from its front or its end, until it fits into a
 * packet beside a small rest.  Returns how many were removed. */
static size_t fit(json_t *array, bool from_front)
{
    size_t limit = MESSAGE_MAX - 8192, size = 0, removed = 0;
    json_t *entry;
    size_t i;

    json_array_foreach(array, i, entry)
        size += json_dumpb(entry, NULL, 0, JSON_COMPACT) + 1;
    while (size > limit) {
        size_t victim = from_front ? 0 : json_array_size(array) - 1;
        size -= json_dumpb(json_array_get(array, victim), NULL, 0,
                           JSON_COMPACT) +
                1;
        json_array_remove(array, victim);
        removed++;
    }
    return removed;
}

/* Why, by whom and since when sharing is drained, or null. */
static json_t *drained_json(const struct agent *a)
{
    const struct node_state *n = &a->node;

    return n->drained ? json_pack("{s:s, s:I, s:f}", "reason", n->drained,
                                  "uid", (json_int_t)n->drained_uid, "since",
                                  (double)n->drained_wall_ns * 1e-9)
                      : json_null();
}

static json_t *status_reply(const struct agent *a, const struct peer *peer,
                            uint32_t job)
{
    char cpus[4096];
    json_t *jobs = json_array();

    for (const struct job *j = a->jobs.first; j; j = j->next)
        if (!job || j->id == job)
            json_array_append_new(jobs, job_json(a, peer, j));
    size_t omitted = fit(jobs, false);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:I, s:o}", "node", a->settings->node, "policy",
        a->options.policy, "counters", counters_name(a->counters), "cpus",
        cpulist_format(topology_cpus(a->topology), cpus, sizeof(cpus)),
        "drained", drained_json(a), "omitted", (json_int_t)omitted, "jobs",
        jobs);
}

static json_t *status_explain(const struct agent *a, uint32_t job)
{
    json_t *decisions = decisions_json(a->decisions, job);

    fit(decisions, true); /* the newest matter most */
    return json_pack("{s:s, s:o}", "node", a->settings->node, "decisions",
                     decisions);
}

/* One member for each option: as typed, and where it is from. */
static json_t *origins_json(const struct agent *a)
{
    json_t *list = json_array();
    char value[OPTIONS_TEXT_MAX], from[96];

    for (size_t i = 0; i < node_option_count(); i++) {
        const char *text =
            node_option_value(&a->options, i, value, sizeof(value));
        node_config_origin(&a->config, i, from, sizeof(from));
        if (i == node_option_find("counters") && a->settings->counters[0]) {
            text = a->settings->counters;
            snprintf(from, sizeof(from), "command line");
        }
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name",
                                              node_option_name(i), "value",
                                              text, "from", from));
    }
    return list;
}

static json_t *status_config(const struct agent *a)
{
    const struct node_options *o = &a->options;

    return json_pack("{s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, "
                     "s:s, s:s, s:s}",
                     "policy", o->policy, "policy_options", o->policy_options,
                     "probe_percent", o->probe_percent,
                     "epoch_ns", (json_int_t)o->epoch_ns, "profile_ns",
                     (json_int_t)o->profile_ns, "min_region_ns",
                     (json_int_t)o->min_region_ns, "attach_timeout_ns",
                     (json_int_t)o->attach_ns, "slice_ns",
                     (json_int_t)o->slice_ns, "lease_ns",
                     (json_int_t)o->lease_ns, "forget_ns",
                     (json_int_t)o->forget_ns, "options", origins_json(a),
                     "partitions", a->config.partitions, "problems",
                     a->config.problems.text, "enforcement",
                     options_enforcements[o->enforcement]);
}

static json_t *status_ping(const struct agent *a)
{
    json_t *problems = json_array();

    if (a->save_error[0])
        json_array_append_new(problems, json_sprintf("cannot keep the state: %s",
                                                     a->save_error));
    if (a->slurm_absent[0])
        json_array_append_new(problems,
                              json_sprintf("slurmctld does not answer: %s",
                                           a->slurm_absent));
    if (a->slurm && !slurm_link_alive(a->slurm))
        json_array_append_new(problems, json_sprintf("%s does not run",
                                                     a->settings->helper));
    if (a->config.problems.count)
        json_array_append_new(problems,
                              json_sprintf("SchedulerParameters: %s",
                                           a->config.problems.text));
    return json_pack("{s:s, s:I, s:s, s:I, s:I, s:i, s:i, s:i, s:i, s:o, s:o}",
                     "version", PACKAGE_VERSION, "pid", (json_int_t)getpid(),
                     "node", a->settings->node, "jobs",
                     (json_int_t)a->jobs.count, "epochs",
                     (json_int_t)a->epochs, "oldest",
                     MESSAGE_VERSION_OLDEST, "newest", MESSAGE_VERSION,
                     "revision", MESSAGE_REVISION, "layout",
                     COSCHED_LAYOUT_VERSION, "drained", drained_json(a),
                     "problems", problems);
}

static json_t *status_counters(const struct agent *a)
{
    json_t *metrics = counters_metrics_json(a->counters);
    json_t *recording = recorder_active(a->recorder)
                            ? json_string(recorder_dir(a->recorder))
                            : json_null();

    return json_pack("{s:s, s:b, s:o, s:o}", "counters",
                     counters_names(a->counters), "calibrated",
                     (int)a->setup.calibrated, "recording", recording,
                     "metrics", metrics);
}

/* ---- requests ------------------------------------------------------------- */

static int no_such_job(uint32_t job, struct errtext *err)
{
    return errtext_set(err, ENOENT, "job %u: not known to this agent", job);
}

/* A later run of a requeued job begins with a clean sheet. */
static void reset_run(struct agent *a, struct job *job, uint32_t restarts)
{
    while (job->processes)
        agent_detach(a, job->processes, "requeue");
    while (job->tasks)
        job_remove_task(job->tasks);
    agent_job_changed(a, job, "a requeue");
    region_list_clear(&job->regions);
    memset(&job->record, 0, sizeof(job->record));
    job->regions_ended = 0;
    job->steps_ended = job->barriers_ended = 0;
    looks_forget(job);
    job->restarts = restarts;
    job->cooperative = false;
    job->held = false;
    job->interim_sent = false;
    job->history.dropped = NULL;
    job->done_s = 0;
    job->announced_wall_ns = clock_wall_ns();
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

/* End jobs whose epilog never came: slurmd died, or the agent was away then.
 * Their records would be lost, and the table would grow. */
static void end_forgotten(struct agent *a, uint32_t except)
{
    uint64_t now_ns = clock_wall_ns();
    struct job *next;

    for (struct job *j = a->jobs.first; j; j = next) {
        uint64_t since_ns =
            j->ended_wall_ns ? j->ended_wall_ns : j->announced_wall_ns;
        next = j->next;
        if (j->id != except && !job_live(j) && now_ns > since_ns &&
            now_ns - since_ns > a->options.forget_ns)
            agent_end_job(a, j);
    }
}

/* Batch and step daemons all announce: the same job again is no news. */
static int announce(struct agent *a, const struct message_request *request,
                    struct reply *reply, struct errtext *err)
{
    struct job_options options;
    struct cosched_cpuset granted;
    char cpus[4096];

    job_options_init(&options);
    if (job_options_parse(&options, request->options, err) < 0 ||
        topology_map_cores(a->topology, request->cores, &granted, err) < 0)
        return -1;
    end_forgotten(a, request->job);
    struct job *job = job_find(&a->jobs, request->job);
    if (job && job->restarts != request->restarts) {
        reset_run(a, job, request->restarts);
    } else if (!job) {
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
    job->uid = request->uid;
    job->memory_mb = request->memory_mb;
    memcpy(job->name, request->name, sizeof(job->name));
    if (a->slurm && !job->interim_sent && !job->history_text[0])
        slurm_link_ask(a->slurm, job->id);
    regrant(a, job, &granted);
    job->record.granted = topology_count_cores(a->topology, &granted);
    agent_save(a);
    reply->body = json_pack(
        "{s:s}", "cpus", cpulist_format(&job->granted, cpus, sizeof(cpus)));
    return 0;
}

static int add_task(struct agent *a, const struct message_request *request,
                    struct errtext *err)
{
    struct job *job = job_find(&a->jobs, request->job);
    char why[64];

    if (!job)
        return no_such_job(request->job, err);
    struct task *task = job_add_task(job, request->step, request->pid);
    if (!task || agent_watch_task(a, task) < 0) {
        int saved = errno;
        if (task)
            job_remove_task(task);
        return errtext_set(err, saved, "pid %d: %s", (int)request->pid,
                           strerror(saved));
    }
    enforcer_expect(a->enforcer, clock_ns());
    snprintf(why, sizeof(why), "task %d of job %u", (int)request->pid, job->id);
    agent_job_changed(a, job, why);
    agent_send_interim(a, job);
    agent_save(a);
    return 0;
}

static int withdraw(struct agent *a, const struct message_request *request)
{
    struct job *job = job_find(&a->jobs, request->job);

    /* The epilog runs for every job of the node: unknown ones are normal. */
    if (job)
        agent_end_job(a, job);
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

static int attach(struct agent *a, struct connection *connection,
                  const struct peer *peer,
                  const struct message_request *request, struct reply *reply,
                  struct errtext *err)
{
    struct job *job = job_find(&a->jobs, request->job);
    char why[64];

    if (!job)
        return no_such_job(request->job, err);
    if (peer->uid != job->uid)
        return errtext_set(err, EPERM, "job %u: belongs to uid %u, not to %u",
                           job->id, job->uid, peer->uid);
    /* Pages have one version so far, which every library knows. */
    if (request->layout && request->layout < COSCHED_LAYOUT_VERSION)
        return errtext_set(err, EPROTO, "layout %u: this agent speaks %u",
                           request->layout, COSCHED_LAYOUT_VERSION);
    if (request->pid != peer->pid)
        return errtext_set(err, EPERM, "pid %d: the sender is process %d",
                           (int)request->pid, (int)peer->pid);
    for (struct process *p = job->processes; p; p = p->next)
        if (p->pid == peer->pid) {
            /* Attached again (after exec, or having lost its connection). */
            agent_detach(a, p, "a new attach");
            break;
        }
    struct process *process = process_attach(job, peer->pid, a->topology,
                                             a->options.lease_ns, err);
    if (!process)
        return -1;
    if (agent_watch_process(a, process) < 0) {
        int saved = errno;
        process_detach(process);
        return errtext_set(err, saved, "attach: %s", strerror(saved));
    }
    process->connection = connection;
    server_own(connection, process);
    job->cooperative = true;
    job->record.attached = true;
    take_follow(process, request);
    enforcer_attached(a->enforcer, job, peer->pid);
    /* The page may stay without CPUs until others have left them; the lease
     * has to run all the same. */
    allotment_beat(process->allotment, clock_ns());
    allotment_write(process->allotment, &job->cpus, job->parked, clock_ns());
    log_info("job %u: process %d attached", job->id, (int)peer->pid);
    snprintf(why, sizeof(why), "the attach of process %d of job %u",
             (int)peer->pid, job->id);
    agent_job_changed(a, job, why);
    reply->fds[0] = allotment_fd(process->allotment);
    reply->fds[1] = report_fd(process->report);
    reply->nfds = 2;
    reply->body = json_pack("{s:i}", "layout", COSCHED_LAYOUT_VERSION);
    return 0;
}

/* Why the processes of a job follow or do not.  A look takes a while, in which "pending" says to
 * ask again. */
static json_t *why_reply(struct agent *a, struct job *job)
{
    uint64_t now_ns = clock_ns();

    /* While sharing is drained nobody else looks which processes there are. */
    enforcer_scan(a->enforcer, &a->jobs, false, now_ns);
    bool pending = looks_ask(a->looks, job, now_ns);
    json_t *processes = json_array();
    size_t count;
    const struct follow_process *found = looks_found(job, &count);

    for (const struct process *p = job->processes; p; p = p->next)
        json_array_append_new(processes, finding_json(p->pid, p->program, &p->follow));
    for (size_t i = 0; i < count; i++) {
        const struct process *p = job->processes;
        while (p && p->pid != found[i].pid)
            p = p->next;
        if (!p)
            json_array_append_new(processes,
                                  finding_json(found[i].pid, found[i].program,
                                               &found[i].finding));
    }
    size_t omitted = fit(processes, false);
    return json_pack("{s:I, s:b, s:I, s:o}", "job", (json_int_t)job->id, "pending",
                     (int)pending, "omitted", (json_int_t)omitted, "processes", processes);
}

static int trace(struct agent *a, const struct message_request *request,
                 struct reply *reply, struct errtext *err)
{
    int fd = trace_write(a->trace, request->job, clock_ns(), err);

    if (fd < 0)
        return -1;
    reply->fds[0] = fd;
    reply->nfds = 1;
    reply->close_fds = true;
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

static int on_request(void *arg, struct connection *connection,
                      const struct peer *peer,
                      const struct message_request *request,
                      struct reply *reply, struct errtext *err)
{
    struct agent *a = arg;
    struct job *job = request->job ? job_find(&a->jobs, request->job) : NULL;

    if ((request->op == MESSAGE_STATUS || request->op == MESSAGE_EXPLAIN ||
         request->op == MESSAGE_TRACE || request->op == MESSAGE_WHY) &&
        request->job && !job)
        return no_such_job(request->job, err);
    switch (request->op) {
    case MESSAGE_ANNOUNCE:
        return announce(a, request, reply, err);
    case MESSAGE_TASK:
        return add_task(a, request, err);
    case MESSAGE_WITHDRAW:
        return withdraw(a, request);
    case MESSAGE_ATTACH:
        return attach(a, connection, peer, request, reply, err);
    case MESSAGE_TRACE:
        return trace(a, request, reply, err);
    case MESSAGE_STATUS:
        return body(reply, status_reply(a, peer, request->job), err);
    case MESSAGE_EXPLAIN:
        return body(reply, status_explain(a, request->job), err);
    case MESSAGE_CONFIG:
        return body(reply, status_config(a), err);
    case MESSAGE_PING:
        return body(reply, status_ping(a), err);
    case MESSAGE_COUNTERS:
        return body(reply, status_counters(a), err);
    case MESSAGE_RECORD:
        return record(a, request, reply, err);
    case MESSAGE_DRAIN:
    case MESSAGE_RESUME:
        return drain(a, peer, request, err);
    case MESSAGE_WHY:
        if (!may_look(peer, job))
            return errtext_set(err, EPERM, "job %u: belongs to uid %u, not to %u",
                               job->id, job->uid, peer->uid);
        return body(reply, why_reply(a, job), err);
    case MESSAGE_OPS:
        break;
    }
    return errtext_set(err, EOPNOTSUPP, "unknown request");
}

static void on_hangup(void *arg, void *owner)
{
    struct process *process = owner;

    process->connection = NULL;
    agent_detach(arg, process, "the hang-up");
}

const struct server_handler request_handler = {
    .request = on_request,
    .hangup = on_hangup,
};
