/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The summary of a job that goes into its AdminComment. */

#include "node_agent/record.h"

#include <stdio.h>
#include <string.h>

void record_add_time(struct record *r, uint64_t ns, size_t cores)
{
    r->live_ns += ns;
    r->core_s += (double)ns * 1e-9 * (double)cores;
    r->final_cores = cores;
}

void record_add_partner(struct record *r, uint32_t id)
{
    for (size_t i = 0; i < r->partners; i++)
        if (r->partner[i] == id)
            return;
    if (r->partners < RECORD_PARTNERS)
        r->partner[r->partners++] = id;
}

void record_format(const struct record *r, const char *state,
                   char text[RECORD_TEXT_MAX])
{
    double live_s = (double)r->live_ns * 1e-9;
    char partners[RECORD_PARTNERS * 11 + 2] = "";
    size_t used = 0;

    for (size_t i = 0; i < r->partners; i++)
        used += (size_t)snprintf(partners + used, sizeof(partners) - used,
                                 "%s%u", i ? "," : "", r->partner[i]);
    snprintf(text, RECORD_TEXT_MAX,
             "cosched/1 state=%s policy=%s mean_cores=%.2f final_cores=%zu "
             "sections=%zu parallel_s=%.2f core_s=%.2f partners=%s "
             "decisions=%llu attached=%d",
             state, r->policy, live_s > 0 ? r->core_s / live_s : 0.0,
             r->final_cores, r->sections, r->parallel_s, r->core_s,
             r->partners ? partners : "-", (unsigned long long)r->decisions,
             r->attached);
    size_t length = strlen(text);
    if (r->energy_j > 0)
        snprintf(text + length, RECORD_TEXT_MAX - length, " energy_j=%.1f",
                 r->energy_j);
}
