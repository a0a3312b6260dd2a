/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What survives a restart of the agent: jobs and records not yet delivered. */

#include "node_agent/daemon/state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/json_reader.h"
#include "protocol/cpulist.h"
#include "protocol/json_fields.h"

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

static const struct field task_fields[] = {
    FIELD(struct task, step, "step", 1),
    FIELD(struct task, pid, "pid", 1),
    FIELD(struct task, start, "start", 1),
    {0}};

static const struct field job_fields[] = {
    FIELD(struct job, uid, "uid", 1),
    FIELD(struct job, restarts, "restarts", 1),
    FIELD(struct job, memory_mb, "memory_mb", 1),
    FIELD(struct job, name, "name", 1),
    FIELD(struct job, options_text, "options", 1),
    FIELD(struct job, granted, "granted", 1),
    FIELD(struct job, announced_wall_ns, "announced_ns", 1),
    FIELD(struct job, ended_wall_ns, "ended_ns", 1),
    FIELD(struct job, cooperative, "cooperative", 1),
    FIELD(struct job, interim_sent, "interim_sent", 1),
    FIELD(struct job, history_text, "history", 1 | FIELD_OPTIONAL),
    FIELD(struct job, weight, "weight", 1 | FIELD_OPTIONAL),
    FIELD(struct job, node, "node", 1 | FIELD_OPTIONAL),
    FIELD(struct job, turns, "turns", 1 | FIELD_OPTIONAL),
    {0}};

static const struct field pending_fields[] = {
    FIELD(struct pending, job, "job", 1),
    FIELD(struct pending, end_s, "end", 1),
    FIELD(struct pending, text, "text", 1),
    {0}};

static json_t *record_json(const struct record *r)
{
    json_t *object = json_fields_write(record_fields, r, 1);
    json_t *partners = json_array();

    for (size_t i = 0; i < r->partners; i++)
        json_array_append_new(partners,
                              json_integer((json_int_t)r->partner[i]));
    json_object_set_new(object, "partners", partners);
    return object;
}

static json_t *job_json(const struct job *job)
{
    json_t *object = json_fields_write(job_fields, job, 1);
    json_t *tasks = json_array();

    for (const struct task *t = job->tasks; t; t = t->next)
        json_array_append_new(tasks, json_fields_write(task_fields, t, 1));
    json_object_set_new(object, "job", json_integer(job->id));
    json_object_set_new(object, "tasks", tasks);
    json_object_set_new(object, "record", record_json(&job->record));
    return object;
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
        json_array_append_new(pending_array,
                              json_fields_write(pending_fields, p, 1));
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
        struct task saved;
        if (json_fields_read(task_fields, &saved, entry, 1, NULL) < 0 ||
            saved.pid <= 0)
            return -1;
        struct task *t = job_add_task(job, saved.step, saved.pid);
        if (t && t->start != saved.start)
            job_remove_task(t); /* another process has the pid now */
    }
    return json_is_array(array) ? 0 : -1;
}

static int read_record(struct record *r, json_t *object)
{
    json_t *partners = json_object_get(object, "partners"), *entry;
    size_t i;

    if (json_fields_read(record_fields, r, object, 1, NULL) < 0 ||
        !json_is_array(partners))
        return -1;
    json_array_foreach(partners, i, entry)
        record_add_partner(r, (uint32_t)json_integer_value(entry));
    return 0;
}

static int read_job(struct job_table *jobs, json_t *object)
{
    json_int_t id = json_integer_value(json_object_get(object, "job"));

    if (id <= 0 || id > UINT32_MAX || job_find(jobs, (uint32_t)id))
        return -1;
    struct job *job = job_add(jobs, (uint32_t)id);
    if (!job || json_fields_read(job_fields, job, object, 1, NULL) < 0 ||
        !(job->weight >= 0) ||
        job_options_parse(&job->options, job->options_text, NULL) < 0 ||
        read_record(&job->record, json_object_get(object, "record")) < 0)
        return -1;
    if (*job->history_text)
        history_parse(&job->history, job->history_text, NULL);
    job->done_s = job->record.done_s;
    return read_tasks(job, json_object_get(object, "tasks"));
}

static int read_pending(struct pending_list *pending, json_t *object)
{
    struct pending p;

    if (json_fields_read(pending_fields, &p, object, 1, NULL) < 0 || !p.job)
        return -1;
    return pending_add(pending, p.job, p.end_s, p.text);
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
    json_rename_old(root);
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
