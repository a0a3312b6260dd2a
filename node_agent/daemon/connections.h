/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The connections of the agent's socket, and who has how many. */

#ifndef COSCHED_CONNECTIONS_H
#define COSCHED_CONNECTIONS_H

/* Concept
 *
 * A connection has a number, which is never used again: its slot in a table is the number
 * modulo the table's size.  Nobody but the server holds a pointer to one: a number that
 * outlives its connection finds nothing.
 *
 * Of free connections a uid gets one only while it has fewer than are left, so that there are
 * always some for others.  Silent ones without an attached process have a lower limit for users
 * without a job.  Some are kept for root.  Each user's account (users.h) has what its connections
 * hold.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "node_agent/daemon/event.h"
#include "node_agent/daemon/users.h"

#define CONNECTIONS_MOST 8192 /* in all; a power of 2 */
#define CONNECTIONS_UID  1024 /* of one user other than root, and of all strangers */
#define CONNECTIONS_ROOT 256  /* of all, kept for root */
#define CONNECTIONS_SILENT_UID 128 /* of one stranger, nobody attached */

struct munge_ticket;
struct server;

struct connection {
    struct server *server;
    struct connections *all;
    uint64_t number;
    int fd;
    struct ucred cred;
    struct user *user;
    struct munge_ticket *ticket; /* its request is being checked by munged */
    sd_event_source *source;
    uint32_t job;      /* that a process has attached to over it; 0: none */
    uint64_t heard_ns; /* accepted, or last packet */
    size_t unread;     /* bytes of its reply that were not read, as last seen */
    bool waiting;      /* for its user's time, or until he has read (turns.h) */
    TAILQ_ENTRY(connection) next_waiting;
};

struct connections {
    struct connection *slot[CONNECTIONS_MOST];
    uint16_t empty[CONNECTIONS_MOST]; /* a stack of slots */
    size_t count;
    uint64_t made; /* so far */
    TAILQ_HEAD(, connection) waiting;
    struct users users;
};

/* ALL is zero; it must not move. */
void connections_init(struct connections *all);

/* The connection called NUMBER, or NULL. */
struct connection *connections_find(const struct connections *all, uint64_t number);

/* May USER have one more? */
bool connections_admit(const struct connections *all, const struct user *user);

/* FD of SERVER, at the other end of which is CRED, whose account is USER.  NULL when out of
 * memory or room; else FD is the connection's. */
struct connection *connections_add(struct connections *all, struct server *server, int fd,
                                   const struct ucred *cred, struct user *user);

/* Look how many bytes the peer of C has not read yet; returns that. */
size_t connection_unread(const struct connection *c);

/* Take what C has unread, now N bytes, into its user's account. */
void connection_count_unread(struct connection *c, size_t n);

/* A process has attached to JOB over C; 0: it is not that of a job any more. */
void connection_attach(struct connection *c, uint32_t job);

/* Close and forget C, and its ticket and event source. */
void connection_free(struct connection *c);

#endif /* COSCHED_CONNECTIONS_H */
