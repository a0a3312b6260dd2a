/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Becoming a daemon without losing the news of a failed start. */

#ifndef COSCHED_DAEMON_H
#define COSCHED_DAEMON_H

#include "common/errtext.h"

/* Fork into the background.  The parent waits until the child calls daemon_started() and exits 0,
 * or prints what daemon_failed() says and exits 1, also when the child dies silently.  Returns in
 * the child only; -1 with errno when forking failed. */
int daemon_fork(struct errtext *err);

/* Start-up has succeeded: release the parent, close the standard streams. */
void daemon_started(void);

/* Start-up has failed with TEXT.  Nothing happens in the foreground. */
void daemon_failed(const char *text);

#endif /* COSCHED_DAEMON_H */
