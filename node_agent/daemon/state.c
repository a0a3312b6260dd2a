/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What survives a restart of the agent: jobs and records not yet delivered. */

#include "node_agent/daemon/state.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/json_reader.h"
#include "common/json_writer.h"
#include "common/log.h"
#include "protocol/cpulist.h"
#include "protocol/json_fields.h"

/* ---- writing ------------------------------------------------------------ */

static const struct field task_fields[] = {
    FIELD(struct task, step, "step", 1),
    FIELD(struct task, pid, "pid", 1),
    FIELD(struct task, start, "start", 1),
    {0}};

#define ENDED(member) \
    FIELD(struct job, ended.member, "ended_" #member, 1 | FIELD_OPTIONAL)

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
    FIELD(struct job, started, "started", 1 | FIELD_OPTIONAL),
    FIELD(struct job, batch_pid, "batch_pid", 1 | FIELD_OPTIONAL),
    FIELD(struct job, announced_ns, "announced_up_ns", 1 | FIELD_OPTIONAL),
    FIELD(struct job, ended_ns, "ended_up_ns", 1 | FIELD_OPTIONAL),
    ENDED(regions), ENDED(steps), ENDED(barriers), ENDED(waited_s), ENDED(preempted),
    ENDED(threads),
    {0}};

static const struct field pending_fields[] = {
    FIELD(struct pending, job, "job", 1),
    FIELD(struct pending, end_s, "end", 1),
    FIELD(struct pending, text, "text", 1),
    {0}};

/* OBJECT, or NULL, and it is released, when something of it is LOST. */
static json_t *whole(json_t *object, int lost)
{
    if (!lost)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *record_json(const struct record *r)
{
    json_t *object = json_fields_write(record_fields, r, 1);
    json_t *partners = json_array();
    int lost = 0;

    for (size_t i = 0; i < r->partners; i++)
        lost |= json_array_append_new(partners, json_integer((json_int_t)r->partner[i]));
    lost |= json_object_set_new(object, "partners", partners);
    return whole(object, lost);
}

static json_t *job_json(const struct job *job)
{
    json_t *object = json_fields_write(job_fields, job, 1);
    json_t *tasks = json_array();
    int lost = 0;

    for (const struct task *t = job->tasks; t; t = t->next)
        lost |= json_array_append_new(tasks, json_fields_write(task_fields, t, 1));
    lost |= json_object_set_new(object, "job", json_integer(job->id));
    lost |= json_object_set_new(object, "tasks", tasks);
    lost |= json_object_set_new(object, "record", record_json(&job->record));
    return whole(object, lost);
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
    bool lost = n->drained && !drained;

    return whole(json_pack("{s:o*, s:s*, s:s*}", "drained", drained,
                           "scheduler_parameters", n->scheduler_parameters,
                           "partitions", n->partitions), lost);
}

static json_t *state_json(uint64_t serial, const struct job_table *jobs,
                          const struct pending_list *pending,
                          const struct node_state *node)
{
    json_t *job_array = json_array(), *pending_array = json_array();
    int lost = 0;

    for (const struct job *j = jobs->first; j; j = j->next)
        lost |= json_array_append_new(job_array, job_json(j));
    for (const struct pending *p = pending->first; p; p = p->next)
        lost |= json_array_append_new(pending_array, json_fields_write(pending_fields, p, 1));
    return whole(json_pack("{s:i, s:I, s:o, s:o, s:o}", "version", STATE_VERSION, "serial",
                           (json_int_t)serial, "jobs", job_array, "pending", pending_array,
                           "node", node_json(node)), lost);
}

/* PATH with SUFFIX into NAME. */
static int name_beside(const char *path, const char *suffix, char name[PATH_MAX],
                       struct errtext *err)
{
    if (snprintf(name, PATH_MAX, "%s%s", path, suffix) >= PATH_MAX)
        return errtext_set(err, ENAMETOOLONG, "%.100s...: too long", path);
    return 0;
}

/* Let NAME be a new file of SIZE bytes of TEXT, whatever was there.  A descriptor to
 * append to it, or -1 with errno. */
static int replace(const char *name, const char *text, size_t size, struct errtext *err)
{
    char beside[PATH_MAX];

    if (name_beside(name, ".new", beside, err) < 0)
        return -1;
    unlink(beside);
    /* Job names and uids of others are in it. */
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0 && fd_write_all(fd, text, size) == 0 && rename(beside, name) == 0)
        return fd;
    int saved = errno;
    if (fd >= 0) {
        unlink(beside);
        close(fd);
    }
    return errtext_set(err, saved, "%s: %s", name, strerror(saved));
}

