/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Lines of the log about what a job's user does. */

#ifndef COSCHED_JOB_LOG_H
#define COSCHED_JOB_LOG_H

/* Concept
 *
 * A user can have his processes attach, end and come again at will.  There are
 * lines about the first JOB_LOG_BURST of such events of a job and a few each
 * second after, and all jobs together have a limit, too, below the rate at
 * which journald drops lines of a service.  How many are missing is told in the
 * next line that is not, and at the job's end.
 */

#include "common/log.h"
#include "node_agent/core/job.h"

#define JOB_LOG_BURST     200
#define JOB_LOG_PER_S     2
#define JOB_LOG_BURST_ALL 1000
#define JOB_LOG_PER_S_ALL 30

/* Log "job N: " and the text, unless JOB or all of them have had too many. */
__attribute__((format(printf, 3, 4))) void job_log(struct job *job, int level,
                                                   const char *format, ...);

/* JOB ends: say how many lines are missing. */
void job_log_end(struct job *job);

#endif /* COSCHED_JOB_LOG_H */
