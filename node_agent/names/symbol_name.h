/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the user would call the function behind a symbol. */

#ifndef COSCHED_SYMBOL_NAME_H
#define COSCHED_SYMBOL_NAME_H

/* Concept
 *
 * Compilers put a parallel region into a function of its own.  GCC calls it as the function that
 * it is in (`conj_grad._omp_fn.0`), Clang does not (`.omp_outlined.`).  C++ and Fortran change
 * names, too.  Users know `Grid<double>::smooth(int)` as Grid::smooth and `__solver_MOD_step` as
 * solver::step.  Symbols are what others wrote: any text of any length.
 */

#include <stdbool.h>
#include <stddef.h>

#define SYMBOL_NAME_MAX 64 /* with its zero; longer ones end with "..." */

/* Write the name of SYMBOL's function into NAME; FORTRAN: it is from a Fortran file for sure.
 * False, with NAME empty, when the symbol does not tell. */
bool symbol_name(const char *symbol, bool fortran, char name[SYMBOL_NAME_MAX]);

#endif /* COSCHED_SYMBOL_NAME_H */
