/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The connections of the agent's socket, and who has how many. */

#include "node_agent/daemon/connections.h"

#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "node_agent/daemon/munge_decoder.h"

void connections_init(struct connections *all)
{
    TAILQ_INIT(&all->waiting);
    for (size_t i = 0; i < CONNECTIONS_MOST; i++)
        all->empty[i] = (uint16_t)i;
}

struct connection *connections_find(const struct connections *all, uint64_t number)
{
    struct connection *c = all->slot[number % CONNECTIONS_MOST];

    return c && c->number == number ? c : NULL;
}

bool connections_admit(const struct connections *all, const struct user *user)
{
    if (user->uid == 0)
        return all->count < CONNECTIONS_MOST;
    if (all->count >= CONNECTIONS_MOST - CONNECTIONS_ROOT)
        return false;
    size_t most = CONNECTIONS_MOST - CONNECTIONS_ROOT - all->count;
    if (most > CONNECTIONS_UID)
        most = CONNECTIONS_UID;
    return user->connections < most &&
           (user->resident ||
            (user->connections - user->attached < CONNECTIONS_SILENT_UID &&
             all->users.strangers.connections < most));
}

struct connection *connections_add(struct connections *all, struct server *server, int fd,
                                   const struct ucred *cred, struct user *user)
{
    struct connection *c = all->count < CONNECTIONS_MOST ? calloc(1, sizeof(*c)) : NULL;

    if (!c)
        return NULL;
    c->server = server;
    c->all = all;
    c->fd = fd;
    c->cred = *cred;
    c->user = user;
    c->heard_ns = clock_ns();
    c->number = ++all->made * CONNECTIONS_MOST + all->empty[all->count++];
    all->slot[c->number % CONNECTIONS_MOST] = c;
    users_connect(&all->users, user);
    return c;
}

size_t connection_unread(const struct connection *c)
{
    int n = 0;

    return ioctl(c->fd, SIOCOUTQ, &n) == 0 && n > 0 ? (size_t)n : 0;
}

void connection_count_unread(struct connection *c, size_t n)
{
    users_unread(&c->all->users, c->user, (ssize_t)(n - c->unread));
    c->unread = n;
}

void connection_attach(struct connection *c, uint32_t job)
{
    c->user->attached -= c->job != 0;
    c->user->attached += job != 0;
    c->job = job;
}

void connection_free(struct connection *c)
{
    struct connections *all = c->all;
    size_t slot = c->number % CONNECTIONS_MOST;

    connection_count_unread(c, 0);
    connection_attach(c, 0);
    users_disconnect(&all->users, c->user);
    if (c->waiting)
        TAILQ_REMOVE(&all->waiting, c, next_waiting);
    all->slot[slot] = NULL;
    all->empty[--all->count] = (uint16_t)slot;
    munge_decoder_cancel(c->ticket);
    sd_event_source_disable_unref(c->source);
    close(c->fd);
    free(c);
}
