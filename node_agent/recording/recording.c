/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A recording of a node: reading. */

#include "node_agent/recording/recording.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    json_int_t version =
        json_integer_value(json_object_get(r->begin, "version"));
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
