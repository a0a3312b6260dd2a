/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How many threads a parallel region should have: predictors. */

#include "model/concurrency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shape -------------------------------------------------------------------- */

static void shape_fill(const struct machine *machine, struct concurrency_shape *shape)
{
    size_t core = 0, nodes = shape->nodes;

    for (size_t i = 0; i < machine->llc_domains; i++) {
        size_t home = (size_t)machine->local_node[i];
        for (size_t cpu = 0; cpu < machine->cpus; cpu++)
            if (machine->llc_domain[cpu] == (int)i)
                shape->node[core++] = home;
        shape->linked[home * nodes + home] = true;
        for (size_t j = 0; j < nodes; j++)
            if (machine->route[i * nodes + j].links == 1)
                shape->linked[home * nodes + j] = shape->linked[j * nodes + home] = true;
    }
    /* Without any link all NUMA nodes are equally near. */
    for (size_t n = 0; !machine->links && n < nodes * nodes; n++)
        shape->linked[n] = true;
}

static bool shape_new(const struct machine *machine, struct concurrency_shape *shape)
{
    shape->cores = machine_all_cpus(machine);
    shape->nodes = machine->numa_nodes;
    shape->node = calloc(shape->cores, sizeof(*shape->node));
    shape->linked = calloc(shape->nodes * shape->nodes, sizeof(*shape->linked));
    if (!shape->node || !shape->linked)
        return false;
    shape_fill(machine, shape);
    return true;
}

struct concurrency_layers concurrency_layers(const struct concurrency_shape *shape)
{
    struct concurrency_layers l = {.first = shape->cores * CONCURRENCY_INPUTS};

    l.inner = l.first + shape->nodes;
    l.second = l.inner + shape->nodes * shape->nodes;
    l.output = l.second + shape->nodes;
    l.last = l.output + shape->cores * shape->nodes;
    l.all = l.last + shape->cores;
    return l;
}

size_t concurrency_weights(const struct concurrency_shape *shape)
{
    return concurrency_layers(shape).all;
}

/* ---- models ------------------------------------------------------------------- */

struct concurrency_model *concurrency_model_new(const struct machine *machine)
{
    struct concurrency_model *m = calloc(1, sizeof(*m));

    if (!m || !shape_new(machine, &m->shape))
        goto fail;
    for (size_t r = 0; r < CONCURRENCY_RATES; r++)
        m->scale[r] = 1;
    for (size_t t = 0; t < CONCURRENCY_TARGETS; t++) {
        m->middle[t] = calloc(m->shape.cores, sizeof(double));
        m->spread[t] = calloc(m->shape.cores, sizeof(double));
        m->weight[t] = calloc(concurrency_weights(&m->shape), sizeof(double));
        m->linear[t] = calloc(m->shape.cores * (CONCURRENCY_RATES + 1), sizeof(double));
        if (!m->middle[t] || !m->spread[t] || !m->weight[t] || !m->linear[t])
            goto fail;
        for (size_t i = 0; i < m->shape.cores; i++)
            m->spread[t][i] = 1;
    }
    return m;
fail:
    concurrency_model_free(m);
    return NULL;
}

void concurrency_model_free(struct concurrency_model *m)
{
    if (!m)
        return;
    for (size_t t = 0; t < CONCURRENCY_TARGETS; t++) {
        free(m->middle[t]);
        free(m->spread[t]);
        free(m->weight[t]);
        free(m->linear[t]);
    }
    free(m->shape.node);
    free(m->shape.linked);
    free(m);
}

static bool all_finite(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static bool all_positive(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(values[i] > 0) || !isfinite(values[i]))
            return false;
    return true;
}

enum model_status concurrency_model_check(const struct concurrency_model *m)
{
    size_t cores = m->shape.cores;

    if (!all_finite(m->mean, CONCURRENCY_RATES) || !all_positive(m->scale, CONCURRENCY_RATES))
        return MODEL_EINVAL;
    for (size_t t = 0; t < CONCURRENCY_TARGETS; t++)
        if (!all_finite(m->middle[t], cores) || !all_positive(m->spread[t], cores) ||
            !all_finite(m->weight[t], concurrency_weights(&m->shape)) ||
            !all_finite(m->linear[t], cores * (CONCURRENCY_RATES + 1)))
            return MODEL_EINVAL;
    return MODEL_OK;
}

bool concurrency_model_fits(const struct concurrency_model *model, const struct machine *machine)
{
    const struct concurrency_shape *own = &model->shape;
    struct concurrency_shape other = {0};
    bool fits = machine_all_cpus(machine) == own->cores && machine->numa_nodes == own->nodes &&
                shape_new(machine, &other) &&
                memcmp(other.node, own->node, own->cores * sizeof(*own->node)) == 0 &&
                memcmp(other.linked, own->linked,
                       own->nodes * own->nodes * sizeof(*own->linked)) == 0;

    free(other.node);
    free(other.linked);
    return fits;
}

/* ---- predictions -------------------------------------------------------------- */

struct concurrency_curve *concurrency_curve_new(const struct concurrency_model *model)
{
    struct concurrency_curve *curve = calloc(1, sizeof(*curve));
    size_t cores = model->shape.cores;

    if (!curve)
        return NULL;
    curve->cores = cores;
    curve->work = calloc(cores * (CONCURRENCY_INPUTS + CONCURRENCY_TARGETS) +
                             2 * model->shape.nodes,
                         sizeof(double));
    if (!curve->work) {
        free(curve);
        return NULL;
    }
    for (size_t t = 0; t < CONCURRENCY_TARGETS; t++)
        curve->cost[t] = curve->work + cores * (CONCURRENCY_INPUTS + t) + 2 * model->shape.nodes;
    return curve;
}

