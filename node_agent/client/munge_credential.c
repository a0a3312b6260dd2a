/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Requests signed with munge: the only file that knows libmunge. */

#include "config.h"

#include "node_agent/client/munge_credential.h"

#ifdef HAVE_MUNGE

#include <munge.h>
#include <stdlib.h>
#include <string.h>

/* A context for munged at SOCKET, or NULL. */
static munge_ctx_t context_new(const char *socket, struct errtext *err)
{
    munge_ctx_t context = munge_ctx_create();

    if (!context) {
        errtext_set(err, ENOMEM, "munge: out of memory");
        return NULL;
    }
    if (socket &&
        munge_ctx_set(context, MUNGE_OPT_SOCKET, socket) != EMUNGE_SUCCESS) {
        errtext_set(err, EACCES, "munge: %s", munge_ctx_strerror(context));
        munge_ctx_destroy(context);
        return NULL;
    }
    return context;
}

char *munge_credential_encode(const char *payload, size_t size,
                              const char *socket, struct errtext *err)
{
    munge_ctx_t context = context_new(socket, err);
    char *text = NULL;

    if (!context)
        return NULL;
    munge_err_t rc = munge_encode(&text, context, payload, (int)size);
    if (rc != EMUNGE_SUCCESS) {
        free(text);
        text = NULL;
        errtext_set(err, EACCES, "munge: %.150s",
                    munge_ctx_strerror(context) ? munge_ctx_strerror(context)
                                                : munge_strerror(rc));
    }
    munge_ctx_destroy(context);
    return text;
}

int munge_credential_decode(const char *text, const char *socket,
                            char **payload, size_t *size, uid_t *uid,
                            struct errtext *err)
{
    munge_ctx_t context = context_new(socket, err);
    void *data = NULL;
    int length = 0;
    gid_t gid;

    if (!context)
        return -1;
    munge_err_t rc = munge_decode(text, context, &data, &length, uid, &gid);
    /* Expired and replayed credentials still deliver their payload. */
    if (rc != EMUNGE_SUCCESS || !data) {
        free(data);
        errtext_set(err, EACCES, "munge: %.150s", munge_strerror(rc));
        munge_ctx_destroy(context);
        return -1;
    }
    munge_ctx_destroy(context);
    *payload = data; /* libmunge appends a zero byte */
    *size = (size_t)length;
    return 0;
}

#else /* !HAVE_MUNGE */

char *munge_credential_encode(const char *payload, size_t size,
                              const char *socket, struct errtext *err)
{
    (void)payload, (void)size, (void)socket;
    errtext_set(err, ENOTSUP, "built without munge");
    return NULL;
}

int munge_credential_decode(const char *text, const char *socket,
                            char **payload, size_t *size, uid_t *uid,
                            struct errtext *err)
{
    (void)text, (void)socket, (void)payload, (void)size, (void)uid;
    return errtext_set(err, ENOTSUP, "built without munge");
}

#endif
