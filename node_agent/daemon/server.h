/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's socket: connections, who is at the other end, garbage. */

#ifndef COSCHED_SERVER_H
#define COSCHED_SERVER_H

/* Concept
 *
 * The server receives packets, finds out who sent them, decodes them strictly and passes
 * requests to one handler.  It never blocks: a client that does not read its reply is
 * disconnected, and a thread asks munged (munge_decoder.h).  Garbage is answered, logged
 * once per uid and minute, and ends the connection.
 *
 * No user can keep the agent from serving others:
 *   - Connections are limited in all and per uid.  Silent ones without an attached process
 *     have a lower limit and are dropped after a while.  Some are kept for root.
 *   - Each uid but root's and the agent's own has a share of the CPU time that requests
 *     cost (user_time.h); beyond it, requests wait in their sockets.
 */

#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "common/errtext.h"
#include "protocol/message.h"

#define SERVER_CONNECTIONS 4096     /* in all */
#define SERVER_CONNECTIONS_UID 1024 /* of one user other than root */
#define SERVER_CONNECTIONS_ROOT 256 /* of all, kept for root */
#define SERVER_SILENT_UID 128       /* of one user, nobody attached */
#define SERVER_SILENT_NS UINT64_C(5000000000) /* so long without a packet */

struct server;
struct connection;

/* Who asks. */
struct peer {
    pid_t pid;
    uid_t uid;
    bool privileged; /* root or the agent's user, as the settings demand it */
};

/* What to answer. */
struct reply {
    json_t *body; /* owned; "v" and "ok" are added; NULL: nothing more to say */
    int fds[MESSAGE_MAX_FDS];
    size_t nfds;
    bool close_fds; /* descriptors are closed once sent */
};

struct server_handler {
    /* Answer REQUEST.  0 with *REPLY filled in, or -1 with errno and ERR, which
     * go to the client. */
    int (*request)(void *arg, struct connection *connection,
                   const struct peer *peer,
                   const struct message_request *request, struct reply *reply,
                   struct errtext *err);
    /* The connection has ended; OWNER is what server_own() set, never NULL. */
    void (*hangup)(void *arg, void *owner);
};

enum server_auth {
    SERVER_AUTH_PEER,  /* SO_PEERCRED is enough for privileged requests */
    SERVER_AUTH_MUNGE, /* they need a munge credential */
};

/* Listen at PATH (mode 0666, directory 0755); both are made again if they vanish.  A stale socket
 * is replaced, a living agent's is not (NULL with errno EADDRINUSE); a directory that others may
 * write is refused (EPERM). */
struct server *server_new(sd_event *event, const char *path,
                          enum server_auth auth, const char *munge_socket,
                          const struct server_handler *handler, void *arg,
                          struct errtext *err);

/* Set the connection's OWNER (NULL: nobody). */
void server_own(struct connection *connection, void *owner);

/* Disconnect without calling hangup(). */
void server_drop(struct connection *connection);

/* Stop listening, remove the socket, drop all connections.  Takes NULL. */
void server_free(struct server *server);

#endif /* COSCHED_SERVER_H */
