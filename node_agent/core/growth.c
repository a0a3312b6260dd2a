/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Growth: a job touches new memory. */

#include "node_agent/core/growth.h"

#include "node_agent/core/host.h"
#include "node_agent/core/job.h"
#include "node_agent/core/process.h"

static bool is_growth(uint64_t more, uint64_t elapsed_ns, uint64_t bytes)
{
    return (double)more * GROWTH_DOUBLES_NS > (double)elapsed_ns * (double)bytes;
}

void growth_look(struct job *job, uint64_t now_ns)
{
    struct growth *g = &job->growth;
    uint64_t bytes = 0, elapsed_ns = now_ns - g->at_ns;

    if (g->at_ns && elapsed_ns < g->look_ns)
        return;
    for (const struct process *p = job->processes; p; p = p->next)
        bytes += host_process_resident(p->pid);
    /* What they had touched when one attached counts as touched just then. */
    g->grows = bytes > g->bytes && (!g->at_ns || is_growth(bytes - g->bytes, elapsed_ns, g->bytes));
    g->look_ns = g->grows || !g->at_ns ? GROWTH_LOOK_NS : 2 * g->look_ns;
    if (g->look_ns > GROWTH_LOOK_MOST_NS)
        g->look_ns = GROWTH_LOOK_MOST_NS;
    g->bytes = bytes > g->bytes ? bytes : g->bytes;
    g->at_ns = now_ns;
}
