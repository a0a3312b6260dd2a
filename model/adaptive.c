/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Placement by measured use of the last-level caches. */

#include "model/adaptive.h"

#include <math.h>

/* LLC accesses of LLC domain I, NAN when not known or it has no CPU. */
static double node_access(const struct adaptive_input *in,
                          const size_t *layout, size_t i)
{
    double sum = 0;

    if (!in->pool[i])
        return NAN;
    for (size_t j = 0; j < in->jobs; j++)
        if (layout[i * in->jobs + j])
            sum += in->access[i * in->jobs + j];
    return sum;
}

bool adaptive_possible(const struct adaptive_input *in, const size_t *layout)
{
    size_t known = 0;

    for (size_t i = 0; i < in->llc_domains; i++)
        known += !isnan(node_access(in, layout, i));
    return known > 1;
}

/* ORDER: known LLC domains by descending accesses, equals by number. */
static size_t sort_nodes(const struct adaptive_input *in,
                         const size_t *layout, size_t *order)
{
    size_t count = 0;

    for (size_t i = 0; i < in->llc_domains; i++) {
        double access = node_access(in, layout, i);
        size_t at = count;

        if (isnan(access))
            continue;
        for (; at && node_access(in, layout, order[at - 1]) < access; at--)
            order[at] = order[at - 1];
        order[at] = i;
        count++;
    }
    return count;
}

/* CPUs of LLC domain I that nobody has. */
static size_t node_free(const struct adaptive_input *in, const size_t *layout,
                        size_t i)
{
    size_t rest = in->pool[i];

    for (size_t j = 0; j < in->jobs; j++)
        rest -= layout[i * in->jobs + j];
    return rest;
}

/* RATE of one core of job J on LLC domain I, or, where that is not known, its
 * accesses. */
static double core_rate(const struct adaptive_input *in, const size_t *layout,
                        const double *rate, size_t i, size_t j)
{
    size_t at = i * in->jobs + j;
    double all = isnan(rate[at]) ? in->access[at] : rate[at];

    return all / (double)layout[at];
}

/* The job of LLC domain I with the highest rate of misses per core. */
static size_t missing_most(const struct adaptive_input *in,
                           const size_t *layout, size_t i)
{
    size_t best = ADAPTIVE_NOBODY;
    double most = 0;

    for (size_t j = 0; j < in->jobs; j++) {
        if (!layout[i * in->jobs + j])
            continue;
        double rate = core_rate(in, layout, in->miss, i, j);
        if (best == ADAPTIVE_NOBODY || rate > most) {
            best = j;
            most = rate;
        }
    }
    return best;
}

/* The job of LLC domain I with the fewest accesses per core: nobody's CPUs have
 * none. */
static size_t asking_least(const struct adaptive_input *in,
                           const size_t *layout, size_t i)
{
    size_t best = ADAPTIVE_NOBODY;
    double least = 0;

    if (node_free(in, layout, i))
        return ADAPTIVE_NOBODY;
    for (size_t j = 0; j < in->jobs; j++) {
        if (!layout[i * in->jobs + j])
            continue;
        double rate = core_rate(in, layout, in->access, i, j);
        if (best == ADAPTIVE_NOBODY || rate < least) {
            best = j;
            least = rate;
        }
    }
    return best;
}

/* Cores to exchange, 0 when that does not help. */
static size_t swap_size(const struct adaptive_input *in, const size_t *layout,
                        const struct adaptive_swap *swap)
{
    size_t jobs = in->jobs, size = in->cores, there;
    double more = core_rate(in, layout, in->access, swap->busy, swap->busy_job);

    if (swap->idle_job == swap->busy_job)
        return 0;
    if (swap->idle_job == ADAPTIVE_NOBODY) {
        there = node_free(in, layout, swap->idle);
    } else {
        there = layout[swap->idle * jobs + swap->idle_job];
        more -= core_rate(in, layout, in->access, swap->idle, swap->idle_job);
    }
    if (size > there)
        size = there;
    if (size > layout[swap->busy * jobs + swap->busy_job])
        size = layout[swap->busy * jobs + swap->busy_job];
    if (!(more > 0))
        return 0;
    while (size && !((double)size * more <
                     (swap->busy_access - swap->idle_access) * (1 - 1e-9)))
        size--;
    return size;
}

static void exchange(const struct adaptive_input *in, size_t *layout,
                     const struct adaptive_swap *swap)
{
    layout[swap->busy * in->jobs + swap->busy_job] -= swap->cores;
    layout[swap->idle * in->jobs + swap->busy_job] += swap->cores;
    if (swap->idle_job == ADAPTIVE_NOBODY)
        return;
    layout[swap->idle * in->jobs + swap->idle_job] -= swap->cores;
    layout[swap->busy * in->jobs + swap->idle_job] += swap->cores;
}

size_t adaptive_step(const struct adaptive_input *in, size_t *layout,
                     struct adaptive_swap *swap, size_t *order)
{
    size_t count = sort_nodes(in, layout, order), swaps = 0;

    for (size_t front = 0, back = count; front + 1 < back; front++) {
        struct adaptive_swap s = {.busy = order[front], .idle = order[--back]};

        s.busy_access = node_access(in, layout, s.busy);
        s.idle_access = node_access(in, layout, s.idle);
        if (!(s.busy_access > in->threshold * s.idle_access))
            break; /* pairs further in are more alike */
        s.busy_job = missing_most(in, layout, s.busy);
        s.idle_job = asking_least(in, layout, s.idle);
        s.cores = swap_size(in, layout, &s);
        if (!s.cores)
            continue;
        exchange(in, layout, &s);
        swap[swaps++] = s;
    }
    return swaps;
}
