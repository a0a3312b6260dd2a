/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Throughputs from noisy samples, and what they say of a region's rho. */

#include "model/throughput.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRIM 5           /* a fifth of the batches at each end */
#define MAD_SIGMA 1.4826 /* standard deviations of a normal MAD */
#define CLIP_SIGMA 4.0   /* samples beyond weigh as if they were here */

/* CUSUM in deviations: what is allowed for, and where it rings.  Independent
 * normal noise alone would need years of epochs, a change by a tenth 7 samples.
 * Changes below 3 % never count: they would move no cores. */
#define DRIFT_ALLOWED 0.75
#define DRIFT_LIMIT 12.0
#define DRIFT_SPREAD 0.04 /* least deviation, relative */
#define DRIFT_LEAST 8     /* batches before which nothing is called drift */

/* What is known of noise before anything was measured, worth so many batches. */
#define PRIOR_SPREAD 0.03
#define PRIOR_BATCHES 2.0

#define AUTO_MAX 0.7 /* correlation of neighbours is counted up to this */

#define WORTH 0.05 /* of speedup, below which nobody would decide otherwise */
#define ROUGH 2.0
#define PRECISE 1.15
#define EDGE_STEPS 40

#define LADDER_STEPS 14
#define LADDER_ENOUGH 0.05 /* difference that a few samples show */

/* ---- series ------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The value that PLACE would have if VALUES[COUNT] were sorted; afterwards none
 * before it is greater.  (Hoare's FIND: with each batch two medians are asked
 * for, and no more of an order than that.) */
static double select_place(double *values, size_t count, size_t place)
{
    ptrdiff_t low = 0, high = (ptrdiff_t)count - 1, at = (ptrdiff_t)place;

    while (low < high) {
        double pivot = values[at];
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (pivot < values[j])
                j--;
            if (i > j)
                break;
            double value = values[i];
            values[i++] = values[j];
            values[j--] = value;
        }
        low = j < at ? i : low;
        high = at < i ? j : high;
    }
    return values[place];
}

static double median(double *values, size_t count)
{
    double upper = select_place(values, count, count / 2), lower;

    if (count % 2)
        return upper;
    lower = values[0];
    for (size_t i = 1; i < count / 2; i++)
        lower = fmax(lower, values[i]);
    return (lower + upper) / 2;
}

/* Remember middle and spread of single samples. */
static void look_back(struct throughput_series *s)
{
    double v[THROUGHPUT_BATCHES];

    memcpy(v, s->rate, s->count * sizeof(*v));
    s->middle = median(v, s->count);
    for (size_t i = 0; i < s->count; i++)
        v[i] = fabs(s->rate[i] - s->middle);
    s->spread = MAD_SIGMA * median(v, s->count) * sqrt(s->group);
}

static void join_neighbours(struct throughput_series *s)
{
    /* Batches are of nearly the same length. */
    for (size_t i = 0; i < s->count / 2; i++)
        s->rate[i] = (s->rate[2 * i] + s->rate[2 * i + 1]) / 2;
    s->count /= 2;
    s->group *= 2;
}

static bool drifted(struct throughput_series *s, double rate)
{
    double sigma = fmax(s->spread, DRIFT_SPREAD * s->middle);
    double z = (rate - s->middle) / sigma;

    z = fmin(fmax(z, -THROUGHPUT_CLIP), THROUGHPUT_CLIP);
    s->above = fmax(0, s->above + z - DRIFT_ALLOWED);
    s->below = fmax(0, s->below - z - DRIFT_ALLOWED);
    if (fmax(s->above, s->below) <= DRIFT_LIMIT)
        return false;
    s->above = s->below = 0;
    return true;
}

bool throughput_add(struct throughput_series *s, double work, double seconds)
{
    s->sample_work += work;
    s->sample_s += seconds;
    if (s->sample_work < THROUGHPUT_UNITS)
        return false;
    double rate = s->sample_work / s->sample_s;
    bool drift = s->middle > 0 && s->count >= DRIFT_LEAST && drifted(s, rate);
    s->work += s->sample_work;
    /* Within a batch nothing can be trimmed any more. */
    if (s->group > 1 && s->spread > 0)
        rate = fmin(fmax(rate, s->middle - CLIP_SIGMA * s->spread),
                    s->middle + CLIP_SIGMA * s->spread);
    s->group = s->group ? s->group : 1;
    s->batch_work += rate * s->sample_s;
    s->batch_s += s->sample_s;
    s->sample_work = s->sample_s = 0;
    if (++s->samples < s->group)
        return drift;
    s->rate[s->count++] = s->batch_work / s->batch_s;
    s->batch_work = s->batch_s = 0;
    s->samples = 0;
    look_back(s);
    if (s->count == THROUGHPUT_BATCHES)
        join_neighbours(s);
    return drift;
}

/* By how much the variance of a mean of V's neighbours, who go up and down
 * together, is greater than of independent ones. */
