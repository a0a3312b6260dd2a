/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Client side of the agent's socket, for the SPANK plugin and coschedctl. */

#ifndef COSCHED_CLIENT_H
#define COSCHED_CLIENT_H

/* Concept
 *
 * A client connects, makes one or a few calls, and closes.  Every call has a deadline,
 * because the SPANK plugin must not delay a job: an agent that does not answer counts
 * as absent (ETIMEDOUT).  No threads, signal handlers, global state or output.
 */

#include <stddef.h>

#include "common/errtext.h"
#include "protocol/message.h"

struct client;

/* Path of the agent's socket: PATH, else $COSCHED_SOCKET, else the default
 * under RUNSTATEDIR.  "%n" in PATH stands for $SLURMD_NODENAME (or the short
 * host name).  Writes to BUFFER (SIZE bytes); 0, or -1 with ENAMETOOLONG. */
int client_socket_path(const char *path, char *buffer, size_t size,
                       struct errtext *err);

/* Connect to the agent at PATH (as above; NULL: default).  NULL with errno
 * ENOENT or ECONNREFUSED when there is no agent, ETIMEDOUT after TIMEOUT_MS
 * (which also bounds each later call). */
struct client *client_open(const char *path, int timeout_ms,
                           struct errtext *err);

/* Let the time given to client_open() bound the connection and all calls together. */
void client_bound_in_all(struct client *client);

/* Sign privileged requests of this client with munge from now on.  SOCKET
 * NULL: munge's default.  -1 with errno ENOTSUP when built without munge. */
int client_use_munge(struct client *client, const char *socket,
                     struct errtext *err);

/* Send REQUEST and wait for the reply.  On success *REPLY (may be NULL) is the
 * decoded reply, a new reference of the caller's, and up to MAX_FDS
 * descriptors go to FDS, the number to *NFDS (both may be NULL with MAX_FDS
 * 0).  -1 with the errno and text that the agent sent, or that of the
 * transport: ETIMEDOUT, ECONNRESET when the agent hung up.  After one of the
 * latter two all later calls of this client fail, too. */
int client_call(struct client *client, const struct message_request *request,
                json_t **reply, int *fds, size_t max_fds, size_t *nfds,
                struct errtext *err);

/* Takes NULL; keeps errno. */
void client_close(struct client *client);

#endif /* COSCHED_CLIENT_H */
