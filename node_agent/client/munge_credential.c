/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Requests signed with munge: the only file that knows libmunge. */

#include "config.h"

#include "node_agent/client/munge_credential.h"

#ifdef HAVE_MUNGE

#include <fcntl.h>
#include <munge.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"

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

/* Sign in this process, however long that takes: as below. */
static char *encode(const char *payload, size_t size, const char *socket, bool for_root,
                    struct errtext *err)
{
    munge_ctx_t context = context_new(socket, err);
    char *text = NULL;

    if (!context)
        return NULL;
    munge_err_t rc = for_root ? munge_ctx_set(context, MUNGE_OPT_UID_RESTRICTION, (uid_t)0)
                              : EMUNGE_SUCCESS;
    if (rc == EMUNGE_SUCCESS)
        rc = munge_encode(&text, context, payload, (int)size);
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

/* The child: write to FD what munge says, "+" or "-" in front. */
__attribute__((noreturn)) static void encode_to(int fd, const char *payload, size_t size,
                                                const char *socket, bool for_root)
{
    struct errtext why = {""};

    signal(SIGPIPE, SIG_IGN);
    char *text = encode(payload, size, socket, for_root, &why);
    const char *says = text ? text : why.text;
    bool sent = fd_write_all(fd, text ? "+" : "-", 1) == 0 &&
                fd_write_all(fd, says, strlen(says)) == 0;
    _exit(sent ? 0 : 1);
}

/* Read what comes from FD until its end into TEXT (ROOM bytes), at the latest at UNTIL_MS.
 * Its length, or -1 with errno. */
static ssize_t read_until(int fd, char *text, size_t room, int64_t until_ms)
{
    size_t used = 0;

    for (;;) {
        int64_t left_ms = until_ms - clock_ms();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int rc = poll(&p, 1, left_ms > 0 ? (int)left_ms : 0);
        if (rc == 0 && left_ms <= 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        if (rc <= 0)
            continue;
        ssize_t got = read(fd, text + used, room - 1 - used);
        if (got == 0 || used + 1 == room) {
            text[used] = '\0';
            return (ssize_t)used;
        }
        if (got > 0)
            used += (size_t)got;
        else if (errno != EINTR)
            return -1;
    }
}

char *munge_credential_encode(const char *payload, size_t size, const char *socket,
                              bool for_root, int timeout_ms, struct errtext *err)
{
    int64_t until_ms = clock_ms() + timeout_ms;
    size_t room = 4 * size + 4096; /* base64 of it and of munge's own, and more */
    char *text = malloc(room);
    int fds[2] = {-1, -1};
    pid_t pid = -1;

    if (!text || pipe2(fds, O_CLOEXEC) < 0 || (pid = fork()) < 0)
        errtext_set(err, errno, "munge: %s", strerror(errno));
    if (pid == 0)
        encode_to(fds[1], payload, size, socket, for_root);
    int saved = errno;
    if (fds[1] >= 0)
        close(fds[1]);
    ssize_t used = -1;
    if (pid > 0) {
        used = read_until(fds[0], text, room, until_ms);
        saved = errno;
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        if (used < 0)
            errtext_set(err, saved, "munge: munged did not answer within %d ms", timeout_ms);
    }
    if (fds[0] >= 0)
        close(fds[0]);
    if (used > 1 && text[0] == '+') {
        memmove(text, text + 1, (size_t)used);
        return text;
    }
    if (used >= 0)
        errtext_set(err, saved = EACCES, "%s", used > 1 ? text + 1 : "munge: no answer");
    free(text);
    errno = saved;
    return NULL;
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

char *munge_credential_encode(const char *payload, size_t size, const char *socket,
                              bool for_root, int timeout_ms, struct errtext *err)
{
    (void)payload, (void)size, (void)socket, (void)for_root, (void)timeout_ms;
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
