/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's log: journal or stderr in the foreground, else syslog. */

#ifndef COSCHED_LOG_H
#define COSCHED_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <syslog.h>

/* Concept
 *
 * Changes of state are logged, not states: nothing is written per epoch.  What another party can
 * cause at will (a bad packet) goes through a log_limit, so that nobody can fill the disk.
 *
 * Nobody waits for the log: while its reader hangs, lines are lost, and it is told how many.
 */

/* Allows one message per minute and key (a uid), for up to 64 keys in a minute. */
struct log_limit {
    struct {
        uint64_t key;
        uint64_t last_ns;
    } entry[64];
};

/* Allows a number of messages at once and so many per second after.  What it is about says how
 * many were LOST when it speaks again. */
struct log_rate {
    double left;
    uint64_t counted_ns; /* 0: new */
    size_t lost;
};

/* Write messages up to LEVEL (LOG_ERR .. LOG_DEBUG) to stderr, or to syslog
 * when TO_SYSLOG.  Where stderr is the journal, each line carries its priority
 * for that (sd-daemon(3)). */
void log_open(int level, bool to_syslog);

/* Level called NAME (error, warning, notice, info, debug), or -1. */
int log_level(const char *name);

__attribute__((format(printf, 2, 3))) void log_message(int level,
                                                       const char *format, ...);

#define log_error(...) log_message(LOG_ERR, __VA_ARGS__)
#define log_warn(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_notice(...) log_message(LOG_NOTICE, __VA_ARGS__)
#define log_info(...) log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_DEBUG, __VA_ARGS__)

/* True when a message about KEY may be logged at NOW_NS. */
bool log_limit_allows(struct log_limit *limit, uint64_t key, uint64_t now_ns);

/* The same with a burst of BURST messages, then PER_S each second; counts those that may not. */
bool log_rate_allows(struct log_rate *rate, unsigned burst, unsigned per_s, uint64_t now_ns);

#endif /* COSCHED_LOG_H */
