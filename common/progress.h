/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a command does and how long it will take. */

#ifndef COSCHED_PROGRESS_H
#define COSCHED_PROGRESS_H

/* Concept
 *
 * One line on standard error, after two seconds, where that is a terminal; nothing elsewhere, so
 * that logs and pipes have results only.  plot/progress.py and scripts/stage.sh are the same for
 * Python and shell.
 */

#include <stddef.h>

/* DONE of ALL steps are done, the next is WHAT: 0 begins, ALL ends the line. */
void progress(const char *what, size_t done, size_t all);

#endif /* COSCHED_PROGRESS_H */
