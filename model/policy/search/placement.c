/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which CPUs a job gets, once it is decided how many. */

#include "model/policy/search/placement.h"

#include <math.h>
#include <string.h>

#include "model/layout.h"
#include "model/policy/search/workspace.h"

/* Exchanges that a layout looks at.  Nearly always the first number is all of
 * them, twice: some are made, and then there are no more.  Where many jobs have
 * cores everywhere on a large machine it is a part. */
enum { THOROUGH = 5000, QUICK = 300 };

void placement_present(const struct policy_input *in, size_t *have)
{
    const struct machine *machine = in->machine;

    memset(have, 0, machine->llc_domains * in->job_count * sizeof(*have));
    for (size_t cpu = 0; cpu < machine->cpus; cpu++)
        if (in->owner[cpu] >= 0)
            have[(size_t)machine->llc_domain[cpu] * in->job_count +
                 (size_t)in->owner[cpu]]++;
}

static void count_pool(const struct policy_input *in)
{
    size_t *pool = in->workspace->pool;

    memset(pool, 0, in->machine->llc_domains * sizeof(*pool));
    for (size_t cpu = 0; cpu < in->machine->cpus; cpu++)
        if (in->owner[cpu] != POLICY_NO_CPU)
            pool[in->machine->llc_domain[cpu]]++;
}

/* What was measured of the last-level caches. */
static void add_noise(const struct policy_input *in)
{
    double *sum = in->workspace->noise;

    memset(sum, 0, in->machine->llc_domains * sizeof(*sum));
    for (size_t j = 0; j < in->job_count; j++) {
        const struct policy_facts *facts = in->jobs[j].facts;
        for (size_t i = 0; i < in->machine->llc_domains; i++)
            if (facts && facts->llc_access && !isnan(facts->llc_access[i]))
                sum[i] += facts->llc_access[i];
    }
}

static bool differ(const double *value, size_t stride, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (value[i * stride] != value[0])
            return true;
    return false;
}

void placement_begin(const struct policy_input *in)
{
    struct policy_workspace *ws = in->workspace;
    size_t nodes = in->machine->llc_domains;

    count_pool(in);
    add_noise(in);
    ws->noises_differ = differ(ws->noise, 1, nodes);
    ws->distances_differ = false;
    for (size_t j = 0; j < in->job_count; j++) {
        layout_distance(in->machine, ws->delay, in->jobs[j].profile,
                        in->job_count, &ws->distance[j]);
        ws->distances_differ |= differ(&ws->distance[j], in->job_count, nodes);
    }
}

/* LAYOUT for CORES, from what jobs HAVE. */
static void lay_out(const struct policy_input *in, const size_t *have, const size_t *cores,
                    size_t evaluations, size_t *layout)
{
    struct policy_workspace *ws = in->workspace;
    struct layout_input wish = {
        .llc_domains = in->machine->llc_domains,
        .jobs = in->job_count,
        .pool = ws->pool,
        .have = have,
        .cores = cores,
        .distance = ws->distances_differ ? ws->distance : NULL,
        .noise = ws->noises_differ ? ws->noise : NULL,
        .evaluations = evaluations,
    };

    layout_make(&wish, ws->scratch, layout);
}

void placement_counts(const struct policy_input *in, const size_t *cores,
                      size_t *layout)
{
    placement_present(in, in->workspace->have);
    lay_out(in, in->workspace->have, cores, THOROUGH, layout);
}

void placement_fresh(const struct policy_input *in, const size_t *cores,
                     size_t *layout)
{
    size_t *have = in->workspace->have, cells = in->machine->llc_domains * in->job_count;

    placement_present(in, have);
    for (size_t c = 0; c < cells; c++)
        if (in->jobs[c % in->job_count].kind != REGION_SERIAL)
            have[c] = 0;
    lay_out(in, have, cores, THOROUGH, layout);
}

void placement_rough(const struct policy_input *in, const size_t *cores,
                     size_t *layout)
{
    lay_out(in, NULL, cores, QUICK, layout);
}

/* Hand COUNT CPUs of NODE from owner FROM to owner TO; the highest ones leave a
 * job, the lowest ones join, so that sets stay contiguous. */
static void hand_over(const struct policy_workspace *ws, int *owner,
                      size_t node, int from, int to, size_t count)
{
    const size_t *cpu = &ws->cpu[ws->first[node]];
    size_t size = ws->size[node];

    for (size_t k = 0; k < size && count; k++) {
        size_t next = cpu[to >= 0 ? k : size - 1 - k];
        if (owner[next] == from) {
            owner[next] = to;
            count--;
        }
    }
}

void placement_layout(const struct policy_input *in, const size_t *layout,
                      int *owner)
{
    struct policy_workspace *ws = in->workspace;
    size_t jobs = in->job_count, cells = in->machine->llc_domains * jobs;

    placement_present(in, ws->have);
    memcpy(owner, in->owner, in->machine->cpus * sizeof(*owner));
    for (size_t c = 0; c < cells; c++)
        if (ws->have[c] > layout[c])
            hand_over(ws, owner, c / jobs, (int)(c % jobs), POLICY_NOBODY,
                      ws->have[c] - layout[c]);
    for (size_t c = 0; c < cells; c++)
        if (ws->have[c] < layout[c])
            hand_over(ws, owner, c / jobs, POLICY_NOBODY, (int)(c % jobs),
                      layout[c] - ws->have[c]);
}

/* Pairs of a job and an LLC domain where it has cores. */
static size_t parts_of(const struct policy_input *in, const size_t *layout)
{
    size_t cells = in->machine->llc_domains * in->job_count, count = 0;

    for (size_t c = 0; c < cells; c++)
        count += layout[c] > 0;
    return count;
}

/* No layout of CORES has fewer parts than this. */
static size_t fewest_parts(const struct policy_input *in, const size_t *cores)
{
    size_t largest = 1, count = 0;

    for (size_t i = 0; i < in->machine->llc_domains; i++)
        if (in->workspace->pool[i] > largest)
            largest = in->workspace->pool[i];
    for (size_t j = 0; j < in->job_count; j++)
        count += (cores[j] + largest - 1) / largest;
    return count;
}

void placement(const struct policy_input *in, const size_t *cores, int *owner)
{
    struct policy_workspace *ws = in->workspace;
    const size_t *layout = ws->layout;

    placement_counts(in, cores, ws->layout);
    size_t parts = parts_of(in, ws->layout);
    if (parts >= fewest_parts(in, cores) + PLACEMENT_REGROUP) {
        placement_fresh(in, cores, ws->fresh);
        if (parts >= parts_of(in, ws->fresh) + PLACEMENT_REGROUP)
            layout = ws->fresh;
    }
    placement_layout(in, layout, owner);
}
