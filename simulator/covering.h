/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The least time in which given work can be done, by whatever ways there are. */

#ifndef COSCHED_SIMULATOR_COVERING_H
#define COSCHED_SIMULATOR_COVERING_H

/* Concept
 *
 * There are `rows` kinds of work, WORK[r] of each, and ways c to go on, in which work of kind r is
 * done at the speed s_cr.  Whoever spends the time x_c >= 0 in each way needs
 *
 *     T = sum_c x_c,  with  sum_c x_c s_cr >= WORK[r]  for all r.
 *
 * For any prices p_r >= 0 of a unit of work, no way earns more per unit of time than the best one,
 * so
 *
 *     T >= sum_r p_r WORK[r] / max_c sum_r p_r s_cr                (linear programming duality).
 *
 * Any prices prove a bound; covering_solve() finds those that prove the greatest one, which is the
 * least T.  They are found by the simplex method; whether they are the best or not, what is
 * returned is the right-hand side for them.
 */

#include <stdbool.h>
#include <stddef.h>

#define COVERING_ENTRIES 3 /* kinds of work that go on at once */
#define COVERING_NONE ((size_t)-1)

struct covering;

/* ROWS kinds of work; WORK[ROWS], > 0, is copied.  NULL without memory.  Free with
 * covering_free(). */
struct covering *covering_new(size_t rows, const double *work);

/* One more way: work of kind ROW[i] (or COVERING_NONE) at SPEED[i], both of
 * COVERING_ENTRIES, no kind twice.  False without memory. */
bool covering_add(struct covering *covering, const size_t *row, const double *speed);

size_t covering_ways(const struct covering *covering);

/* What way number WAY earns per unit of time at PRICE[rows]. */
double covering_earns(const struct covering *covering, size_t way, const double *price);

/* The bound, and the prices that prove it into PRICE[rows]: the best way earns 1 per unit of
 * time.  INFINITY where some work is done in no way, NAN without memory. */
double covering_solve(const struct covering *covering, double *price);

/* Takes NULL. */
void covering_free(struct covering *covering);

#endif /* COSCHED_SIMULATOR_COVERING_H */
