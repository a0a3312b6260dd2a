/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How many cores are of use to a region, as predicted from what its threads did on all. */

#include "node_agent/core/useful.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one core has counted so far. */
struct counted {
    double cycles, instructions, local, remote;
};

struct useful {
    const struct concurrency_model *model;
    struct counted *core; /* [model->shape.cores]; NULL once the signature is there */
    uint64_t time_ns;
    struct concurrency_thread *thread; /* [cores] the signature */
    size_t cores[CONCURRENCY_ANN + 1][OBJECTIVES]; /* 0: not asked so far */
};

struct useful *useful_new(const struct concurrency_model *model)
{
    struct useful *u = calloc(1, sizeof(*u));

    if (!u)
        return NULL;
    u->model = model;
    u->core = calloc(model->shape.cores, sizeof(*u->core));
    u->thread = calloc(model->shape.cores, sizeof(*u->thread));
    if (!u->core || !u->thread) {
        useful_free(u);
        return NULL;
    }
    return u;
}

void useful_free(struct useful *u)
{
    if (!u)
        return;
    free(u->core);
    free(u->thread);
    free(u);
}

/* Cores in the model's order: by LLC domain, ascending CPU numbers in each.  False where something
 * was not counted. */
static bool add_cores(struct useful *u, const struct machine *machine, const struct sample *sample)
{
    size_t core = 0;

    for (size_t d = 0; d < machine->llc_domains; d++)
        for (size_t c = 0; c < machine->cpus; c++) {
            const struct sample_cpu *s = &sample->cpu[c];
            if (machine->llc_domain[c] != (int)d)
                continue;
            if (!(s->cycles > 0) || !(s->instructions >= 0) || !(s->local_misses >= 0) ||
                !(s->remote_misses >= 0) || core == u->model->shape.cores)
                return false;
            struct counted *to = &u->core[core++];
            to->cycles += s->cycles;
            to->instructions += s->instructions;
            to->local += s->local_misses;
            to->remote += s->remote_misses;
        }
    return core == u->model->shape.cores;
}

size_t useful_of(const struct useful *u)
{
    return u->model->shape.cores;
}

void useful_add(struct useful *u, const struct machine *machine, const struct sample *sample)
{
    size_t cores = u->model->shape.cores;

    if (!u->core)
        return;
    u->time_ns += sample->time_ns;
    if (!add_cores(u, machine, sample)) { /* from the beginning */
        memset(u->core, 0, cores * sizeof(*u->core));
        u->time_ns = 0;
    }
    if (u->time_ns < USEFUL_NS)
        return;
    for (size_t i = 0; i < cores; i++) {
        const struct counted *from = &u->core[i];
        u->thread[i] = (struct concurrency_thread){
            .ipc = from->instructions / from->cycles,
            .local = from->local / from->cycles,
            .remote = from->remote / from->cycles,
            /* Which the agent does not count: as those it was trained with. */
            .branch_misses = fmax(0, u->model->mean[CONCURRENCY_RATES - 1]),
        };
    }
    free(u->core);
    u->core = NULL;
}

bool useful_known(const struct useful *u)
{
    return u && !u->core;
}

size_t useful_cores(struct useful *u, enum concurrency_kind kind,
                    enum concurrency_objective objective)
{
    if (!useful_known(u) || kind == CONCURRENCY_OFF)
        return 0;
    size_t *known = &u->cores[kind][objective];
    struct concurrency_curve *curve = *known ? NULL : concurrency_curve_new(u->model);
    if (curve && concurrency_predict(u->model, kind, u->thread, curve) == MODEL_OK)
        *known = concurrency_choose(curve, objective, 1, curve->cores, USEFUL_TOLERANCE);
    concurrency_curve_free(curve);
    return *known;
}
