/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Checks munge credentials without making the agent wait for munged. */

#ifndef COSCHED_MUNGE_DECODER_H
#define COSCHED_MUNGE_DECODER_H

/* Concept
 *
 * libmunge blocks for seconds when munged hangs, and the agent would miss its
 * epochs.  So a thread, made for the first credential, asks munged.  The event
 * loop goes on and is called back with the answer, or after
 * MUNGE_DECODER_LIMIT_NS without one.  What nobody waits for any longer is
 * forgotten at once; only the one that munged is being asked about stays until
 * then.
 */

#include <stddef.h>
#include <sys/types.h>

#include "common/errtext.h"
#include "node_agent/daemon/event.h"

#define MUNGE_DECODER_LIMIT_NS UINT64_C(1000000000)
#define MUNGE_DECODER_QUEUE    1024 /* credentials that wait */

struct munge_decoder;
struct munge_ticket;

/* What the credential says, PAYLOAD (SIZE bytes and a zero, the decoder's) by
 * user UID; or with ERRNUM not 0 that it is not good: EACCES, ENOTSUP, ENOMEM,
 * or ETIMEDOUT, munged being at fault then. */
typedef void munge_decoded(void *arg, int errnum, const char *payload,
                           size_t size, uid_t uid, const char *error);

/* SOCKET is munged's, NULL for its default.  NULL with errno. */
struct munge_decoder *munge_decoder_new(sd_event *event, const char *socket,
                                        struct errtext *err);

/* Have the credential TEXT checked; DECODED is called with ARG from the event
 * loop, never from here.  NULL with errno EAGAIN (too many wait), ENOMEM or
 * that of making a thread. */
struct munge_ticket *munge_decoder_submit(struct munge_decoder *decoder,
                                          const char *text,
                                          munge_decoded *decoded, void *arg,
                                          struct errtext *err);

/* Drop the ticket; takes NULL. */
void munge_decoder_cancel(struct munge_ticket *ticket);

/* All tickets are cancelled; does not wait for munged.  Takes NULL. */
void munge_decoder_free(struct munge_decoder *decoder);

#endif /* COSCHED_MUNGE_DECODER_H */
