/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Whose request is served next. */

#include "node_agent/daemon/turns.h"

#include "common/clock.h"

/* Between two looks at those that wait. */
#define WAIT_US 20000

void turns_begin(struct turns *t, sd_event *event, struct connections *connections,
                 turns_serve *receive)
{
    t->event = event;
    t->connections = connections;
    t->serve = receive;
    t->turn = 1;
}

void turns_end(struct turns *t)
{
    sd_event_source_disable_unref(t->wait_source);
    sd_event_source_disable_unref(t->turn_source);
}

static bool reads(const struct connections *all, const struct user *user)
{
    return user->unread <= TURNS_UNREAD_UID &&
           (user->resident || all->users.strangers.unread <= TURNS_UNREAD_STRANGERS);
}

/* Has USER read enough to be told more?  Looked at once in a while. */
static bool has_read(struct connections *all, struct user *user, uint64_t now_ns)
{
    if (user->exempt || reads(all, user))
        return true;
    if (now_ns - user->seen_ns < WAIT_US * NS_PER_US)
        return false;
    user->seen_ns = now_ns;
    for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
        struct connection *c = all->slot[i];
        if (c && c->user == user && c->unread)
            connection_count_unread(c, connection_unread(c));
    }
    return reads(all, user);
}

/* May C be served at NOW_NS?  FLOOD: its user has no time left. */
static bool is_ready(struct connection *c, uint64_t now_ns, bool *flood)
{
    *flood = !users_solvent(&c->all->users, c->user, now_ns);
    return !*flood && has_read(c->all, c->user, now_ns);
}

/* The first that may be served of those whose users have not had this turn. */
static struct connection *next_in_turn(struct turns *t)
{
    uint64_t now_ns = clock_ns();
    struct connection *c;
    bool flood;

    TAILQ_FOREACH(c, &t->connections->waiting, next_waiting)
    if (c->user->turn != t->turn && is_ready(c, now_ns, &flood))
        break;
    return c;
}

/* Serve one of those that wait, each user in turn.  False when none may be. */
static bool serve_waiting(struct turns *t)
{
    struct connection *c = next_in_turn(t);

    if (!c) {
        t->turn++;
        c = next_in_turn(t);
    }
    if (!c)
        return false;
    TAILQ_REMOVE(&t->connections->waiting, c, next_waiting);
    c->waiting = false;
    c->user->turn = t->turn;
    sd_event_source_set_enabled(c->source, SD_EVENT_ON);
    t->serve(c);
    return true;
}

/* Serve one, then let other events have their turn. */
static int on_turn(sd_event_source *source, uint64_t usec, void *arg)
{
    struct turns *t = arg;

    if (!serve_waiting(t) || TAILQ_EMPTY(&t->connections->waiting))
        return 0;
    sd_event_source_set_time(source, usec);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* The same, some time later. */
static int on_wait_over(sd_event_source *source, uint64_t usec, void *arg)
{
    struct turns *t = arg;

    (void)usec;
    bool served = serve_waiting(t);
    if (TAILQ_EMPTY(&t->connections->waiting)) {
        t->wait_source = sd_event_source_disable_unref(t->wait_source);
        return 0;
    }
    sd_event_source_set_time_relative(source, served ? 0 : WAIT_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* Read nothing from C until it is its user's turn, and he has time again, or
 * has read. */
static void let_wait(struct turns *t, struct connection *c, bool flood)
{
    if (flood && log_limit_allows(&t->flood, c->cred.uid, clock_ns()))
        log_warn("uid %u asks too much: its requests wait for their share",
                 c->cred.uid);
    c->waiting = true;
    TAILQ_INSERT_TAIL(&t->connections->waiting, c, next_waiting);
    sd_event_source_set_enabled(c->source, SD_EVENT_OFF);
    if (!t->wait_source &&
        sd_event_add_time_relative(t->event, &t->wait_source, CLOCK_MONOTONIC,
                                   WAIT_US, 0, on_wait_over, t) >= 0)
        sd_event_source_set_priority(t->wait_source, EVENT_USERS_PRIORITY);
    if (flood)
        return;
    if (t->turn_source)
        sd_event_source_set_enabled(t->turn_source, SD_EVENT_ONESHOT);
    else if (sd_event_add_time_relative(t->event, &t->turn_source,
                                        CLOCK_MONOTONIC, 0, 1, on_turn, t) >= 0)
        sd_event_source_set_priority(t->turn_source, EVENT_USERS_PRIORITY);
}

void turns_take(struct turns *t, struct connection *c)
{
    struct user *user = c->user;
    bool flood = false;

    if ((user->exempt || user->turn != t->turn) && is_ready(c, clock_ns(), &flood)) {
        user->turn = t->turn;
        t->serve(c);
    } else {
        let_wait(t, c, flood);
    }
}
