/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Final records on their way to the accounting, on disk until they are there. */

#include "node_agent/helpers/record_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/json_reader.h"
#include "common/json_writer.h"
#include "node_agent/helpers/parcel.h"

#define BUCKETS 4096
/* The file is written anew when it is so large, and most of it is history. */
#define HISTORY_BYTES (256UL << 10)
#define FILE_BYTES (1L << 30) /* nothing sensible is larger */
#define LOCK_TRIES 100
#define LOCK_PAUSE_MS 50

struct record_queue {
    char path[PATH_MAX];
    int lock; /* -1: there is no directory for the file */
    int fd;   /* to append to; -1: the file must be written anew */
    struct queued *first, *last;
    struct queued *unkept; /* the first that is; all after it are, too */
    struct queued *bucket[BUCKETS];
    size_t count, bytes; /* bytes: of the records' texts */
    size_t file_bytes;
    bool dirty; /* something was appended since the last sync */
    bool read;  /* what the file had is known: it may be written */
};

/* ---- in memory ------------------------------------------------------------- */

static size_t hash(uint32_t job)
{
    return job % BUCKETS;
}

struct queued *record_queue_find(const struct record_queue *q, uint32_t job, int64_t end_s)
{
    struct queued *r = q->bucket[hash(job)];

    while (r && (r->job != job || r->end_s != end_s))
        r = r->same;
    return r;
}

static struct queued *insert(struct record_queue *q, uint32_t job, int64_t end_s,
                             const char *text)
{
    struct queued *r = calloc(1, sizeof(*r) + strlen(text) + 1);

    if (!r)
        return NULL;
    r->job = job;
    r->end_s = end_s;
    strcpy(r->text, text);
    r->previous = q->last;
    *(q->last ? &q->last->next : &q->first) = r;
    q->last = r;
    r->same = q->bucket[hash(job)];
    q->bucket[hash(job)] = r;
    q->count++;
    q->bytes += strlen(text);
    if (!q->unkept)
        q->unkept = r;
    return r;
}

static void take_out(struct record_queue *q, struct queued *r)
{
    struct queued **same = &q->bucket[hash(r->job)];

    while (*same != r)
        same = &(*same)->same;
    *same = r->same;
    *(r->previous ? &r->previous->next : &q->first) = r->next;
    *(r->next ? &r->next->previous : &q->last) = r->previous;
    if (q->unkept == r)
        q->unkept = r->next;
    q->count--;
    q->bytes -= strlen(r->text);
    free(r);
}

struct queued *record_queue_first(const struct record_queue *q)
{
    return q->first;
}

size_t record_queue_count(const struct record_queue *q)
{
    return q->count;
}

struct queued *record_queue_excess(const struct record_queue *q)
{
    struct queued *r = q->count > RECORD_QUEUE_COUNT || q->bytes > RECORD_QUEUE_BYTES
                           ? q->first
                           : NULL;

    while (r && r->under_way)
        r = r->next;
    return r;
}

bool record_queue_full(const struct record_queue *q)
{
    return q->count >= RECORD_QUEUE_COUNT || q->bytes + PARCEL_TEXT_MAX > RECORD_QUEUE_BYTES;
}

/* ---- on disk --------------------------------------------------------------- */

/* The line about R, malloc'ed; GONE: that it is delivered. */
static char *line_of(const struct queued *r, bool gone)
{
    json_t *object = json_pack("{s:I, s:I, s:s*}", "job", (json_int_t)r->job, "end",
                               (json_int_t)r->end_s, "text", gone ? NULL : r->text);
    char *text = object ? json_writer_text(object, JSON_COMPACT) : NULL;

    json_decref(object);
    return text;
}

/* Append the line about R, unless the file is to be written anew anyway. */
static void append(struct record_queue *q, const struct queued *r, bool gone)
{
    char *line = q->fd < 0 ? NULL : line_of(r, gone);
    size_t size = line ? strlen(line) + 1 : 0;

    if (line) {
        line[size - 1] = '\n'; /* over the zero: written with its length */
        q->dirty = true;
        q->file_bytes += size;
    }
    if (q->fd >= 0 && (!line || fd_write_all(q->fd, line, size) < 0)) {
        close(q->fd);
        q->fd = -1;
    }
    free(line);
}

