/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Lines of the log about what a job's user does. */

#include "node_agent/core/job_log.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/clock.h"

void job_log_end(struct job *job)
{
    if (job->lines.lost)
        log_info("job %u: %zu more lines suppressed", job->id, job->lines.lost);
    job->lines.lost = 0;
}

void job_log(struct job *job, int level, const char *format, ...)
{
    static struct log_rate all; /* there is one log, too */
    uint64_t now_ns = clock_ns();
    char text[256];
    va_list ap;

    if (!log_rate_allows(&job->lines, JOB_LOG_BURST, JOB_LOG_PER_S, now_ns))
        return;
    if (!log_rate_allows(&all, JOB_LOG_BURST_ALL, JOB_LOG_PER_S_ALL, now_ns)) {
        job->lines.lost++;
        return;
    }
    job_log_end(job);
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    log_message(level, "job %u: %s", job->id, text);
}
