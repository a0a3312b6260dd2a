/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: the lines of a recording, decided again.
 *
 * The machine is one of two NUMA nodes with four cores each, whatever the
 * recording says. */

#include "tests/fuzz/fuzz.h"

#include "node_agent/recording/journal_replay.c"

#include "common/log.h"

static void set_up(struct replay *r)
{
    struct errtext err = {""};

    REQUIRE(setenv("HWLOC_SYNTHETIC", "numa:2 l3:1 core:4 pu:1", 1) == 0);
    log_open(LOG_CRIT, false);
    r->cpus = (struct cosched_cpuset){{0xff}};
    REQUIRE((r->topology = topology_new(&r->cpus, &err)) != NULL);
}

/* What was learned, and decided, of the jobs makes sense. */
static void check(const struct replay *r)
{
    for (const struct job *j = r->jobs.first; j; j = j->next)
        REQUIRE(j->id != 0);
    REQUIRE(r->jobs.count <= MAX_JOBS &&
            r->result->different <= r->result->decisions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct replay r;
    struct journal_result result = {0};
    struct errtext err = {""};

    if (!r.topology)
        set_up(&r);
    r.result = &result;
    if (!(r.recording = recording_open(fuzz_path(data, size), &err))) {
        fuzz_refused(&err);
        return 0;
    }
    REQUIRE(open_counters(&r, &err) == 0 &&
            (r.planner = planner_new(r.topology)));
    if (run(&r, &err) < 0)
        fuzz_refused(&err);
    check(&r);
    release(&r);
    return 0;
}
