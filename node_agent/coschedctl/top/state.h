/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl top: what is shown of a node. */

#ifndef COSCHED_TOP_STATE_H
#define COSCHED_TOP_STATE_H

/* Concept
 *
 * The agent's replies (protocol/replies.md) as plain numbers and clean texts.  Each state is made
 * of new replies and the state before, which gives jobs their letters and colours for as long as
 * they live, and their work since then.  Knows no terminal, socket or clock.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node_agent/names/region_names.h"
#include "protocol/cpulist.h"

struct top_job {
    uint32_t id;
    size_t slot; /* of its letter and colour, from 0 */
    char name[32], user[16], state[16], limit[16], region[REGION_LABEL_MAX];
    char known[16]; /* what is known of the region: "known" */
    struct cosched_cpuset cpus;
    size_t cores;
    double mean_cores, weight, live_s, work_s;
    double efficiency; /* computing of its cores, 0 to 1; these are NAN where they are not known */
    double memory;     /* utilisation of a controller by it alone, 0 to 1 */
    double rho, predicted, measured; /* speeds relative to that alone */
    unsigned attached, decisions;
};

/* The cores behind one last-level cache, each by its first CPU. */
struct top_domain {
    size_t node; /* NUMA node */
    struct cosched_cpuset cores;
};

struct top_state {
    char node[64], policy[32], counters[64], drained[128];
    char when[16];        /* hour of the replies */
    char reason[512];     /* of the last decision, "" before it */
    size_t cores;         /* of the node */
    double computing;     /* of them, by the model; NAN: not known */
    double *controller;   /* [nodes] utilisation, or NULL */
    size_t nodes;         /* NUMA nodes */
    struct top_domain *domain; /* [domains] */
    size_t domains;
    struct top_job *job; /* [jobs] in order of announcement */
    size_t jobs, omitted;
};

/* What the replies to status, explain and config say; EXPLAIN may be NULL or without decisions.
 * BEFORE: the last state, or NULL.  WHEN: the time of day.  NULL when out of memory. */
struct top_state *top_state_new(const json_t *status, const json_t *explain, const json_t *config,
                                const struct region_names *names, const struct top_state *before,
                                double when);

/* The job called ID, or NULL. */
const struct top_job *top_state_job(const struct top_state *state, uint32_t id);

/* Takes NULL. */
void top_state_free(struct top_state *state);

#endif /* COSCHED_TOP_STATE_H */
