/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which NUMA node a core asks. */

#include "model/locality.h"

#include <math.h>
#include <string.h>

/* What all-own and all-alike must differ by, as a part of all requests.  Requests on an LLC domain
 * that jobs share are divided between them, whatever nodes each asks: a job with three quarters of
 * its data and most of its cores on one node (0.17) then seems to have its threads' own data. */
#define TELLS 0.25

/* Parts below are rounding. */
#define NOTHING 1e-12

struct locality_own locality_own(double data, double cores, double spare, double locality)
{
    double here = spare > NOTHING ? fmin(1, data / cores) : 1;

    return (struct locality_own){locality * here,
                                 here < 1 ? locality * (1 - here) / spare : 0};
}

void locality_parts(const double *data, const double *cores, size_t numa_nodes, size_t home,
                    double locality, double *part)
{
    double spare = 0;

    for (size_t m = 0; m < numa_nodes; m++)
        spare += fmax(0, data[m] - cores[m]);
    struct locality_own own = locality_own(data[home], cores[home], spare, locality);
    for (size_t m = 0; m < numa_nodes; m++)
        part[m] = (1 - locality) * data[m] + own.away * fmax(0, data[m] - cores[m]);
    part[home] += own.here;
}

void locality_factors(const struct workload *w, const double *cores, size_t home, double *factor)
{
    double data[w->numa_nodes], sum = workload_total(w).mrr_per_us;

    for (size_t m = 0; m < w->numa_nodes; m++)
        factor[m] = 1;
    if (!(w->locality > 0) || !(sum > 0) || !(cores[home] > 0))
        return;
    for (size_t m = 0; m < w->numa_nodes; m++)
        data[m] = w->rate[m].mrr_per_us / sum;
    locality_parts(data, cores, w->numa_nodes, home, w->locality, factor);
    for (size_t m = 0; m < w->numa_nodes; m++)
        factor[m] = data[m] > 0 ? factor[m] / data[m] : 1;
}

/* All requests of LLC domain I of LOOP, and those to its own NUMA node HOME into *OWN. */
static double requests_of(const struct loop *loop, size_t i, size_t home, double *own)
{
    const struct loop_requests *r = &loop->requests[i * loop->numa_nodes];
    double sum = 0;

    for (size_t m = 0; m < loop->numa_nodes; m++) {
        double all = r[m].read + r[m].write + r[m].prefetch;
        sum += all;
        if (m == home)
            *own = all;
    }
    return sum;
}

double locality_measured(const struct machine *machine, const struct loop *loop)
{
    size_t nodes = loop->numa_nodes;
    double data[nodes], cores[nodes], all = 0, count = (double)loop_cores(loop);
    double found = 0, alike = 0, own = 0; /* requests to the own NUMA node */

    memset(cores, 0, sizeof(cores));
    for (size_t m = 0; m < nodes; m++) {
        struct loop_requests r = loop_requests_to(loop, m);
        all += data[m] = r.read + r.write + r.prefetch;
    }
    if (!(all > 0))
        return NAN;
    for (size_t m = 0; m < nodes; m++)
        data[m] /= all;
    for (size_t i = 0; i < loop->llc_domains; i++)
        cores[machine->local_node[i]] += (double)loop->cores[i] / count;
    for (size_t i = 0; i < loop->llc_domains; i++) {
        size_t home = (size_t)machine->local_node[i];
        double here = 0, sum;
        if (!loop->cores[i])
            continue;
        sum = requests_of(loop, i, home, &here) / all;
        found += here / all;
        alike += sum * data[home];
        own += sum * fmin(1, data[home] / cores[home]);
    }
    return own - alike < TELLS ? NAN : fmin(1, fmax(0, (found - alike) / (own - alike)));
}
