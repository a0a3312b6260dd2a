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

static bool concerns(const json_t *decision, uint32_t job)
{
    json_t *share;
    size_t i;

    json_array_foreach(json_object_get(decision, "shares"), i, share)
        if (json_integer_value(json_object_get(share, "job")) == job)
            return true;
    return job == 0;
}

json_t *decisions_json(const struct decisions *d, uint32_t job)
{
    json_t *array = json_array(), *one;
    size_t i;

    json_array_foreach(d->kept, i, one)
        if (concerns(one, job))
            json_array_append(array, one);
    return array;
}

void decisions_free(struct decisions *d)
{
    if (d)
        json_decref(d->kept);
    free(d);
}
