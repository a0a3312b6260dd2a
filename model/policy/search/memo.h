/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Numbers for layouts that were seen before. */

#ifndef COSCHED_MODEL_POLICY_MEMO_H
#define COSCHED_MODEL_POLICY_MEMO_H

/* Concept
 *
 * A search compares hundreds of layouts, and comes by most of them more than
 * once: two moves in either order, the rest of the jobs after the first has
 * ended.  A memo gives each layout a number, by which the caller keeps what was
 * found out about it.  It is a hash table with linear probing that has room for
 * so many layouts; when it is full it begins anew, as what is asked for again is
 * asked for soon.
 */

#include <stdbool.h>
#include <stddef.h>

struct memo;

/* For LAYOUTS layouts of up to CELLS cells, of values below 65,536.  NULL when
 * out of memory. */
struct memo *memo_new(size_t cells, size_t layouts);

/* Takes NULL. */
void memo_free(struct memo *memo);

/* Nothing is known; from now on layouts have CELLS cells. */
void memo_forget(struct memo *memo, size_t cells);

/* The number of the layout COUNTS[cells], below LAYOUTS.  KNOWN tells whether it
 * was there; if not, whatever was kept under its number is of another one. */
size_t memo_number(struct memo *memo, const size_t *counts, bool *known);

#endif /* COSCHED_MODEL_POLICY_MEMO_H */
