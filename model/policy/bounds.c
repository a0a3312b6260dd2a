/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Common rule: minimum and maximum numbers of cores. */

#include "model/policy/rules.h"

void bounds_fit(struct policy_job *jobs, size_t count, size_t pool)
{
    size_t sum = 0;

    for (size_t j = 0; j < count; j++) {
        if (jobs[j].kind == REGION_SERIAL)
            jobs[j].min_cores = jobs[j].max_cores = 1;
        if (jobs[j].max_cores > pool)
            jobs[j].max_cores = pool;
        if (jobs[j].min_cores > jobs[j].max_cores)
            jobs[j].min_cores = jobs[j].max_cores;
        sum += jobs[j].min_cores;
    }
    for (size_t j = 0; j < count && sum > pool; j++)
        jobs[j].min_cores = 1;
}
