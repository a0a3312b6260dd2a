/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The node agent: what holds its parts together. */

#include "node_agent/daemon/agent.h"
#include "node_agent/daemon/agent_counters.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/clock.h"
#include "node_agent/daemon/delivery.h"
#include "node_agent/daemon/ending.h"
#include "node_agent/daemon/listener.h"
#include "common/log.h"
#include "model/io/concurrency_json.h"
#include "node_agent/core/job_log.h"
#include "node_agent/core/plan.h"
#include "node_agent/core/process.h"
#include "node_agent/recording/recording.h"
#include "protocol/cpulist.h"

/* The records of running jobs grow without any event; a crash may cost them
 * this much. */
#define SAVE_INTERVAL_NS (5 * NS_PER_S)

/* Between two writings of the whole state, which cost at most one part in SAVE_SHARE of
 * the time.  What an answer relies on does not wait for them. */
#define SAVE_PAUSE_NS NS_PER_S
#define SAVE_SHARE 100

/* ---- epochs -------------------------------------------------------------- */

/* Another epoch, which was due at DUE_US.  Late ones are not made up for: those that should have
 * begun since the last one did, and those that could not because of our own work. */
static void count_epoch(struct agent *a, uint64_t due_us)
{
    uint64_t now_us = clock_ns() / NS_PER_US, cpu_ns = clock_cpu_ns();

    a->epochs++;
    uint64_t late_ns = now_us > due_us ? (now_us - due_us) * NS_PER_US : 0;
    a->late += late_ns > a->options.epoch_ns / 2;
    a->epochs_missed += late_ns / a->options.epoch_ns;
    if (a->epoch_cpu_ns)
        a->epochs_overrun += (cpu_ns - a->epoch_cpu_ns) / a->options.epoch_ns;
    a->epoch_cpu_ns = cpu_ns;
}

static int on_epoch(sd_event_source *source, uint64_t usec, void *arg)
{
    struct agent *a = arg;

    count_epoch(a, usec);
    scheduler_epoch(a->scheduler);
    uint64_t now_ns = clock_ns();
    looks_epoch(a->looks, &a->jobs, now_ns);
    namer_epoch(a->namer, now_ns);
    if (now_ns - a->saved_ns > SAVE_INTERVAL_NS)
        agent_touch(a);
    /* Nothing to do: a node without jobs sleeps. */
    if (!a->jobs.count && !enforcer_owes(a->enforcer, NULL)) {
        a->epoch_cpu_ns = 0;
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
    }
    /* Relative to when it should have been, unless we fell behind. */
    uint64_t epoch_us = a->options.epoch_ns / NS_PER_US;
    uint64_t next_us = usec + epoch_us;
    if (next_us < now_ns / NS_PER_US)
        next_us = now_ns / NS_PER_US + epoch_us;
    sd_event_source_set_time(source, next_us);
    int rc = sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    /* Last, because the end of a job starts the epochs unless they run. */
    ending_look(a, now_ns);
    return rc;
}

static void start_epochs(struct agent *a)
{
    int enabled = SD_EVENT_OFF;

    if (a->epoch_source)
        sd_event_source_get_enabled(a->epoch_source, &enabled);
    if (enabled != SD_EVENT_OFF)
        return;
    a->epoch_source = sd_event_source_disable_unref(a->epoch_source);
    if (sd_event_add_time_relative(a->event, &a->epoch_source, CLOCK_MONOTONIC,
                                   a->options.epoch_ns / NS_PER_US, 1, on_epoch, a) >= 0)
        sd_event_source_set_priority(a->epoch_source, HOST_EVENT_PRIORITY);
}

/* ---- state --------------------------------------------------------------- */

void agent_save(struct agent *a)
{
    uint64_t begin_ns = clock_cpu_ns();
    struct errtext err;

    bool failed = state_write(&a->state, &a->jobs, &a->pending, &a->node, &err) < 0;
    a->saved_ns = clock_ns();
    a->save_cpu_ns = clock_cpu_ns() - begin_ns;
    if (failed && !a->save_error[0])
        log_error("cannot keep the state: %s", err.text);
    else if (!failed && a->save_error[0])
        log_notice("the state is kept again");
    snprintf(a->save_error, sizeof(a->save_error), "%s",
             failed ? err.text : "");
}

static int on_save(sd_event_source *source, uint64_t usec, void *arg)
{
    (void)source;
    (void)usec;
    agent_save(arg);
    return 0;
}