void concurrency_curve_free(struct concurrency_curve *curve)
{
    if (curve)
        free(curve->work);
    free(curve);
}

void concurrency_inputs(const struct concurrency_model *model,
                        const struct concurrency_thread *thread, double *input)
{
    for (size_t c = 0; c < model->shape.cores; c++) {
        const double rate[CONCURRENCY_INPUTS] = {thread[c].ipc, thread[c].local, thread[c].remote};
        for (size_t n = 0; n < CONCURRENCY_INPUTS; n++)
            input[c * CONCURRENCY_INPUTS + n] = (rate[n] - model->mean[n]) / model->scale[n];
    }
}

void concurrency_forward(const struct concurrency_shape *shape, const double *weight,
                         const double *input, double *cell, double *out)
{
    const struct concurrency_layers at = concurrency_layers(shape);
    size_t nodes = shape->nodes;
    double *second = cell + nodes;

    memcpy(cell, weight + at.first, nodes * sizeof(*cell));
    for (size_t c = 0; c < shape->cores; c++)
        for (size_t n = 0; n < CONCURRENCY_INPUTS; n++)
            cell[shape->node[c]] +=
                weight[c * CONCURRENCY_INPUTS + n] * input[c * CONCURRENCY_INPUTS + n];
    for (size_t j = 0; j < nodes; j++)
        cell[j] = tanh(cell[j]);
    for (size_t k = 0; k < nodes; k++) {
        double sum = weight[at.second + k];
        for (size_t j = 0; j < nodes; j++)
            if (shape->linked[k * nodes + j])
                sum += weight[at.inner + k * nodes + j] * cell[j];
        second[k] = tanh(sum);
    }
    for (size_t i = 0; i < shape->cores; i++) {
        out[i] = weight[at.last + i];
        for (size_t k = 0; k < nodes; k++)
            out[i] += weight[at.output + i * nodes + k] * second[k];
    }
}

static void predict_network(const struct concurrency_model *m,
                            const struct concurrency_thread *thread,
                            struct concurrency_curve *curve)
{
    double *cell = curve->work, *input = cell + 2 * m->shape.nodes;

    concurrency_inputs(m, thread, input);
    for (size_t t = 0; t < CONCURRENCY_TARGETS; t++) {
        concurrency_forward(&m->shape, m->weight[t], input, cell, curve->cost[t]);
        for (size_t i = 0; i < curve->cores; i++)
            curve->cost[t][i] = exp(m->middle[t][i] + m->spread[t][i] * curve->cost[t][i]);
    }
}

static void predict_linear(const struct concurrency_model *m,
                           const struct concurrency_thread *thread,
                           struct concurrency_curve *curve)
{
    double rate[CONCURRENCY_RATES] = {0}, all = (double)curve->cores;

    for (size_t c = 0; c < curve->cores; c++) {
        rate[0] += thread[c].ipc / all;
        rate[1] += thread[c].local / all;
        rate[2] += thread[c].remote / all;
        rate[3] += thread[c].branch_misses / all;
    }
    for (size_t t = 0; t < CONCURRENCY_TARGETS; t++)
        for (size_t i = 0; i < curve->cores; i++) {
            const double *h = &m->linear[t][i * (CONCURRENCY_RATES + 1)];
            double sum = h[CONCURRENCY_RATES];
            for (size_t r = 0; r < CONCURRENCY_RATES; r++)
                sum += h[r] * (rate[r] - m->mean[r]) / m->scale[r];
            /* A line may fall below what any cost can be. */
            curve->cost[t][i] = fmax(sum, 1e-3);
        }
}

enum model_status concurrency_predict(const struct concurrency_model *model,
                                      enum concurrency_kind kind,
                                      const struct concurrency_thread *thread,
                                      struct concurrency_curve *curve)
{
    for (size_t c = 0; c < model->shape.cores; c++) {
        double sum = thread[c].ipc + thread[c].local + thread[c].remote + thread[c].branch_misses;
        if (!isfinite(sum) || thread[c].ipc < 0 || thread[c].local < 0 || thread[c].remote < 0 ||
            thread[c].branch_misses < 0)
            return MODEL_EINVAL;
    }
    if (kind == CONCURRENCY_ANN)
        predict_network(model, thread, curve);
    else if (kind == CONCURRENCY_LINEAR)
        predict_linear(model, thread, curve);
    else
        return MODEL_EINVAL;
    for (size_t t = 0; t < CONCURRENCY_TARGETS; t++)
        curve->cost[t][curve->cores - 1] = 1; /* measured */
    return MODEL_OK;
}

double concurrency_cost(const struct concurrency_curve *curve,
                        enum concurrency_objective objective, size_t cores)
{
    double time = curve->cost[CONCURRENCY_TIME][cores - 1];
    double edp = curve->cost[CONCURRENCY_EDP][cores - 1];

    return objective == OBJECTIVE_TIME ? time : objective == OBJECTIVE_EDP ? edp : edp / time;
}

size_t concurrency_choose(const struct concurrency_curve *curve,
                          enum concurrency_objective objective, size_t low, size_t high,
                          double tolerance)
{
    double least = INFINITY;

    for (size_t i = low; i <= high; i++)
        least = fmin(least, concurrency_cost(curve, objective, i));
    for (size_t i = low; i < high; i++)
        if (concurrency_cost(curve, objective, i) <= least * (1 + tolerance))
            return i;
    return high;
}
