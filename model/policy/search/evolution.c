/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* MOCA's evolution of core allocations. */

#include "model/policy/search/evolution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHILDREN 2
#define ALL (EVOLUTION_POPULATION + CHILDREN)

/* As good as another one: sums of the same numbers in another order. */
#define SAME 1e-12

struct evolution {
    struct chromosome_judge *judge;
    struct evolution_input in;
    uint64_t dice; /* not 0 */
    uint8_t *genes; /* [(ALL + 1) * cpus] */
    struct chromosome one[ALL]; /* the population, best first; children */
    size_t count;  /* of the population */
    size_t judged;
    struct chromosome spare;
    struct chromosome *asked; /* evolution_next(): one of ONE, or NULL */
};

struct evolution *evolution_new(const struct machine *machine)
{
    struct evolution *e = calloc(1, sizeof(*e));

    if (!e)
        return NULL;
    e->judge = chromosome_judge_new(machine);
    e->genes = calloc(ALL + 1, machine->cpus);
    if (!e->judge || !e->genes) {
        evolution_free(e);
        return NULL;
    }
    for (size_t k = 0; k < ALL; k++)
        e->one[k].gene = &e->genes[k * machine->cpus];
    e->spare.gene = &e->genes[ALL * machine->cpus];
    return e;
}

void evolution_free(struct evolution *e)
{
    if (!e)
        return;
    chromosome_judge_free(e->judge);
    free(e->genes);
    free(e);
}

/* ---- chance ------------------------------------------------------------- */

/* xorshift64* (Vigna 2016), upper half: the same on every machine. */
static uint32_t throw_dice(struct evolution *e)
{
    e->dice ^= e->dice >> 12;
    e->dice ^= e->dice << 25;
    e->dice ^= e->dice >> 27;
    return (uint32_t)((e->dice * UINT64_C(0x2545F4914F6CDD1D)) >> 32);
}

/* 0..LIMIT-1, LIMIT far below 2^32. */
static size_t below(struct evolution *e, size_t limit)
{
    return (size_t)(((uint64_t)throw_dice(e) * limit) >> 32);
}

