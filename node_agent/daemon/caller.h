/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The process at the other end of a connection. */

#ifndef COSCHED_CALLER_H
#define COSCHED_CALLER_H

/* Concept
 *
 * A connection keeps the process that connected, not who holds its end now, and
 * SO_PEERCRED tells only the number that it had.  Once it has ended, another
 * process may get that number. So who acts on a caller opens it, reads /proc,
 * opens what else goes by the number, and then asks whether the caller still
 * lives: if so, all of that was of this process.
 *
 * Seen from a client, the other end is the process that began to listen.
 *
 * Before Linux 6.5 (SO_PEERPIDFD) the caller is whoever has the number when it
 * is opened.
 */

#include <stdbool.h>
#include <sys/types.h>

/* A pidfd of the process at the other end of SOCKET, which had number PID then.  -1
 * with errno ESRCH: it has ended. */
int caller_open(int socket, pid_t pid);

/* True while the process of PIDFD lives: its number is its own. */
bool caller_lives(int pidfd);

#endif /* COSCHED_CALLER_H */
