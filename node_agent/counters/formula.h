/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Formulas over counters: parsed once, evaluated at each sample. */

#ifndef COSCHED_FORMULA_H
#define COSCHED_FORMULA_H

/* Concept
 *
 * Formulas come from data files that a site can write; they can compute, and nothing else.
 *
 *     expression = term   { ("+" | "-") term }
 *     term       = factor { ("*" | "/") factor }
 *     factor     = [ "-" ] ( NUMBER | NAME | "(" expression ")" | call )
 *     call       = "sum(" PATTERN ")" | ("min" | "max") "(" expression ","
 *                  expression ")"
 *
 * A NAME is letters, digits and "_", beginning with a letter.  In a PATTERN "#" stands for
 * any decimal number: sum(MBOX#C0) adds MBOX0C0, MBOX1C0, ... as far as they exist.
 *
 * Evaluation never fails: NAN in, NAN out; results that are not finite are NAN.
 */

#include <stddef.h>

#include "common/errtext.h"

#define FORMULA_BYTES 1024 /* longest text */
#define FORMULA_DEPTH 32   /* nested parentheses */

/* The variables of a formula: numbered by who owns them. */
struct formula_names {
    size_t count;
    const char *(*name)(const void *arg, size_t index);
    const void *arg;
};

struct formula;

/* Parse TEXT; names are looked up in NAMES now, values come by index later.
 * NULL with errno EINVAL and the term as typed in *ERR:
 *     "MBX0C0": no such counter or variable
 * or ENOMEM.  Keeps neither pointer. */
struct formula *formula_parse(const char *text,
                              const struct formula_names *names,
                              struct errtext *err);

/* The value of FORMULA where variable i is VALUES[i]. */
double formula_value(const struct formula *formula, const double *values);

/* Whether FORMULA depends on variable INDEX. */
int formula_uses(const struct formula *formula, size_t index);

/* Takes NULL. */
void formula_free(struct formula *formula);

#endif /* COSCHED_FORMULA_H */
