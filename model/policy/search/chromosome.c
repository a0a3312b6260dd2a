/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* MOCA's chromosomes: an allocation, a gene for each core, and its worth. */

#include "model/policy/search/chromosome.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/station.h"

/* Divisions that are remembered.  Two jobs on 16 cores have 15. */
#define MEMOS 64

/* What depends on how many cores each job has. */
struct memo {
    bool used;
    uint16_t total[CHROMOSOME_MAX_JOBS];
    double bw;
    double memory[CHROMOSOME_MAX_JOBS]; /* memory time without links (4.12) */
};

struct chromosome_judge {
    struct chromosome_space space;
    size_t genes;
    size_t *node;   /* [cpus] LLC domain of a gene */
    double *delay;  /* [llc_domains * jobs] links' part of memory time */
    uint16_t total[CHROMOSOME_MAX_JOBS + 1]; /* the last one is nobody */
    struct memo *memo; /* [MEMOS] */
};

struct chromosome_judge *chromosome_judge_new(const struct machine *machine)
{
    struct chromosome_judge *judge = calloc(1, sizeof(*judge));

    if (!judge)
        return NULL;
    judge->space.machine = machine;
    judge->node = calloc(machine->cpus, sizeof(*judge->node));
    judge->delay = calloc(machine->llc_domains * CHROMOSOME_MAX_JOBS,
                          sizeof(*judge->delay));
    judge->memo = calloc(MEMOS, sizeof(*judge->memo));
    if (!judge->node || !judge->delay || !judge->memo) {
        chromosome_judge_free(judge);
        return NULL;
    }
    return judge;
}

void chromosome_judge_free(struct chromosome_judge *judge)
{
    if (!judge)
        return;
    free(judge->node);
    free(judge->delay);
    free(judge->memo);
    free(judge);
}

static bool valid(const struct chromosome_judge *judge,
                  const struct chromosome_space *space)
{
    size_t cores = 0, needed = 0;

    if (space->machine != judge->space.machine || space->jobs < 1 ||
        space->jobs > CHROMOSOME_MAX_JOBS)
        return false;
    for (size_t i = 0; i < space->machine->llc_domains; i++)
        cores += space->pool[i];
    for (size_t j = 0; j < space->jobs; j++) {
        if (space->min[j] > space->max[j] ||
            space->profile[j]->numa_nodes != space->machine->numa_nodes ||
            workload_check(space->profile[j]) != MODEL_OK)
            return false;
        needed += space->min[j];
    }
    return cores && needed <= cores && cores <= space->machine->cpus &&
           cores <= UINT16_MAX;
}

/* Link delays of all memory accesses of a core of JOB on LLC domain I. */
static double links_delay(const struct chromosome_space *space, size_t i,
                          size_t job)
{
    double delay = 0;

    for (size_t m = 0; m < space->machine->numa_nodes; m++) {
        double llc = space->profile[job]->rate[m].read_per_us;
        if (llc > 0)
            delay += llc * machine_route_us(space->machine, i, m);
    }
    return delay;
}

enum model_status chromosome_judge_set(struct chromosome_judge *judge,
                                       const struct chromosome_space *space)
{
    if (!valid(judge, space))
        return MODEL_EINVAL;
    judge->space = *space;
    judge->genes = 0;
    for (size_t i = 0; i < space->machine->llc_domains; i++) {
        for (size_t k = 0; k < space->pool[i]; k++)
            judge->node[judge->genes++] = i;
        for (size_t j = 0; j < space->jobs; j++)
            judge->delay[i * space->jobs + j] = links_delay(space, i, j);
    }
    for (size_t k = 0; k < MEMOS; k++)
        judge->memo[k].used = false;
    return MODEL_OK;
}

size_t chromosome_genes(const struct chromosome_judge *judge)
{
    return judge->genes;
}

/* ---- within bounds ------------------------------------------------------ */

static void count(struct chromosome_judge *judge, const uint8_t *gene)
{
    size_t jobs = judge->space.jobs;

    memset(judge->total, 0, (jobs + 1) * sizeof(*judge->total));
    for (size_t g = 0; g < judge->genes; g++)
        judge->total[gene[g] < jobs ? gene[g] : jobs]++;
}

/* Who is to give a core away for a job's minimum: nobody, else the job with
 * most above its own. */
static uint8_t giver(const struct chromosome_judge *judge)
{
    size_t jobs = judge->space.jobs, best = GENE_NOBODY, most = 0;

    if (judge->total[jobs])
        return GENE_NOBODY;
    for (size_t j = 0; j < jobs; j++) {
        size_t spare = judge->total[j] > judge->space.min[j]
                           ? judge->total[j] - judge->space.min[j]
                           : 0;
        if (spare > most) {
            most = spare;
            best = j;
        }
    }
    return (uint8_t)best;
}

/* The job that is to get a core: below its minimum if FORCED, else the one
 * with the most room below its maximum; nobody when all are full. */
static uint8_t taker(const struct chromosome_judge *judge, bool forced)
{
    size_t best = GENE_NOBODY, most = 0;

    for (size_t j = 0; j < judge->space.jobs; j++) {
        size_t limit = forced ? judge->space.min[j] : judge->space.max[j];
        size_t room = limit > judge->total[j] ? limit - judge->total[j] : 0;
        if (room > most) {
            most = room;
            best = j;
        }
    }
    return (uint8_t)best;
}