/* Mix SEED so that neighbouring ones begin apart (splitmix64's finaliser). */
static uint64_t mix(uint64_t seed)
{
    seed = (seed ^ (seed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    seed = (seed ^ (seed >> 27)) * UINT64_C(0x94D049BB133111EB);
    seed ^= seed >> 31;
    return seed ? seed : 1;
}

/* ---- sets --------------------------------------------------------------- */

static bool in_set1(const struct evolution *e, const struct chromosome *c)
{
    return c->cpu > e->in.cpu_threshold && c->bw > e->in.bw_threshold;
}

static bool better(const struct evolution *e, const struct chromosome *a,
                   const struct chromosome *b)
{
    bool first = in_set1(e, a);

    if (first != in_set1(e, b))
        return first;
    return first ? a->cpu > b->cpu : a->cpu + a->bw > b->cpu + b->bw;
}

static bool known(const struct evolution *e, const struct chromosome *c)
{
    for (size_t k = 0; k < e->count; k++)
        if (fabs(e->one[k].cpu - c->cpu) <= SAME &&
            fabs(e->one[k].bw - c->bw) <= SAME)
            return true;
    return false;
}

/* Sort one[AT], which has been judged, in; it is worse than all others or known: its room
 * is free again. */
static void admit(struct evolution *e, size_t at)
{
    struct chromosome c = e->one[at];

    e->judged++;
    if (known(e, &c))
        return;
    size_t rank = e->count;
    while (rank && better(e, &c, &e->one[rank - 1]))
        rank--;
    if (rank == EVOLUTION_POPULATION)
        return;
    /* The last one, or the unused room behind it, makes place. */
    size_t last = e->count < EVOLUTION_POPULATION ? e->count
                                                  : EVOLUTION_POPULATION - 1;
    e->one[at] = e->one[last];
    for (size_t k = last; k > rank; k--)
        e->one[k] = e->one[k - 1];
    e->one[rank] = c;
    if (e->count < EVOLUTION_POPULATION)
        e->count++;
}

/* ---- generations -------------------------------------------------------- */

static void randomise(struct evolution *e, uint8_t *gene)
{
    size_t genes = chromosome_genes(e->judge);

    for (size_t g = 0; g < genes; g++)
        gene[g] = (uint8_t)below(e, e->in.space->jobs);
    chromosome_repair(e->judge, gene, throw_dice(e));
}

static void cross(struct evolution *e, const struct chromosome *a,
                  const struct chromosome *b)
{
    size_t genes = chromosome_genes(e->judge), cut = below(e, genes + 1);
    uint8_t *child[CHILDREN] = {e->one[EVOLUTION_POPULATION].gene,
                                e->one[EVOLUTION_POPULATION + 1].gene};

    memcpy(child[0], a->gene, cut);
    memcpy(child[1], b->gene, cut);
    memcpy(child[0] + cut, b->gene + cut, genes - cut);
    memcpy(child[1] + cut, a->gene + cut, genes - cut);
}

/* Each core gets a random job with the probability of the option: the distance
 * from one such core to the next is geometric. */
static void mutate(struct evolution *e, uint8_t *gene)
{
    size_t genes = chromosome_genes(e->judge);
    double p = e->in.mutation, step = p < 1 ? 1 / log1p(-p) : 0;

    if (!(p > 0))
        return;
    for (size_t g = 0; g < genes; g++) {
        double u = ((double)throw_dice(e) + 1) / 4294967296.0;
        double skip = log(u) * step;
        if (skip >= (double)(genes - g))
            return;
        g += (size_t)skip;
        gene[g] = (uint8_t)below(e, e->in.space->jobs);
    }
}

/* Both children of a generation. */
static void breed(struct evolution *e)
{
    size_t a = below(e, e->count);
    size_t b = below(e, e->count > 1 ? e->count - 1 : 1);

    b += b >= a && e->count > 1;
    cross(e, &e->one[a], &e->one[b]);
    for (size_t k = EVOLUTION_POPULATION; k < ALL; k++) {
        mutate(e, e->one[k].gene);
        chromosome_repair(e->judge, e->one[k].gene, throw_dice(e));
    }
}

/* The next one to be judged, of ONE; NULL: that was the last generation. */
static struct chromosome *next(struct evolution *e)
{
    struct chromosome *c = &e->one[EVOLUTION_POPULATION];
    size_t born = e->judged - EVOLUTION_POPULATION; /* before it */

    if (e->judged >= EVOLUTION_POPULATION) {
        if (born >= CHILDREN * e->in.generations)
            return NULL;
        if (born % CHILDREN == 0)
            breed(e);
        return c + born % CHILDREN;
    }
    if (e->judged || !e->in.start) {
        randomise(e, c->gene);
    } else {
        chromosome_from_layout(e->judge, e->in.start, c->gene);
        chromosome_repair(e->judge, c->gene, 0);
    }
    return c;
}

enum model_status evolution_resume(struct evolution *e,
                                   const struct evolution_input *in)
{
    e->in = *in;
    return chromosome_judge_set(e->judge, in->space);
}

enum model_status evolution_begin(struct evolution *e,
                                  const struct evolution_input *in)
{
    e->dice = mix(in->seed + 1);
    e->count = e->judged = 0;
    return evolution_resume(e, in);
}

void evolution_best(const struct evolution *e, struct evolution_result *result)
{
    chromosome_to_layout(e->judge, e->one[0].gene, result->layout);
    result->cpu = e->one[0].cpu;
    result->bw = e->one[0].bw;
    result->reached = in_set1(e, &e->one[0]);
    result->judged = e->judged;
}

enum model_status evolution_run(struct evolution *e,
                                const struct evolution_input *in,
                                struct evolution_result *result)
{
    enum model_status status = evolution_begin(e, in);
    struct chromosome *c;

    while (status == MODEL_OK && (c = next(e))) {
        status = chromosome_evaluate(e->judge, c);
        if (status == MODEL_OK)
            admit(e, (size_t)(c - e->one));
    }
    if (status == MODEL_OK)
        evolution_best(e, result);
    return status;
}

/* ---- judged by others --------------------------------------------------- */

static bool has_twin(const struct evolution *e, const uint8_t *gene)
{
    for (size_t k = 0; k < e->count; k++)
        if (!memcmp(e->one[k].gene, gene, chromosome_genes(e->judge)))
            return true;
    return false;
}

bool evolution_next(struct evolution *e, size_t *layout)
{
    for (; (e->asked = next(e)); e->judged++) {
        chromosome_to_layout(e->judge, e->asked->gene, layout);
        /* In the order in which the others have come back. */
        chromosome_from_layout(e->judge, layout, e->asked->gene);
        if (!has_twin(e, e->asked->gene))
            return true;
    }
    return false;
}

void evolution_admit(struct evolution *e, const size_t *layout, double cpu, double bw)
{
    struct chromosome *c = e->asked;

    chromosome_from_layout(e->judge, layout, c->gene);
    c->cpu = cpu;
    c->bw = bw;
    if (has_twin(e, c->gene))
        e->judged++;
    else
        admit(e, (size_t)(c - e->one));
}

void evolution_fit(struct evolution *e, size_t *layout)
{
    chromosome_from_layout(e->judge, layout, e->spare.gene);
    chromosome_repair(e->judge, e->spare.gene, 0);
    chromosome_to_layout(e->judge, e->spare.gene, layout);
}

enum model_status evolution_judge(struct evolution *e, const size_t *layout,
                                  struct chromosome *worth)
{
    chromosome_from_layout(e->judge, layout, e->spare.gene);
    enum model_status status = chromosome_evaluate(e->judge, &e->spare);
    *worth = e->spare;
    worth->gene = NULL;
    return status;
}
