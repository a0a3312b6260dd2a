/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Training of the predictors of model/concurrency.h. */

#include "model/analysis/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>

/* ---- what is common to all samples --------------------------------------------- */

static double rate_of(const struct concurrency_thread *t, size_t r)
{
    const double rate[CONCURRENCY_RATES] = {t->ipc, t->local, t->remote, t->branch_misses};

    return rate[r];
}

static bool sample_good(const struct train_sample *s, size_t cores)
{
    for (size_t c = 0; c < cores; c++)
        for (size_t r = 0; r < CONCURRENCY_RATES; r++)
            if (!(rate_of(&s->thread[c], r) >= 0) || !isfinite(rate_of(&s->thread[c], r)))
                return false;
    for (size_t t = 0; t < CONCURRENCY_TARGETS; t++)
        for (size_t i = 0; i < cores; i++)
            if (!(s->cost[t][i] > 0) || !isfinite(s->cost[t][i]))
                return false;
    return true;
}

/* Mean of SUM over COUNT, and the deviation from it by SQUARES; 1 where all are the same. */
static void moments(double sum, double squares, double count, double *mean, double *deviation)
{
    double variance = squares / count - (sum / count) * (sum / count);

    *mean = sum / count;
    *deviation = variance > 1e-12 * squares / count && variance > 0 ? sqrt(variance) : 1;
}

static double log_ratio(const struct train_sample *s, size_t target, size_t i, size_t cores)
{
    return log(s->cost[target][i] / s->cost[target][cores - 1]);
}

static void standardise(const struct train_sample *const *samples, size_t count,
                        struct concurrency_model *m)
{
    size_t cores = m->shape.cores;

    for (size_t r = 0; r < CONCURRENCY_RATES; r++) {
        double sum = 0, squares = 0;
        for (size_t s = 0; s < count; s++)
            for (size_t c = 0; c < cores; c++) {
                double rate = rate_of(&samples[s]->thread[c], r);
                sum += rate;
                squares += rate * rate;
            }
        moments(sum, squares, (double)(count * cores), &m->mean[r], &m->scale[r]);
    }
    for (size_t t = 0; t < CONCURRENCY_TARGETS; t++)
        for (size_t i = 0; i < cores; i++) {
            double sum = 0, squares = 0;
            for (size_t s = 0; s < count; s++) {
                double value = log_ratio(samples[s], t, i, cores);
                sum += value;
                squares += value * value;
            }
            moments(sum, squares, (double)count, &m->middle[t][i], &m->spread[t][i]);
        }
}

/* ---- the linear predictor ------------------------------------------------------ */

struct regression {
    gsl_matrix *x, *cov;
    gsl_vector *y, *c;
    gsl_multifit_linear_workspace *work;
};

static void regression_free(struct regression *g)
{
    gsl_multifit_linear_free(g->work);
    gsl_matrix_free(g->x);
    gsl_matrix_free(g->cov);
    gsl_vector_free(g->y);
    gsl_vector_free(g->c);
}

static bool regression_new(struct regression *g, size_t count)
{
    g->x = gsl_matrix_alloc(count, CONCURRENCY_RATES + 1);
    g->cov = gsl_matrix_alloc(CONCURRENCY_RATES + 1, CONCURRENCY_RATES + 1);
    g->y = gsl_vector_alloc(count);
    g->c = gsl_vector_alloc(CONCURRENCY_RATES + 1);
    g->work = gsl_multifit_linear_alloc(count, CONCURRENCY_RATES + 1);
    return g->x && g->cov && g->y && g->c && g->work;
}