static void hand_over(struct chromosome_judge *judge, uint8_t *gene,
                      uint8_t from, uint8_t to, size_t *begin)
{
    size_t jobs = judge->space.jobs;

    while (gene[*begin % judge->genes] != from)
        ++*begin;
    gene[*begin % judge->genes] = to;
    judge->total[from < jobs ? from : jobs]--;
    judge->total[to < jobs ? to : jobs]++;
}

/* Make jobs above their maximum give to those with room, or to nobody. */
static void cut_down(struct chromosome_judge *judge, uint8_t *gene, size_t *at)
{
    for (size_t j = 0; j < judge->space.jobs; j++)
        while (judge->total[j] > judge->space.max[j])
            hand_over(judge, gene, (uint8_t)j, taker(judge, false), at);
}

void chromosome_repair(struct chromosome_judge *judge, uint8_t *gene,
                       size_t random)
{
    size_t at = random % judge->genes;
    uint8_t to;

    count(judge, gene);
    while ((to = taker(judge, true)) != GENE_NOBODY)
        hand_over(judge, gene, giver(judge), to, &at);
    cut_down(judge, gene, &at);
    while (judge->total[judge->space.jobs] &&
           (to = taker(judge, false)) != GENE_NOBODY)
        hand_over(judge, gene, GENE_NOBODY, to, &at);
}

/* ---- worth -------------------------------------------------------------- */

/* Memory time without links of all jobs and bw_util, for judge->total. */
static enum model_status solve(const struct chromosome_judge *judge,
                               struct memo *memo)
{
    const struct chromosome_space *space = &judge->space;
    const struct machine *machine = space->machine;
    double busy = 0;

    memset(memo->memory, 0, space->jobs * sizeof(*memo->memory));
    for (size_t m = 0; m < machine->numa_nodes; m++) {
        struct station station;
        double rate = 0;

        for (size_t j = 0; j < space->jobs; j++)
            rate += judge->total[j] * space->profile[j]->rate[m].mrr_per_us;
        enum model_status status = station_solve(
            machine->llc_domains, rate / (double)machine->llc_domains,
            1 / machine->controller_service_us[m], &station);
        if (status != MODEL_OK)
            return status;
        busy += station.utilisation;
        for (size_t j = 0; j < space->jobs; j++)
            memo->memory[j] +=
                space->profile[j]->rate[m].read_per_us * station.response;
    }
    memo->bw = busy / (double)machine->numa_nodes;
    return MODEL_OK;
}

static enum model_status remember(struct chromosome_judge *judge,
                                  const struct memo **found)
{
    size_t size = judge->space.jobs * sizeof(*judge->total), h = 0;

    for (size_t j = 0; j < judge->space.jobs; j++)
        h = h * 31 + judge->total[j];
    struct memo *memo = &judge->memo[h % MEMOS];
    *found = memo;
    if (memo->used && memcmp(memo->total, judge->total, size) == 0)
        return MODEL_OK;
    enum model_status status = solve(judge, memo);
    memo->used = status == MODEL_OK;
    memcpy(memo->total, judge->total, size);
    return status;
}

enum model_status chromosome_evaluate(struct chromosome_judge *judge,
                                      struct chromosome *c)
{
    const struct chromosome_space *space = &judge->space;
    double free[CHROMOSOME_MAX_JOBS], computing = 0;
    const struct memo *memo;

    count(judge, c->gene);
    enum model_status status = remember(judge, &memo);
    if (status != MODEL_OK)
        return status;
    for (size_t j = 0; j < space->jobs; j++)
        free[j] = 1 - space->profile[j]->sync_share * judge->total[j] /
                          (double)judge->genes;
    for (size_t g = 0; g < judge->genes; g++) {
        size_t j = c->gene[g];
        if (j >= space->jobs)
            continue;
        double memory =
            memo->memory[j] + judge->delay[judge->node[g] * space->jobs + j];
        computing += space->weight[j] *
                     (space->form == MOCA_CONSISTENT
                          ? free[j] / (1 + memory)
                          : fmax(0, free[j] - memory));
    }
    c->cpu = computing / (double)judge->genes;
    c->bw = memo->bw;
    return MODEL_OK;
}

/* ---- layouts ------------------------------------------------------------ */

void chromosome_from_layout(const struct chromosome_judge *judge,
                            const size_t *layout, uint8_t *gene)
{
    size_t jobs = judge->space.jobs;

    for (size_t i = 0, g = 0; i < judge->space.machine->llc_domains; i++) {
        size_t end = g + judge->space.pool[i];
        for (size_t j = 0; j < jobs; j++)
            for (size_t k = 0; k < layout[i * jobs + j]; k++)
                gene[g++] = (uint8_t)j;
        while (g < end)
            gene[g++] = GENE_NOBODY;
    }
}

void chromosome_to_layout(const struct chromosome_judge *judge,
                          const uint8_t *gene, size_t *layout)
{
    size_t jobs = judge->space.jobs;

    memset(layout, 0,
           judge->space.machine->llc_domains * jobs * sizeof(*layout));
    for (size_t g = 0; g < judge->genes; g++)
        if (gene[g] < jobs)
            layout[judge->node[g] * jobs + gene[g]]++;
}
