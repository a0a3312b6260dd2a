/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The model's numbers from measurements, by least squares. */

#include "model/analysis/fit.h"

#include <math.h>

#include <gsl/gsl_blas.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>

#define KINDS 3 /* reads, writes, prefetches */
#define GRID_PER_DECADE 40
#define BISECTIONS 60

/* ---- service times by kind ---- */

/* GSL's work space of one regression; columns are the kinds that occur. */
struct regression {
    size_t rows, columns;
    size_t kind[KINDS]; /* column -> kind */
    gsl_matrix *shares; /* each column of length 1, for their condition */
    gsl_matrix *x;      /* shares over measured times: relative errors count */
    gsl_vector *y;
    gsl_vector *c;
    gsl_matrix *cov;
    gsl_multifit_linear_workspace *work;
};

static void numbers_of(const struct fit_run *run, double *numbers)
{
    numbers[0] = run->reads;
    numbers[1] = run->writes;
    numbers[2] = run->prefetches;
}

static bool run_valid(const struct fit_run *run)
{
    return run->reads >= 0 && run->writes >= 0 && run->prefetches >= 0 &&
           run->reads + run->writes + run->prefetches > 0 &&
           isfinite(run->reads + run->writes + run->prefetches) &&
           run->busy_us > 0 && isfinite(run->busy_us) && run->weight > 0 &&
           isfinite(run->weight);
}

static void choose_columns(struct regression *g, const struct fit_run *runs)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        double sum = 0, numbers[KINDS];
        for (size_t r = 0; r < g->rows; r++) {
            numbers_of(&runs[r], numbers);
            sum += numbers[kind];
        }
        if (sum > 0)
            g->kind[g->columns++] = kind;
    }
}

static bool allocate(struct regression *g)
{
    g->shares = gsl_matrix_alloc(g->rows, g->columns);
    g->x = gsl_matrix_alloc(g->rows, g->columns);
    g->y = gsl_vector_alloc(g->rows);
    g->c = gsl_vector_alloc(g->columns);
    g->cov = gsl_matrix_alloc(g->columns, g->columns);
    g->work = gsl_multifit_linear_alloc(g->rows, g->columns);
    return g->shares && g->x && g->y && g->c && g->cov && g->work;
}

/* GSL's functions take NULL. */
static void release(struct regression *g)
{
    gsl_multifit_linear_free(g->work);
    gsl_matrix_free(g->cov);
    gsl_vector_free(g->c);
    gsl_vector_free(g->y);
    gsl_matrix_free(g->x);
    gsl_matrix_free(g->shares);
}

static void fill(struct regression *g, const struct fit_run *runs)
{
    for (size_t r = 0; r < g->rows; r++) {
        double numbers[KINDS], root = sqrt(runs[r].weight);
        numbers_of(&runs[r], numbers);
        double all = numbers[0] + numbers[1] + numbers[2];
        double time = runs[r].busy_us / all;

        gsl_vector_set(g->y, r, root);
        for (size_t k = 0; k < g->columns; k++) {
            double share = numbers[g->kind[k]] / all;
            gsl_matrix_set(g->shares, r, k, share);
            gsl_matrix_set(g->x, r, k, root * share / time);
        }
    }
    for (size_t k = 0; k < g->columns; k++) {
        gsl_vector_view column = gsl_matrix_column(g->shares, k);
        gsl_vector_scale(&column.vector,
                         1 / gsl_blas_dnrm2(&column.vector));
    }
}

/* Put what the columns say into FIT. */
static void report(const struct regression *g, double chisq, double weights,
                   struct fit_service *fit)
{
    double time[KINDS] = {0}, error[KINDS] = {0};
    bool has[KINDS] = {false};
    double freedom = (double)(g->rows - g->columns);

    for (size_t k = 0; k < g->columns; k++) {
        has[g->kind[k]] = true;
        time[g->kind[k]] = gsl_vector_get(g->c, k);
        error[g->kind[k]] =
            freedom > 0 ? sqrt(gsl_matrix_get(g->cov, k, k)) : 0;
    }
    /* What never occurred: like a read, else like what there is. */
    for (size_t kind = 0; kind < KINDS; kind++)
        if (!has[kind])
            time[kind] = time[has[0] ? 0 : has[1] ? 1 : 2];
    fit->service = (struct machine_service){time[0], time[1], time[2]};
    fit->error = (struct machine_service){error[0], error[1], error[2]};
    fit->has_read = has[0];
    fit->has_write = has[1];
    fit->has_prefetch = has[2];
    fit->residual = sqrt(chisq / weights);
}

static enum model_status regress(struct regression *g,
                                 const struct fit_run *runs,
                                 struct fit_service *fit)
{
    double chisq, weights = 0;

    fill(g, runs);
    for (size_t r = 0; r < g->rows; r++)
        weights += runs[r].weight;
    if (gsl_multifit_linear_svd(g->shares, g->work) != GSL_SUCCESS)
        return MODEL_ENODATA;
    fit->rcond = gsl_multifit_linear_rcond(g->work);
    if (!(fit->rcond >= FIT_MIN_RCOND) ||
        gsl_multifit_linear(g->x, g->y, g->c, g->cov, &chisq, g->work) !=
            GSL_SUCCESS)
        return MODEL_ENODATA;
    for (size_t k = 0; k < g->columns; k++)
        if (!(gsl_vector_get(g->c, k) > 0))
            return MODEL_ENODATA;
    report(g, chisq, weights, fit);
    return MODEL_OK;
}