static uint64_t save_pause_ns(const struct agent *a)
{
    uint64_t share_ns = SAVE_SHARE * a->save_cpu_ns;

    return share_ns > SAVE_PAUSE_NS ? share_ns : SAVE_PAUSE_NS;
}

void agent_touch(struct agent *a)
{
    int enabled = SD_EVENT_OFF;

    sd_event_source_get_enabled(a->save_source, &enabled);
    if (enabled != SD_EVENT_OFF)
        return;
    sd_event_source_set_time(a->save_source, (a->saved_ns + save_pause_ns(a)) / NS_PER_US);
    sd_event_source_set_enabled(a->save_source, SD_EVENT_ONESHOT);
}

void agent_kept(struct agent *a, int rc)
{
    if (rc < 0 && (!a->save_error[0] || clock_ns() - a->saved_ns > save_pause_ns(a)))
        agent_save(a);
    else if (rc < 0)
        agent_touch(a);
}

void agent_keep_job(struct agent *a, const struct job *job)
{
    agent_kept(a, state_note_job(&a->state, job, NULL));
}

void agent_keep_task(struct agent *a, const struct task *task)
{
    agent_kept(a, state_note_task(&a->state, task, NULL));
}

/* ---- options ------------------------------------------------------------- */

/* Say what is in force once, in one line. */
static void log_config(const struct node_config *c)
{
    char value[OPTIONS_TEXT_MAX], text[768];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < node_option_count() && used < sizeof(text); i++)
        if (c->origins.option[i].source != OPTION_DEFAULT)
            used += (size_t)snprintf(
                text + used, sizeof(text) - used, "%s%s=%s", used ? ", " : "",
                node_option_name(i),
                node_option_value(&c->options, i, value, sizeof(value)));
    log_notice("options: %s", used ? text : "all as by default");
}

/* Take the options of what Slurm SAYS and the command line, and act on what has
 * changed. */
static void configure(struct agent *a, const struct slurm_says *says)
{
    struct node_config fresh;

    node_config_make(&fresh, says, a->settings->overrides);
    if (fresh.problems.count &&
        strcmp(fresh.problems.text, a->config.problems.text))
        log_error("SchedulerParameters: %s (without effect)",
                  fresh.problems.text);
    bool changed = memcmp(&fresh.options, &a->options, sizeof(a->options)) != 0;
    /* The command line is over slurm.conf. */
    bool counters = !a->settings->counters[0] &&
                    strcmp(fresh.options.counters, a->options.counters);
    a->config = fresh;
    if (!changed)
        return;
    a->options = fresh.options;
    log_config(&fresh);
    if (!a->scheduler)
        return; /* still at its start */
    bool threads = plan_maps(a->options.policy, a->options.policy_options);
    counters |= threads != a->setup.threads;
    a->setup.threads = threads;
    if (counters)
        agent_switch_counters(a);
    for (struct job *j = a->jobs.first; j; j = j->next) {
        j->unsettled = true; /* held by other means, perhaps */
        for (struct process *p = j->processes; p; p = p->next)
            allotment_regrant(p->allotment, &j->granted, a->options.lease_ns,
                              clock_ns());
    }
    delivery_set_collector(a);
    scheduler_trigger(a->scheduler, "new options");
}

/* ---- what Slurm says ----------------------------------------------------- */

static int keep(char **to, const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        return -1;
    free(*to);
    *to = copy;
    return 0;
}

static void on_config(void *arg, const struct slurm_says *says)
{
    struct agent *a = arg;
    struct node_state *n = &a->node;

    a->slurm_absent[0] = '\0';
    a->private_jobs = says->private_jobs;
    a->slurm_user = says->slurm_user;
    /* For the next agent, which may find slurmctld away. */
    if (keep(&n->scheduler_parameters, says->scheduler_parameters) < 0 ||
        keep(&n->partitions, says->partitions) < 0)
        log_error("slurm.conf: out of memory");
    configure(a, says);
    agent_save(a);
}

static void on_absent(void *arg, const char *error)
{
    struct agent *a = arg;

    if (error && !a->slurm_absent[0])
        log_notice("slurmctld does not answer: %s; options stay as they are",
                   error);
    else if (!error && a->slurm_absent[0])
        log_notice("slurmctld answers again");
    snprintf(a->slurm_absent, sizeof(a->slurm_absent), "%s",
             error ? error : "");
}

