/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Ask the model for a loop's speedups, given its counters. */

#ifndef COSCHED_VALIDATE_PREDICT_H
#define COSCHED_VALIDATE_PREDICT_H

#include "tests/validate/speedups.h"

/* Fill the predictions of C, whose truth and profiles are known. */
void predict_speedups(const struct world *world, struct speedup_case *c);

/* Best-F's of the COUNT CASES that are on WORLD, number W. */
void predict_best_f(const struct world *world, struct speedup_case *cases, size_t count, size_t w);

#endif /* COSCHED_VALIDATE_PREDICT_H */
