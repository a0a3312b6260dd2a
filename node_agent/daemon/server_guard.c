/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's socket: no user keeps it from serving others. */

#include <unistd.h>

#include "common/clock.h"
#include "node_agent/daemon/server_private.h"

/* Between two looks for silent connections, and for users who may go on. */
#define SWEEP_US 2000000
#define WAIT_US 20000

bool guard_exempt(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

/* ---- shares of time ------------------------------------------------------ */

bool guard_charge(struct server *s, uid_t uid, uint64_t begin_ns)
{
    if (guard_exempt(uid))
        return true;
    return user_time_charge(&s->user_time, uid, clock_cpu_ns() - begin_ns,
                            clock_ns()) > 0;
}

static int on_wait_over(sd_event_source *source, uint64_t usec, void *arg)
{
    struct server *s = arg;
    uint64_t now_ns = clock_ns();
    bool more = false;

    (void)usec;
    for (struct connection *c = s->connections; c; c = c->next) {
        if (!c->waiting)
            continue;
        if (user_time_left(&s->user_time, c->cred.uid, now_ns) > 0) {
            c->waiting = false;
            c->heard_ns = now_ns;
            sd_event_source_set_enabled(c->source, SD_EVENT_ON);
        } else {
            more = true;
        }
    }
    if (!more) {
        s->wait_source = sd_event_source_disable_unref(s->wait_source);
        return 0;
    }
    sd_event_source_set_time_relative(source, WAIT_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void guard_let_wait(struct connection *c)
{
    struct server *s = c->server;

    if (log_limit_allows(&s->flood, c->cred.uid, clock_ns()))
        log_warn("uid %u asks too much: its requests wait for their share",
                 c->cred.uid);
    c->waiting = true;
    sd_event_source_set_enabled(c->source, SD_EVENT_OFF);
    if (!s->wait_source)
        sd_event_add_time_relative(s->event, &s->wait_source, CLOCK_MONOTONIC,
                                   WAIT_US, 0, on_wait_over, s);
}

/* ---- connections ----------------------------------------------------------- */

/* Connections of UID, silent ones only or all. */
static size_t count_of_uid(const struct server *s, uid_t uid, bool silent)
{
    size_t n = 0;

    for (const struct connection *c = s->connections; c; c = c->next)
        n += c->cred.uid == uid && !(silent && c->owner);
    return n;
}

bool guard_admits(const struct server *s, uid_t uid)
{
    if (uid == 0)
        return s->count < SERVER_CONNECTIONS;
    return s->count < SERVER_CONNECTIONS - SERVER_CONNECTIONS_ROOT &&
           count_of_uid(s, uid, false) < SERVER_CONNECTIONS_UID &&
           (guard_exempt(uid) ||
            count_of_uid(s, uid, true) < SERVER_SILENT_UID);
}

static int on_sweep(sd_event_source *source, uint64_t usec, void *arg)
{
    struct server *s = arg;
    struct connection *next;
    uint64_t now_ns = clock_ns();
    bool more = false;

    (void)usec;
    for (struct connection *c = s->connections; c; c = next) {
        next = c->next;
        if (c->owner || guard_exempt(c->cred.uid))
            continue;
        if (!c->waiting && !c->ticket &&
            now_ns - c->heard_ns > SERVER_SILENT_NS)
            connection_free(c);
        else
            more = true;
    }
    if (!more) {
        s->sweep_source = sd_event_source_disable_unref(s->sweep_source);
        return 0;
    }
    sd_event_source_set_time_relative(source, SWEEP_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void guard_accepted(struct connection *c)
{
    struct server *s = c->server;

    c->heard_ns = clock_ns();
    if (!guard_exempt(c->cred.uid) && !s->sweep_source)
        sd_event_add_time_relative(s->event, &s->sweep_source, CLOCK_MONOTONIC,
                                   SWEEP_US, 0, on_sweep, s);
}

void guard_stop(struct server *s)
{
    s->sweep_source = sd_event_source_disable_unref(s->sweep_source);
    s->wait_source = sd_event_source_disable_unref(s->wait_source);
}
