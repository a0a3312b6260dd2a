/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* CPU time that each user may cost the agent. */

#ifndef COSCHED_USER_TIME_H
#define COSCHED_USER_TIME_H

/* Concept
 *
 * A token bucket per user: income is a share of one CPU, and the bucket holds
 * what is needed at once when a thousand processes attach.  Debts are not kept.
 */

#include <stdint.h>
#include <sys/types.h>

#define USER_TIME_SHARE 0.05
#define USER_TIME_BURST_NS UINT64_C(300000000)

/* Users known at a time; one who is forgotten has asked for nothing lately. */
#define USER_TIME_USERS 64

struct user_time {
    struct {
        uid_t uid;
        uint64_t left_ns;
        uint64_t counted_ns; /* 0: free */
    } user[USER_TIME_USERS];
};

/* What UID has left at NOW_NS. */
uint64_t user_time_left(struct user_time *time, uid_t uid, uint64_t now_ns);

/* UID has used USED_NS of CPU time; what it has left. */
uint64_t user_time_charge(struct user_time *time, uid_t uid, uint64_t used_ns,
                          uint64_t now_ns);

#endif /* COSCHED_USER_TIME_H */
