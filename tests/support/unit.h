/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Unit test programs: what each of their files includes first. */

#ifndef COSCHED_UNIT_H
#define COSCHED_UNIT_H

/* Concept
 *
 * A unit test program consists of groups, one in each of its files, and of main()
 * (unit_main.c), which runs all groups, or those that its arguments name.  A file
 * test_station.c ends with its group:
 *
 *     UNIT(test_station)
 *     {
 *         const struct CMUnitTest tests[] = {...};
 *
 *         return cmocka_run_group_tests_name("test_station", tests, NULL, NULL);
 *     }
 *
 * It needs no list: what is linked into the program is run by it.  Environment:
 * abs_top_srcdir and abs_top_builddir, the trees, are set.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* cmocka 2 calls some of cmocka 1's macros deprecated. */
#define CMOCKA_DISABLE_DEPRECATION_WARNINGS
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct unit_group {
    const char *name;
    int (*run)(void); /* number of tests that failed */
    struct unit_group *next;
};

/* Add GROUP, which stays the caller's, to what main() can run. */
void unit_add(struct unit_group *group);

/* The head of the function that runs group NAME. */
#define UNIT(name)                                                             \
    static int unit_##name(void);                                              \
    __attribute__((constructor)) static void unit_add_##name(void)             \
    {                                                                          \
        static struct unit_group group = {#name, unit_##name, NULL};           \
                                                                               \
        unit_add(&group);                                                      \
    }                                                                          \
    static int unit_##name(void)

#endif /* COSCHED_UNIT_H */
