/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The curves of NuPoCo figures 4 and 5. */

#ifndef COSCHED_VALIDATE_FIGURES_H
#define COSCHED_VALIDATE_FIGURES_H

/* Concept
 *
 * Sixteen cores and one controller; workload A never asks it, B asks with
 * rho = 0.5 (MRR 0.01, service time 50; thesis 4.2.2).  Figure 4: speedup and
 * utilisations of B on 1 to 16 cores, by the model and simulated.  Figure 5:
 * when both are done, for each split of the cores and three amounts of work;
 * the cores of the one that ends first are lost, or go to the other.
 */

#include <stdbool.h>
#include <stdio.h>

/* Append the curves as JSON objects to FILE, each after a comma and a line's
 * end unless FIRST.  False when the model or the simulation fails. */
bool figures_write(FILE *file, bool first);

#endif /* COSCHED_VALIDATE_FIGURES_H */
