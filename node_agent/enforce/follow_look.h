/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Looks at a process from outside: why does it not follow? */

#ifndef COSCHED_FOLLOW_LOOK_H
#define COSCHED_FOLLOW_LOOK_H

/* Concept
 *
 * /proc tells what a process has mapped, its environment, its program's file
 * and its root.  All of it is the user's, and may be huge, wrong, or on a file
 * system that does not answer.  So everything is bounded, only regular files
 * are opened, inside of the process' root; and a look may take long or crash
 * all the same: the agent lets a child of its own do it (daemon/looks.h).  What
 * it finds is a hint for the job's user, and decides nothing.
 *
 * Of an attached process more is known than can be seen from outside; it is not
 * looked at.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/follow.h"

#define FOLLOW_PROGRAM_MAX 48 /* name of a program with its zero */

/* A process, and what was found of it. */
struct follow_process {
    pid_t pid;
    uint64_t start; /* in clock ticks: tells reused pids apart */
    char program[FOLLOW_PROGRAM_MAX];
    struct follow_finding finding;
};

/* What a process has mapped: files as code, and the word that the audit library
 * leaves there. */
#define FOLLOW_PATH_MAX 256
#define FOLLOW_FILES    1024
struct follow_files {
    size_t count;
    char declined[16]; /* why the audit library let it keep its own runtime, or
                          "" */
    struct follow_file {
        uint64_t inode;
        char path[FOLLOW_PATH_MAX];
    } file[FOLLOW_FILES];
};

/* Look at process P->pid, unless its start is another: fills in the rest of *P.
 */
void follow_look(struct follow_process *p);

/* For the above, and its test: add the files that the SIZE bytes at TEXT, lines
 * of a maps file, name.  Returns how much of TEXT was read: what is behind its
 * last newline is not. */
size_t follow_read_maps(const char *text, size_t size,
                        struct follow_files *files);

#endif /* COSCHED_FOLLOW_LOOK_H */