/* A log for the file just written.  Without one every change is a new file. */
static void begin_log(struct state_file *f)
{
    char name[PATH_MAX], head[64];

    if (f->log >= 0)
        close(f->log);
    int size = snprintf(head, sizeof(head), "{\"serial\":%llu}\n",
                        (unsigned long long)f->serial);
    f->log = name_beside(f->path, ".log", name, NULL) < 0
                 ? -1
                 : replace(name, head, (size_t)size, NULL);
    f->log_size = size;
}

void state_file_init(struct state_file *f, const char *path)
{
    *f = (struct state_file){.path = path, .log = -1};
}

void state_file_close(struct state_file *f)
{
    if (f->log >= 0)
        close(f->log);
    f->log = -1;
}

int state_write(struct state_file *f, const struct job_table *jobs,
                const struct pending_list *pending, const struct node_state *node,
                struct errtext *err)
{
    json_t *root = state_json(f->serial + 1, jobs, pending, node);
    /* Dumped in memory first: jansson writes each token by itself. */
    char *text = root ? json_writer_text(root, JSON_INDENT(1)) : NULL;

    json_decref(root);
    if (!text)
        return errtext_set(err, ENOMEM, "state: out of memory");
    int fd = replace(f->path, text, strlen(text), err);
    free(text);
    if (fd < 0)
        return -1;
    close(fd);
    f->serial++;
    begin_log(f);
    return 0;
}

/* Append ENTRY, which is released, as a line. */
static int append(struct state_file *f, json_t *entry, struct errtext *err)
{
    char *line = entry ? json_writer_text(entry, JSON_COMPACT) : NULL;
    int rc = 0;

    json_decref(entry);
    if (!line)
        return errtext_set(err, ENOMEM, "state: out of memory");
    size_t size = strlen(line) + 1;
    line[size - 1] = '\n'; /* over the zero: written with its length */
    if (f->log < 0)
        rc = errtext_set(err, EBADF, "%s: no log", f->path);
    else if (write(f->log, line, size) == (ssize_t)size)
        f->log_size += (off_t)size;
    else
        rc = errtext_set(err, ENOSPC, "%s.log: %s", f->path, strerror(errno));
    free(line);
    /* What follows half a line would not be read. */
    if (rc < 0 && f->log >= 0 && ftruncate(f->log, f->log_size) < 0)
        state_file_close(f);
    return rc;
}

int state_note_job(struct state_file *f, const struct job *job, struct errtext *err)
{
    return append(f, json_pack("{s:o}", "job", job_json(job)), err);
}

int state_note_task(struct state_file *f, const struct task *task, struct errtext *err)
{
    return append(f, json_pack("{s:o, s:I}", "task", json_fields_write(task_fields, task, 1),
                               "of", (json_int_t)task->job->id), err);
}

int state_note_end(struct state_file *f, uint32_t id, const struct pending *record,
                   struct errtext *err)
{
    json_t *text = record ? json_fields_write(pending_fields, record, 1) : NULL;
    bool lost = record && !text;

    return append(f, whole(json_pack("{s:I, s:o*}", "ended", (json_int_t)id, "record", text),
                           lost), err);
}

int state_note_kept(struct state_file *f, uint32_t id, uint64_t end_s, struct errtext *err)
{
    return append(f, json_pack("{s:I, s:I}", "kept", (json_int_t)id, "end",
                               (json_int_t)end_s), err);
}

/* ---- reading ------------------------------------------------------------ */

static int read_task(struct job *job, json_t *object)
{
    struct task saved;

    if (json_fields_read(task_fields, &saved, object, 1, NULL) < 0 || saved.pid <= 0)
        return -1;
    job->started = true;
    struct task *t = job_add_task(job, saved.step, saved.pid);
    if (t && t->start != saved.start)
        job_remove_task(t); /* another process has the pid now */
    return 0;
}

