/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A recording of a node: writing and reading. */

#include "node_agent/recording/recording.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"

/* ---- writing ------------------------------------------------------------ */

struct recorder {
    FILE *file; /* NULL: not recording */
    int at;     /* the directory, while recording */
    uint64_t bytes;
    char dir[PATH_MAX - sizeof(RECORDING_FILE)];
};

struct recorder *recorder_new(void)
{
    return calloc(1, sizeof(struct recorder));
}

bool recorder_active(const struct recorder *r)
{
    return r && r->file;
}

const char *recorder_dir(const struct recorder *r)
{
    return r->dir;
}

FILE *recorder_create(const struct recorder *r, const char *name,
                      struct errtext *err)
{
    int fd = openat(r->at, name,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

    if (!file) {
        int saved = errno;
        if (fd >= 0)
            close(fd);
        errtext_set(err, saved, "%.150s/%s: %s", r->dir, name, strerror(saved));
    }
    return file;
}

int recorder_start(struct recorder *r, const char *dir, json_t *begin,
                   struct errtext *err)
{
    if (r->file) {
        json_decref(begin);
        return errtext_set(err, EBUSY, "already recording into %.120s", r->dir);
    }
    if (strlen(dir) >= sizeof(r->dir)) {
        json_decref(begin);
        return errtext_set(err, ENAMETOOLONG, "%.100s...: too long", dir);
    }
    strcpy(r->dir, dir);
    if ((r->at = fd_open_directory(dir, 0755, err)) >= 0 &&
        !(r->file = recorder_create(r, RECORDING_FILE, err))) {
        int saved = errno;
        close(r->at);
        errno = saved;
    }
    if (!r->file) {
        json_decref(begin);
        return -1;
    }
    r->bytes = 0;
    json_object_set_new(begin, "version", json_integer(RECORDING_VERSION));
    return recorder_write(r, "begin", begin, err);
}

static void end(struct recorder *r)
{
    if (r->file) {
        fclose(r->file);
        close(r->at);
    }
    r->file = NULL;
}

int recorder_write(struct recorder *r, const char *type, json_t *line,
                   struct errtext *err)
{
    if (!r->file) {
        json_decref(line);
        return 0;
    }
    json_object_set_new(line, "type", json_string(type));
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(line);
    if (!text) {
        end(r);
        return errtext_set(err, ENOMEM, "recording: out of memory");
    }
    r->bytes += strlen(text) + 1;
    int failed = 0;
    if (r->bytes > RECORDING_BYTES)
        failed = EFBIG;
    else if (fprintf(r->file, "%s\n", text) < 0 || fflush(r->file) != 0)
        failed = errno;
    free(text);
    if (failed) {
        end(r);
        return errtext_set(err, failed, "recording into %.100s ended: %s",
                           r->dir, strerror(failed));
    }
    return 0;
}

void recorder_stop(struct recorder *r)
{
    if (r->file)
        recorder_write(r, "end", json_object(), NULL);
    end(r);
}

void recorder_free(struct recorder *r)
{
    if (!r)
        return;
    recorder_stop(r);
    free(r);
}

/* ---- reading ------------------------------------------------------------ */

#include "common/json_reader.h"

struct recording {
    char path[PATH_MAX];
    FILE *file;
    json_t *begin;
    char *text; /* getline()'s */
    size_t room;
    size_t line; /* number of the last one read */
};

int recording_refuse(const struct recording *r, struct errtext *err,
                     const char *format, ...)
{
    char why[128];
    va_list ap;

    va_start(ap, format);
    vsnprintf(why, sizeof(why), format, ap);
    va_end(ap);
    return errtext_set(err, EINVAL, "%s:%zu: %s", r->path, r->line, why);
}

/* Give LINE the members that 0.1 wrote otherwise. */
static void renew(json_t *line)
{
    json_t *fairness = json_object_get(line, "fairness"), *job;
    size_t i;

    if (fairness) /* a part of 1, where it was set */
        json_object_set_new(
            line, "fairness_percent",
            json_integer(lround(100 * json_number_value(fairness))));
    json_array_foreach(json_object_get(line, "jobs"), i, job)
    {
        const char *kind = json_string_value(json_object_get(job, "kind"));
        if (kind)
            json_object_set_new(
                job, "state",
                json_string(json_is_true(json_object_get(job, "pinned"))
                                ? "pinned"
                            : strcmp(kind, "serial") ? "malleable"
                                                     : "serial"));
    }
}

int recording_next(struct recording *r, json_t **line, const char **type,
                   struct errtext *err)
{
    json_error_t where;
    ssize_t size = getline(&r->text, &r->room, r->file);

    /* Cut off in the middle of a line: what is whole counts. */
    if (size <= 0 || r->text[size - 1] != '\n')
        return 0;
    r->line++;
    *line = json_loadb(r->text, (size_t)size, JSON_REJECT_DUPLICATES, &where);
    if (!*line)
        return recording_refuse(r, err, "%s", where.text);
    json_rename_old(*line);
    renew(*line);
    *type = json_string_value(json_object_get(*line, "type"));
    if (!*type) {
        json_decref(*line);
        *line = NULL;
        return recording_refuse(r, err, "has no type");
    }
    return 1;
}

static int read_begin(struct recording *r, struct errtext *err)
{
    const char *type;
    int rc = recording_next(r, &r->begin, &type, err);

    if (rc < 0)
        return -1;
    if (rc == 0 || strcmp(type, "begin"))
        return errtext_set(err, EINVAL, "%s: not a recording", r->path);
    json_int_t version = json_integer_value(
        json_object_get(r->begin, "version"));
    if (version != RECORDING_VERSION)
        return errtext_set(err, EPROTO, "%s: version %d, this program reads %d",
                           r->path, (int)version, RECORDING_VERSION);
    return 0;
}

struct recording *recording_open(const char *dir, struct errtext *err)
{
    struct recording *r = calloc(1, sizeof(*r));

    if (!r) {
        errtext_set(err, ENOMEM, "%s: out of memory", dir);
        return NULL;
    }
    struct stat st;
    bool file = stat(dir, &st) == 0 && !S_ISDIR(st.st_mode);
    snprintf(r->path, sizeof(r->path), file ? "%s" : "%s/" RECORDING_FILE, dir);
    r->file = fopen(r->path, "re");
    if (!r->file)
        errtext_set(err, errno, "%s: %s", r->path, strerror(errno));
    else if (read_begin(r, err) == 0)
        return r;
    int saved = errno;
    recording_close(r);
    errno = saved;
    return NULL;
}

const json_t *recording_begin(const struct recording *r)
{
    return r->begin;
}

void recording_close(struct recording *r)
{
    if (!r)
        return;
    if (r->file)
        fclose(r->file);
    json_decref(r->begin);
    free(r->text);
    free(r);
}
