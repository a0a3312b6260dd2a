/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Final records that nodes hand over (collector.h): the node's side, and what both sides know. */

#ifndef COSCHED_HAND_OVER_H
#define COSCHED_HAND_OVER_H

#include <stdbool.h>
#include <sys/socket.h>

#define HAND_OVER_GREETING "cosched-records/1 "
#define HAND_OVER_PORT "6826"
#define HAND_OVER_NONCE 33 /* 32 characters and a zero byte */
#define HAND_OVER_HOST 160

/* Take WHERE ("HOST", "HOST:PORT", "[ADDRESS]:PORT") apart.  -1 when it is too long. */
int hand_over_split(const char *where, char host[HAND_OVER_HOST], char port[HAND_OVER_HOST]);

/* Is PEER's port one that only root can have? */
bool hand_over_reserved(const struct sockaddr_storage *peer);

/* A node's courier: hand the lines of standard input over to the collector at WHERE ("HOST" or
 * "HOST:PORT") and print {"handed":true}, or {"away":TEXT}.  Returns the exit status. */
int hand_over(const char *where, const char *munge);

#endif /* COSCHED_HAND_OVER_H */
