/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's socket: connections, who is at the other end, garbage. */

#ifndef COSCHED_SERVER_H
#define COSCHED_SERVER_H

/* Concept
 *
 * The server receives packets, finds out who sent them, decodes them strictly
 * and passes requests to one handler.  It never blocks: a client that does not
 * read its reply is disconnected, and a thread asks munged (munge_decoder.h).
 * Garbage is answered, logged once per uid and minute, and ends the connection.
 *
 * Connections are known by their numbers (connections.h).
 *
 * No user can keep the agent from serving others:
 *   - There are several sockets, each with a queue of its own in the kernel:
 * one for root, one for each job, for its user, and one for all.  Of a
 * job's nothing is accepted while the user owes time (below).  At the one for
 * all, after SERVER_REFUSED connections that are refused nothing is accepted
 * until SERVER_PAUSE_NS have passed since the first: that costs some percent of
 * a CPU, and who wants no more than to ask may have to wait.
 *   - What users ask has the lowest priority of the event loop: epochs, ends of
 * processes and root's requests come first, whatever waits.  So no request may
 * take long (SERVER_LONGEST_NS).
 *   - Each uid but root's and the agent's own has a share of CPU time
 * (users.h), which pays for all that it causes, refusals and hang-ups too.
 * While it owes, its requests wait in their sockets; then they are served one
 * by one.
 *   - One request of a user is served in each turn (turns.h).
 *   - A uid gets a part of the free connections (connections.h).  Silent ones
 * without an attached process are dropped after a while.
 *   - A connection has one reply that is not read; who asks again before is
 * disconnected.  A uid has TURNS_UNREAD_UID bytes of them, more of its
 * requests wait until it reads.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "common/errtext.h"
#include "node_agent/daemon/event.h"
#include "protocol/message.h"

#define SERVER_SILENT_NS  UINT64_C(5000000000) /* so long without a packet */
#define SERVER_LONGEST_NS UINT64_C(20000000)
#define SERVER_REFUSED    16
#define SERVER_PAUSE_NS   UINT64_C(4000000)

struct listener;
struct server;

/* Who asks. */
struct peer {
    uint64_t connection; /* its number, never 0 */
    uint32_t job;        /* that a process has attached to over it; 0: none */
    int socket;          /* its end here: for caller.h */
    pid_t pid;           /* that the process which connected had then */
    uid_t uid;
    bool privileged; /* root or the agent's user, as the settings demand it */
};

/* What to answer. */
struct reply {
    json_t *body; /* owned; "v" and "ok" are added; NULL: nothing more to say */
    int fds[MESSAGE_MAX_FDS];
    size_t nfds;
};

struct server_handler {
    /* Answer REQUEST.  0 with *REPLY filled in, or -1 with errno and ERR, which
     * go to the client. */
    int (*request)(void *arg, const struct peer *peer,
                   const struct message_request *request, struct reply *reply,
                   struct errtext *err);
    /* CONNECTION, over which a process has attached to JOB, has ended. */
    void (*hangup)(void *arg, uint64_t connection, uint32_t job);
    /* Has UID a job on this node? */
    bool (*resident)(void *arg, uid_t uid);
};

enum server_auth {
    SERVER_AUTH_PEER,  /* SO_PEERCRED is enough for privileged requests */
    SERVER_AUTH_MUNGE, /* they need a munge credential */
};

/* Listen at PATH, mode 0666, and for the own user at PATH.root, mode 0600. PATH
 * must outlive the server.  NULL with errno and ERR. */
struct server *server_new(sd_event *event, const char *path,
                          enum server_auth auth, const char *munge_socket,
                          const struct server_handler *handler, void *arg,
                          struct errtext *err);

/* Listen at PATH.JOB, too, for the own user and UID, until listener_free().
 * NULL with errno and ERR: ENAMETOOLONG, or EOPNOTSUPP where files have no
 * access lists. */
struct listener *server_listen_for(struct server *server, uint32_t job,
                                   uid_t uid, struct errtext *err);

/* A process has attached to JOB over CONNECTION, which is open. */
void server_attached(struct server *server, uint64_t connection, uint32_t job);

/* Disconnect CONNECTION, if there still is one, without calling hangup(). */
void server_drop(struct server *server, uint64_t connection);

/* UID has cost the CPU time since BEGIN_NS (clock_cpu_ns()), elsewhere. */
void server_charge(struct server *server, uid_t uid, uint64_t begin_ns);

/* Stop listening, remove the socket, drop all connections.  Takes NULL. */
void server_free(struct server *server);

#endif /* COSCHED_SERVER_H */
