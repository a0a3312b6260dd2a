/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How near to its cores a job's interleaved pages should lie. */

#ifndef COSCHED_MODEL_COLOCATION_H
#define COSCHED_MODEL_COLOCATION_H

/* Concept
 *
 * Pages that are interleaved lie on all NUMA nodes in turn, so that a job has the bandwidth of all
 * of them, whatever cores it has.  Jobs that share a machine in space pay for that twice: most
 * requests cross links, and on them meet those of the other jobs.  Nothing is lost if the pages
 * move to where the job's cores are, as long as the controllers there can serve it.  Carrefour
 * (Dashti et al., "Traffic management: a holistic approach to memory placement on NUMA systems",
 * 2013) chooses between interleaving and co-location by what the memory is loaded with; here the
 * model chooses, and anything between the two.
 *
 * The near share b of a job: the part b of its pages lies on the NUMA nodes of its cores, on each
 * as its part of the cores is, the rest on all nodes alike.  Of what a job asks node m is asked for
 *
 *     d_m = b c_m + (1 - b) / nodes
 *
 * where c_m is the part of its cores there.  All jobs whose pages can move have the same b, which
 * is told by the speeds that the closed network predicts for each.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/machine.h"
#include "model/workload.h"

#define COLOCATION_SHARES 5 /* 0, 1/4, .. 1 */
#define COLOCATION_LOSS 0.05 /* nobody's gain is worth more of another's speed */

struct colocation;

/* For up to JOBS jobs on MACHINE, which must outlive it and not change.  NULL when out of memory or
 * JOBS is 0. */
struct colocation *colocation_new(const struct machine *machine, size_t jobs);

/* Takes NULL. */
void colocation_free(struct colocation *colocation);

/* Near share number I. */
double colocation_share(size_t i);

/* The logarithms of the speeds of COUNT jobs of PROFILE (never NULL) relative to share 0, all
 * together for each job whose pages MOVE (at least one), into VALUE[COLOCATION_SHARES]: with each
 * near share of these, pages of the others where PROFILE says.  COUNTS are as of
 * aggregated_predict().  So it is what all gain for each that has its pages moved; but where one
 * loses more than COLOCATION_LOSS, whether its own pages move or not, what that one loses. */
void colocation_compare(struct colocation *colocation, const struct workload *const *profile,
                        const bool *moves, size_t count, const size_t *counts, double *value);

#endif /* COSCHED_MODEL_COLOCATION_H */
