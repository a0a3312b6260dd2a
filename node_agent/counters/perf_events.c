/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Events of a core that the kernel counts, and what they are for. */

#include "node_agent/counters/perf_events.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#define RAW(event, umask, cmask)                                               \
    ((uint64_t)(event) | (uint64_t)(umask) << 8 | (uint64_t)(cmask) << 24)
#define CACHE(cache, op, result)                                               \
    ((uint64_t)PERF_COUNT_HW_CACHE_##cache |                                   \
     (uint64_t)PERF_COUNT_HW_CACHE_OP_##op << 8 |                              \
     (uint64_t)PERF_COUNT_HW_CACHE_RESULT_##result << 16)

/* CPU models, "family-model" with '|' between; of AMD whole families. */
#define SKYLAKE "|6-85|6-106|6-108|6-143|6-207|6-173|6-174|"
#define HASWELL "|6-63|6-79|6-86|"
#define ZEN2_ON "|23|25|26|" /* Zen 1 has no such event and counts nothing */
#define ZEN2_SERVERS_ON "|23-49|25|26|"

/* Raw codes are those of the vendors' event lists.  The kernel's node-loads are of local memory
 * since Haswell; before, and on AMD's family 10h, they are of all. */
const struct perf_encoding perf_encodings[] = {
    {PERF_CYCLES, NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES,
     "cycles"},
    {PERF_INSTRUCTIONS, NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
     "instructions"},
    {PERF_STALLED, SKYLAKE, PERF_TYPE_RAW, RAW(0xa3, 0x06, 6),
     "CYCLE_ACTIVITY.STALLS_L3_MISS"},
    {PERF_STALLED, HASWELL, PERF_TYPE_RAW, RAW(0xa3, 0x05, 5),
     "CYCLE_ACTIVITY.STALLS_L2_PENDING"},
    {PERF_STALLED, NULL, PERF_TYPE_HARDWARE,
     PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "stalled-cycles-backend"},
    {PERF_MISSES, ZEN2_ON, PERF_TYPE_RAW, RAW(0x43, 0x48, 0),
     "ls_dmnd_fills_from_sys (near and far memory)"},
    {PERF_MISSES, NULL, PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS),
     "LLC-load-misses"},
    {PERF_MISSES, NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES,
     "cache-misses"},
    {PERF_REMOTE, ZEN2_ON, PERF_TYPE_RAW, RAW(0x43, 0x40, 0),
     "ls_dmnd_fills_from_sys (far memory)"},
    {PERF_REMOTE, NULL, PERF_TYPE_HW_CACHE, CACHE(NODE, READ, MISS),
     "node-load-misses"},
    {PERF_LOCAL, ZEN2_SERVERS_ON, PERF_TYPE_RAW, RAW(0x43, 0x08, 0),
     "ls_dmnd_fills_from_sys (near memory)"},
    {PERF_LOCAL, HASWELL SKYLAKE, PERF_TYPE_HW_CACHE, CACHE(NODE, READ, ACCESS),
     "node-loads"},
    {PERF_LLC, NULL, PERF_TYPE_HW_CACHE, CACHE(LL, READ, ACCESS), "LLC-loads"},
    {PERF_LLC, NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES,
     "cache-references"},
};

const size_t perf_encodings_count = sizeof(perf_encodings) / sizeof(perf_encodings[0]);

bool perf_encoding_is_for(const struct perf_encoding *e, const char *model)
{
    char word[32];
    int family, number;

    if (!e->models)
        return true;
    if (!model || sscanf(model, "%d-%d", &family, &number) != 2)
        return false;
    snprintf(word, sizeof(word), "|%d-%d|", family, number);
    if (strstr(e->models, word))
        return true;
    snprintf(word, sizeof(word), "|%d|", family);
    return strstr(e->models, word) != NULL;
}

const struct perf_encoding *perf_encoding_find(enum perf_role role, const char *model)
{
    for (size_t i = 0; i < perf_encodings_count; i++)
        if (perf_encodings[i].role == role && perf_encoding_is_for(&perf_encodings[i], model))
            return &perf_encodings[i];
    return NULL;
}