struct queued *record_queue_add(struct record_queue *q, uint32_t job, int64_t end_s,
                                const char *text)
{
    struct queued *r = record_queue_find(q, job, end_s);

    if (r && strcmp(r->text, text) == 0)
        return r;
    if (r)
        take_out(q, r);
    if ((r = insert(q, job, end_s, text)))
        append(q, r, false);
    return r;
}

void record_queue_remove(struct record_queue *q, struct queued *r)
{
    append(q, r, true);
    take_out(q, r);
}

/* Make the name of what was renamed into the directory of PATH durable. */
static int sync_directory(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');

    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -1 : fsync(fd);
    if (fd >= 0)
        close(fd);
    return rc;
}

static int write_all(struct record_queue *q, int fd)
{
    q->file_bytes = 0;
    for (const struct queued *r = q->first; r; r = r->next) {
        char *line = line_of(r, false);
        size_t size = line ? strlen(line) + 1 : 0;
        if (line)
            line[size - 1] = '\n'; /* over the zero: written with its length */
        int rc = line ? fd_write_all(fd, line, size) : -1;
        free(line);
        if (rc < 0)
            return -1;
        q->file_bytes += size;
    }
    return fsync(fd);
}

/* Write the file anew, with the records that there are. */
static int rewrite(struct record_queue *q, struct errtext *err)
{
    char beside[PATH_MAX + 8];

    if (q->fd >= 0)
        close(q->fd);
    q->fd = -1;
    snprintf(beside, sizeof(beside), "%s.new", q->path);
    unlink(beside);
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    q->dirty = false;
    if (fd >= 0 && write_all(q, fd) == 0 && rename(beside, q->path) == 0 &&
        sync_directory(q->path) == 0) {
        q->fd = fd;
        return 0;
    }
    int saved = errno;
    if (fd >= 0)
        close(fd);
    return errtext_set(err, saved, "%.150s: %s", q->path, strerror(saved));
}

/* ---- from disk ------------------------------------------------------------- */

/* Take a LINE.  -1 with ENOMEM; one that is no record of ours counts as none. */
static int read_line(struct record_queue *q, const char *line, size_t size)
{
    json_t *object = json_reader_line(line, size);
    const char *text = NULL;
    json_int_t job = 0, end_s = 0;
    bool good = json_unpack(object, "{s:I, s:I, s?s}", "job", &job, "end", &end_s, "text",
                            &text) == 0 && job > 0 && job <= UINT32_MAX;
    int rc = json_reader_refused() ? -1 : 0;

    if (good && rc == 0) {
        struct queued *r = record_queue_find(q, (uint32_t)job, end_s);
        if (r && !(text && strcmp(r->text, text) == 0))
            take_out(q, r);
        if (text && !record_queue_find(q, (uint32_t)job, end_s) &&
            !insert(q, (uint32_t)job, end_s, text))
            rc = -1;
    }
    json_decref(object);
    if (rc < 0)
        errno = ENOMEM;
    return rc;
}

static int read_lines(struct record_queue *q, FILE *in)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    int rc = 0;

    while (rc == 0 && (size = getline(&line, &room, in)) > 0)
        if (line[size - 1] == '\n')
            rc = read_line(q, line, (size_t)size);
    int saved = errno;
    if (rc == 0 && !feof(in))
        rc = -1;
    free(line);
    errno = saved;
    return rc;
}

/* Take what the file has; one that is no regular file of our own is replaced.  -1 with errno when
 * it cannot be read now: it must not be written then. */
