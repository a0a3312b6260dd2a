/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What survives a restart of the agent: jobs and records not yet delivered. */

#include "node_agent/daemon/state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/cpulist.h"
#include "common/fd.h"

/* ---- records on their way ----------------------------------------------- */

int pending_add(struct pending_list *list, uint32_t job, uint64_t end_s,
                const char *text)
{
    struct pending **end = &list->first;
    struct pending *p = calloc(1, sizeof(*p));

    if (!p)
        return -1;
    pending_remove(list, job);
    if (list->count >= PENDING_LIMIT)
        pending_remove(list, list->first->job);
    p->job = job;
    p->end_s = end_s;
    snprintf(p->text, sizeof(p->text), "%s", text);
    while (*end)
        end = &(*end)->next;
    *end = p;
    list->count++;
    return 0;
}

void pending_remove(struct pending_list *list, uint32_t job)
{
    for (struct pending **p = &list->first; *p; p = &(*p)->next)
        if ((*p)->job == job) {
            struct pending *gone = *p;
            *p = gone->next;
            free(gone);
            list->count--;
            return;
        }
}

void pending_clear(struct pending_list *list)
{
    while (list->first)
        pending_remove(list, list->first->job);
}

/* ---- writing ------------------------------------------------------------ */

static json_t *tasks_json(const struct job *job)
{
    json_t *array = json_array();

    for (const struct task *t = job->tasks; t; t = t->next)
        json_array_append_new(
            array, json_pack("{s:I, s:I, s:I}", "step", (json_int_t)t->step,
                             "pid", (json_int_t)t->pid, "start",
                             (json_int_t)t->start));
    return array;
}

static json_t *record_json(const struct record *r)
{
    json_t *partners = json_array();

    for (size_t i = 0; i < r->partners; i++)
        json_array_append_new(partners,
                              json_integer((json_int_t)r->partner[i]));
    return json_pack("{s:s, s:I, s:f, s:f, s:f, s:I, s:I, s:I, s:b, s:o, s:I, "
                     "s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:f, s:f}",
                     "policy", r->policy, "live_ns", (json_int_t)r->live_ns,
                     "core_s", r->core_s, "parallel_s", r->parallel_s,
                     "energy_j", r->energy_j, "final_cores",
                     (json_int_t)r->final_cores, "sections",
                     (json_int_t)r->sections, "decisions",
                     (json_int_t)r->decisions, "attached", (int)r->attached,
                     "partners", partners, "moves", (json_int_t)r->moves,
                     "program", r->program, "granted", (json_int_t)r->granted,
                     "work_s", r->work_s, "done_s", r->done_s, "steps", r->steps, "barriers",
                     r->barriers, "alone_s", r->alone_s, "alone_work_s",
                     r->alone_work_s, "profiled", (int)r->profiled, "rho",
                     r->rho, "profiled_share", r->profiled_share);
}

static json_t *job_json(const struct job *job)
{
    char granted[4096];

    return json_pack(
        "{s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:I, s:I, s:b, s:b, s:o, s:o, "
        "s:s, s:f, s:I, s:b}",
        "job", (json_int_t)job->id, "uid", (json_int_t)job->uid, "restarts",
        (json_int_t)job->restarts, "memory_mb", (json_int_t)job->memory_mb,
        "name", job->name, "options", job->options_text, "granted",
        cpulist_format(&job->granted, granted, sizeof(granted)),
        "announced_ns", (json_int_t)job->announced_wall_ns, "ended_ns",
        (json_int_t)job->ended_wall_ns, "cooperative", (int)job->cooperative,
        "interim_sent", (int)job->interim_sent, "tasks", tasks_json(job),
        "record", record_json(&job->record), "history", job->history_text,
        "weight", job->weight, "node", (json_int_t)job->node,
        "turns", (int)job->turns);
}

void node_state_clear(struct node_state *n)
{
    free(n->drained);
    free(n->scheduler_parameters);
    free(n->partitions);
    memset(n, 0, sizeof(*n));
}

static json_t *node_json(const struct node_state *n)
{
    json_t *drained =
        n->drained ? json_pack("{s:s, s:I, s:I}", "reason", n->drained, "uid",
                               (json_int_t)n->drained_uid, "since_ns",
                               (json_int_t)n->drained_wall_ns)
                   : NULL;

    return json_pack("{s:o*, s:s*, s:s*}", "drained", drained,
                     "scheduler_parameters", n->scheduler_parameters,
                     "partitions", n->partitions);
}

static json_t *state_json(const struct job_table *jobs,
                          const struct pending_list *pending,
                          const struct node_state *node)
{
    json_t *job_array = json_array(), *pending_array = json_array();

    for (const struct job *j = jobs->first; j; j = j->next)
        json_array_append_new(job_array, job_json(j));
    for (const struct pending *p = pending->first; p; p = p->next)
        json_array_append_new(
            pending_array, json_pack("{s:I, s:I, s:s}", "job",
                                     (json_int_t)p->job, "end",
                                     (json_int_t)p->end_s, "text", p->text));
    return json_pack("{s:i, s:o, s:o, s:o}", "version", STATE_VERSION, "jobs",
                     job_array, "pending", pending_array, "node",
                     node_json(node));
}

