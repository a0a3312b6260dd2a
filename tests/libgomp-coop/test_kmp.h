/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What programs that check tasks of clang have in common: objects that are
 * counted, so that what tasks copy must be destroyed, and checks that say what
 * was wrong.  In C++. */

#ifndef TEST_KMP_H
#define TEST_KMP_H

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <omp.h>

namespace {

enum { N = 200 };

// Counts its objects: what tasks copy they must destroy.
struct Counted {
    static int alive;
    int value;

    Counted(int v = 0) : value(v)
    {
        count(1);
    }
    Counted(const Counted &o) : value(o.value)
    {
        count(1);
    }
    Counted &operator=(const Counted &) = default;
    ~Counted()
    {
        count(-1);
    }
    static void count(int n)
    {
        __atomic_add_fetch(&alive, n, __ATOMIC_RELAXED);
    }
};
inline int Counted::alive;

inline int add(int *to, int n)
{
    return __atomic_add_fetch(to, n, __ATOMIC_ACQ_REL);
}
inline int get(int *from)
{
    return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

bool failed;

// OBJECTS: how many are alive.
inline void check(const char *what, long value, long expected, int objects = 0)
{
    if (value == expected && Counted::alive == objects)
        return;
    printf("%s: %ld, not %ld; %d objects, not %d\n", what, value, expected,
           Counted::alive, objects);
    failed = true;
}

// BODY by one thread of a team.
template <typename Body> void one(Body body)
{
#pragma omp parallel
#pragma omp single
    body();
}

// How often main() shall do all checks.
inline int rounds(int argc, char **argv)
{
    return argc > 1 ? atoi(argv[1]) : 1;
}

// The end of main().
inline int verdict()
{
    puts(failed ? "FAIL" : "PASS");
    return failed;
}

} // namespace

#endif /* TEST_KMP_H */