static double togetherness(const double *v, size_t n, double mean)
{
    double next = 0, same = 0;

    for (size_t i = 0; i < n; i++) {
        same += (v[i] - mean) * (v[i] - mean);
        if (i > 0)
            next += (v[i] - mean) * (v[i - 1] - mean);
    }
    if (!(same > 0))
        return 1;
    /* The estimate is low by about 1 / n. */
    double r = fmin(fmax(next / same + 1 / (double)n, 0), AUTO_MAX);
    return (1 + r) / (1 - r);
}

/* Relative variance of one batch. */
static double batch_variance(const double *v, size_t n, double centre,
                             uint32_t group)
{
    double prior = PRIOR_SPREAD * PRIOR_SPREAD / group, mean = 0, sum = 0;

    for (size_t i = 0; i < n; i++)
        mean += v[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        sum += (v[i] - mean) * (v[i] - mean);
    return (PRIOR_BATCHES * prior +
            sum / (centre * centre) * togetherness(v, n, mean)) /
           (PRIOR_BATCHES + (double)(n - 1));
}

enum model_status throughput_rate(const struct throughput_series *s,
                                  struct throughput_rate *rate)
{
    double v[THROUGHPUT_BATCHES], sum = 0;
    size_t n = s->count, cut = n / TRIM, kept = n - 2 * cut;

    if (n < THROUGHPUT_LEAST)
        return MODEL_ENODATA;
    memcpy(v, s->rate, n * sizeof(*v));
    qsort(v, n, sizeof(*v), compare);
    double lowest = v[cut], highest = v[n - 1 - cut];
    for (size_t i = cut; i < n - cut; i++)
        sum += v[i];
    double mean = sum / (double)kept;
    if (!(mean > 0))
        return MODEL_ENODATA;
    for (size_t i = 0; i < n; i++) /* in order of time again */
        v[i] = fmin(fmax(s->rate[i], lowest), highest);
    double variance = batch_variance(v, n, mean, s->group) / (double)n;
    /* Winsorised variance is to the trimmed mean as n is to what was kept. */
    variance *= pow((double)n / (double)kept, 2);
    /* The first and the last unit may have been done outside. */
    variance += pow(1 / s->work, 2) + pow(THROUGHPUT_FLOOR, 2);
    rate->rate = mean;
    rate->error = sqrt(variance);
    rate->freedom = PRIOR_BATCHES + (double)(kept - 1);
    return MODEL_OK;
}

/* ---- rho ---------------------------------------------------------------- */

double throughput_student(double freedom)
{
    static const double exact[] = {12.706, 4.303, 3.182, 2.776, 2.571};
    const double z = 1.959964;

    if (freedom < 5) {
        size_t i = freedom < 1 ? 0 : (size_t)freedom - 1;
        double part = freedom < 1 ? 0 : freedom - floor(freedom);
        return exact[i] + part * (exact[i + 1] - exact[i]);
    }
    /* Cornish and Fisher's expansion: right to 0.002 from 5 on. */
    double z3 = z * z * z, z5 = z3 * z * z;
    return z + (z3 + z) / (4 * freedom) +
           (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
           (3 * z5 * z * z + 19 * z5 + 17 * z3 - 15 * z) /
               (384 * freedom * freedom * freedom);
}

/* Weighted sum of squares at RHO with the unit rate that suits it best. */
static double squares(const struct station_sample *samples, size_t count,
                      double rho)
{
    double x[THROUGHPUT_POINTS_MAX], a = 0, aa = 0, sum = 0;

    for (size_t i = 0; i < count; i++) {
        x[i] = station_speedup(samples[i].cores, rho) / samples[i].throughput;
        a += samples[i].weight * x[i];
        aa += samples[i].weight * x[i] * x[i];
    }
    for (size_t i = 0; i < count; i++) {
        double error = a / aa * x[i] - 1;
        sum += samples[i].weight * error * error;
    }
    return sum;
}

/* Between INSIDE, where squares() is at most LIMIT, and OUTSIDE. */
static double edge(const struct station_sample *samples, size_t count,
                   double limit, double inside, double outside)
{
    for (int k = 0; k < EDGE_STEPS; k++) {
        double middle = sqrt(inside * outside);
        if (squares(samples, count, middle) <= limit)
            inside = middle;
        else
            outside = middle;
    }
    return inside;
}

static void interval(const struct station_sample *samples, size_t count,
                     double limit, struct throughput_rho *fit)
{
    double start = fmax(fit->rho, STATION_RHO_MIN);

    if (squares(samples, count, 0) <= limit)
        fit->low = 0;
    else
        fit->low = edge(samples, count, limit, start, STATION_RHO_MIN);
    if (squares(samples, count, STATION_RHO_MAX) <= limit)
        fit->high = INFINITY;
    else
        fit->high = edge(samples, count, limit, start, STATION_RHO_MAX);
    fit->high = fmax(fit->high, fit->rho);
    fit->low = fmin(fit->low, fit->rho);
}

enum model_status throughput_fit(const struct throughput_point *points,
                                 size_t count, struct throughput_rho *fit)
{
    struct station_sample samples[THROUGHPUT_POINTS_MAX];
    struct station_fit best;
    double up = 0, down = 0;

    if (count > THROUGHPUT_POINTS_MAX)
        return MODEL_EINVAL;
    if (count < 2)
        return MODEL_ENODATA;
    for (size_t i = 0; i < count; i++) {
        double e2 = points[i].rate.error * points[i].rate.error;
        if (!(e2 > 0) || !(points[i].rate.freedom >= 1))
            return MODEL_EINVAL;
        samples[i] = (struct station_sample){points[i].cores,
                                             points[i].rate.rate, 1 / e2};
        if (count == 2) { /* of a difference: Welch and Satterthwaite */
            up += e2;
            down += e2 * e2 / points[i].rate.freedom;
        } else { /* as each point weighs */
            up += 1 / e2;
            down += 1 / e2 / points[i].rate.freedom;
        }
    }
    enum model_status status = station_fit_rho(samples, count, &best);
    if (status != MODEL_OK)
        return status;
    double t = throughput_student(count == 2 ? up * up / down : up / down);
    double least = squares(samples, count, best.rho);
    /* Points that the model does not explain make the errors too small. */
    double scale = count > 2 ? fmax(1, least / (double)(count - 2)) : 1;
    fit->rho = best.rho;
    interval(samples, count, least + scale * t * t, fit);
    return MODEL_OK;
}

/* ---- what it is worth --------------------------------------------------- */

/* As a number that the recurrence can take. */
static double bounded(double rho)
{
    return fmin(rho, STATION_RHO_MAX);
}

enum throughput_verdict throughput_judge(const struct throughput_rho *fit,
                                         size_t most)
{
    double high = bounded(fit->high);
    double span = fit->low > 0 ? fmax(high / fit->rho, fit->rho / fit->low)
                               : INFINITY;

    if (span <= PRECISE)
        return THROUGHPUT_PRECISE;
    if (station_speedup(most, high) >= (1 - WORTH) * (double)most)
        return THROUGHPUT_COMPUTE;
    return span <= ROUGH ? THROUGHPUT_ROUGH : THROUGHPUT_OPEN;
}

bool throughput_matters(const struct throughput_rho *fit, size_t most)
{
    for (size_t n = most; n > 1; n /= 2)
        if (station_speedup(n, fit->low) >
            (1 + WORTH) * station_speedup(n, bounded(fit->high)))
            return true;
    return false;
}

/* Hypotheses: rho in steps, and the logarithm of each one's speedup. */
struct ladder {
    size_t steps;
    double rho[LADDER_STEPS];
};

static void local_search(const struct ladder *l, size_t cores, double *speed)
{
    for (size_t k = 0; k < l->steps; k++)
        speed[k] = log(station_speedup(cores, l->rho[k]));
}

/* How well two DoPs of speeds A and B tell step K from the next one: their ratio
 * changes by so much, and by more than enough is not better. */
static double told(const double *a, const double *b, size_t k)
{
    return fmin(fabs((a[k + 1] - b[k + 1]) - (a[k] - b[k])), LADDER_ENOUGH);
}

static double sum_told(const struct ladder *l, const double *speed,
                       double (*known)[LADDER_STEPS], size_t have,
                       const double *before)
{
    double sum = 0;

    for (size_t k = 0; k + 1 < l->steps; k++) {
        double best = before[k];
        for (size_t i = 0; i < have; i++)
            best = fmax(best, told(speed, known[i], k));
        sum += best - before[k];
    }
    return sum;
}

static bool contains(const size_t *cores, size_t have, size_t n)
{
    for (size_t i = 0; i < have; i++)
        if (cores[i] == n)
            return true;
    return false;
}

size_t throughput_next(const struct throughput_rho *fit, const size_t *cores,
                       size_t have, size_t most)
{
    /* With nothing known, from what is hardly memory-bound to very much so. */
    double low = fit ? fmax(fit->low, 0.01) : 0.01;
    double high = fit ? fmin(fmax(fit->high, 2 * low), 100 * low) : 2;
    double known[THROUGHPUT_POINTS_MAX][LADDER_STEPS], speed[LADDER_STEPS];
    double before[LADDER_STEPS] = {0}, most_told = -1;
    struct ladder l = {.steps = LADDER_STEPS};
    size_t best = 0;

    if (!have)
        return most;
    if (have > THROUGHPUT_POINTS_MAX)
        have = THROUGHPUT_POINTS_MAX;
    for (size_t k = 0; k < l.steps; k++)
        l.rho[k] = low * pow(high / low, (double)k / (LADDER_STEPS - 1));
    for (size_t i = 0; i < have; i++)
        local_search(&l, cores[i], known[i]);
    for (size_t i = 1; i < have; i++)
        for (size_t k = 0; k + 1 < l.steps; k++)
            for (size_t j = 0; j < i; j++)
                before[k] = fmax(before[k], told(known[i], known[j], k));
    for (size_t n = most; n; n /= 2) {
        if (contains(cores, have, n))
            continue;
        local_search(&l, n, speed);
        double sum = sum_told(&l, speed, known, have, before);
        if (sum > most_told * (1 + 1e-9)) {
            most_told = sum;
            best = n;
        }
    }
    return best;
}
