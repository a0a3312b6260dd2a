/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Start a helper: a program with these descriptors, and none of ours. */

#ifndef COSCHED_SPAWN_H
#define COSCHED_SPAWN_H

#include <stddef.h>
#include <sys/types.h>

/* In the place of a descriptor. */
#define SPAWN_NULL (-1) /* /dev/null */
#define SPAWN_SAME (-2) /* that of the same number */

#define SPAWN_MOST 16

/* Start the program at the path ARGV[0] with our environment, and no signal blocked or
 * ignored that it would miss (SIGPIPE, SIGALRM).  It has FD[N], which may have any number
 * here, as descriptor N of COUNT (SPAWN_MOST at most); others that are closed on exec it
 * has not.  Its pid is *PID.  0, or an errno: no process was started. */
int spawn_program(char *const argv[], const int fd[], size_t count, pid_t *pid);

#endif /* COSCHED_SPAWN_H */
