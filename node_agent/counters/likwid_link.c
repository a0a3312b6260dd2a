/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's end of the line to the helper with liblikwid. */

#include "node_agent/counters/likwid_link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/spawn.h"

#define SAID_BYTES 120
#define HEAR_MS 50
#define END_MS 200 /* from the end of its socket to that of a process, at most */

struct likwid_link {
    pid_t pid; /* 0: reaped, or not ours */
    int socket;
    int output; /* what liblikwid says; -1: said to others */
    bool broken;
    size_t used; /* bytes of the message so far, header included */
    struct likwid_header header;
    size_t room; /* of data */
    char *data;
    char said[SAID_BYTES];
    int worth; /* of what was said */
    size_t line_used;
    char line[256];
};

/* ---- start -------------------------------------------------------------- */

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

struct likwid_link *likwid_link_start(const char *program, struct errtext *err)
{
    struct likwid_link *l = calloc(1, sizeof(*l));
    int pair[2] = {-1, -1}, out[2] = {-1, -1};
    int rc = ENOMEM;

    if (!l ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
        pipe2(out, O_CLOEXEC) < 0) {
        rc = l ? errno : ENOMEM;
        goto failed;
    }
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    /* A library that says more than is read must not stop for it. */
    fcntl(out[1], F_SETFL, O_NONBLOCK);
    const int fd[] = {SPAWN_NULL, out[1], out[1], [LIKWID_MESSAGE_FD] = pair[1]};
    rc = spawn_program((char *[]){(char *)program, NULL}, fd, LIKWID_MESSAGE_FD + 1, &l->pid);
    if (rc)
        goto failed;
    close(pair[1]);
    close(out[1]);
    l->socket = pair[0];
    l->output = out[0];
    return l;
failed:
    for (int i = 0; i < 2; i++) {
        close_fd(pair[i]);
        close_fd(out[i]);
    }
    free(l);
    errtext_set(err, rc, "%s: %s", program, strerror(rc));
    return NULL;
}

struct likwid_link *likwid_link_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct likwid_link *l;
    int fd;

    if (!path || strlen(path) >= sizeof(address.sun_path))
        return NULL;
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return NULL;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        !(l = calloc(1, sizeof(*l)))) {
        close(fd);
        return NULL;
    }
    l->socket = fd;
    l->output = -1;
    return l;
}

/* ---- what liblikwid says ------------------------------------------------ */

static int worth_of(const char *line)
{
    if (strstr(line, "in use") || strstr(line, "ocked"))
        return 4;
    if (strstr(line, "ERROR") || strstr(line, "error"))
        return 3;
    if (strstr(line, "WARN"))
        return 2;
    return *line ? 1 : 0;
}

static void end_line(struct likwid_link *l)
{
    l->line[l->line_used] = '\0';
    l->line_used = 0;
    int worth = worth_of(l->line);
    if (worth <= l->worth)
        return;
    l->worth = worth;
    snprintf(l->said, sizeof(l->said), "%.*s", SAID_BYTES - 1, l->line);
    errtext_clean(l->said);
}

static void hear(struct likwid_link *l)
{
    char buffer[4096];
    ssize_t n;

    if (l->output < 0)
        return;
    /* Bounded: a library that talks without end must not hold us. */
    for (int i = 0; i < 16; i++) {
        n = read(l->output, buffer, sizeof(buffer));
        if (n <= 0)
            return;
        for (ssize_t j = 0; j < n; j++) {
            if (buffer[j] == '\n')
                end_line(l);
            else if (l->line_used < sizeof(l->line) - 1)
                l->line[l->line_used++] = buffer[j];
        }
    }
}

const char *likwid_link_said(struct likwid_link *l)
{
    hear(l);
    return l->said;
}

/* ---- messages ----------------------------------------------------------- */

/* Break L for REASON, with what the library said. */
static int broken(struct likwid_link *l, int errnum, const char *reason,
                  struct errtext *err)
{
    l->broken = true;
    hear(l);
    if (l->line_used)
        end_line(l);
    return errtext_set(err, errnum, "%s%s%s%s", reason,
                       *l->said ? " (it said: " : "", l->said,
                       *l->said ? ")" : "");
}

/* The other side is closed: say how the helper ended. */
static int ended(struct likwid_link *l, struct errtext *err)
{
    char reason[64] = "the helper closed its socket";
    int64_t until = clock_ms() + END_MS;
    int status;
    pid_t pid = 0;

    /* It is about to be a zombie. */
    while (l->pid && (pid = waitpid(l->pid, &status, WNOHANG)) == 0 &&
           clock_ms() < until)
        poll(NULL, 0, 1);
    if (l->pid && pid == l->pid) {
        l->pid = 0;
        if (WIFEXITED(status))
            snprintf(reason, sizeof(reason), "the helper ended with status %d",
                     WEXITSTATUS(status));
        else
            snprintf(reason, sizeof(reason), "the helper was ended by signal "
                     "%d", WTERMSIG(status));
    }
    return broken(l, EPIPE, reason, err);
}

