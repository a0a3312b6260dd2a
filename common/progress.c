/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a command does and how long it will take. */

#include "common/progress.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/clock.h"

#define QUIET_NS (2 * NS_PER_S)
#define EVERY_NS NS_PER_S

/* Columns of the terminal, which may not know. */
static int columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void format_left(double seconds, char *text, size_t size)
{
    if (seconds < 90)
        snprintf(text, size, "%.0f s", seconds);
    else if (seconds < 5400)
        snprintf(text, size, "%.0f min", seconds / 60);
    else
        snprintf(text, size, "%.1f h", seconds / 3600);
}

void progress(const char *what, size_t done, size_t all)
{
    static uint64_t begin_ns, last_ns;
    static bool shown;
    uint64_t now_ns = clock_ns();
    char left[32] = "", line[256];
    const char *term = getenv("TERM");

    if (done == 0 || begin_ns == 0)
        begin_ns = last_ns = now_ns;
    if (done >= all) {
        if (shown)
            fputs("\r\033[K", stderr);
        shown = false;
        return;
    }
    if (now_ns - begin_ns < QUIET_NS || (shown && now_ns - last_ns < EVERY_NS) ||
        !isatty(STDERR_FILENO) || (term && !strcmp(term, "dumb")))
        return;
    double spent_s = (double)(now_ns - begin_ns) * 1e-9;
    if (done)
        format_left(spent_s / (double)done * (double)(all - done), left, sizeof(left));
    snprintf(line, sizeof(line), "%s: %s: %zu of %zu, %.0f s%s%s%s", cli_program, what, done, all,
             spent_s, done ? ", about " : "", left, done ? " left" : "");
    fprintf(stderr, "\r\033[K%.*s", columns() - 1, line);
    fflush(stderr);
    last_ns = now_ns;
    shown = true;
}
