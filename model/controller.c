/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* DyNUMA's control of one parallel region. */

#include "model/controller.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mapping.h"

struct controller {
    const struct concurrency_model *model;
    enum concurrency_kind kind;
    enum concurrency_objective objective;
    const double *factor;
    struct controller_plan plan;
    double usual;                     /* mean cost of the sample iterations so far */
    struct controller_thread *sum;    /* [cores] over them, requests left out */
    double *requests;                 /* [cores * nodes] thread-node table */
    double *folded;                   /* [cores * nodes] for fewer threads */
    struct concurrency_thread *signature; /* [cores] */
    struct concurrency_curve *curve;
    size_t *node, *free_cores; /* [cores], [nodes] */
    double *critical;          /* [nodes] */
    struct mapping_scratch *scratch;
};

struct controller *controller_new(const struct concurrency_model *model,
                                  enum concurrency_kind kind,
                                  enum concurrency_objective objective, const double *factor)
{
    struct controller *c = calloc(1, sizeof(*c));
    size_t cores = model->shape.cores, nodes = model->shape.nodes;

    if (!c)
        return NULL;
    *c = (struct controller){.model = model, .kind = kind, .objective = objective,
                             .factor = factor, .plan.threads = cores};
    c->sum = calloc(cores, sizeof(*c->sum));
    c->requests = calloc(cores * nodes, sizeof(double));
    c->folded = calloc(cores * nodes, sizeof(double));
    c->signature = calloc(cores, sizeof(*c->signature));
    c->curve = concurrency_curve_new(model);
    c->node = calloc(cores, sizeof(*c->node));
    c->free_cores = calloc(nodes, sizeof(*c->free_cores));
    c->critical = calloc(nodes, sizeof(double));
    c->scratch = mapping_scratch_new(cores, nodes);
    if (c->sum && c->requests && c->folded && c->signature && c->curve && c->node &&
        c->free_cores && c->critical && c->scratch)
        return c;
    controller_free(c);
    return NULL;
}

void controller_free(struct controller *c)
{
    if (!c)
        return;
    free(c->sum);
    free(c->requests);
    free(c->folded);
    free(c->signature);
    concurrency_curve_free(c->curve);
    free(c->node);
    free(c->free_cores);
    free(c->critical);
    mapping_scratch_free(c->scratch);
    free(c);
}

struct controller_plan controller_plan(const struct controller *controller)
{
    return controller->plan;
}

static void settle(struct controller *c, enum controller_reason reason)
{
    c->plan.phase = CONTROLLER_SETTLED;
    c->plan.reason = reason;
    if (reason != CONTROLLER_BETTER) {
        c->plan.threads = c->model->shape.cores;
        c->plan.node = NULL;
    }
}

/* Rows of the thread-node table for THREADS threads, into FOLDED: thread t has the parts from
 * t * cores / threads to (t + 1) * cores / threads of all. */
static void fold(struct controller *c, size_t threads)
{
    size_t nodes = c->model->shape.nodes;
    double each = (double)c->model->shape.cores / (double)threads;

    memset(c->folded, 0, c->model->shape.cores * nodes * sizeof(double));
    for (size_t t = 0; t < threads; t++) {
        double from = (double)t * each, to = from + each;
        for (size_t i = (size_t)from; i < c->model->shape.cores && (double)i < to; i++) {
            double part = fmin(to, (double)i + 1) - fmax(from, (double)i);
            for (size_t j = 0; j < nodes; j++)
                c->folded[t * nodes + j] += part * c->requests[i * nodes + j];
        }
    }
}

/* Thread mapping arbiter for THREADS threads; false: there is nothing to map by. */
static bool map(struct controller *c, size_t threads)
{
    const struct concurrency_shape *shape = &c->model->shape;
    struct mapping_result result = {.node = c->node, .critical = c->critical};
    const struct mapping_input input = {
        .threads = threads, .nodes = shape->nodes, .requests = c->folded,
        .cores = c->free_cores, .factor = c->factor, .closeness = MAPPING_CLOSENESS};

    memset(c->free_cores, 0, shape->nodes * sizeof(*c->free_cores));
    for (size_t i = 0; i < shape->cores; i++)
        c->free_cores[shape->node[i]]++;
    fold(c, threads);
    return mapping_make(MAPPING_CRITICAL, &input, c->scratch, &result) == MODEL_OK;
}

