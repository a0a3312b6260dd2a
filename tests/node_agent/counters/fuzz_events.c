/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: event sets and their formulas. */

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "node_agent/counters/events.h"

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
    struct errtext err = {""};
    char *text = fuzz_text(data, size);
    struct formula *f = formula_parse(text, &names, &err);

    if (f)
        REQUIRE(!isinf(formula_value(f, values)));
    else
        fuzz_refused(&err);
    formula_free(f);
    free(text);
}

/* The bytes as a file. */
static void as_file(const uint8_t *data, size_t size)
{
    struct errtext err = {""};
    char text[512];
    struct events *e = events_load(fuzz_path(data, size), &err);

    if (!e)
        fuzz_refused(&err);
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