/* Write TEXT of SIZE bytes to FD, and close it. */
static int write_text(int fd, const char *text, size_t size)
{
    int saved = fd_write_all(fd, text, size) < 0 ? errno : 0;

    if (close(fd) < 0 && !saved)
        saved = errno;
    errno = saved;
    return saved ? -1 : 0;
}

int state_write(const char *path, const struct job_table *jobs,
                const struct pending_list *pending,
                const struct node_state *node, struct errtext *err)
{
    char beside[4096];
    json_t *root = state_json(jobs, pending, node);

    if (!root)
        return errtext_set(err, ENOMEM, "state: out of memory");
    if (snprintf(beside, sizeof(beside), "%s.new", path) >=
        (int)sizeof(beside)) {
        json_decref(root);
        return errtext_set(err, ENAMETOOLONG, "%.100s...: too long", path);
    }
    /* Dumped in memory first: jansson writes each token by itself. */
    char *text = json_dumps(root, JSON_INDENT(1));
    json_decref(root);
    if (!text)
        return errtext_set(err, ENOMEM, "state: out of memory");
    /* Job names and uids of others are in it. */
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                  0600);
    int rc = fd < 0 ? -1 : write_text(fd, text, strlen(text));
    free(text);
    if (rc == 0 && rename(beside, path) == 0)
        return 0;
    int saved = errno;
    if (fd >= 0)
        unlink(beside);
    return errtext_set(err, saved, "%s: %s", path, strerror(saved));
}

/* ---- reading ------------------------------------------------------------ */

static int read_tasks(struct job *job, json_t *array)
{
    json_t *entry;
    size_t i;

    json_array_foreach(array, i, entry)
    {
        json_int_t step, pid, start;
        if (json_unpack(entry, "{s:I, s:I, s:I}", "step", &step, "pid", &pid,
                        "start", &start) < 0 ||
            pid <= 0 || pid > INT32_MAX)
            return -1;
        struct task *t = job_add_task(job, (uint32_t)step, (pid_t)pid);
        if (t && t->start != (uint64_t)start)
            job_remove_task(t); /* another process has the pid now */
    }
    return 0;
}

static int read_record(struct record *r, json_t *object)
{
    const char *policy, *program = "";
    json_int_t live_ns, final_cores, sections, decisions, moves = 0;
    json_int_t granted = 0;
    json_t *partners, *entry;
    int attached, profiled = 0;
    size_t i;

    /* Earlier agents wrote less. */
    if (json_unpack(object,
                    "{s:s, s:I, s:F, s:F, s?F, s:I, s:I, s:I, s:b, s:o, s?I, "
                    "s?s, s?I, s?F, s?F, s?F, s?F, s?F, s?F, s?b, s?F, s?F}",
                    "policy", &policy, "live_ns", &live_ns, "core_s",
                    &r->core_s, "parallel_s", &r->parallel_s, "energy_j",
                    &r->energy_j, "final_cores", &final_cores, "sections",
                    &sections, "decisions", &decisions, "attached", &attached,
                    "partners", &partners, "moves", &moves, "program",
                    &program, "granted", &granted, "work_s", &r->work_s,
                    "done_s", &r->done_s, "steps", &r->steps, "barriers", &r->barriers, "alone_s",
                    &r->alone_s, "alone_work_s", &r->alone_work_s, "profiled",
                    &profiled, "rho", &r->rho, "profiled_share",
                    &r->profiled_share) < 0 ||
        !json_is_array(partners))
        return -1;
    record_set_program(r, program);
    r->moves = (uint64_t)moves;
    r->granted = (size_t)granted;
    r->profiled = profiled;
    snprintf(r->policy, sizeof(r->policy), "%s", policy);
    r->live_ns = (uint64_t)live_ns;
    r->final_cores = (size_t)final_cores;
    r->sections = (size_t)sections;
    r->decisions = (uint64_t)decisions;
    r->attached = attached;
    json_array_foreach(partners, i, entry)
        record_add_partner(r, (uint32_t)json_integer_value(entry));
    return 0;
}

