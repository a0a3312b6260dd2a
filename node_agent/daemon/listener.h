/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's listening socket: its file, and who is let in how fast. */

#ifndef COSCHED_LISTENER_H
#define COSCHED_LISTENER_H

/* Concept
 *
 * The socket's file has mode 0666, its directory 0755; both are made again if
 * they vanish.
 *
 * Who connects is known only once the connection is accepted, and the kernel
 * keeps all that wait in one queue.  So connections that are refused must be
 * cheap, lest they keep others waiting: after LISTENER_REFUSED of them nothing
 * is accepted until LISTENER_PAUSE_NS have passed since the first.  That is few
 * enough to cost some percent of a CPU, and so many that the kernel's queue is
 * worked off within the time that Slurm's requests have.
 */

#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "common/errtext.h"

#define LISTENER_REFUSED  64
#define LISTENER_PAUSE_NS UINT64_C(4000000)

struct listener;

/* Take the accepted connection FD (non-blocking, close-on-exec); false: it was
 * refused. */
typedef bool listener_accepted(void *arg, int fd);

/* Listen at PATH, a file of MODE, with this PRIORITY among the events of the
 * loop.  A stale socket is replaced, a living agent's is not (NULL with errno
 * EADDRINUSE); a directory that others may write is refused (EPERM).
 */
struct listener *listener_new(sd_event *event, const char *path, mode_t mode,
                              int64_t priority, listener_accepted *accepted,
                              void *arg, struct errtext *err);

/* Stop listening, remove the socket.  Takes NULL, keeps errno. */
void listener_free(struct listener *listener);

#endif /* COSCHED_LISTENER_H */
