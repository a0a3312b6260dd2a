/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From numbers of cores to the best layout nearby, by the completion. */

#ifndef COSCHED_MODEL_POLICY_ARRANGE_H
#define COSCHED_MODEL_POLICY_ARRANGE_H

/* Concept
 *
 * Which LLC domains a job has matters where links are loaded unevenly, and whole domains may be
 * too coarse a unit.  A division is placed as usual, or the present layout taken if that is about
 * as good; then local search (local_search.h) goes on from there.  A serial job stays on its LLC
 * domain: its data are there, and its core is not to be the one that is worst for the others.
 */

#include "model/policy/search/completion.h"

struct arrange;

/* For MACHINE.  NULL when out of memory; arrange_free() takes NULL. */
struct arrange *arrange_new(const struct machine *machine);
void arrange_free(struct arrange *arrange);

/* Arrange CORES[job_count] into LAYOUT[llc_domains * job_count]; CORES become those of the layout.
 * COMPLETION has begun, and is that of any layout afterwards; jobs should not be slower than FAIR;
 * at most EVALUATIONS layouts are compared.  Returns what LAYOUT is worth, less its cost; *NOW is
 * that of the present layout, NAN where a job is out of its bounds in it. */
double arrange(struct arrange *arrange, struct completion *completion, const double *fair,
               size_t evaluations, size_t *cores, size_t *layout, double *now);

#endif /* COSCHED_MODEL_POLICY_ARRANGE_H */
