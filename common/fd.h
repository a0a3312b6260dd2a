/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* All of a number of bytes through a descriptor.  read(2) and write(2) may end
 * early: a signal comes, a pipe is full, a socket has part of a message.  For
 * blocking descriptors these go on until all is done; what is not blocking, and
 * what must be one call (a packet, a file of cgroups), is not for them. */

#ifndef COSCHED_FD_H
#define COSCHED_FD_H

#include <sys/types.h>

#include "common/errtext.h"

/* Write the SIZE bytes of DATA to FD.  0; -1 with errno of write(2), part of
 * them may be written then: EPIPE when no reader is left (where SIGPIPE does not
 * end the program before), ENOSPC also when nothing more is taken. */
int fd_write_all(int fd, const void *data, size_t size);

/* Read SIZE bytes of FD into DATA.  How many came: fewer than SIZE only when FD
 * ended, none when it has ended before; -1 with errno of read(2), what came
 * before is lost then. */
ssize_t fd_read_all(int fd, void *data, size_t size);

/* Write the whole file behind FROM to TO.  0, or -1 with errno. */
int fd_copy(int from, int to);

/* Open the directory PATH, into which nobody may write but root and this process'
 * user; it is made first with mode MAKE if that is not 0 and nothing is there.  What
 * is done in it by openat(2) and its kin is done there, whatever becomes of PATH.
 * -1 with errno: EPERM where others may write, ELOOP or ENOTDIR for a link. */
int fd_open_directory(const char *path, mode_t make, struct errtext *err);

/* For a child that goes on without execve(): close all descriptors but the COUNT of FDS, and let
 * the standard ones be /dev/null: an inherited end of a pipe would make its other end wait for
 * the child. */
void fd_drop_others(const int *fds, size_t count);

#endif /* COSCHED_FD_H */
