/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* An OpenMP runtime that loses iterations, to be preloaded: do the programs of
 * jobs/ notice? */

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>

int omp_get_num_threads(void);
bool GOMP_loop_nonmonotonic_dynamic_next(long *start, long *end);

/* One thread too many in static loops: the last share is nobody's. */
int omp_get_num_threads(void)
{
    int (*real)(void) = (int (*)(void))dlsym(RTLD_NEXT, "omp_get_num_threads");

    return real() + 1;
}

/* Dynamic loops: throw away the first chunk that a thread comes back for. */
bool GOMP_loop_nonmonotonic_dynamic_next(long *start, long *end)
{
    static atomic_bool lost;
    bool (*real)(long *, long *) = (bool (*)(long *, long *))dlsym(
        RTLD_NEXT, "GOMP_loop_nonmonotonic_dynamic_next");

    if (!atomic_exchange(&lost, true))
        real(start, end);
    return real(start, end);
}
