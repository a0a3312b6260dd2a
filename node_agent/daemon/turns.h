/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Whose request is served next. */

#ifndef COSCHED_TURNS_H
#define COSCHED_TURNS_H

/* Concept
 *
 * One request of a user is served in each turn, so that others are next however many of his
 * connections ask at once.  While a user owes time (users.h), or has not read what it was told,
 * its requests wait in their sockets; then they are served one by one.  Root and the agent's own
 * user do not wait.
 *
 * After each request that has waited other events have their turn: what waits all the time would
 * be served before connections and packets that sd-event has still to see.
 */

#include "common/log.h"
#include "node_agent/daemon/connections.h"

#define TURNS_UNREAD_UID       1048576 /* bytes; of one user */
#define TURNS_UNREAD_STRANGERS 4194304 /* of all strangers */

/* Receive one packet of C, which may end. */
typedef void turns_serve(struct connection *c);

struct turns {
    sd_event *event;
    struct connections *connections;
    turns_serve *serve;
    uint64_t turn;
    sd_event_source *wait_source; /* runs while one waits */
    sd_event_source *turn_source; /* likewise, for its user's turn */
    struct log_limit flood;
};

/* TURNS is zero; it must not move, and end before CONNECTIONS. */
void turns_begin(struct turns *turns, sd_event *event, struct connections *connections,
                 turns_serve *receive);
void turns_end(struct turns *turns);

/* C has a packet: it is served now, or when it is its user's turn. */
void turns_take(struct turns *turns, struct connection *c);

#endif /* COSCHED_TURNS_H */