int likwid_link_send(struct likwid_link *l, enum likwid_message_type type,
                     uint32_t serial, const void *data, size_t size,
                     struct errtext *err)
{
    struct likwid_header h = {
        .magic = LIKWID_MESSAGE_MAGIC,
        .version = LIKWID_MESSAGE_VERSION,
        .type = (uint16_t)type,
        .bytes = (uint32_t)size,
        .serial = serial,
    };
    struct iovec part[] = {{&h, sizeof(h)}, {(void *)data, size}};
    struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};

    if (l->broken)
        return errtext_set(err, EPIPE, "the helper is gone");
    ssize_t n = sendmsg(l->socket, &message, MSG_NOSIGNAL);
    if (n == (ssize_t)(sizeof(h) + size))
        return 0;
    if (n < 0 && errno == EPIPE)
        return ended(l, err);
    return broken(l, EAGAIN, "the helper does not read", err);
}

/* What a message of TYPE must have, or may have at most. */
static bool size_good(const struct likwid_header *h)
{
    switch (h->type) {
    case LIKWID_HELLO:
        return h->bytes == sizeof(struct likwid_hello);
    case LIKWID_OPENED:
        return h->bytes == sizeof(struct likwid_opened);
    case LIKWID_FAILED:
        return h->bytes == sizeof(struct likwid_failed);
    case LIKWID_COUNTS:
        return h->bytes >= sizeof(struct likwid_counts) &&
               h->bytes <= LIKWID_MESSAGE_BYTES;
    default:
        return false;
    }
}

static int header_check(struct likwid_link *l, struct errtext *err)
{
    const struct likwid_header *h = &l->header;
    char *data;

    if (h->magic != LIKWID_MESSAGE_MAGIC ||
        h->version != LIKWID_MESSAGE_VERSION || !size_good(h))
        return broken(l, EPROTO, "the helper speaks another language", err);
    if (h->bytes > l->room) {
        if (!(data = realloc(l->data, h->bytes)))
            return broken(l, ENOMEM, "out of memory", err);
        l->data = data;
        l->room = h->bytes;
    }
    return 0;
}

static int failed(struct likwid_link *l, struct errtext *err)
{
    struct likwid_failed f;

    memcpy(&f, l->data, sizeof(f));
    f.text[sizeof(f.text) - 1] = '\0';
    errtext_clean(f.text);
    return broken(l, f.error > 0 ? f.error : EIO, *f.text ? f.text : "the helper failed", err);
}

int likwid_link_receive(struct likwid_link *l, struct likwid_header *header,
                        const void **data, struct errtext *err)
{
    if (l->broken)
        return errtext_set(err, EPIPE, "the helper is gone");
    hear(l);
    for (;;) {
        size_t head = sizeof(l->header);
        bool in_head = l->used < head;
        char *to = in_head ? (char *)&l->header + l->used
                           : l->data + (l->used - head);
        size_t want = in_head ? head - l->used
                              : head + l->header.bytes - l->used;
        ssize_t n = recv(l->socket, to, want, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0)
            return ended(l, err);
        l->used += (size_t)n;
        if (l->used == head && header_check(l, err) < 0)
            return -1;
        if (l->used < head || l->used < head + l->header.bytes)
            continue;
        l->used = 0;
        if (l->header.type == LIKWID_FAILED)
            return failed(l, err);
        *header = l->header;
        *data = l->data;
        return 1;
    }
}

int likwid_link_wait(struct likwid_link *l, int timeout_ms,
                     struct likwid_header *header, const void **data,
                     struct errtext *err)
{
    int64_t until = clock_ms() + timeout_ms;

    for (;;) {
        int rc = likwid_link_receive(l, header, data, err);
        int64_t left = until - clock_ms();
        if (rc || left <= 0)
            return rc;
        struct pollfd fd = {.fd = l->socket, .events = POLLIN};
        /* Now and then, to hear what the library says. */
        poll(&fd, 1, left < HEAR_MS ? (int)left : HEAR_MS);
    }
}

void likwid_link_hang_up(struct likwid_link *l)
{
    l->broken = true;
    shutdown(l->socket, SHUT_RDWR);
}

/* Wait for a helper that is not ours to end, which closes SOCKET there. */
static void await_end(int socket, int64_t until)
{
    char rest[4096];

    shutdown(socket, SHUT_WR);
    for (;;) {
        ssize_t n = recv(socket, rest, sizeof(rest), MSG_DONTWAIT);
        int64_t left = until - clock_ms();
        struct pollfd fd = {.fd = socket, .events = POLLIN};
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || left <= 0)
            return;
        if (n < 0)
            poll(&fd, 1, (int)left);
    }
}

void likwid_link_free(struct likwid_link *l, int grace_ms)
{
    int saved = errno;

    if (!l)
        return;
    int64_t until = clock_ms() + grace_ms;
    if (l->output < 0)
        await_end(l->socket, until);
    close(l->socket);
    while (l->pid > 0 && waitpid(l->pid, NULL, WNOHANG) == 0) {
        if (clock_ms() >= until) {
            kill(l->pid, SIGKILL);
            while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
                ;
            break;
        }
        poll(NULL, 0, 5);
    }
    close_fd(l->output);
    free(l->data);
    free(l);
    errno = saved;
}