static int read_tasks(struct job *job, json_t *array)
{
    json_t *entry;
    size_t i;

    json_array_foreach(array, i, entry)
        if (read_task(job, entry) < 0)
            return -1;
    return json_is_array(array) ? 0 : -1;
}

static int read_record(struct record *r, json_t *object)
{
    json_t *partners = json_object_get(object, "partners"), *entry;
    size_t i;

    if (json_fields_read(record_fields, r, object, 1, NULL) < 0 ||
        !json_is_array(partners))
        return -1;
    if (!(r->cpu_s >= r->work_s))
        r->cpu_s = r->work_s; /* of an earlier agent */
    json_array_foreach(partners, i, entry)
        record_add_partner(r, (uint32_t)json_integer_value(entry));
    return 0;
}

/* A job, or, KNOWN, news of one that has been read. */
static int read_job(struct job_table *jobs, json_t *object, bool known)
{
    json_int_t id = json_integer_value(json_object_get(object, "job"));

    if (id <= 0 || id > UINT32_MAX)
        return -1;
    struct job *job = job_find(jobs, (uint32_t)id);
    if (job && !known)
        return -1;
    if (!job)
        job = job_add(jobs, (uint32_t)id);
    if (!job || json_fields_read(job_fields, job, object, 1, NULL) < 0 ||
        !(job->weight >= 0) ||
        job_options_parse(&job->options, job->options_text, NULL) < 0 ||
        read_record(&job->record, json_object_get(object, "record")) < 0)
        return -1;
    if (*job->history_text)
        history_parse(&job->history, job->history_text, NULL);
    job->done_s = job->record.done_s;
    job->started |= job->record.live_ns || job->ended_wall_ns;
    uint64_t now_ns = clock_ns();
    if (!job->announced_ns || job->announced_ns > now_ns)
        job->announced_ns = now_ns; /* of an older agent, or another boot */
    if (job->ended_wall_ns && (!job->ended_ns || job->ended_ns > now_ns))
        job->ended_ns = now_ns;
    return read_tasks(job, json_object_get(object, "tasks"));
}

static int read_pending(struct pending_list *pending, json_t *object)
{
    struct pending p;

    if (json_fields_read(pending_fields, &p, object, 1, NULL) < 0 || !p.job)
        return -1;
    return pending_add(pending, p.job, p.end_s, p.text, NULL) ? 0 : -1;
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
    size_t i;

    if (json_unpack(root, "{s:o, s:o, s?o}", "jobs", &job_array, "pending",
                    &pending_array, "node", &node_object) < 0 ||
        (node_object && read_node(node, node_object) < 0))
        return -1;
    json_array_foreach(job_array, i, entry)
        if (read_job(jobs, entry, false) < 0)
            return -1;
    json_array_foreach(pending_array, i, entry)
        if (read_pending(pending, entry) < 0)
            return -1;
    return 0;
}

/* Open the file at PATH, which neither as a FIFO nor as a device holds us.  A descriptor
 * and its *SIZE; -1 with errno ENOENT, EBADMSG and ERR if it is none of ours, or another. */
static int open_file(const char *path, size_t *size, struct errtext *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

    if (fd < 0 && errno != ELOOP && errno != ENXIO && errno != ENODEV)
        return errtext_set(err, errno, "%s: %s", path, strerror(errno));
    const char *bad = fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)
                          ? "no regular file"
                      : (st.st_uid != 0 && st.st_uid != geteuid()) ||
                              st.st_mode & (S_IWGRP | S_IWOTH)
                          ? "others may write it"
                      : st.st_size > STATE_BYTES ? "too large"
                                                 : NULL;
    if (!bad) {
        *size = (size_t)st.st_size;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return errtext_set(err, EBADMSG, "%.80s: %s", path, bad);
}

/* The text of the file at PATH, malloc'ed, its length in *SIZE.  NULL with errno as
 * above. */
static char *read_file(const char *path, size_t *size, struct errtext *err)
{
    int fd = open_file(path, size, err);
    char *text = fd < 0 ? NULL : malloc(*size + 1);

    if (fd < 0)
        return NULL;
    ssize_t got = text ? fd_read_all(fd, text, *size) : -1;
    if (got >= 0) {
        text[*size = (size_t)got] = '\0';
        close(fd);
        return text;
    }
    int saved = errno;
    free(text);
    close(fd);
    errtext_set(err, saved, "%s: %s", path, strerror(saved));
    return NULL;
}

