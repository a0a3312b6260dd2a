/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl requests: what the regions of a recording asked of memory. */

#include <stdlib.h>
#include <string.h>

#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/ctl.h"
#include "node_agent/recording/request_counts.h"

/* The metric asked for, else the first that is there; -1: none. */
static int choose(const struct arguments *a, const struct request_counts *c)
{
    for (int m = 0; m < REQUEST_METRICS; m++)
        for (size_t s = 0; s < c->regions; s++)
            if ((int)c->region[s].metric == m &&
                (a->metric < 0 || a->metric == m))
                return m;
    return -1;
}

/* The counts of S for coschedmodel ks, or NULL when out of memory. */
static json_t *region_json(const struct request_region *s, double per_us)
{
    double *counts = calloc(s->samples + 1, sizeof(*counts));
    json_t *nodes = json_array();
    uint64_t ns = 0;

    for (size_t n = 0; counts && n < s->nodes; n++) {
        size_t samples = request_region_counts(s, n, (uint64_t)(per_us * 1e3),
                                                counts, &ns);
        json_t *list = json_array();
        for (size_t i = 0; i < samples; i++)
            json_array_append_new(list, json_integer((json_int_t)counts[i]));
        json_array_append_new(nodes, list);
    }
    bool failed = !counts;
    free(counts);
    json_t *region = json_pack("{s:s, s:f, s:b, s:o}", "region", s->name,
                                "coverage", s->coverage, "memory",
                                s->metric == REQUEST_MEMORY, "counts", nodes);
    if (ns)
        json_object_set_new(region, "interval_us",
                            json_real((double)ns * 1e-3));
    if (!failed)
        return region;
    json_decref(region);
    return NULL;
}

/* Why there is nothing. */
static int nothing(const struct arguments *a, const struct request_counts *c)
{
    if (c->intervals == 0)
        return fail(CTL_FAILED, "requests: %s: has no counts: no job was on the "
                    "node while it was recorded", a->file);
    if (c->intervals == c->mixed)
        return fail(CTL_FAILED, "requests: %s: in none of its %zu intervals each "
                    "job was in one region", a->file, c->intervals);
    return fail(CTL_FAILED, "requests: %s: has no counts of %s; what did the "
                "agent count with?", a->file,
                a->metric < 0 ? "memory requests"
                              : request_metric_names[a->metric]);
}

int ctl_requests(const struct arguments *a)
{
    struct errtext err = {""};

    if (!a->file)
        return fail(CTL_USAGE, "requests: needs a recording's directory, or a "
                    "file");
    struct request_counts *c = request_counts_read(a->file, &err);
    if (!c)
        return fail(CTL_FAILED, "requests: %s", err.text);
    int metric = choose(a, c);
    int rc = metric < 0 ? nothing(a, c) : CTL_OK;
    json_t *regions = json_array();
    for (size_t s = 0; rc == CTL_OK && s < c->regions; s++)
        if ((int)c->region[s].metric == metric &&
            json_array_append_new(regions, region_json(&c->region[s],
                                                         a->per_us)) < 0)
            rc = fail(CTL_FAILED, "requests: out of memory");
    if (rc == CTL_OK)
        rc = ctl_print_json(json_pack(
            "{s:s, s:I, s:I, s:O}", "metric", request_metric_names[metric],
            "intervals", (json_int_t)c->intervals, "mixed",
            (json_int_t)c->mixed, "regions", regions));
    json_decref(regions);
    request_counts_free(c);
    return rc;
}
