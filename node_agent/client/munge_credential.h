/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Requests signed with munge: who wrote this text, proved by munged. */

#ifndef COSCHED_MUNGE_CREDENTIAL_H
#define COSCHED_MUNGE_CREDENTIAL_H

/* Concept
 *
 * A credential is a text that starts with "MUNGE:" and carries a payload and the uid and
 * gid of its writer, signed with the cluster's key and valid once.  Only this file knows
 * libmunge; without it both functions fail with ENOTSUP.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/errtext.h"

/* Sign SIZE bytes at PAYLOAD, within TIMEOUT_MS; what is FOR_ROOT nobody else can take apart.
 * SOCKET: munged's socket, NULL for its default.
 * Returns a malloc'ed text, or NULL with errno ENOTSUP, ENOMEM, EACCES (what
 * munge says is in ERR), ETIMEDOUT, or that of making a process.
 *
 * libmunge waits for 10 s for a munged that hangs, and offers no limit.  So a child asks it, which
 * is ended when the time is over: a task that is about to start, or an epilog, may not have
 * threads, and waits for nothing else. */
char *munge_credential_encode(const char *payload, size_t size, const char *socket,
                              bool for_root, int timeout_ms, struct errtext *err);

/* Check the credential TEXT and take it apart: *PAYLOAD (malloc'ed, zero
 * terminated; the caller frees it), its *SIZE, and the *UID of its writer.
 * Returns 0, or -1 with errno ENOTSUP, ENOMEM or EACCES (forged, expired,
 * replayed, munged absent). */
int munge_credential_decode(const char *text, const char *socket,
                            char **payload, size_t *size, uid_t *uid,
                            struct errtext *err);

#endif /* COSCHED_MUNGE_CREDENTIAL_H */