/* The costs on I + 1 cores, relative errors. */
static bool regress(struct regression *g, const struct train_sample *const *samples,
                    size_t count, size_t target, size_t i, struct concurrency_model *m)
{
    size_t cores = m->shape.cores, rank;
    double chisq;

    for (size_t s = 0; s < count; s++) {
        double ratio = samples[s]->cost[target][i] / samples[s]->cost[target][cores - 1];
        for (size_t r = 0; r < CONCURRENCY_RATES; r++) {
            double mean = 0;
            for (size_t c = 0; c < cores; c++)
                mean += rate_of(&samples[s]->thread[c], r) / (double)cores;
            gsl_matrix_set(g->x, s, r, (mean - m->mean[r]) / m->scale[r] / ratio);
        }
        gsl_matrix_set(g->x, s, CONCURRENCY_RATES, 1 / ratio);
        gsl_vector_set(g->y, s, 1);
    }
    /* By singular values: rates that never differ count for nothing. */
    if (gsl_multifit_linear_tsvd(g->x, g->y, 1e-8, g->c, g->cov, &chisq, &rank, g->work) !=
        GSL_SUCCESS)
        return false;
    for (size_t r = 0; r <= CONCURRENCY_RATES; r++)
        m->linear[target][i * (CONCURRENCY_RATES + 1) + r] = gsl_vector_get(g->c, r);
    return true;
}

static enum model_status train_linear(const struct train_sample *const *samples, size_t count,
                                      struct concurrency_model *m)
{
    struct regression g = {0};
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    enum model_status status = regression_new(&g, count) ? MODEL_OK : MODEL_ENOMEM;

    for (size_t t = 0; t < CONCURRENCY_TARGETS; t++)
        for (size_t i = 0; status == MODEL_OK && i < m->shape.cores; i++)
            if (!regress(&g, samples, count, t, i, m))
                status = MODEL_ENODATA;
    regression_free(&g);
    gsl_set_error_handler(handler);
    return status;
}

/* ---- the network --------------------------------------------------------------- */

/* splitmix64: -1..1 */
static double random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

struct network_training {
    const struct concurrency_shape *shape;
    size_t count;
    double *input;  /* [count * cores * CONCURRENCY_INPUTS] */
    double *target; /* [count * cores], standardised */
    double *gradient, *before, *step; /* [weights] */
    double *cell, *out, *error;       /* of one sample: [2 * nodes], [cores], [2 * nodes] */
};

static bool training_new(struct network_training *n, const struct concurrency_shape *shape,
                         size_t count)
{
    size_t weights = concurrency_weights(shape);

    *n = (struct network_training){.shape = shape, .count = count};
    n->input = calloc(count * shape->cores * CONCURRENCY_INPUTS, sizeof(double));
    n->target = calloc(count * shape->cores, sizeof(double));
    n->gradient = calloc(3 * weights, sizeof(double));
    n->cell = calloc(4 * shape->nodes + shape->cores, sizeof(double));
    if (!n->input || !n->target || !n->gradient || !n->cell)
        return false;
    n->before = n->gradient + weights;
    n->step = n->before + weights;
    n->error = n->cell + 2 * shape->nodes;
    n->out = n->error + 2 * shape->nodes;
    return true;
}

static void training_free(struct network_training *n)
{
    free(n->input);
    free(n->target);
    free(n->gradient);
    free(n->cell);
}

/* Add the gradient of half the squared error of sample S. */
static void propagate_back(struct network_training *n, const double *weight, size_t s)
{
    const struct concurrency_shape *shape = n->shape;
    const struct concurrency_layers at = concurrency_layers(shape);
    size_t nodes = shape->nodes;
    const double *input = &n->input[s * shape->cores * CONCURRENCY_INPUTS];
    const double *target = &n->target[s * shape->cores];
    double *first = n->error, *second = n->error + nodes, *g = n->gradient;

    concurrency_forward(shape, weight, input, n->cell, n->out);
    memset(n->error, 0, 2 * nodes * sizeof(double));
    for (size_t i = 0; i + 1 < shape->cores; i++) {
        double wrong = n->out[i] - target[i];
        g[at.last + i] += wrong;
        for (size_t k = 0; k < nodes; k++) {
            g[at.output + i * nodes + k] += wrong * n->cell[nodes + k];
            second[k] += wrong * weight[at.output + i * nodes + k];
        }
    }
    for (size_t k = 0; k < nodes; k++) {
        second[k] *= 1 - n->cell[nodes + k] * n->cell[nodes + k];
        g[at.second + k] += second[k];
        for (size_t j = 0; j < nodes; j++)
            if (shape->linked[k * nodes + j]) {
                g[at.inner + k * nodes + j] += second[k] * n->cell[j];
                first[j] += second[k] * weight[at.inner + k * nodes + j];
            }
    }
    for (size_t j = 0; j < nodes; j++) {
        first[j] *= 1 - n->cell[j] * n->cell[j];
        g[at.first + j] += first[j];
    }
    for (size_t c = 0; c < shape->cores; c++)
        for (size_t r = 0; r < CONCURRENCY_INPUTS; r++)
            g[c * CONCURRENCY_INPUTS + r] +=
                first[shape->node[c]] * input[c * CONCURRENCY_INPUTS + r];
}