/* What job_submit.lua wrote of a job: its weight, and earlier runs. */
static void on_job(void *arg, uint32_t id, const char *comment)
{
    struct agent *a = arg;
    struct job *job = job_find(&a->jobs, id);
    struct history history;
    struct errtext err;
    char why[64];

    if (!job || strlen(comment) >= sizeof(job->history_text))
        return;
    if (history_parse(&history, comment, &err) < 0) {
        if (errno == EINVAL)
            log_warn("job %u: %s; nothing of it is used", id, err.text);
        return;
    }
    job->history = history;
    job->weight = history.weight;
    strcpy(job->history_text, comment);
    log_info("job %u: %s", id, comment);
    agent_keep_job(a, job);
    snprintf(why, sizeof(why), "what is known of job %u", id);
    scheduler_trigger(a->scheduler, why);
}

static void on_ready(void *arg)
{
    struct agent *a = arg;

    for (struct job *j = a->jobs.first; j; j = j->next)
        if (!j->interim_sent)
            slurm_link_ask(a->slurm, j->id);
}

static const struct slurm_link_handler slurm_handler = {
    .config = on_config,
    .absent = on_absent,
    .failed = delivery_failed,
    .job = on_job,
    .ready = on_ready,
};

/* ---- jobs and processes -------------------------------------------------- */

void agent_job_changed(struct agent *a, struct job *job, bool one_more, const char *why)
{
    start_epochs(a);
    if (one_more)
        job->undivided = true;
    else
        scheduler_job_changed(a->scheduler, job, why);
    agent_touch(a);
}

/* Tasks that have ended but whose event is still to come: the hang-up of a
 * dying process is seen first, and one decision is enough. */
static void reap_tasks(struct job *job)
{
    struct task *next;

    for (struct task *t = job->tasks; t; t = next) {
        struct pollfd p = {.fd = t->pidfd, .events = POLLIN};
        next = t->next;
        if (poll(&p, 1, 0) > 0) {
            job_log(job, LOG_INFO, "task %d ended", (int)t->pid);
            job_remove_task(t);
        }
    }
}

void agent_detach(struct agent *a, struct process *process, const char *why)
{
    struct job *job = process->job;
    char text[64];

    /* Counts up to now: the page is still there. */
    process_observe(process, clock_ns(), NULL);
    job->record.cpu_s += process_take_cpu(process, clock_ns());
    process_add_totals(process, &job->ended);
    server_drop(a->server, process->connection);
    job_log(job, LOG_INFO, "process %d detached (%s)", (int)process->pid, why);
    snprintf(text, sizeof(text), "%s of process %d of job %u", why,
             (int)process->pid, job->id);
    if (host_process_stopped(process->pid) < 0) {
        report_forget(process->report);
    } else {
        job_leave_page(job, process->report);
        process->report = NULL;
    }
    process_detach(process);
    if (!job->processes)
        reap_tasks(job);
    agent_job_changed(a, job, job->processes, text);
}

static int on_task_end(sd_event_source *source, int fd, uint32_t events,
                       void *arg)
{
    struct task *task = arg;
    struct job *job = task->job;
    struct agent *a = job->agent;
    char why[64];

    (void)source;
    (void)fd;
    (void)events;
    snprintf(why, sizeof(why), "the end of task %d of job %u", (int)task->pid,
             job->id);
    job_log(job, LOG_INFO, "task %d ended", (int)task->pid);
    job_remove_task(task);
    agent_job_changed(a, job, job_live(job), why);
    return 0;
}

static int on_process_end(sd_event_source *source, int fd, uint32_t events,
                          void *arg)
{
    struct process *process = arg;
    struct agent *a = process->job->agent;
    uid_t uid = process->job->uid;
    uint64_t begin_ns = clock_cpu_ns();

    (void)source;
    (void)fd;
    (void)events;
    agent_detach(a, process, "the end");
    server_charge(a->server, uid, begin_ns);
    return 0;
}

void agent_listen_for(struct agent *a, struct job *job)
{
    struct errtext err;

    if (job->listener)
        return;
    job->listener = server_listen_for(a->server, job->id, job->uid, &err);
    if (!job->listener && log_limit_allows(&a->deaf, 0, clock_ns()))
        log_warn("job %u: no socket of its own: %s", job->id, err.text);
}

int agent_watch_task(struct agent *a, struct task *task)
{
    if (task->exit_source)
        return 0;
    int rc = sd_event_add_io(a->event, &task->exit_source, task->pidfd, EPOLLIN,
                             on_task_end, task);
    errno = rc < 0 ? -rc : 0;
    return rc < 0 ? -1 : 0;
}

