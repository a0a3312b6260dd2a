/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How many threads a parallel region should have, by what its cores did with all of them. */

#ifndef COSCHED_MODEL_CONCURRENCY_H
#define COSCHED_MODEL_CONCURRENCY_H

/* Concept
 *
 * DyNUMA (section III.C) looks at a region that runs on all cores, at each thread's instructions
 * and its local and remote memory accesses per cycle, and predicts what the region would cost on
 * 1, 2, ... cores.  Two predictors were trained offline for one machine (analysis/train.h):
 *
 *   network   shaped like the machine: three inputs for each core, fed to the cell of its own NUMA
 *             node only; a second layer of cells, connected to the first as links connect NUMA
 *             nodes; output i is the cost on i cores.  Cells are tanh, outputs linear
 *   linear    the baseline (eq. 5): p_i = P_max H_i(m), H_i linear in the threads' mean rates,
 *             branch misses included, with the residual e_i relative to P_max
 *
 * Both predict costs relative to those on all cores, which were measured, so regions of different
 * lengths are alike.  The network works on their logarithms.  There is one network for time, one
 * for the energy-delay product P t^2 (eq. 1).  Energy follows as their quotient, and MFLOPS/W
 * (eq. 2) is inverse to it, as the floating-point operations of a region are the same on any number
 * of cores.  P is the power above that of the idle node (eq. 3).
 *
 * Pure and without GSL; nothing here allocates but the functions called new.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/machine.h"
#include "model/status.h"

/* A thread's signature; per cycle, >= 0. */
struct concurrency_thread {
    double ipc, local, remote;
    double branch_misses; /* for the linear predictor */
};

#define CONCURRENCY_INPUTS 3 /* of a core, to the network */
#define CONCURRENCY_RATES 4  /* members of struct concurrency_thread */

enum concurrency_kind { CONCURRENCY_OFF, CONCURRENCY_LINEAR, CONCURRENCY_ANN };

enum concurrency_target { CONCURRENCY_TIME, CONCURRENCY_EDP, CONCURRENCY_TARGETS };

/* What a job, or a site, wants the least of. */
enum concurrency_objective { OBJECTIVE_TIME, OBJECTIVE_ENERGY, OBJECTIVE_EDP, OBJECTIVES };

/* What a network has of its machine. */
struct concurrency_shape {
    size_t cores; /* of the machine, by LLC domain, ascending CPU numbers in each */
    size_t nodes; /* NUMA nodes */
    size_t *node; /* [cores] */
    bool *linked; /* [nodes * nodes] by a link of their own; true on the diagonal */
};

struct concurrency_model {
    struct concurrency_shape shape;
    /* Inputs are (rate - mean) / scale. */
    double mean[CONCURRENCY_RATES], scale[CONCURRENCY_RATES]; /* scale > 0 */
    /* Outputs of the network: log(cost) = middle + spread * output.  The last are for all cores
     * and are not used. */
    double *middle[CONCURRENCY_TARGETS], *spread[CONCURRENCY_TARGETS]; /* [cores] */
    double *weight[CONCURRENCY_TARGETS]; /* [concurrency_weights()] of the network */
    double *linear[CONCURRENCY_TARGETS]; /* [cores * (CONCURRENCY_RATES + 1)], constant last */
};

/* Costs on 1, 2, ... cores relative to those on all; [cores] each. */
struct concurrency_curve {
    size_t cores;
    double *cost[CONCURRENCY_TARGETS];
    double *work; /* of the prediction */
};

/* Untrained, all weights 0, for MACHINE; NULL when out of memory. */
struct concurrency_model *concurrency_model_new(const struct machine *machine);

/* Takes NULL. */
void concurrency_model_free(struct concurrency_model *model);

/* MODEL_EINVAL unless all numbers are finite and scales positive. */
enum model_status concurrency_model_check(const struct concurrency_model *model);

/* Is MODEL for a machine with these cores, NUMA nodes and links? */
bool concurrency_model_fits(const struct concurrency_model *model, const struct machine *machine);

/* For predictions of MODEL; NULL when out of memory. */
struct concurrency_curve *concurrency_curve_new(const struct concurrency_model *model);

/* Takes NULL. */
void concurrency_curve_free(struct concurrency_curve *curve);

/* Fill CURVE from THREAD[cores] of a run on all cores.  MODEL_EINVAL: a rate is not finite or
 * negative, or KIND is off. */
enum model_status concurrency_predict(const struct concurrency_model *model,
                                      enum concurrency_kind kind,
                                      const struct concurrency_thread *thread,
                                      struct concurrency_curve *curve);

/* Cost of OBJECTIVE on so many cores. */
double concurrency_cost(const struct concurrency_curve *curve,
                        enum concurrency_objective objective, size_t cores);

/* The number of cores from LOW to HIGH with the least cost; of all whose cost is at most 1 +
 * TOLERANCE times that, the fewest.  1 <= LOW <= HIGH <= curve->cores. */
size_t concurrency_choose(const struct concurrency_curve *curve,
                          enum concurrency_objective objective, size_t low, size_t high,
                          double tolerance);

/* Number of weights of a network of SHAPE. */
size_t concurrency_weights(const struct concurrency_shape *shape);

/* ---- for training ----------------------------------------------------------- */

/* Where in the weights the layers begin: of core c's input n into the cell of its node at
 * c * CONCURRENCY_INPUTS + n; the cells' constants; from cell j to cell k of the second layer at
 * inner + k * nodes + j (not used where they are not linked); its constants; from cell k to output
 * i at output + i * nodes + k; the outputs' constants. */
struct concurrency_layers {
    size_t first, inner, second, output, last, all;
};

struct concurrency_layers concurrency_layers(const struct concurrency_shape *shape);

/* INPUT[cores * CONCURRENCY_INPUTS] of THREAD[cores]. */
void concurrency_inputs(const struct concurrency_model *model,
                        const struct concurrency_thread *thread, double *input);

/* Both layers of CELL[2 * nodes] and OUT[cores]. */
void concurrency_forward(const struct concurrency_shape *shape, const double *weight,
                         const double *input, double *cell, double *out);

#endif /* COSCHED_MODEL_CONCURRENCY_H */
