/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Draw one of several alternatives with given weights. */

#include "tests/simulator/choice.h"

#include <stdlib.h>

/* An alternative with less than the average weight gets its slot filled up by
 * one with more, which then has so much less left. */
static void fill(struct choice *choice, uint32_t *stack)
{
    uint32_t small = 0, large = choice->count; /* two stacks in one array */

    for (uint32_t i = 0; i < choice->count; i++)
        if (choice->keep[i] < 1)
            stack[small++] = i;
        else
            stack[--large] = i;
    while (small > 0 && large < choice->count) {
        uint32_t s = stack[--small], l = stack[large];

        choice->alias[s] = l;
        choice->keep[l] -= 1 - choice->keep[s];
        if (choice->keep[l] < 1) {
            large++;
            stack[small++] = l;
        }
    }
    /* What is left is full but for rounding; weight 0 is never left, except
     * when all are, and then nobody draws. */
    while (large < choice->count)
        choice->keep[stack[large++]] = 1;
    while (small > 0)
        choice->keep[stack[--small]] = 1;
}

bool choice_init(struct choice *choice, const double *weight, uint32_t count)
{
    uint32_t *stack = malloc(count * sizeof(*stack));

    choice->count = count;
    choice->total = 0;
    choice->keep = malloc(count * sizeof(*choice->keep));
    choice->alias = malloc(count * sizeof(*choice->alias));
    if (!stack || !choice->keep || !choice->alias) {
        free(stack);
        choice_release(choice);
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        choice->total += weight[i];
    for (uint32_t i = 0; i < count; i++) {
        choice->keep[i] =
            choice->total > 0 ? weight[i] / choice->total * count : 1;
        choice->alias[i] = i;
    }
    fill(choice, stack);
    free(stack);
    return true;
}

void choice_release(struct choice *choice)
{
    free(choice->keep);
    free(choice->alias);
    choice->keep = NULL;
    choice->alias = NULL;
}