int agent_watch_process(struct agent *a, struct process *process)
{
    int rc = sd_event_add_io(a->event, &process->exit_source, process->pidfd,
                             EPOLLIN, on_process_end, process);

    errno = rc < 0 ? -rc : 0;
    return rc < 0 ? -1 : 0;
}

/* ---- start and stop ------------------------------------------------------ */

/* Take over what the state file knows: watch the living, finish the dead. */
static int restore(struct agent *a, struct errtext *err)
{
    char ledger[sizeof(a->settings->state) + sizeof(".ledger")];
    struct job *next;

    snprintf(ledger, sizeof(ledger), "%s.ledger", a->settings->state);
    if (supervisor_start(a->supervisor, ledger, err) < 0)
        log_error("%s: nothing is stopped or pinned", err->text);
    if (state_read(&a->state, &a->jobs, &a->pending, &a->node, err) < 0) {
        if (errno != EBADMSG)
            return -1;
        log_warn("%s", err->text); /* start empty */
    }
    /* Until slurmctld answers: as before; what it keeps private is not known. */
    a->private_jobs = a->settings->slurm;
    if (a->settings->slurm && a->node.scheduler_parameters)
        configure(a, &(struct slurm_says){
                         .scheduler_parameters = a->node.scheduler_parameters,
                         .partitions = a->node.partitions});
    for (struct job *j = a->jobs.first; j; j = next) {
        next = j->next;
        j->agent = a;
        cpuset_and(&j->granted, topology_cpus(a->topology));
        for (struct task *t = j->tasks; t; t = t->next)
            if (agent_watch_task(a, t) < 0)
                return errtext_set(err, errno, "job %u: task %d: %s", j->id,
                                   (int)t->pid, strerror(errno));
        /* Announced a moment before the crash: its first task may come yet. */
        bool expected = !job_live(j) && !j->started;
        if ((!job_live(j) && !expected) || cpuset_empty(&j->granted)) {
            if (job_live(j))
                ending_finish(a, j);
            else
                ending_dead(a, j);
            continue;
        }
        log_info("job %u taken over from before the restart", j->id);
        agent_listen_for(a, j);
        if (expected) /* nothing of it is to be held or divided */
            continue;
        enforcer_take_over(j);
        agent_job_changed(a, j, false, "the agent's restart");
    }
    if (a->jobs.count)
        start_epochs(a);
    return 0;
}

/* Take the stored description of the node, if there is one that fits.  One that
 * was asked for must. */
static int use_description(struct agent *a, struct errtext *err)
{
    const struct settings *s = a->settings;
    struct errtext why = {""};

    if (!s->machine[0])
        return 0;
    struct machine_description *d = machine_json_load(s->machine, &why);
    if (!d && errno == ENOENT && !s->machine_given)
        return 0;
    int rc = d ? topology_use_description(a->topology, d, &why) : -1;
    int saved = errno;
    if (rc == 0) {
        a->setup.calibrated = d->calibration != NULL;
        log_info("machine: %s, %s", s->machine,
                 d->calibration ? "calibrated" : "not calibrated");
    } else if (s->machine_given) {
        rc = errtext_set(err, saved, "--machine: %.170s", why.text);
    } else {
        log_warn("machine: %s; what hwloc says is used instead", why.text);
        rc = 0;
    }
    machine_description_free(d);
    return rc;
}

/* Take the predictors that were trained for this node, if there are any. */
static int use_weights(struct agent *a, struct errtext *err)
{
    struct errtext why = {""};

    if (!a->settings->weights[0])
        return 0;
    a->model = concurrency_json_load(a->settings->weights, topology_machine(a->topology), &why);
    return a->model ? 0 : errtext_set(err, errno, "--weights: %.170s", why.text);
}

