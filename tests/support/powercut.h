/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Cuts the power of a directory at each call that changes or syncs it. */

#ifndef COSCHED_POWERCUT_H
#define COSCHED_POWERCUT_H

/* Concept
 *
 * A program that is killed leaves what it wrote; one whose node loses power leaves what it synced,
 * and any part of the rest.  powercut.c stands between the code under test and write(), fsync(),
 * fdatasync(), rename() and unlink() (by --wrap of the linker) and knows of each file of one
 * directory, and of the directory itself, what was synced.  Before each such call, and where a
 * test asks, it makes the directories that a cut there may leave:
 *
 *   names of files as synced, or as they are; with each of these
 *   data as synced, as it is, with half of what is new, or with zeros for it
 *
 * and calls the test with each that differs.  A call may be made to fail, too: of a write half is
 * done then, and what an fsync() that failed should have written never comes to the disk.
 */

/* What a cut may leave is in DIRECTORY. */
typedef void powercut_look(const char *directory, void *arg);

/* Follow DIRECTORY, in which all is synced.  LOOK(ARG) is called before each call if EACH, and by
 * powercut_now().  Call number FAILING (from 1; 0: none) fails with ERROR. */
void powercut_begin(const char *directory, powercut_look *look, void *arg, int each,
                    unsigned failing, int error);

void powercut_now(void);

/* Number of calls since the beginning. */
unsigned powercut_end(void);

#endif /* COSCHED_POWERCUT_H */
