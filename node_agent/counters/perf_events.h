/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Events of a core that the kernel counts, and what they are for. */

#ifndef COSCHED_PERF_EVENTS_H
#define COSCHED_PERF_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which they are put into a group: the ones with fixed counters
 * first, then by what a profile needs most. */
enum perf_role {
    PERF_CYCLES,
    PERF_INSTRUCTIONS,
    PERF_MISSES,
    PERF_STALLED,
    PERF_REMOTE,
    PERF_LLC,
    PERF_ROLES, /* number of those that are counted */
    PERF_LOCAL = PERF_ROLES, /* only sampled, beside PERF_REMOTE (askers.h) */
};

struct perf_encoding {
    enum perf_role role;
    const char *models; /* "|family-model|family|" of CPUs; NULL: all */
    uint32_t type;      /* as in perf_event_attr */
    uint64_t config;
    const char *name;
};

/* In order of preference for each role. */
extern const struct perf_encoding perf_encodings[];
extern const size_t perf_encodings_count;

/* True when ENCODING is of CPU MODEL, "family-model-stepping" or NULL. */
bool perf_encoding_is_for(const struct perf_encoding *encoding, const char *model);

/* The first for ROLE on CPU MODEL, or NULL. */
const struct perf_encoding *perf_encoding_find(enum perf_role role, const char *model);

#endif /* COSCHED_PERF_EVENTS_H */