static int build_parts(struct agent *a, struct errtext *err)
{
    const struct settings *s = a->settings;

    if (!(a->topology = topology_new(s->restrict_cpus ? &s->cpus : NULL, err)))
        return -1;
    if (use_description(a, err) < 0)
        return -1;
    bool calibrated = a->setup.calibrated;
    counters_setup_init(&a->setup, topology_machine(a->topology),
                        topology_cpus(a->topology));
    a->setup.calibrated = calibrated;
    a->setup.replay = &counters_replay;
    a->setup.topology = a->topology;
    a->setup.threads = plan_maps(a->options.policy, a->options.policy_options);
    a->setup.llc_domain = topology_llc_domains(a->topology);
    a->setup.package = topology_packages(a->topology, &a->setup.packages);
    a->setup.cpu_model = counters_cpu_model(a->setup.procfs, a->cpu_model,
                                            sizeof(a->cpu_model));
    if (agent_open_counters(a, err) < 0 || use_weights(a, err) < 0)
        return -1;
    if (!(a->recorder = recorder_new()) ||
        !(a->observer = observer_new(a->counters, a->topology, a->recorder)) ||
        !(a->enforcer = enforcer_new(a->supervisor, &a->options)) ||
        !(a->host = host_event_new(a->event)) || !(a->looks = looks_new(a->event)) ||
        !(a->namer = namer_new(a->event, &a->jobs, s->socket)) ||
        !(a->trace = trace_new()) || !(a->decisions = decisions_new()))
        return errtext_set(err, ENOMEM, "agent: out of memory");
    observer_predict(a->observer, a->model);
    enforcer_use_cgroups(a->enforcer, s->node);
    a->scheduler = scheduler_new(&(struct scheduler_parts){
        .host = a->host,
        .jobs = &a->jobs,
        .topology = a->topology,
        .options = &a->options,
        .observer = a->observer,
        .enforcer = a->enforcer,
        .trace = a->trace,
        .decisions = a->decisions,
        .recorder = a->recorder,
        .drained = &a->node.drained,
    });
    if (!a->scheduler ||
        sd_event_add_time(a->event, &a->save_source, CLOCK_MONOTONIC, 0, 0, on_save, a) < 0)
        return errtext_set(err, ENOMEM, "agent: out of memory");
    sd_event_source_set_priority(a->save_source, SD_EVENT_PRIORITY_IDLE);
    return sd_event_source_set_enabled(a->save_source, SD_EVENT_OFF) < 0 ? -1
                                                                         : 0;
}

struct agent *agent_new(const struct settings *settings, struct supervisor *supervisor,
                        sd_event *event, const struct server_handler *handler,
                        struct errtext *err)
{
    struct agent *a = calloc(1, sizeof(*a));

    if (!a) {
        errtext_set(err, ENOMEM, "agent: out of memory");
        return NULL;
    }
    a->settings = settings;
    state_file_init(&a->state, settings->state);
    a->supervisor = supervisor;
    a->event = sd_event_ref(event);
    node_config_make(&a->config, NULL, settings->overrides);
    a->options = a->config.options;
    if (build_parts(a, err) < 0 ||
        /* The socket first: it keeps a second agent away from the state. */
        !(a->server = server_new(event, settings->socket, settings->auth,
                                 settings->munge_socket[0]
                                     ? settings->munge_socket
                                     : NULL,
                                 handler, a, err)) ||
        restore(a, err) < 0) {
        agent_free(a);
        return NULL;
    }
    agent_open_slow_counters(a); /* a thread, which the supervisor must not be forked beside */
    if (settings->slurm &&
        (!(a->slurm = slurm_link_new(event, settings->helper, settings->node, NULL,
                                     &slurm_handler, a)) ||
         !(a->records = slurm_link_new(event, settings->helper, settings->node,
                                       settings->records, &delivery_records, a)))) {
        errtext_set(err, ENOMEM, "agent: out of memory");
        agent_free(a);
        return NULL;
    }
    return a;
}

void agent_free(struct agent *a)
{
    if (!a)
        return;
    int saved = errno;
    if (a->save_source && a->server)
        agent_save(a);
    for (struct job *j = a->jobs.first; j; j = j->next)
        listener_free(j->listener);
    server_free(a->server);
    looks_free(a->looks);
    namer_free(a->namer);
    slurm_link_free(a->slurm);
    slurm_link_free(a->records);
    scheduler_free(a->scheduler);
    for (struct job *j = a->jobs.first; j; j = j->next)
        while (j->processes)
            process_detach(j->processes);
    while (a->jobs.first)
        job_remove(&a->jobs, a->jobs.first);
    pending_clear(&a->pending);
    node_state_clear(&a->node);
    state_file_close(&a->state);
    sd_event_source_disable_unref(a->epoch_source);
    sd_event_source_disable_unref(a->ending_source);
    sd_event_source_disable_unref(a->save_source);
    decisions_free(a->decisions);
    trace_free(a->trace);
    enforcer_free(a->enforcer);
    observer_free(a->observer);
    concurrency_model_free(a->model);
    recorder_free(a->recorder);
    opening_free(a->opening);
    counters_close(a->counters);
    topology_free(a->topology);
    host_event_free(a->host);
    sd_event_unref(a->event);
    free(a);
    errno = saved;
}
