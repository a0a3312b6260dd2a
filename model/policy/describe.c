/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Reasons: the first half, who gets how many cores, and what is added to it. */

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "model/policy/rules.h"

/* Leaves room for the numbers that decided. */
#define LIST_MAX 120

static size_t summary(const struct policy_input *input, const size_t *cores,
                      char *text, size_t size)
{
    size_t least = SIZE_MAX, most = 0, waiting = 0;

    for (size_t j = 0; j < input->job_count; j++) {
        waiting += cores[j] == 0;
        if (cores[j] && cores[j] < least)
            least = cores[j];
        most = cores[j] > most ? cores[j] : most;
    }
    int n = snprintf(text, size, "%zu of %zu jobs: %zu to %zu core%s",
                     input->job_count - waiting, input->job_count,
                     least, most, most == 1 ? "" : "s");
    return (size_t)n < size ? (size_t)n : size - 1;
}

size_t policy_describe(const struct policy_input *input, const size_t *cores,
                       char *text, size_t size)
{
    size_t used = 0, room = size < LIST_MAX ? size : LIST_MAX;

    text[0] = '\0';
    for (size_t j = 0; j < input->job_count; j++) {
        const char *serial =
            input->jobs[j].kind == REGION_SERIAL ? " (serial)" : "";
        int n = cores[j]
                    ? snprintf(text + used, size - used, "%sjob %u: %zu core%s%s",
                               j ? ", " : "", input->jobs[j].id, cores[j],
                               cores[j] == 1 ? "" : "s", serial)
                    : snprintf(text + used, size - used, "%sjob %u waits",
                               j ? ", " : "", input->jobs[j].id);
        used += (size_t)n;
        if (used >= room)
            return summary(input, cores, text, size);
    }
    return used;
}

void policy_append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}
