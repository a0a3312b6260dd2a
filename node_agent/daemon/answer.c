/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Answers to clients. */

#include "node_agent/daemon/answer.h"

#include <stdlib.h>
#include <string.h>

int answer_reply(int fd, struct reply *reply)
{
    json_t *body = reply->body ? json_incref(reply->body) : json_object();
    int rc = -1;

    json_object_set_new(body, "v", json_integer(MESSAGE_VERSION));
    json_object_set_new(body, "ok", json_true());
    char *text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    if (text)
        rc = message_send(fd, text, strlen(text), reply->fds, reply->nfds,
                          NULL);
    free(text);
    return rc;
}

int answer_error(int fd, int errnum, const char *error)
{
    json_t *body = json_pack("{s:i, s:b, s:i, s:s}", "v", MESSAGE_VERSION, "ok",
                             0, "errnum", errnum, "error", error);
    if (body && errnum == EPROTO) { /* a newer client may fall back */
        json_object_set_new(body, "oldest",
                            json_integer(MESSAGE_VERSION_OLDEST));
        json_object_set_new(body, "newest", json_integer(MESSAGE_VERSION));
    }
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    int rc = -1;

    if (text)
        rc = message_send(fd, text, strlen(text), NULL, 0, NULL);
    free(text);
    json_decref(body);
    return rc;
}
