/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* By which environment variables a job's programs find the cooperative libgomp.
 */

#ifndef COSCHED_JOB_LIBRARY_H
#define COSCHED_JOB_LIBRARY_H

/* Concept
 *
 * libgomp-coop/audit says what each is for: LD_AUDIT, for all programs,
 * LD_LIBRARY_PATH, for those of loaders that are too old, and VALGRIND_OPTS, to
 * have valgrind say of a program what it says without us.  All are lists of the
 * user's, to which we add one entry, once: a step inherits what its batch
 * script got, and takes it out where a job of another kind inherits it.
 */

#include <stdbool.h>
#include <stddef.h>

/* The variables, terminated by NULL. */
extern const char *const job_library_variables[];

/* Files of the library's directory, terminated by NULL.  Where one cannot be
 * read no variable must be set: each program would complain. */
extern const char *const job_library_files[];
#define JOB_LIBRARY_NAME_MAX 32 /* of each, with its zero */

/* Write the value of variable number I, OLD (NULL: unset) with our entry for
 * the library in DIRECTORY, or without it unless ADD, to RESULT (SIZE bytes).
 * Returns 0 if the value is another one than OLD ("": unset), 1 if it stays as
 * it is, or -1 with errno ENAMETOOLONG. */
int job_library_value(size_t i, const char *directory, const char *old,
                      bool add, char *result, size_t size);

#endif /* COSCHED_JOB_LIBRARY_H */