static int read_file(struct record_queue *q)
{
    struct stat st;
    FILE *in = NULL;
    int rc = -1;
    int fd = open(q->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return errno == ENOENT || errno == ELOOP || errno == EACCES || errno == ENXIO ? 0 : -1;
    bool known = fstat(fd, &st) == 0;
    if (known && !(S_ISREG(st.st_mode) && (st.st_uid == 0 || st.st_uid == geteuid()) &&
                   !(st.st_mode & (S_IWGRP | S_IWOTH)) && st.st_size <= FILE_BYTES))
        rc = 0;
    else if (known && (in = fdopen(fd, "r")))
        rc = read_lines(q, in);
    int saved = errno;
    if (in)
        fclose(in);
    else
        close(fd);
    errno = saved;
    return rc;
}

/* ---- both ------------------------------------------------------------------ */

/* Keep others from the file.  -1 with errno EWOULDBLOCK when one has it. */
static int lock_file(struct record_queue *q, struct errtext *err)
{
    char name[PATH_MAX + 8];

    /* The last directory of the path may be ours to make. */
    snprintf(name, sizeof(name), "%s", q->path);
    char *slash = strrchr(name, '/');
    if (slash && slash > name) {
        *slash = '\0';
        (void)mkdir(name, 0700);
    }
    snprintf(name, sizeof(name), "%s.lock", q->path);
    q->lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    for (int i = 0; q->lock >= 0 && i < LOCK_TRIES; i++) {
        if (flock(q->lock, LOCK_EX | LOCK_NB) == 0)
            return 0;
        poll(NULL, 0, LOCK_PAUSE_MS);
    }
    int saved = q->lock < 0 ? errno : EWOULDBLOCK;
    if (q->lock >= 0)
        close(q->lock);
    q->lock = -1;
    return errtext_set(err, saved, "%.150s: %s", name,
                       saved == EWOULDBLOCK ? "another helper has it" : strerror(saved));
}

static int take_file(struct record_queue *q, struct errtext *err)
{
    q->read = read_file(q) == 0;
    return q->read ? 0 : errtext_set(err, errno, "%.150s: %s", q->path, strerror(errno));
}

int record_queue_sync(struct record_queue *q, void (*kept)(const struct queued *record),
                      struct errtext *err)
{
    bool history = q->file_bytes > HISTORY_BYTES && q->file_bytes > 4 * q->bytes;

    if (q->lock < 0 && lock_file(q, err) < 0)
        return -1;
    if (!q->read && take_file(q, err) < 0) /* its directory came late */
        return -1;
    if (q->fd < 0 || history) {
        if (rewrite(q, err) < 0)
            return -1;
    } else if (q->dirty && fdatasync(q->fd) < 0) {
        int saved = errno;
        close(q->fd); /* what of it is on disk is not known */
        q->fd = -1;
        return errtext_set(err, saved, "%.150s: %s", q->path, strerror(saved));
    }
    q->dirty = false;
    for (; q->unkept; q->unkept = q->unkept->next) {
        q->unkept->kept = true;
        if (kept)
            kept(q->unkept);
    }
    return 0;
}

struct record_queue *record_queue_open(const char *path, struct errtext *err)
{
    struct record_queue *q = calloc(1, sizeof(*q));

    err->text[0] = '\0';
    if (!q) {
        errtext_set(err, ENOMEM, "out of memory");
        return NULL;
    }
    q->fd = q->lock = -1;
    if (snprintf(q->path, sizeof(q->path), "%s", path) >= (int)sizeof(q->path)) {
        errtext_set(err, ENAMETOOLONG, "%.100s...: too long", path);
        return q;
    }
    if (lock_file(q, err) < 0) {
        if (errno != EWOULDBLOCK)
            return q;
        free(q);
        return NULL;
    }
    if (take_file(q, err) == 0)
        rewrite(q, err); /* without what a crash left */
    q->unkept = q->fd < 0 ? q->first : NULL;
    for (struct queued *r = q->first; r && q->fd >= 0; r = r->next)
        r->kept = true;
    return q;
}

void record_queue_close(struct record_queue *q)
{
    if (!q)
        return;
    while (q->first)
        take_out(q, q->first);
    if (q->fd >= 0)
        close(q->fd);
    if (q->lock >= 0)
        close(q->lock);
    free(q);
}
