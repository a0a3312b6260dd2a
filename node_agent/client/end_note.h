/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Notes that jobs have ended, for an agent that did not answer. */

#ifndef COSCHED_END_NOTE_H
#define COSCHED_END_NOTE_H

/* Concept
 *
 * An epilog waits only briefly for its agent.  When the agent hangs, or munged is away,
 * the end of the job must not be lost.  So the epilog leaves an empty file, named after
 * the job, in the directory SOCKET.ended, and the agent checks that while it has jobs.
 * The file's time tells this end from that of an earlier run.
 *
 * The agent makes the directory.  Only root and the agent's user can write there, so a
 * note is as good as a request with a credential.
 */

#include <stdint.h>

#include "common/errtext.h"

/* Leave a note that JOB ended now, for the agent at SOCKET (as client_open()
 * takes it).  -1 with errno ENOENT where no agent ever was, EPERM if the
 * directory belongs to somebody else, or that of the file system. */
int end_note_leave(const char *socket, uint32_t job, struct errtext *err);

/* JOB ended at END_NS (CLOCK_MONOTONIC, which nobody sets; notes of earlier versions have the time
 * of day, which is later than any). */
typedef void end_note_f(void *arg, uint32_t job, uint64_t end_ns);

/* Call FOUND(ARG, ...) for each note that was left for the agent at SOCKET and
 * remove it.  Makes the directory if there is none.  -1 with errno and ERR as
 * above. */
int end_note_take(const char *socket, end_note_f *found, void *arg,
                  struct errtext *err);

#endif /* COSCHED_END_NOTE_H */
