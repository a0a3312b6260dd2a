/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* All that a plan is made from, each field named once. */

#include "node_agent/core/plan_fields.h"

#define BOTH (PLAN_SIGNED | PLAN_WRITTEN)
#define ALL (BOTH | PLAN_SAMPLED)
#define MAY FIELD_OPTIONAL

#define INPUT(member, key, where) FIELD(struct plan_input, member, key, where)

const struct field plan_input_fields[] = {
    INPUT(policy, "node_policy", BOTH),
    INPUT(policy_options, "node_policy_options", BOTH | MAY),
    INPUT(slice, "slice", BOTH),
    INPUT(budget.profile_ns, "profile_ns", BOTH),
    INPUT(budget.share, "probe", BOTH),
    INPUT(clean_ns, "clean_ns", BOTH | MAY),
    INPUT(max_jobs, "max_jobs", BOTH | MAY),
    INPUT(fairness_percent, "fairness_percent", BOTH | MAY),
    INPUT(drained, "drained", BOTH | MAY),
    {0}};

#define JOB(member, key, where) FIELD(struct job, member, key, where)

const struct field plan_job_fields[] = {
    JOB(id, "job", ALL),
    JOB(restarts, "run", ALL),
    FIELD_ENUM(struct job, doing, "state", BOTH, job_state_names),
    JOB(soon, "soon", BOTH | MAY), /* since 0.2 */
    JOB(options_text, "options", PLAN_WRITTEN),
    JOB(options.policy, "policy", PLAN_SIGNED), /* what plans take from it */
    JOB(options.min_cores, "min_cores", PLAN_SIGNED),
    JOB(options.max_cores, "max_cores", PLAN_SIGNED),
    JOB(options.weight, "asked_weight", PLAN_SIGNED),
    JOB(options.objective, "objective", PLAN_SIGNED),
    JOB(granted, "granted", BOTH),
    JOB(weight, "weight", BOTH | MAY),
    JOB(threads, "threads", ALL | MAY), /* since 0.2 */
    JOB(growth.grows, "grows", BOTH | MAY), /* since 0.2 */
    JOB(history.known, "history", PLAN_SIGNED),
    JOB(history.dropped, "history_dropped", PLAN_SIGNED),
    JOB(expected_s, "expected_s", PLAN_WRITTEN | MAY),
    JOB(done_s, "done_s", PLAN_WRITTEN | MAY),
    JOB(stretch.lends, "lends", PLAN_WRITTEN | MAY), /* since 0.2 */
    JOB(loan, "loan", PLAN_WRITTEN | MAY),           /* since 0.2 */
    JOB(profiling, "profiling", PLAN_WRITTEN | PLAN_SAMPLED),
    JOB(cpus, "had", PLAN_WRITTEN),
    JOB(cpus, "cpus", PLAN_SAMPLED),
    {0}};

#define SHARE(member, key, where) \
    FIELD(struct plan_share, member, key, PLAN_WRITTEN | (where))

const struct field plan_share_fields[] = {
    SHARE(cpus, "gets", 0),
    SHARE(parked, "parked", 0),
    SHARE(profile_dop, "measured_at", 0),
    SHARE(alone, "measured_alone", MAY),
    SHARE(halved, "measured_halved", MAY), /* since 0.2 */
    SHARE(relative_speed, "speed", MAY), /* since 0.2 */
    {0}};

static void add_region(uint64_t *h, const struct region *region,
                       const struct region_budget *budget)
{
    hash_word(h, (uintptr_t)region);
    if (!region)
        return;
    bool may = region_may_probe(region, budget);
    hash_word(h, (uint64_t)region->known << 2 | (uint64_t)may << 1 |
                     region_may_probe_alone(region, budget));
    hash_word(h, (uintptr_t)region->profile);
    hash_word(h, useful_known(region->useful));
    if (may) /* what it wants depends on what is known */
        hash_word(h, region->fit_time_ns);
}

uint64_t plan_signature(const struct plan_input *in, uint64_t epoch)
{
    uint64_t h = HASH_START;

    hash_word(&h, epoch);
    fields_hash(&h, plan_input_fields, in, PLAN_SIGNED);
    for (size_t i = 0; i < in->count; i++) {
        fields_hash(&h, plan_job_fields, in->jobs[i], PLAN_SIGNED);
        add_region(&h, in->jobs[i]->region, &in->budget);
        hash_word(&h, plan_is_new(in, in->jobs[i]));
        hash_word(&h, (uint64_t)region_list_wants_cache(&in->jobs[i]->regions, &in->budget) << 1 |
                          region_list_probes_cache(&in->jobs[i]->regions, &in->budget));
    }
    return h;
}
