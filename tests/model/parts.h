/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Into how many parts a division of a machine's cores falls. */

#ifndef TESTS_PARTS_H
#define TESTS_PARTS_H

#include "tests/support/unit.h"

#include "model/machine.h"

/* Pairs of one of the jobs 0..JOBS-1 and an LLC domain where it has cores, by the
 * OWNER of each CPU of MACHINE. */
static inline size_t parts_of(const struct machine *machine, size_t jobs,
                              const int *owner)
{
    bool *has = calloc(machine->llc_domains * jobs + 1, sizeof(*has));
    size_t parts = 0;

    assert_non_null(has);
    for (size_t cpu = 0; cpu < machine->cpus; cpu++) {
        if (owner[cpu] < 0)
            continue;
        bool *cell =
            &has[(size_t)machine->llc_domain[cpu] * jobs + (size_t)owner[cpu]];
        parts += !*cell;
        *cell = true;
    }
    free(has);
    return parts;
}

#endif /* TESTS_PARTS_H */