enum model_status fit_service(const struct fit_run *runs, size_t count,
                              struct fit_service *fit)
{
    struct regression g = {.rows = count};
    enum model_status status;

    for (size_t r = 0; r < count; r++)
        if (!run_valid(&runs[r]))
            return MODEL_EINVAL;
    *fit = (struct fit_service){0};
    choose_columns(&g, runs);
    if (count == 0 || count < g.columns)
        return MODEL_ENODATA;
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    status = allocate(&g) ? regress(&g, runs, fit) : MODEL_ENOMEM;
    release(&g);
    gsl_set_error_handler(handler);
    return status;
}

/* ---- rho ---- */

/* Weighted sum of squared relative errors with RHO and the unit rate that
 * suits it best. */
static double squares(const struct fit_rho_input *in, double rho)
{
    double a = 0, aa = 0, sum = 0;

    for (size_t i = 0; i < in->count; i++) {
        const struct station_sample *s = &in->samples[i];
        double x = station_speedup(s->cores, rho) / s->throughput;
        a += s->weight * x;
        aa += s->weight * x * x;
    }
    for (size_t i = 0; i < in->count; i++) {
        const struct station_sample *s = &in->samples[i];
        double x = station_speedup(s->cores, rho) / s->throughput;
        double error = a / aa * x - 1;
        sum += s->weight * error * error;
    }
    return sum;
}

/* Between rho INSIDE, where squares() is at most LIMIT, and OUTSIDE. */
static double edge(const struct fit_rho_input *in, double limit, double inside,
                   double outside)
{
    for (int k = 0; k < BISECTIONS; k++) {
        double middle = sqrt(inside * outside);
        if (squares(in, middle) <= limit)
            inside = middle;
        else
            outside = middle;
    }
    return inside;
}

static double grid_at(int step)
{
    return STATION_RHO_MIN * pow(10, (double)step / GRID_PER_DECADE);
}

/* The outermost rho that LIMIT allows into FIT, whose best rho is known. */
static void interval(const struct fit_rho_input *in, double limit,
                     struct fit_rho *fit)
{
    int last = (int)lround(GRID_PER_DECADE *
                           log10(STATION_RHO_MAX / STATION_RHO_MIN));
    int first_in = -1, last_in = -1;

    for (int step = 0; step <= last; step++)
        if (squares(in, grid_at(step)) <= limit) {
            first_in = first_in < 0 ? step : first_in;
            last_in = step;
        }
    double low = fit->rho, high = fit->rho; /* may be between grid points */
    if (first_in >= 0) {
        low = fmin(low, grid_at(first_in));
        high = fmax(high, grid_at(last_in));
    }
    if (squares(in, 0) <= limit || low == 0)
        fit->low = 0;
    else if (low <= STATION_RHO_MIN)
        fit->low = STATION_RHO_MIN;
    else
        fit->low = edge(in, limit, low, fmax(low / 2, STATION_RHO_MIN / 2));
    if (high >= STATION_RHO_MAX * (1 - 1e-9))
        fit->high = INFINITY;
    else
        fit->high = high == 0 ? STATION_RHO_MIN
                              : edge(in, limit, high, high * 2);
}

/* Does the interval say something? */
static bool tells(const struct fit_rho_input *in, const struct fit_rho *fit)
{
    size_t most = 1;

    for (size_t i = 0; i < in->count; i++)
        most = in->samples[i].cores > most ? in->samples[i].cores : most;
    return isfinite(fit->high) &&
           (fit->high <= FIT_MAX_SPAN * fit->low ||
            station_speedup(most, fit->high) >=
                FIT_COMPUTE_BOUND * (double)most);
}

/* How much worse than the best fit a rho may be. */
static double allowed(const struct fit_rho_input *in, double least)
{
    if (in->noise > 0)
        return least + in->noise * in->noise *
                           gsl_cdf_chisq_Pinv(in->confidence, 1);
    double freedom = (double)in->count - 2;
    return least * (1 + gsl_cdf_fdist_Pinv(in->confidence, 1, freedom) /
                            freedom);
}

enum model_status fit_rho(const struct fit_rho_input *in, struct fit_rho *fit)
{
    struct station_fit best;
    enum model_status status;

    if (!(in->confidence > 0 && in->confidence < 1) || !(in->noise >= 0) ||
        !isfinite(in->noise))
        return MODEL_EINVAL;
    status = station_fit_rho(in->samples, in->count, &best);
    if (status != MODEL_OK)
        return status;
    *fit = (struct fit_rho){.rho = best.rho,
                            .high = INFINITY,
                            .unit_rate = best.unit_rate,
                            .residual = best.residual};
    if (!(in->noise > 0) && in->count < 3)
        return MODEL_ENODATA;
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    double limit = allowed(in, squares(in, best.rho));
    gsl_set_error_handler(handler);
    interval(in, limit, fit);
    return tells(in, fit) ? MODEL_OK : MODEL_ENODATA;
}