static int read_job(struct job_table *jobs, json_t *object)
{
    json_int_t id, uid, restarts, memory_mb, announced, ended, node = 0;
    const char *name, *options, *granted, *history = "";
    int cooperative, interim_sent, turns = 0;
    double weight = 0;
    json_t *tasks, *record;

    if (json_unpack(object,
                    "{s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:I, s:I, s:b, s:b, "
                    "s:o, s:o, s?s, s?F, s?I, s?b}",
                    "job", &id, "uid", &uid, "restarts", &restarts, "memory_mb",
                    &memory_mb, "name", &name, "options", &options, "granted",
                    &granted, "announced_ns", &announced, "ended_ns", &ended,
                    "cooperative", &cooperative, "interim_sent", &interim_sent,
                    "tasks", &tasks, "record", &record, "history", &history,
                    "weight", &weight, "node", &node, "turns", &turns) < 0 ||
        !(weight >= 0) ||
        id <= 0 || id > UINT32_MAX || uid < 0 || uid > UINT32_MAX ||
        job_find(jobs, (uint32_t)id))
        return -1;
    struct job *job = job_add(jobs, (uint32_t)id);
    if (!job)
        return -1;
    job->uid = (uint32_t)uid;
    job->restarts = (uint32_t)restarts;
    job->node = (uint32_t)node;
    job->memory_mb = (uint64_t)memory_mb;
    job->announced_wall_ns = (uint64_t)announced;
    job->ended_wall_ns = (uint64_t)ended;
    job->cooperative = cooperative;
    job->interim_sent = interim_sent;
    job->turns = turns;
    snprintf(job->name, sizeof(job->name), "%s", name);
    snprintf(job->options_text, sizeof(job->options_text), "%s", options);
    snprintf(job->history_text, sizeof(job->history_text), "%s", history);
    if (*history)
        history_parse(&job->history, job->history_text, NULL);
    job->weight = weight;
    if (job_options_parse(&job->options, options, NULL) < 0 ||
        cpulist_parse(granted, &job->granted, NULL) < 0)
        return -1;
    if (read_record(&job->record, record) < 0)
        return -1;
    job->done_s = job->record.done_s;
    return read_tasks(job, tasks);
}

static int read_pending(struct pending_list *pending, json_t *object)
{
    json_int_t job, end;
    const char *text;

    if (json_unpack(object, "{s:I, s:I, s:s}", "job", &job, "end", &end,
                    "text", &text) < 0 ||
        job <= 0 || job > UINT32_MAX || end < 0)
        return -1;
    return pending_add(pending, (uint32_t)job, (uint64_t)end, text);
}

/* A copy of the string KEY of OBJECT in *TO if it is there. */
static int read_text(json_t *object, const char *key, char **to)
{
    const char *text = json_string_value(json_object_get(object, key));

    if (text && !(*to = strdup(text)))
        return -1;
    return 0;
}

static int read_node(struct node_state *n, json_t *object)
{
    json_t *drained = json_object_get(object, "drained");
    json_int_t uid = 0, since = 0;

    if (drained) {
        if (json_unpack(drained, "{s:I, s:I}", "uid", &uid, "since_ns",
                        &since) < 0 ||
            read_text(drained, "reason", &n->drained) < 0 || !n->drained)
            return -1;
        n->drained_uid = (uint32_t)uid;
        n->drained_wall_ns = (uint64_t)since;
    }
    return read_text(object, "scheduler_parameters",
                     &n->scheduler_parameters) < 0 ||
                   read_text(object, "partitions", &n->partitions) < 0
               ? -1
               : 0;
}

static int read_all(json_t *root, struct job_table *jobs,
                    struct pending_list *pending, struct node_state *node)
{
    json_t *job_array, *pending_array, *node_object = NULL, *entry;
    int version;
    size_t i;

    if (json_unpack(root, "{s:i, s:o, s:o, s?o}", "version", &version, "jobs",
                    &job_array, "pending", &pending_array, "node",
                    &node_object) < 0 ||
        version != STATE_VERSION ||
        (node_object && read_node(node, node_object) < 0))
        return -1;
    json_array_foreach(job_array, i, entry)
        if (read_job(jobs, entry) < 0)
            return -1;
    json_array_foreach(pending_array, i, entry)
        if (read_pending(pending, entry) < 0)
            return -1;
    return 0;
}

int state_read(const char *path, struct job_table *jobs,
               struct pending_list *pending, struct node_state *node,
               struct errtext *err)
{
    char aside[4096];
    json_error_t error;

    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return errtext_set(err, errno, "%s: %s", path, strerror(errno));
    json_t *root = json_loadfd(fd, JSON_REJECT_DUPLICATES, &error);
    close(fd);
    bool json = root != NULL;
    int rc = json ? read_all(root, jobs, pending, node) : -1;
    json_decref(root);
    if (rc == 0)
        return 0;
    while (jobs->first)
        job_remove(jobs, jobs->first);
    pending_clear(pending);
    node_state_clear(node);
    snprintf(aside, sizeof(aside), "%s.bad", path);
    bool moved = rename(path, aside) == 0;
    return errtext_set(err, EBADMSG, "%.80s: %.60s; %s", path,
                       json ? "not a state of this version" : error.text,
                       moved ? "set aside as .bad" : "it is replaced");
}
