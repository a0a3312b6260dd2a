/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The summary of a job that goes into its AdminComment. */

#ifndef COSCHED_RECORD_H
#define COSCHED_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_TEXT_MAX 1001 /* with its terminating zero */
#define RECORD_PARTNERS 32   /* named in the record */

struct record {
    char policy[32];
    uint64_t live_ns;     /* with a live process */
    double core_s;        /* integral of cores over that time */
    double parallel_s;    /* in parallel regions, as the job reports */
    size_t final_cores;   /* at its end, or now */
    size_t sections;      /* parallel sections seen */
    uint64_t decisions;   /* that changed its CPUs */
    bool attached;        /* a process attached at some time */
    double energy_j;      /* estimated share of the packages' energy; 0: not
                             measured */
    uint32_t partner[RECORD_PARTNERS]; /* jobs it shared the node with */
    size_t partners;
};

/* The job had CORES cores for NS more. */
void record_add_time(struct record *record, uint64_t ns, size_t cores);

/* The job shared the node with job ID. */
void record_add_partner(struct record *record, uint32_t id);

/* One line as in docs/architecture.md, STATE "running" or "final". */
void record_format(const struct record *record, const char *state,
                   char text[RECORD_TEXT_MAX]);

#endif /* COSCHED_RECORD_H */
