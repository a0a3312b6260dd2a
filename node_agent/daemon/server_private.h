/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What server.c and server_guard.c share. */

#ifndef COSCHED_SERVER_PRIVATE_H
#define COSCHED_SERVER_PRIVATE_H

#include <sys/socket.h>
#include <sys/un.h>

#include "common/log.h"
#include "node_agent/daemon/munge_decoder.h"
#include "node_agent/daemon/server.h"
#include "node_agent/daemon/user_time.h"

struct connection {
    struct server *server;
    int fd;
    struct ucred cred;
    struct munge_ticket *ticket; /* its request is being checked by munged */
    sd_event_source *source;
    void *owner;
    uint64_t heard_ns; /* accepted, or last packet */
    bool waiting;      /* its user has used up his time */
    struct connection *next;
};

struct server {
    sd_event *event;
    int fd;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    enum server_auth auth;
    struct munge_decoder *munge;
    const struct server_handler *handler;
    void *arg;
    sd_event_source *accept_source;
    sd_event_source *resume_source;
    sd_event_source *look_source;
    dev_t device; /* of the socket's file */
    ino_t inode;
    sd_event_source *sweep_source; /* runs while there is a silent one */
    sd_event_source *wait_source;  /* runs while one waits */
    struct connection *connections;
    size_t count;
    struct user_time user_time;
    struct log_limit refused;
    struct log_limit flood;
    struct log_limit garbage;
    struct log_limit crowd;
    struct log_limit munge_silent;
    struct log_limit lost;
    struct message_packet packet; /* too large for the stack */
};

/* Close and forget C, without a word to its owner. */
void connection_free(struct connection *c);

/* ---- server_guard.c: no user keeps the server from others ----------------- */

/* Root and the agent's own user, who could do worse. */
bool guard_exempt(uid_t uid);

/* May UID have one more connection? */
bool guard_admits(const struct server *server, uid_t uid);

/* C was accepted. */
void guard_accepted(struct connection *c);

/* UID has cost the CPU time since BEGIN_NS (clock_cpu_ns()).  False when it has
 * none left: its connections are to wait. */
bool guard_charge(struct server *server, uid_t uid, uint64_t begin_ns);

/* Read nothing from C until its user has time again. */
void guard_let_wait(struct connection *c);

void guard_stop(struct server *server);

#endif /* COSCHED_SERVER_PRIVATE_H */
