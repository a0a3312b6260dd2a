/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A scenario and a machine with something about them changed. */

#ifndef COSCHED_SIMULATOR_VARIATION_H
#define COSCHED_SIMULATOR_VARIATION_H

/* Concept
 *
 * What can be varied to see what a policy's gain depends on:
 *
 *   cores       number of cores, LLC domain after LLC domain; all memory stays
 *   jobs        number of jobs; where the scenario has fewer, the same again (NAME.2, ...)
 *   arrival     seconds between arrivals
 *   scale       factor of the work
 *   rates       factor of the requests to memory and of the LLC accesses
 *   imbalance, sync_share, llc_loss, llc_power, overlap, latency, barriers
 *               these of all parallel regions
 *
 * The last seven may be of one job only: JOB.KEY.
 */

#include "model/machine.h"
#include "common/errtext.h"
#include "simulator/scenario.h"

struct variation {
    struct machine machine; /* its own: llc_domain */
    struct scenario scenario; /* its own: job, and their regions */
    int *llc_domain;
    struct scenario_job *job;
    size_t jobs; /* in job, whose regions are to be freed */
    char (*name)[64]; /* [SCENARIO_MAX_JOBS] of jobs that are there again */
};

/* True if there is such a KEY, with or without a job. */
bool variation_has(const char *key);

/* MACHINE and SCENARIO unchanged, which must outlive it.  -1 when out of
 * memory, with ERR.  Release it with variation_release(). */
int variation_init(struct variation *variation, const struct machine *machine,
                   const struct scenario *scenario, struct errtext *err);

/* Change KEY to VALUE.  -1 with errno EINVAL or ENOMEM and ERR, which names
 * both. */
int variation_set(struct variation *variation, const char *key,
                  const char *value, struct errtext *err);

/* Takes a zeroed one. */
void variation_release(struct variation *variation);

#endif /* COSCHED_SIMULATOR_VARIATION_H */
