/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Final records that nodes hand over: the collector's side. */

#include "node_agent/helpers/collector.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "node_agent/client/munge_credential.h"
#include "node_agent/helpers/hand_over.h"

#define BATCH_BYTES (1UL << 20) /* munge takes no more */
#define BATCH_MS 10000          /* from connect to the last byte */
#define BACKLOG 4096            /* nodes that wait for their turn */
#define COMPLAINT_MS 60000
#define NEVER INT64_MAX

struct connection {
    int fd; /* -1: free */
    int64_t until_ms;
    size_t used, room;
    char *text;
    char nonce[HAND_OVER_NONCE]; /* not "": its records were taken */
};

struct collector {
    int fd;
    const char *munge;
    int64_t complained_ms;
    struct connection at[COLLECTOR_CONNECTIONS];
};

/* Say WHY somebody was refused: whoever can connect can make us say that. */
static void complain(struct collector *c, const char *why)
{
    int64_t now_ms = clock_ms();

    if (c->complained_ms && now_ms - c->complained_ms < COMPLAINT_MS)
        return;
    c->complained_ms = now_ms;
    fprintf(stderr, "coschedd-slurm: records refused: %s\n", why);
}

static void drop(struct connection *at)
{
    close(at->fd);
    free(at->text);
    *at = (struct connection){.fd = -1};
}

/* ---- opening --------------------------------------------------------------- */

static int listen_at(const struct addrinfo *a)
{
    const int one = 1, zero = 0;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (a->ai_family == AF_INET6) /* IPv4, too */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

struct collector *collector_open(const char *where, const char *munge, struct errtext *err)
{
    struct addrinfo *found = NULL;
    char host[HAND_OVER_HOST], port[HAND_OVER_HOST];
    struct collector *c = calloc(1, sizeof(*c));
    int rc = EAI_MEMORY;

    if (c && hand_over_split(strchr(where, ':') ? where : "", host, port) == 0)
        rc = getaddrinfo(*host ? host : NULL, *host ? port : where,
                         &(struct addrinfo){.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM},
                         &found);
    errno = EINVAL;
    if (c)
        c->fd = -1;
    /* All addresses are one of IPv6's, where there is that. */
    for (int family = AF_INET6; c && family; family = family == AF_INET6 ? AF_INET : 0)
        for (struct addrinfo *a = found; a && c->fd < 0; a = a->ai_next)
            if (a->ai_family == family)
                c->fd = listen_at(a);
    if (found)
        freeaddrinfo(found);
    if (!c || c->fd < 0) {
        errtext_set(err, errno, "%.100s: %s", where, rc ? gai_strerror(rc) : strerror(errno));
        free(c);
        return NULL;
    }
    c->munge = munge;
    for (struct connection *at = c->at; at < c->at + COLLECTOR_CONNECTIONS; at++)
        at->fd = -1;
    return c;
}

/* ---- reading --------------------------------------------------------------- */

int64_t collector_wait(const struct collector *c, struct pollfd fds[COLLECTOR_FDS])
{
    int64_t until_ms = NEVER;
    bool room = false;

    for (size_t i = 0; i < COLLECTOR_CONNECTIONS; i++) {
        const struct connection *at = &c->at[i];
        fds[1 + i] = (struct pollfd){.fd = at->fd, .events = POLLIN};
        room |= at->fd < 0;
        if (at->fd >= 0 && at->until_ms < until_ms)
            until_ms = at->until_ms;
    }
    /* Nodes wait outside while all places are taken. */
    fds[0] = (struct pollfd){.fd = room ? c->fd : -1, .events = POLLIN};
    return until_ms;
}

static void accept_some(struct collector *c)
{
    for (struct connection *at = c->at; at < c->at + COLLECTOR_CONNECTIONS; at++) {
        struct sockaddr_storage peer;
        socklen_t size = sizeof(peer);
        if (at->fd >= 0)
            continue;
        int fd = accept4(c->fd, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        if (!hand_over_reserved(&peer)) {
            complain(c, "they came from a port that is not reserved");
            close(fd);
            continue;
        }
        at->fd = fd;
        at->until_ms = clock_ms() + BATCH_MS;
    }
}

/* Take the records of a credential's PAYLOAD.  False, nothing to answer. */
static bool take_all(struct connection *at, char *payload, bool (*take)(const char *line))
{
    size_t greeting = strlen(HAND_OVER_GREETING);
    char *rest = payload, *line = strsep(&rest, "\n");

    if (strncmp(line, HAND_OVER_GREETING, greeting) != 0 || !rest ||
        strlen(line + greeting) != sizeof(at->nonce) - 1)
        return false;
    while ((line = strsep(&rest, "\n")))
        if (*line && !take(line))
            return false;
    strcpy(at->nonce, payload + greeting);
    return true;
}

/* All of AT's credential has come. */
static void open_batch(struct collector *c, struct connection *at, bool (*take)(const char *line))
{
    struct errtext err = {""};
    char *payload = NULL;
    size_t size;
    uid_t uid = 0;
    bool good = false;

    if (!at->text || munge_credential_decode(at->text, c->munge, &payload, &size, &uid, &err) < 0)
        complain(c, err.text[0] ? err.text : "nothing came");
    else if (uid != 0)
        complain(c, "they are not root's");
    else if (!(good = take_all(at, payload, take)))
        complain(c, "they are not of this protocol, or too many wait here");
    free(payload);
    if (!good)
        drop(at);
}

static void read_some(struct collector *c, struct connection *at, bool (*take)(const char *line))
{
    if (at->used + 1 >= at->room) {
        size_t room = at->room ? 4 * at->room : 16384;
        char *text = room <= 4 * BATCH_BYTES ? realloc(at->text, room) : NULL;
        if (!text) {
            drop(at);
            return;
        }
        at->text = text;
        at->room = room;
    }
    ssize_t got = read(at->fd, at->text + at->used, at->room - 1 - at->used);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    at->used += got > 0 ? (size_t)got : 0;
    at->text[at->used] = '\0';
    if (got < 0)
        drop(at);
    else if (got == 0)
        open_batch(c, at, take);
}

void collector_read(struct collector *c, const struct pollfd fds[COLLECTOR_FDS],
                    bool (*take)(const char *line))
{
    int64_t now_ms = clock_ms();

    for (size_t i = 0; i < COLLECTOR_CONNECTIONS; i++) {
        struct connection *at = &c->at[i];
        if (fds[1 + i].revents && at->fd >= 0)
            read_some(c, at, take);
        if (at->fd >= 0 && !*at->nonce && at->until_ms <= now_ms)
            drop(at);
    }
    if (fds[0].revents)
        accept_some(c);
}

void collector_answer(struct collector *c, bool kept)
{
    for (struct connection *at = c->at; at < c->at + COLLECTOR_CONNECTIONS; at++) {
        if (at->fd < 0 || !*at->nonce)
            continue;
        /* So little never waits; what is lost is asked for again. */
        if (kept)
            (void)!send(at->fd, at->nonce, strlen(at->nonce), MSG_NOSIGNAL);
        drop(at);
    }
}
