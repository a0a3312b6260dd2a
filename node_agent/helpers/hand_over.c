/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Final records that nodes hand over: the node's side. */

#include "node_agent/helpers/hand_over.h"

#include <errno.h>
#include <jansson.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/json_writer.h"
#include "node_agent/client/munge_credential.h"

#define BATCH_BYTES (1UL << 20)
#define TIMEOUT_S 20
#define RESERVED_LOW 512
#define RESERVED_HIGH 1024

int hand_over_split(const char *where, char host[HAND_OVER_HOST], char port[HAND_OVER_HOST])
{
    const char *colon = strrchr(where, ':');

    if (colon && strchr(where, ':') != colon && colon > where && colon[-1] != ']')
        colon = NULL; /* an address of IPv6 without port */
    size_t length = colon ? (size_t)(colon - where) : strlen(where);
    bool brackets = length > 1 && where[0] == '[' && where[length - 1] == ']';
    if (snprintf(host, HAND_OVER_HOST, "%.*s", (int)(length - 2 * brackets), where + brackets) >=
            HAND_OVER_HOST ||
        snprintf(port, HAND_OVER_HOST, "%s", colon ? colon + 1 : HAND_OVER_PORT) >= HAND_OVER_HOST)
        return -1;
    return 0;
}

static in_port_t *port_of(struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)address)->sin6_port
                                          : &((struct sockaddr_in *)address)->sin_port;
}

bool hand_over_reserved(const struct sockaddr_storage *peer)
{
    struct sockaddr_storage copy = *peer;

    return ntohs(*port_of(&copy)) < RESERVED_HIGH;
}

/* Give FD a port that only root can have. */
static int bind_reserved(int fd, int family)
{
    struct sockaddr_storage own = {.ss_family = (sa_family_t)family};
    socklen_t size = family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    unsigned span = RESERVED_HIGH - RESERVED_LOW, first = (unsigned)getpid();

    for (unsigned i = 0; i < span; i++) {
        *port_of(&own) = htons((in_port_t)(RESERVED_LOW + (first + i) % span));
        if (bind(fd, (struct sockaddr *)&own, size) == 0)
            return 0;
        if (errno != EADDRINUSE)
            return -1;
    }
    return -1;
}

/* A connection to WHERE, or -1 with ERR. */
static int connect_to(const char *where, struct errtext *err)
{
    const struct timeval patience = {.tv_sec = TIMEOUT_S};
    char host[HAND_OVER_HOST], port[HAND_OVER_HOST];
    struct addrinfo *found = NULL;
    int fd = -1, rc = EAI_NONAME;

    if (hand_over_split(where, host, port) == 0)
        rc = getaddrinfo(host, port, &(struct addrinfo){.ai_socktype = SOCK_STREAM}, &found);
    for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        if (bind_reserved(fd, a->ai_family) == 0 &&
            connect(fd, a->ai_addr, a->ai_addrlen) == 0)
            break;
        int saved = errno;
        close(fd);
        errno = saved;
        fd = -1;
    }
    if (found)
        freeaddrinfo(found);
    if (fd < 0)
        errtext_set(err, errno, "the collector at %.100s: %s", where,
                    rc ? gai_strerror(rc) : strerror(errno));
    return fd;
}

/* The greeting, with a NONCE, and standard input, malloc'ed. */
static char *read_batch(char nonce[HAND_OVER_NONCE], size_t *size)
{
    unsigned char bytes[HAND_OVER_NONCE / 2];
    char *text = malloc(BATCH_BYTES);

    if (!text || getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
        free(text);
        return NULL;
    }
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
    int used = snprintf(text, BATCH_BYTES, HAND_OVER_GREETING "%s\n", nonce);
    ssize_t got = fd_read_all(STDIN_FILENO, text + used, BATCH_BYTES - (size_t)used);
    if (got < 0) {
        free(text);
        return NULL;
    }
    *size = (size_t)used + (size_t)got;
    return text;
}

/* Send CREDENTIAL; 0 when the answer is NONCE. */
static int exchange(int fd, const char *where, const char *credential, const char *nonce,
                    struct errtext *err)
{
    char answer[HAND_OVER_NONCE] = "";

    if (fd_write_all(fd, credential, strlen(credential)) < 0 || shutdown(fd, SHUT_WR) < 0)
        return errtext_set(err, errno, "the collector at %.100s: %s", where, strerror(errno));
    ssize_t got = fd_read_all(fd, answer, HAND_OVER_NONCE - 1);
    if (got == HAND_OVER_NONCE - 1 && strcmp(answer, nonce) == 0)
        return 0;
    return errtext_set(err, EPROTO, "the collector at %.100s: %s", where,
                       got < 0 ? strerror(errno) : "did not take them: its log says why");
}

int hand_over(const char *where, const char *munge)
{
    struct errtext err = {"out of memory"};
    char nonce[HAND_OVER_NONCE];
    size_t size = 0;
    int fd, rc = -1;
    char *text = read_batch(nonce, &size);
    char *credential =
        text ? munge_credential_encode(text, size, munge, true, TIMEOUT_S * 1000, &err) : NULL;

    if (credential && (fd = connect_to(where, &err)) >= 0) {
        rc = exchange(fd, where, credential, nonce, &err);
        close(fd);
    }
    free(credential);
    free(text);
    return json_writer_line(STDOUT_FILENO, rc == 0 ? json_pack("{s:b}", "handed", 1)
                                                   : json_pack("{s:s}", "away", err.text)) < 0;
}
