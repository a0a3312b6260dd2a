/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A test program that its driver (Program in fake_agent.py) tells when to stop:
 * it says that it is ready, and a thread that runs read_stop() waits for a line
 * or the end of the input. */

#ifndef TESTS_DRIVEN_H
#define TESTS_DRIVEN_H

#include <stdbool.h>
#include <stdio.h>

static volatile bool stopping;

static void *read_stop(void *unused)
{
    char line[16];

    (void)unused;
    if (!fgets(line, sizeof line, stdin))
        line[0] = '\0';
    stopping = true;
    return NULL;
}

static void ready(void)
{
    puts("ready");
    fflush(stdout);
}

#endif /* TESTS_DRIVEN_H */
