/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What each user holds of the agent, and costs it. */

#ifndef COSCHED_USERS_H
#define COSCHED_USERS_H

/* Concept
 *
 * Each uid that connects has an account of its connections and of the CPU time
 * that it costs.  Time is a token bucket: income is a share of one CPU, and the
 * bucket holds what is needed at once when a thousand processes attach.  A debt
 * is kept until it is repaid, and who owes something is not served.
 *
 * Who has no job on this node is a stranger.  Strangers pay out of a common
 * purse as well, so that somebody with many uids (a range of subordinate ones,
 * say) gets no more by them.
 *
 * An account is forgotten when it holds nothing and owes nothing.  Should all
 * be in use, the one that holds nothing and owes least is.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define USERS_SHARE     0.05
#define USERS_BURST_NS  INT64_C(1500000000) /* an attach is about 1 ms */
#define USERS_DEBT_NS   INT64_C(1000000000) /* none is larger */
#define USERS_STRANGERS 4 /* all of them cost as much as so many users */
#define USERS_MOST      1024

/* What the loop does for each event before and after the server sees it. */
#define USERS_EVENT_NS 5000

struct user {
    uid_t uid;
    bool exempt;   /* root and the agent's own user, who could do worse */
    bool resident; /* has a job here */
    size_t connections;
    size_t attached;     /* of these, with a process */
    uint64_t turn;       /* the last that it had (server.h) */
    size_t unread;       /* bytes of replies that wait for it, as last seen */
    uint64_t seen_ns;    /* when that was */
    int64_t left_ns;     /* negative: it owes */
    uint64_t counted_ns; /* 0: the entry is free */
};

struct users {
    struct user user[USERS_MOST];
    struct user strangers; /* the common purse; their connections and bytes */
};

/* The account of UID at NOW_NS, EXEMPT and RESIDENT as said; NULL when all are
 * in use. */
struct user *users_find(struct users *users, uid_t uid, bool exempt,
                        bool resident, uint64_t now_ns);

/* May USER be served at NOW_NS? */
bool users_solvent(struct users *users, struct user *user, uint64_t now_ns);

/* After how many ns he may be, if nothing more is charged; 0: now. */
uint64_t users_wait_ns(struct users *users, struct user *user, uint64_t now_ns);

/* USER has used USED_NS of CPU time. */
void users_charge(struct users *users, struct user *user, uint64_t used_ns,
                  uint64_t now_ns);

/* USER has one connection more, or one less; DELTA more bytes of replies wait
 * for him. */
void users_connect(struct users *users, struct user *user);
void users_disconnect(struct users *users, struct user *user);
void users_unread(struct users *users, struct user *user, ssize_t delta);

#endif /* COSCHED_USERS_H */
