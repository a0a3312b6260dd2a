/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What each user holds of the agent, and costs it. */

#include "node_agent/daemon/users.h"

/* Pay what SHARES users have earned up to NOW_NS. */
static void earn(struct user *u, int shares, uint64_t now_ns)
{
    if (now_ns > u->counted_ns)
        u->left_ns += (int64_t)((double)(now_ns - u->counted_ns) * USERS_SHARE *
                                shares);
    if (u->left_ns > USERS_BURST_NS)
        u->left_ns = USERS_BURST_NS;
    u->counted_ns = now_ns;
}

static void spend(struct user *u, uint64_t used_ns)
{
    const int64_t most = USERS_BURST_NS + USERS_DEBT_NS;

    u->left_ns -= used_ns < (uint64_t)most ? (int64_t)used_ns : most;
    if (u->left_ns < -USERS_DEBT_NS)
        u->left_ns = -USERS_DEBT_NS;
}

/* The strangers' purse at NOW_NS. */
static struct user *strangers(struct users *t, uint64_t now_ns)
{
    if (!t->strangers.counted_ns) {
        t->strangers.left_ns = USERS_BURST_NS;
        t->strangers.counted_ns = now_ns;
    }
    earn(&t->strangers, USERS_STRANGERS, now_ns);
    return &t->strangers;
}

/* The entry to use for a new user: a free one, or that which is missed least;
 * NULL: none. */
static struct user *vacate(struct users *t, uint64_t now_ns)
{
    struct user *best = NULL;

    for (size_t i = 0; i < USERS_MOST; i++) {
        struct user *u = &t->user[i];
        if (!u->counted_ns)
            return u;
        if (u->connections)
            continue;
        earn(u, 1, now_ns);
        if (!best || u->left_ns > best->left_ns)
            best = u;
    }
    return best;
}

/* What U holds counts among what strangers hold from now on (SIGN 1), or no
 * longer (-1). */
static void count_stranger(struct users *t, const struct user *u, int sign)
{
    if (u->resident)
        return;
    t->strangers.connections += (size_t)sign * u->connections;
    t->strangers.unread += (size_t)sign * u->unread;
}

struct user *users_find(struct users *t, uid_t uid, bool exempt, bool resident,
                        uint64_t now_ns)
{
    struct user *u = t->user;

    while (u < t->user + USERS_MOST && !(u->counted_ns && u->uid == uid))
        u++;
    if (u == t->user + USERS_MOST) {
        if (!(u = vacate(t, now_ns)))
            return NULL;
        *u = (struct user){.uid = uid,
                           .exempt = exempt,
                           .resident = resident || exempt,
                           .left_ns = USERS_BURST_NS,
                           .counted_ns = now_ns ? now_ns : 1};
    }
    count_stranger(t, u, -1);
    u->resident = resident || exempt;
    count_stranger(t, u, 1);
    return u;
}

/* Time in which SHARES users repay what U owes. */
static uint64_t repaid_ns(const struct user *u, int shares)
{
    return u->left_ns > 0
               ? 0
               : (uint64_t)((double)(1 - u->left_ns) / (USERS_SHARE * shares));
}

uint64_t users_wait_ns(struct users *t, struct user *u, uint64_t now_ns)
{
    if (users_solvent(t, u, now_ns))
        return 0;
    uint64_t own_ns = repaid_ns(u, 1);
    uint64_t all_ns = u->resident ? 0
                                  : repaid_ns(&t->strangers, USERS_STRANGERS);
    return own_ns > all_ns ? own_ns : all_ns;
}

bool users_solvent(struct users *t, struct user *u, uint64_t now_ns)
{
    if (u->exempt)
        return true;
    earn(u, 1, now_ns);
    return u->left_ns > 0 && (u->resident || strangers(t, now_ns)->left_ns > 0);
}

void users_charge(struct users *t, struct user *u, uint64_t used_ns,
                  uint64_t now_ns)
{
    if (u->exempt)
        return;
    earn(u, 1, now_ns);
    spend(u, used_ns);
    if (!u->resident)
        spend(strangers(t, now_ns), used_ns);
}

void users_connect(struct users *t, struct user *u)
{
    u->connections++;
    t->strangers.connections += !u->resident;
}

void users_disconnect(struct users *t, struct user *u)
{
    u->connections--;
    t->strangers.connections -= !u->resident;
}

void users_unread(struct users *t, struct user *u, ssize_t delta)
{
    u->unread += (size_t)delta;
    if (!u->resident)
        t->strangers.unread += (size_t)delta;
}
