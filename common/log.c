/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's log: stderr in the foreground, else syslog. */

#include "common/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"

static int max_level = LOG_INFO;
static bool use_syslog;
static bool use_journal;

static const struct {
    const char *name;
    int level;
} levels[] = {
    {"error", LOG_ERR},   {"warning", LOG_WARNING}, {"notice", LOG_NOTICE},
    {"info", LOG_INFO},   {"debug", LOG_DEBUG},
};

/* Is standard error what systemd says it is, and not redirected since? */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;

    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device &&
           st.st_ino == inode;
}

void log_open(int level, bool to_syslog)
{
    use_journal = !to_syslog && stderr_is_journal();
    max_level = level;
    use_syslog = to_syslog;
    if (to_syslog)
        openlog("coschedd", LOG_PID, LOG_DAEMON);
}

int log_level(const char *name)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (!strcmp(levels[i].name, name))
            return levels[i].level;
    return -1;
}

void log_message(int level, const char *format, ...)
{
    if (level > max_level)
        return;
    char text[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (use_syslog)
        syslog(level, "%s", text);
    else if (use_journal)
        fprintf(stderr, "<%d>%s\n", level, text);
    else
        fprintf(stderr, "coschedd: %s%s\n",
                level <= LOG_ERR       ? "error: "
                : level == LOG_WARNING ? "warning: "
                                       : "",
                text);
}

bool log_limit_allows(struct log_limit *limit, uint64_t key, uint64_t now_ns)
{
    size_t oldest = 0;

    for (size_t i = 0; i < sizeof(limit->entry) / sizeof(limit->entry[0]); i++) {
        if (limit->entry[i].last_ns && limit->entry[i].key == key) {
            if (now_ns - limit->entry[i].last_ns < 60 * NS_PER_S)
                return false;
            limit->entry[i].last_ns = now_ns;
            return true;
        }
        if (limit->entry[i].last_ns < limit->entry[oldest].last_ns)
            oldest = i;
    }
    if (limit->entry[oldest].last_ns && now_ns - limit->entry[oldest].last_ns < 60 * NS_PER_S)
        return false;
    limit->entry[oldest].key = key;
    limit->entry[oldest].last_ns = now_ns ? now_ns : 1;
    return true;
}

bool log_rate_allows(struct log_rate *r, unsigned burst, unsigned per_s, uint64_t now_ns)
{
    if (!r->counted_ns)
        r->left = burst;
    else if (now_ns > r->counted_ns)
        r->left += (double)(now_ns - r->counted_ns) * 1e-9 * per_s;
    if (r->left > burst)
        r->left = burst;
    r->counted_ns = now_ns ? now_ns : 1;
    if (r->left < 1) {
        r->lost++;
        return false;
    }
    r->left--;
    return true;
}