/* True if THREADS threads by default are where the map has them. */
static bool mapped_as_usual(const struct controller *c, size_t threads)
{
    return threads == c->model->shape.cores &&
           memcmp(c->node, c->model->shape.node, threads * sizeof(*c->node)) == 0;
}

/* The samples are there: predict, choose, map. */
static enum model_status choose(struct controller *c)
{
    const struct concurrency_shape *shape = &c->model->shape;

    for (size_t i = 0; i < shape->cores; i++) {
        double all = 0, local = c->requests[i * shape->nodes + shape->node[i]];
        for (size_t j = 0; j < shape->nodes; j++)
            all += c->requests[i * shape->nodes + j];
        /* The counts of one iteration each, of a mean iteration's cycles. */
        double cycles = c->sum[i].cycles / (double)shape->nodes;
        c->signature[i] = (struct concurrency_thread){
            c->sum[i].instructions / c->sum[i].cycles, local / cycles, (all - local) / cycles,
            c->sum[i].branch_misses / c->sum[i].cycles};
    }
    if (concurrency_predict(c->model, c->kind, c->signature, c->curve) != MODEL_OK)
        return MODEL_EINVAL;
    c->plan.threads = concurrency_choose(c->curve, c->objective, 1, shape->cores, 0);
    c->plan.node = map(c, c->plan.threads) ? c->node : NULL;
    if (c->plan.threads == shape->cores &&
        (!c->plan.node || mapped_as_usual(c, c->plan.threads)))
        settle(c, CONTROLLER_PREDICTED);
    else
        c->plan.phase = CONTROLLER_CHECKS;
    return MODEL_OK;
}

static bool iteration_good(const struct controller *c, const struct controller_iteration *it)
{
    if (!(it->seconds > 0) || !isfinite(it->seconds) ||
        (c->objective != OBJECTIVE_TIME && !(it->joules >= 0 && isfinite(it->joules))))
        return false;
    if (c->plan.phase != CONTROLLER_SAMPLES)
        return true;
    for (size_t i = 0; it->thread && i < c->model->shape.cores; i++) {
        const struct controller_thread *t = &it->thread[i];
        if (!(t->cycles > 0) || !(t->instructions >= 0) || !(t->branch_misses >= 0) ||
            !(t->requests >= 0) ||
            !isfinite(t->cycles + t->instructions + t->branch_misses + t->requests))
            return false;
    }
    return it->thread;
}

static double cost(const struct controller *c, const struct controller_iteration *it)
{
    return c->objective == OBJECTIVE_TIME     ? it->seconds
           : c->objective == OBJECTIVE_ENERGY ? it->joules
                                              : it->joules * it->seconds;
}

static enum model_status sample(struct controller *c, const struct controller_iteration *it)
{
    const struct concurrency_shape *shape = &c->model->shape;

    /* An upper bound: none of the cores is taken to have waited. */
    if (it->seconds * (double)shape->cores < CONTROLLER_LEAST_S) {
        settle(c, CONTROLLER_SHORT);
        return MODEL_OK;
    }
    c->usual += cost(c, it) / (double)shape->nodes;
    for (size_t i = 0; i < shape->cores; i++) {
        c->sum[i].cycles += it->thread[i].cycles;
        c->sum[i].instructions += it->thread[i].instructions;
        c->sum[i].branch_misses += it->thread[i].branch_misses;
        c->requests[i * shape->nodes + c->plan.target] = it->thread[i].requests;
    }
    return ++c->plan.target < shape->nodes ? MODEL_OK : choose(c);
}

enum model_status controller_step(struct controller *c, const struct controller_iteration *it)
{
    if (c->plan.phase == CONTROLLER_SETTLED)
        return MODEL_OK;
    if (!iteration_good(c, it))
        return MODEL_EINVAL;
    if (c->plan.phase == CONTROLLER_SAMPLES)
        return sample(c, it);
    settle(c, cost(c, it) < c->usual ? CONTROLLER_BETTER : CONTROLLER_WORSE);
    return MODEL_OK;
}