/* Do what ENTRY of the log says.  False if that cannot be. */
static bool replay(json_t *entry, struct job_table *jobs, struct pending_list *pending)
{
    json_t *object = NULL;
    json_int_t id = 0, end_s = 0;

    if (json_unpack(entry, "{s:o}", "job", &object) == 0)
        return read_job(jobs, object, true) == 0;
    if (json_unpack(entry, "{s:o, s:I}", "task", &object, "of", &id) == 0) {
        struct job *job = job_find(jobs, (uint32_t)id);
        return job && read_task(job, object) == 0;
    }
    if (json_unpack(entry, "{s:I, s?o}", "ended", &id, "record", &object) == 0) {
        struct job *job = job_find(jobs, (uint32_t)id);
        if (job)
            job_remove(jobs, job);
        return !object || read_pending(pending, object) == 0;
    }
    if (json_unpack(entry, "{s:I, s:I}", "kept", &id, "end", &end_s) == 0)
        pending_remove(pending, (uint32_t)id, (uint64_t)end_s);
    return true; /* or of a later agent */
}

/* Add what the log says if it continues the file of SERIAL.  What follows a line that
 * cannot be understood is nothing to rely on. */
static void read_log(const char *path, uint64_t serial, struct job_table *jobs,
                     struct pending_list *pending)
{
    char name[PATH_MAX], *end;
    struct errtext err;
    size_t size;
    bool good = true, first = true;
    char *text = name_beside(path, ".log", name, NULL) < 0 ? NULL
                                                           : read_file(name, &size, &err);

    for (char *line = text; line && good && (end = strchr(line, '\n')); line = end + 1) {
        json_t *entry = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, NULL);
        if (first && json_integer_value(json_object_get(entry, "serial")) !=
                         (json_int_t)serial)
            end = text + size - 1; /* of an earlier file */
        else if (!first && !(good = entry && replay(entry, jobs, pending)))
            log_warn("%s: not understood from byte %td on", name, line - text);
        json_decref(entry);
        first = false;
    }
    free(text);
}

/* Set the file aside, with what it said: ERR says why. */
static int set_aside(const char *path, const char *why, struct errtext *err)
{
    char aside[PATH_MAX];
    bool moved = name_beside(path, ".bad", aside, NULL) == 0 && rename(path, aside) == 0;

    return errtext_set(err, EBADMSG, "%.220s; %s", why,
                       moved ? "set aside as .bad" : "it is replaced");
}

int state_read(struct state_file *f, struct job_table *jobs,
               struct pending_list *pending, struct node_state *node,
               struct errtext *err)
{
    struct errtext why;
    json_error_t error;
    size_t size;
    char *text = read_file(f->path, &size, &why);

    if (!text && errno == ENOENT)
        return 0;
    if (!text && errno == EBADMSG)
        return set_aside(f->path, why.text, err);
    if (!text)
        return errtext_set(err, errno, "%s", why.text);
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    free(text);
    json_rename_old(root);
    f->serial = (uint64_t)json_integer_value(json_object_get(root, "serial"));
    json_int_t version = json_integer_value(json_object_get(root, "version"));
    int rc = version == STATE_VERSION ? read_all(root, jobs, pending, node) : -1;
    if (!root)
        errtext_set(&why, EBADMSG, "%.150s:%d: %.60s", f->path, error.line, error.text);
    else if (version && version != STATE_VERSION)
        errtext_set(&why, EBADMSG, "%.150s: a state of version %lld, this coschedd knows %d",
                    f->path, (long long)version, STATE_VERSION);
    else if (rc < 0)
        errtext_set(&why, EBADMSG, "%.150s: not a state", f->path);
    json_decref(root);
    if (rc == 0) {
        /* What an agent without logs wrote has no number. */
        if (f->serial)
            read_log(f->path, f->serial, jobs, pending);
        return 0;
    }
    while (jobs->first)
        job_remove(jobs, jobs->first);
    pending_clear(pending);
    node_state_clear(node);
    return set_aside(f->path, why.text, err);
}
