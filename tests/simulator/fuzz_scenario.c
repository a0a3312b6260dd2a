/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: scenarios and libraries of programs. */

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "common/json_reader.h"
#include "simulator/json_line.h"
#include "simulator/scenario.h"

static void check_region(const struct scenario_region *r)
{
    REQUIRE(r->name && r->object && r->work_s > 0 && isfinite(r->work_s));
    REQUIRE(r->read_per_us >= 0 && r->write_per_us >= 0 &&
            r->prefetch_per_us >= 0);
    REQUIRE(r->sync_share >= 0 && r->sync_share < 1 && r->imbalance >= 0);
    for (int part = 0; part <= 4; part++) {
        double factor = scenario_llc_factor(r, part / 4.0, 1);
        REQUIRE(factor >= 0 && scenario_llc_factor(r, part / 4.0, 0.25) <= factor);
    }
}

static void check_job(const struct scenario_job *job)
{
    size_t steps = scenario_steps(job);

    REQUIRE(job->name && job->program && job->regions && job->phases && steps);
    REQUIRE(job->arrival_s >= 0 && job->weight > 0 && job->threads &&
            job->min_cores);
    REQUIRE(job->max_cores == SCENARIO_ALL || job->max_cores >= job->min_cores);
    for (size_t i = 0; i < job->regions; i++)
        check_region(&job->region[i]);
    REQUIRE(scenario_step(job, 0) && scenario_step(job, steps - 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct errtext err = {""};
    struct json_reader reader = {.file = "fuzz", .err = &err};
    json_t *root = json_reader_parse(&reader, (const char *)data, size);
    struct scenario_set *set = root ? scenario_read(&reader, root, NULL) : NULL;

    if (!set) {
        fuzz_refused(&err);
        REQUIRE(!root || json_line_find((const char *)data, size,
                                        "scenarios[0].jobs") > 0);
    }
    for (size_t i = 0; set && i < set->scenarios; i++) {
        const struct scenario *s = &set->scenario[i];
        REQUIRE(s->jobs >= 1 && s->jobs <= SCENARIO_MAX_JOBS && s->name);
        REQUIRE(scenario_find(set, s->name));
        for (size_t k = 0; k < s->jobs; k++)
            check_job(&s->job[k]);
    }
    scenario_set_free(set);
    json_decref(root);
    return 0;
}
