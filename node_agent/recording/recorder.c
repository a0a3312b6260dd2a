/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A recording of a node: writing. */

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node_agent/recording/recording.h"

struct recorder {
    FILE *file; /* NULL: not recording */
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

int recorder_start(struct recorder *r, const char *dir, json_t *begin,
                   struct errtext *err)
{
    char path[PATH_MAX];
    int fd = -1;

    if (r->file) {
        json_decref(begin);
        return errtext_set(err, EBUSY, "already recording into %.120s", r->dir);
    }
    if (strlen(dir) >= sizeof(r->dir)) {
        json_decref(begin);
        return errtext_set(err, ENAMETOOLONG, "%.100s...: too long", dir);
    }
    snprintf(path, sizeof(path), "%s/" RECORDING_FILE, dir);
    /* Not through a link that somebody put there: the agent may be root. */
    if ((mkdir(dir, 0755) < 0 && errno != EEXIST) ||
        (fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   0644)) < 0 ||
        !(r->file = fdopen(fd, "w"))) {
        int saved = errno;
        if (fd >= 0)
            close(fd);
        json_decref(begin);
        return errtext_set(err, saved, "%.150s: %s",
                           saved == EEXIST ? path : dir, strerror(saved));
    }
    strcpy(r->dir, dir);
    r->bytes = 0;
    json_object_set_new(begin, "version", json_integer(RECORDING_VERSION));
    return recorder_write(r, "begin", begin, err);
}

static void end(struct recorder *r)
{
    if (r->file)
        fclose(r->file);
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
