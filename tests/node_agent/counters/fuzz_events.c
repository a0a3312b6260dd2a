/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzzing of event sets: make fuzz-events. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node_agent/counters/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *name(const void *arg, size_t index)
{
    static const char *const names[] = {"A", "MBOX0C0", "MBOX1C0", "time"};

    (void)arg;
    return names[index];
}

/* The bytes as a formula, which must compute something or nothing. */
static void as_formula(const uint8_t *data, size_t size)
{
    static const double values[] = {1, NAN, 0, 1e300};
    const struct formula_names names = {.count = 4, .name = name};
    struct errtext err;
    char *text = malloc(size + 1);

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    struct formula *f = formula_parse(text, &names, &err);
    if (f && isinf(formula_value(f, values)))
        abort();
    formula_free(f);
    free(text);
}

/* The bytes as a file. */
static void as_file(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[64], text[512];
    struct errtext err;

    if (fd < 0 && (fd = memfd_create("events", 0)) < 0)
        abort();
    if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct events *e = events_load(path, &err);
    for (size_t s = 0; e && s < e->sets; s++)
        events_string(e, s, text, sizeof(text));
    events_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    as_formula(data, size);
    as_file(data, size);
    return 0;
}
