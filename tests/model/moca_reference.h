/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* MOCA's objectives, by definition. */

#ifndef COSCHED_TESTS_MODEL_MOCA_REFERENCE_H
#define COSCHED_TESTS_MODEL_MOCA_REFERENCE_H

/* Each formula of model/policy/search/chromosome.h written out, without memory of
 * what was solved before. */

#include <stddef.h>

#include "model/machine.h"
#include "model/policy/search/chromosome.h"
#include "model/status.h"
#include "model/workload.h"

struct moca_input {
    const struct machine *machine; /* rates of its plain service times */
    size_t jobs;
    const struct workload *const *profile; /* [jobs]: mrr, read (llc), sync */
    const size_t *cores; /* [llc_domains * jobs]: of job j on LLC domain i at
                            i * jobs + j */
    size_t all_cores;    /* |C|, >= the sum of cores, >= 1 */
    enum moca_form form;
};

struct moca_result {
    double cpu_util;        /* 0..1 */
    double bw_util;         /* 0..1 */
    double *response_us;    /* [numa_nodes] r(m): the caller's, not NULL */
    double *controller_util; /* [numa_nodes] U(m): the caller's, or NULL */
    double *core_util;       /* [llc_domains * jobs] U(c) of such a core, 0 where
                                there is none: the caller's, or NULL */
};

/* Judge INPUT.  MODEL_EINVAL when there are no jobs, more cores than
 * all_cores, or a profile's NUMA nodes differ from the machine's. */
enum model_status moca_evaluate(const struct moca_input *input,
                                struct moca_result *result);

#endif /* COSCHED_TESTS_MODEL_MOCA_REFERENCE_H */
