/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How much more often a job's threads miss when more of them share a last-level cache. */

#include "model/cache_power.h"

#include <math.h>

double cache_power_cores(const size_t *cores, size_t llc_domains)
{
    double all = 0, shared = 0;

    for (size_t i = 0; i < llc_domains; i++) {
        double here = (double)cores[i];
        all += here;
        shared += here * here;
    }
    return all > 0 ? shared / all : 0;
}

void cache_power_add(struct cache_power *p, const struct loop *loop)
{
    double n = log(cache_power_cores(loop->cores, loop->llc_domains));
    double r = log(loop_intensity(loop)), t = loop->total_us;

    if (!isfinite(n) || !isfinite(r))
        return;
    p->time += t;
    p->square += t * t;
    p->n += t * n;
    p->r += t * r;
    p->nn += t * n * n;
    p->nr += t * n * r;
    p->rr += t * r * r;
}

struct cache_power_line cache_power_line(const struct cache_power *p)
{
    struct cache_power_line line = {.noise = CACHE_POWER_NOISE};

    if (!(p->time > 0))
        return line;
    line.nn = fmax(0, p->nn - p->n * p->n / p->time);
    line.nr = p->nr - p->n * p->r / p->time;
    double rest = p->rr - p->r * p->r / p->time; /* of r, about the line */
    if (line.nn > 0)
        rest -= line.nr * line.nr / line.nn;
    line.noise = fmax(line.noise, rest / p->time * (p->square / p->time));
    return line;
}

void cache_power_join(struct cache_power_line *line, const struct cache_power_line *more)
{
    double nn = line->nn + more->nn;

    if (!(more->nn > 0))
        return;
    line->noise = (line->nn * line->noise + more->nn * more->noise) / nn;
    line->nn = nn;
    line->nr += more->nr;
}

double cache_power_slope(const struct cache_power_line *line, double usual)
{
    double prior = line->noise / (CACHE_POWER_PRIOR * CACHE_POWER_PRIOR);

    return fmax(0, fmin((line->nr + prior * usual) / (line->nn + prior), 1));
}

bool cache_power_known(const struct cache_power_line *line)
{
    return line->noise <= CACHE_POWER_KNOWN * CACHE_POWER_KNOWN * line->nn;
}
