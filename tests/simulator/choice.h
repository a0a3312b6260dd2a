/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Draw one of several alternatives with given weights. */

#ifndef COSCHED_SIMULATOR_CHOICE_H
#define COSCHED_SIMULATOR_CHOICE_H

/* Concept
 *
 * Walker's alias method: each of the equally likely slots holds at most two
 * alternatives, so that a draw costs the same however many there are.
 */

#include <stdbool.h>
#include <stdint.h>

#include "simulator/random.h"

struct choice {
    uint32_t count;
    double total;    /* sum of the weights; 0: never draw */
    double *keep;    /* [count] probability to take the slot's own */
    uint32_t *alias; /* [count] what is taken else */
};

/* From WEIGHT[COUNT], finite and >= 0, COUNT >= 1.  False when out of memory.
 * Free with choice_release(). */
bool choice_init(struct choice *choice, const double *weight, uint32_t count);

/* Takes a zeroed struct, too. */
void choice_release(struct choice *choice);

/* An index; the total must be > 0. */
static inline uint32_t choice_draw(const struct choice *choice,
                                   struct random *random)
{
    uint32_t slot = random_index(random, choice->count);

    return random_uniform(random) > choice->keep[slot] ? choice->alias[slot]
                                                       : slot;
}

#endif /* COSCHED_SIMULATOR_CHOICE_H */
