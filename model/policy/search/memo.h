/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Numbers for layouts that were seen before. */

#ifndef COSCHED_MODEL_POLICY_MEMO_H
#define COSCHED_MODEL_POLICY_MEMO_H

/* Concept
 *
 * A search comes by most layouts more than once.  A memo gives each layout a number, by which the
 * caller keeps what was found out about it: a hash table with linear probing, which is emptied
 * when it is full.
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
