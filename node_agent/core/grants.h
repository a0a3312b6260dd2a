/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What jobs may have of what Slurm granted them. */

#ifndef COSCHED_GRANTS_H
#define COSCHED_GRANTS_H

/* Concept
 *
 * A policy divides one pool, as if each job might have any CPU of it.  Jobs may have been
 * granted parts of the pool only: what a policy decided is repaired here.  Where the kernel
 * shares the time no policy decides; then jobs have their grants, at most as many as they use.
 *
 * GRANTED[JOBS]: CPUs that each job may have.  OWNER[CPUS]: a job, POLICY_NOBODY or POLICY_NO_CPU,
 * changed in place.
 */

#include <stddef.h>

#include "protocol/layout.h"

/* CPUs that JOB owns. */
size_t grants_owned(const int *owner, size_t cpus, size_t job);

/* Each CPU whose owner may not have it goes to the job with the fewest that may, and a job left
 * without any gets one. */
void grants_repair(const struct cosched_cpuset *granted, size_t jobs, int *owner, size_t cpus);

/* The same where jobs without a CPU wait for their turn: who runs has as many CPUs as it owned,
 * of those that it may have. */
void grants_repair_turns(const struct cosched_cpuset *granted, size_t jobs, int *owner,
                         size_t cpus);

/* Where the kernel shares the time: SHARE[JOBS], what each job has now, becomes what it may use,
 * which is all of its grant that is not POLICY_NO_CPU, but at most MOST[JOBS].  Who is
 * limited so keeps what it has, and else shuns the CPUs of others that are, so that none lies
 * idle. */
void grants_overlap(const struct cosched_cpuset *granted, const size_t *most, size_t jobs,
                    const int *owner, struct cosched_cpuset *share);

#endif /* COSCHED_GRANTS_H */