/* One step of iRprop-. */
static void descend(struct network_training *n, double *weight)
{
    size_t weights = concurrency_weights(n->shape);

    for (size_t w = 0; w < weights; w++) {
        double turn = n->gradient[w] * n->before[w];
        if (turn > 0)
            n->step[w] = fmin(1.2 * n->step[w], 1);
        else if (turn < 0) {
            n->step[w] = fmax(0.5 * n->step[w], 1e-9);
            n->gradient[w] = 0;
        }
        if (n->gradient[w] != 0)
            weight[w] -= copysign(n->step[w], n->gradient[w]);
        n->before[w] = n->gradient[w];
    }
}

static void train_target(struct network_training *n, const struct train_options *options,
                         double *weight)
{
    const struct concurrency_layers at = concurrency_layers(n->shape);
    size_t weights = at.all, each = n->shape->cores / n->shape->nodes * CONCURRENCY_INPUTS + 1;
    uint64_t random = options->seed;

    for (size_t w = 0; w < weights; w++) {
        double into = w < at.first ? (double)each : (double)n->shape->nodes;
        weight[w] = random_next(&random) / sqrt(into);
        n->step[w] = 0.01;
        n->before[w] = 0;
    }
    for (size_t round = 0; round < options->rounds; round++) {
        memset(n->gradient, 0, weights * sizeof(double));
        for (size_t s = 0; s < n->count; s++)
            propagate_back(n, weight, s);
        descend(n, weight);
    }
}

static enum model_status train_network(const struct train_sample *const *samples, size_t count,
                                       const struct train_options *options,
                                       struct concurrency_model *m)
{
    struct network_training n;
    size_t cores = m->shape.cores;
    enum model_status status = training_new(&n, &m->shape, count) ? MODEL_OK : MODEL_ENOMEM;

    for (size_t s = 0; status == MODEL_OK && s < count; s++)
        concurrency_inputs(m, samples[s]->thread, &n.input[s * cores * CONCURRENCY_INPUTS]);
    for (size_t t = 0; status == MODEL_OK && t < CONCURRENCY_TARGETS; t++) {
        for (size_t s = 0; s < count; s++)
            for (size_t i = 0; i < cores; i++)
                n.target[s * cores + i] =
                    (log_ratio(samples[s], t, i, cores) - m->middle[t][i]) / m->spread[t][i];
        train_target(&n, options, m->weight[t]);
    }
    training_free(&n);
    return status;
}

enum model_status train_model(const struct train_sample *const *samples, size_t count,
                              const struct train_options *options,
                              struct concurrency_model *model)
{
    if (count < TRAIN_LEAST)
        return MODEL_ENODATA;
    if (options->rounds < 1)
        return MODEL_EINVAL;
    for (size_t s = 0; s < count; s++)
        if (!sample_good(samples[s], model->shape.cores))
            return MODEL_EINVAL;
    standardise(samples, count, model);
    enum model_status status = train_linear(samples, count, model);
    if (status == MODEL_OK)
        status = train_network(samples, count, options, model);
    return status == MODEL_OK ? concurrency_model_check(model) : status;
}
