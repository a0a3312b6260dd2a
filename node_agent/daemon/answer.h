/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Answers to clients. */

#ifndef COSCHED_ANSWER_H
#define COSCHED_ANSWER_H

/* Concept
 *
 * An answer is one packet, sent without waiting: a client that has not read the
 * one before gets none.
 */

#include "node_agent/daemon/server.h"

/* Send REPLY, whose body stays the caller's, over FD.  -1 with errno. */
int answer_reply(int fd, struct reply *reply);

/* Send that a request has failed with ERRNUM, and ERROR. */
int answer_error(int fd, int errnum, const char *error);

#endif /* COSCHED_ANSWER_H */
