/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the model knows of the region that a job is running. */

#include "model/workload.h"

#include <math.h>
#include <stdlib.h>

#include "common/hash.h"

#define SYNC_MOST 0.99 /* some of the time is for work, whatever a line says */

struct workload *workload_new(size_t numa_nodes)
{
    struct workload *w = calloc(1, sizeof(*w));

    if (!w || !numa_nodes || !(w->rate = calloc(numa_nodes, sizeof(*w->rate)))) {
        free(w);
        return NULL;
    }
    w->numa_nodes = numa_nodes;
    w->stall_factor = 1;
    w->locality = NAN;
    return w;
}

struct workload *workload_new_rho(size_t numa_nodes, double rho,
                                  double service_us)
{
    struct workload *w;

    if (!(rho >= 0) || !isfinite(rho) || !(service_us > 0) ||
        !(w = workload_new(numa_nodes)))
        return NULL;
    for (size_t j = 0; j < numa_nodes; j++)
        w->rate[j].mrr_per_us = w->rate[j].read_per_us =
            rho / service_us / (double)numa_nodes;
    return w;
}

double workload_sync(const struct workload *w, double part)
{
    return fmin(w->sync_share * part, SYNC_MOST);
}

double workload_rounds(size_t threads, size_t cores)
{
    size_t rounds = cores ? (threads + cores - 1) / cores : 0;

    return rounds ? (double)threads / (double)(rounds * cores) : 1;
}

struct workload_rate workload_total(const struct workload *w)
{
    struct workload_rate total = {0, 0};

    for (size_t m = 0; m < w->numa_nodes; m++) {
        total.mrr_per_us += w->rate[m].mrr_per_us;
        total.read_per_us += w->rate[m].read_per_us;
    }
    return total;
}

double workload_crowd(const struct workload *w, size_t cores)
{
    return w->llc_power > 0 ? pow((double)cores / w->llc_cores, w->llc_power) : 1;
}

void workload_hash(const struct workload *w, uint64_t *hash)
{
    double one[] = {w->sync_share, w->llc_per_us, w->llc_power, w->llc_cores,
                    w->stall_factor, w->locality};

    hash_bytes(hash, w->rate, w->numa_nodes * sizeof(*w->rate));
    hash_bytes(hash, one, sizeof(one));
}

enum model_status workload_check(const struct workload *w)
{
    if (!w->numa_nodes || !(w->sync_share >= 0 && w->sync_share <= 1) ||
        !(w->llc_per_us >= 0) || !isfinite(w->llc_per_us) ||
        !(w->llc_power >= 0 && w->llc_power <= 1) || !isfinite(w->llc_cores) ||
        (w->llc_power > 0 && !(w->llc_cores >= 1)) ||
        !(w->stall_factor > 0) || !isfinite(w->stall_factor) ||
        w->locality < 0 || w->locality > 1)
        return MODEL_EINVAL;
    for (size_t j = 0; j < w->numa_nodes; j++)
        if (!(w->rate[j].read_per_us >= 0) || !isfinite(w->rate[j].mrr_per_us) ||
            !(w->rate[j].mrr_per_us >= w->rate[j].read_per_us))
            return MODEL_EINVAL;
    return MODEL_OK;
}

void workload_free(struct workload *w)
{
    if (w)
        free(w->rate);
    free(w);
}
