/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's end of the line to the helper with liblikwid. */

#ifndef COSCHED_LIKWID_LINK_H
#define COSCHED_LIKWID_LINK_H

/* Concept
 *
 * A link is one life of coschedd-likwid, started by us or by others, spoken to by the
 * messages of protocol/likwid_message.h.  It blocks only where a function says for how long.
 * Everything from the helper is checked, because a library that misbehaves may write
 * anywhere; after the first fault the link is only good for likwid_link_free().
 *
 * What liblikwid prints is discarded, except for the most telling line, which goes into the
 * reason when the helper fails.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errtext.h"
#include "protocol/likwid_message.h"

struct likwid_link;

/* Connect with the helper at SOCKET, behind which somebody with more privileges
 * than ours, such as systemd, starts one for each connection.  What liblikwid
 * writes is theirs.  NULL: there is nobody (or SOCKET is NULL). */
struct likwid_link *likwid_link_connect(const char *socket);

/* Start PROGRAM.  NULL with errno of posix_spawn(3) and a reason. */
struct likwid_link *likwid_link_start(const char *program,
                                      struct errtext *err);

/* Send a message.  -1 with EPIPE or EAGAIN (the helper does not read). */
int likwid_link_send(struct likwid_link *link, enum likwid_message_type type,
                     uint32_t serial, const void *data, size_t size,
                     struct errtext *err);

/* Take what has come.  1: a message, whose header is *HEADER and whose *DATA is
 * the link's until the next call; 0: not all of one yet; -1 with the reason in
 * *ERR: the helper said FAILED (errno as it says), ended (EPIPE) or spoke
 * nonsense (EPROTO).  Never answers with FAILED, nor with a message of another
 * size than its type has. */
int likwid_link_receive(struct likwid_link *link, struct likwid_header *header,
                        const void **data, struct errtext *err);

/* The same, waiting for a message up to TIMEOUT_MS; 0 then. */
int likwid_link_wait(struct likwid_link *link, int timeout_ms,
                     struct likwid_header *header, const void **data,
                     struct errtext *err);

/* The most telling line that liblikwid wrote so far, or "". */
const char *likwid_link_said(struct likwid_link *link);

/* Hang up: the helper puts the counters back and ends, some time.  The link is
 * broken. */
void likwid_link_hang_up(struct likwid_link *link);

/* End the helper: it has GRACE_MS to put the counters back, and is killed then
 * if it is ours.  Takes NULL; keeps errno. */
void likwid_link_free(struct likwid_link *link, int grace_ms);

#endif /* COSCHED_LIKWID_LINK_H */
