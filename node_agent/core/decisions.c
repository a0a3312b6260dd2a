/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The last decisions and their reasons, for "explain". */

#include "node_agent/core/decisions.h"

#include <stdbool.h>
#include <stdlib.h>

struct decisions {
    size_t next;
    size_t count; /* in the ring */
    size_t total; /* added so far */
    struct decision ring[DECISIONS_KEPT];
};

struct decisions *decisions_new(void)
{
    return calloc(1, sizeof(struct decisions));
}

void decisions_add(struct decisions *d, const struct decision *decision)
{
    d->ring[d->next] = *decision;
    d->next = (d->next + 1) % DECISIONS_KEPT;
    if (d->count < DECISIONS_KEPT)
        d->count++;
    d->total++;
}

size_t decisions_count(const struct decisions *d)
{
    return d->total;
}

static bool concerns(const struct decision *d, uint32_t job)
{
    for (size_t i = 0; i < d->shares; i++)
        if (d->share[i].job == job)
            return true;
    return job == 0;
}

json_t *decisions_json(const struct decisions *d, uint32_t job)
{
    json_t *array = json_array();

    for (size_t i = 0; i < d->count; i++) {
        const struct decision *one =
            &d->ring[(d->next + DECISIONS_KEPT - d->count + i) %
                     DECISIONS_KEPT];
        if (!concerns(one, job))
            continue;
        json_t *shares = json_array();
        for (size_t k = 0; k < one->shares; k++)
            json_array_append_new(
                shares, json_pack("{s:I, s:I}", "job",
                                  (json_int_t)one->share[k].job, "cores",
                                  (json_int_t)one->share[k].cores));
        json_array_append_new(
            array,
            json_pack("{s:f, s:s, s:s, s:s, s:o}", "time",
                      (double)one->wall_ns * 1e-9, "trigger", one->trigger,
                      "policy", one->policy, "text", one->text, "shares",
                      shares));
    }
    return array;
}

void decisions_free(struct decisions *d)
{
    free(d);
}
