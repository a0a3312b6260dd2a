/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The last decisions and their reasons, for "explain". */

#include "node_agent/core/decisions.h"

#include <stdbool.h>
#include <stdlib.h>

struct decisions {
    size_t total; /* added so far */
    json_t *kept; /* oldest first */
};

struct decisions *decisions_new(void)
{
    struct decisions *d = calloc(1, sizeof(*d));

    if (d && !(d->kept = json_array())) {
        free(d);
        return NULL;
    }
    return d;
}

void decisions_add(struct decisions *d, json_t *decision)
{
    d->total++;
    if (json_array_append_new(d->kept, decision) == 0 &&
        json_array_size(d->kept) > DECISIONS_KEPT)
        json_array_remove(d->kept, 0);
}

size_t decisions_count(const struct decisions *d)
{
    return d->total;
}

/* Does DECISION concern JOB?  *SHARES grows by the number of those looked through. */
static bool concerns(const json_t *decision, uint32_t job, size_t *shares)
{
    json_t *share;
    size_t i;

    if (!job)
        return true;
    json_array_foreach(json_object_get(decision, "shares"), i, share) {
        ++*shares;
        if (json_integer_value(json_object_get(share, "job")) == job)
            return true;
    }
    return false;
}

json_t *decisions_json(const struct decisions *d, uint32_t job, size_t size)
{
    json_t *array = json_array();
    size_t first = json_array_size(d->kept), used = 0, shares = 0;

    while (first && shares < DECISIONS_SHARES) {
        const json_t *one = json_array_get(d->kept, first - 1);
        if (size && concerns(one, job, &shares) &&
            (used += json_dumpb(one, NULL, 0, JSON_COMPACT) + 1) > size)
            break;
        first--;
    }
    for (; first < json_array_size(d->kept); first++) {
        json_t *one = json_array_get(d->kept, first);
        if (concerns(one, job, &shares))
            json_array_append(array, one);
    }
    return array;
}

void decisions_free(struct decisions *d)
{
    if (d)
        json_decref(d->kept);
    free(d);
}
