/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* MOCA's chromosomes: an allocation, a gene for each core, and its worth. */

#ifndef COSCHED_MODEL_POLICY_CHROMOSOME_H
#define COSCHED_MODEL_POLICY_CHROMOSOME_H

/* Concept
 *
 * A gene is a core and holds the job that runs there (thesis figure 4.13);
 * genes are sorted by LLC domain.  The worth (4.5.2) is
 *
 *   cpu_util   mean over all cores of the share of time in which they compute
 *              (4.8, 4.10); cores that nobody has count as 0
 *   bw_util    mean over NUMA nodes of their controllers' utilisation (4.9)
 *
 * Each controller is one station whose customers are the LLC domains, asking at
 * the mean rate of all their cores (figure 4.16).  A core loses
 *
 *   sync time    sync * cores of its job / all cores             (4.11)
 *   memory time  sum over NUMA nodes of llc * (r + link delay)   (4.12)
 *
 * The papers subtract both from 1, though llc is per time of computing and
 * not of all time (table 4.3); where memory is busy that leaves less than
 * nothing, here 0.  MOCA_CONSISTENT takes the rates at their word:
 * U = (1 - sync) / (1 + memory).
 *
 * An evolution judges hundreds of chromosomes that differ little.  In MOCA's model the
 * controllers' answer depends only on the number of cores of each job, so that part is remembered
 * by these numbers, and the rest is one addition per core.
 */

#include <stddef.h>
#include <stdint.h>

#include "model/machine.h"
#include "model/status.h"
#include "model/workload.h"

#define GENE_NOBODY 255
#define CHROMOSOME_MAX_JOBS 64

enum moca_form {
    MOCA_PAPER,
    MOCA_CONSISTENT,
};

/* What is to be divided; nothing may change while it is in use. */
struct chromosome_space {
    const struct machine *machine;
    size_t jobs;        /* 1..CHROMOSOME_MAX_JOBS */
    const size_t *pool; /* [llc_domains] cores to divide */
    const struct workload *const *profile; /* [jobs] */
    const double *weight; /* [jobs] of a job's computing in cpu_util */
    const size_t *min, *max; /* [jobs] cores; the sum of MIN fits the pool */
    enum moca_form form;
};

struct chromosome {
    uint8_t *gene; /* [chromosome_genes()] */
    double cpu;    /* cpu_util, weighted */
    double bw;     /* bw_util */
};

struct chromosome_judge;

/* A judge for spaces on MACHINE, which must outlive it and not change.  NULL
 * when out of memory. */
struct chromosome_judge *chromosome_judge_new(const struct machine *machine);

/* Takes NULL. */
void chromosome_judge_free(struct chromosome_judge *judge);

/* Take SPACE for what follows.  MODEL_EINVAL for too many jobs, no core, or
 * bad profiles.  Allocates nothing. */
enum model_status chromosome_judge_set(struct chromosome_judge *judge,
                                       const struct chromosome_space *space);

/* Number of genes: all cores of the pool. */
size_t chromosome_genes(const struct chromosome_judge *judge);

/* Change as few genes as possible so that all jobs are within their bounds and
 * nobody has a core only where all jobs are at their maximum.  The genes come
 * from those who have most above their minimum; RANDOM, a number per call,
 * says where to begin. */
void chromosome_repair(struct chromosome_judge *judge, uint8_t *gene,
                       size_t random);

/* Fill in CHROMOSOME's worth; its genes are within bounds. */
enum model_status chromosome_evaluate(struct chromosome_judge *judge,
                                      struct chromosome *chromosome);

/* Cores per LLC domain and job, layout[i * jobs + j], to genes and back. */
void chromosome_from_layout(const struct chromosome_judge *judge,
                            const size_t *layout, uint8_t *gene);
void chromosome_to_layout(const struct chromosome_judge *judge,
                          const uint8_t *gene, size_t *layout);

#endif /* COSCHED_MODEL_POLICY_CHROMOSOME_H */
