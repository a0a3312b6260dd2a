/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From numbers of cores to the best layout nearby, by the outlook. */

#ifndef COSCHED_MODEL_POLICY_ARRANGE_H
#define COSCHED_MODEL_POLICY_ARRANGE_H

/* Concept
 *
 * Which CPU nodes a job has matters where links are loaded unevenly, and single
 * cores may tell where whole CPU nodes are too coarse.  A division is placed as
 * usual; where the present layout is as good, it stays; then local search
 * (climb.h) goes on from there.
 */

#include "model/policy/search/outlook.h"

struct arrange;

/* For MACHINE.  NULL when out of memory; arrange_free() takes NULL. */
struct arrange *arrange_new(const struct machine *machine);
void arrange_free(struct arrange *arrange);

/* Arrange CORES[job_count] into LAYOUT[cpu_nodes * job_count]; CORES become those
 * of the layout.  OUTLOOK has begun and is that of the layout afterwards; FAIR
 * are the speeds below which jobs are wronged; at most LOOKS layouts are
 * compared. */
void arrange(struct arrange *arrange, struct outlook *outlook,
             const double *fair, size_t looks, size_t *cores, size_t *layout);

#endif /* COSCHED_MODEL_POLICY_ARRANGE_H */
