/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A listening socket of the agent: its file, and how fast it accepts. */

#ifndef COSCHED_LISTENER_H
#define COSCHED_LISTENER_H

/* Concept
 *
 * Who connects is known only once the connection is accepted, and the kernel
 * keeps all that wait for one socket in one queue, which anybody who may
 * connect can fill.  So there are several, and the access lists of their files
 * keep users out of each other's queues (server.h).
 *
 * Accepting costs time, too: after each connection the callee says for how long
 * no other is to be accepted here.
 *
 * The socket's directory has mode 0755; both are made again if they vanish.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "common/errtext.h"
#include "node_agent/daemon/event.h"

#define LISTENER_NOBODY ((uid_t)-1)

struct listener;

/* Take the accepted connection FD (non-blocking, close-on-exec).  Returns for
 * how many ns nothing more is accepted here. */
typedef uint64_t listener_accepted(void *arg, int fd);

/* Listen at PATH, a file of MODE that USER may write to as well, unless that is
 * LISTENER_NOBODY, with this PRIORITY among the events of the loop.  A stale
 * socket is replaced, a living agent's is not (NULL with errno EADDRINUSE); a
 * directory that others may write is refused (EPERM).
 */
struct listener *listener_new(sd_event *event, const char *path, mode_t mode,
                              uid_t user, int64_t priority,
                              listener_accepted *accepted, void *arg,
                              struct errtext *err);

/* Stop listening, remove the socket.  Takes NULL, keeps errno. */
void listener_free(struct listener *listener);

/* Remove sockets PATH.NUMBER, which an agent has left that was killed. */
void listener_remove_left(const char *path);

#endif /* COSCHED_LISTENER_H */
