/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A target with faults that test_fuzz.py expects to be found: an answer that is
 * not so, and a read beyond the end. */

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    volatile char last = size > 2 && text[0] == 'c'
                             ? text[size + 1 + (text[1] == 'p')]
                             : 0;

    (void)last;
    REQUIRE(strcmp(text, "broken") != 0);
    free(text);
    return 0;
}
