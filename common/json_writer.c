/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What several writers of JSON need beyond jansson. */

#include "common/json_writer.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"

#define ROOM_LEAST 512

json_t *json_writer_numbers(const double *values, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, isfinite(values[i]) ? json_real(values[i])
                                                         : json_null());
    return array;
}

struct text {
    char *at;
    size_t used, room;
    bool lost; /* some of it */
};

static int take(const char *data, size_t size, void *arg)
{
    struct text *t = arg;

    if (t->used + size + 1 > t->room) {
        size_t room = 2 * (t->used + size) + ROOM_LEAST;
        char *more = t->lost ? NULL : realloc(t->at, room);
        if (!more) {
            t->lost = true;
            return -1;
        }
        t->at = more;
        t->room = room;
    }
    memcpy(t->at + t->used, data, size);
    t->used += size;
    t->at[t->used] = '\0';
    return 0;
}

char *json_writer_text(const json_t *json, size_t flags)
{
    struct text t = {0};

    if (json_dump_callback(json, take, &t, flags) == 0 && !t.lost)
        return t.at;
    free(t.at);
    return NULL;
}

int json_writer_line(int fd, json_t *json)
{
    char *text = json ? json_writer_text(json, JSON_COMPACT) : NULL;
    size_t size = text ? strlen(text) : 0;
    int rc = -1;

    json_decref(json);
    errno = ENOMEM;
    if (text) {
        text[size] = '\n'; /* over the zero: written with its length */
        rc = fd_write_all(fd, text, size + 1);
    }
    int saved = errno;
    free(text);
    errno = saved;
    return rc;
}
