/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's log: stderr in the foreground, else syslog. */

#include "common/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"

#define SYSLOG_SOCKET  "/dev/log"
#define LINE_MAX_BYTES 1100

static int max_level = LOG_INFO;
static bool use_syslog;
static bool use_journal;
static int syslog_fd = -1;
static unsigned lost; /* lines that nobody took */

static const struct {
    const char *name;
    int level;
} levels[] = {
    {"error", LOG_ERR}, {"warning", LOG_WARNING}, {"notice", LOG_NOTICE},
    {"info", LOG_INFO}, {"debug", LOG_DEBUG},
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
}

int log_level(const char *name)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (!strcmp(levels[i].name, name))
            return levels[i].level;
    return -1;
}

/* ---- writing, without waiting
 * ------------------------------------------------ */

static int syslog_connect(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX,
                                  .sun_path = SYSLOG_SOCKET};

    if (syslog_fd >= 0)
        close(syslog_fd);
    syslog_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return syslog_fd < 0 ? -1
                         : connect(syslog_fd, (struct sockaddr *)&address,
                                   sizeof(address));
}

/* syslog(3) would wait for a daemon that hangs. */
static bool syslog_take(const char *line, size_t size)
{
    if (syslog_fd < 0 && syslog_connect() < 0)
        return false;
    ssize_t n = send(syslog_fd, line, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN &&
        syslog_connect() == 0) /* it was started anew */
        n = send(syslog_fd, line, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    return n >= 0;
}

/* What can be written to takes a line at once: a pipe has room for PIPE_BUF
 * bytes then, a socket for half its buffer. */
static bool stderr_take(const char *line, size_t size)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&p, 1, 0) > 0 && p.revents & POLLOUT &&
           write(STDERR_FILENO, line, size) >= 0;
}

static bool take(int level, const char *text)
{
    char line[LINE_MAX_BYTES];
    int n;

    if (use_syslog)
        n = snprintf(line, sizeof(line), "<%d>coschedd[%d]: %s",
                     LOG_DAEMON | level, (int)getpid(), text);
    else if (use_journal)
        n = snprintf(line, sizeof(line), "<%d>%s\n", level, text);
    else
        n = snprintf(line, sizeof(line), "coschedd: %s%s\n",
                     level <= LOG_ERR       ? "error: "
                     : level == LOG_WARNING ? "warning: "
                                            : "",
                     text);
    return use_syslog ? syslog_take(line, (size_t)n)
                      : stderr_take(line, (size_t)n);
}

void log_message(int level, const char *format, ...)
{
    if (level > max_level)
        return;
    char text[1024], news[80];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    int saved = errno;
    snprintf(news, sizeof(news),
             "%u lines of the log were lost: nobody read it", lost);
    if (lost && take(LOG_WARNING, news))
        lost = 0;
    if (lost || !take(level, text))
        lost++;
    errno = saved;
}

bool log_limit_allows(struct log_limit *limit, uint64_t key, uint64_t now_ns)
{
    size_t oldest = 0;

    for (size_t i = 0; i < sizeof(limit->entry) / sizeof(limit->entry[0]);
         i++) {
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
