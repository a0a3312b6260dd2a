/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: shared objects as the audit library reads them, in every program
 * of a job. */

#include "tests/fuzz/fuzz.h"

#include "libgomp-coop/audit/image.c"

static bool same(const void *data, const char *version)
{
    return strlen(version) && !strcmp(data, version);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct image image;
    const char *wrong = image_open(&image, fuzz_path(data, size));

    if (wrong) {
        REQUIRE(*wrong);
        return 0;
    }
    image_defines(&image, "OMP_1.0");
    image_exports(&image, "GOMP_parallel", "GOMP_4.0");
    image_exports(&image, "omp_get_thread_num", NULL);
    const char *wanted = image_wants(&image, NULL, same, "GLIBC_2.17");
    REQUIRE(!wanted || strlen(wanted) <= size);
    const char *lacking = image_lacks(&image, "libc.so.6", &image);
    REQUIRE(!lacking || strlen(lacking) <= size);
    image_depends(&image, "libc.so.6");
    image_close(&image);
    return 0;
}
