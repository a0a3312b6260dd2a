/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* CPU time that each user may cost the agent. */

#include "node_agent/daemon/user_time.h"

#include <stddef.h>

/* The entry of UID, its income up to NOW_NS included. */
static size_t find(struct user_time *t, uid_t uid, uint64_t now_ns)
{
    size_t i = 0, oldest = 0;

    for (; i < USER_TIME_USERS; i++) {
        if (t->user[i].counted_ns && t->user[i].uid == uid)
            break;
        if (t->user[i].counted_ns < t->user[oldest].counted_ns)
            oldest = i;
    }
    if (i == USER_TIME_USERS) {
        i = oldest;
        t->user[i].uid = uid;
        t->user[i].left_ns = USER_TIME_BURST_NS;
        t->user[i].counted_ns = now_ns;
    }
    t->user[i].left_ns += (uint64_t)(
        (double)(now_ns - t->user[i].counted_ns) * USER_TIME_SHARE);
    if (t->user[i].left_ns > USER_TIME_BURST_NS)
        t->user[i].left_ns = USER_TIME_BURST_NS;
    t->user[i].counted_ns = now_ns;
    return i;
}

uint64_t user_time_left(struct user_time *t, uid_t uid, uint64_t now_ns)
{
    return t->user[find(t, uid, now_ns)].left_ns;
}

uint64_t user_time_charge(struct user_time *t, uid_t uid, uint64_t used_ns,
                          uint64_t now_ns)
{
    size_t i = find(t, uid, now_ns);
    uint64_t left_ns = t->user[i].left_ns;

    t->user[i].left_ns = used_ns < left_ns ? left_ns - used_ns : 0;
    return t->user[i].left_ns;
}
