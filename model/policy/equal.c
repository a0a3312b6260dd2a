/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "equal": the same number of cores for all, by weight. */

#include <stdio.h>

#include "model/divide.h"
#include "model/policy/shares.h"

/* The job that is furthest below its share grows next. */
static enum model_status below_share(void *arg, const size_t *cores, size_t job,
                                     double *score)
{
    const struct policy_input *input = arg;

    *score = -(double)cores[job] / input->jobs[job].weight;
    return MODEL_OK;
}

size_t policy_describe(const struct policy_input *input, const size_t *cores,
                       char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t j = 0; j < input->job_count && used < size; j++) {
        int n = snprintf(text + used, size - used, "%sjob %u: %zu core%s%s",
                         j ? ", " : "", input->jobs[j].id, cores[j],
                         cores[j] == 1 ? "" : "s",
                         input->jobs[j].kind == SECTION_SERIAL ? " (serial)"
                                                               : "");
        used += (size_t)n;
    }
    return used < size ? used : size - 1;
}

enum model_status equal_shares(const struct policy_input *input, size_t *cores,
                               struct policy_decision *out)
{
    enum model_status status =
        divide(input, below_share, (void *)(uintptr_t)input, cores);

    if (status == MODEL_OK) {
        size_t used = policy_describe(input, cores, out->reason,
                                      sizeof(out->reason));
        snprintf(out->reason + used, sizeof(out->reason) - used,
                 "; equal shares");
    }
    return status;
}

const struct policy policy_equal = {
    .name = "equal",
    .help = "the same number of cores for all jobs",
    .decide = equal_shares,
};
