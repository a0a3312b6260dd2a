/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Decisions that use earlier predictions are those of who has none. */

#include "model/policy/search/divide.h"
#include "model/policy.h"
#include "model/policy/state.h"
#include "model/policy/search/workspace.h"
#include "tests/model/mix.h"

#define MIXES 40
#define ROUNDS 25

/* A second profile for the NUMA nodes: not all alike. */
static void set_uneven(struct mix *mix, size_t job, struct dice *dice)
{
    for (size_t m = 0; m < mix->machine->numa_nodes; m++) {
        double rate = dice_unit(dice) / MACHINE_DEFAULT_SERVICE_US;
        mix->profile[job]->rate[m] = (struct workload_rate){rate, rate / 2};
    }
}

/* What changes from one decision to the next one: mostly little or nothing. */
static void change(struct mix *mix, struct dice *dice)
{
    size_t job = dice_range(dice, 0, mix->input.job_count - 1);
    size_t cpu = dice_range(dice, 0, mix->machine->cpus - 1);
    struct policy_job *j = &mix->jobs[job];

    switch (dice_range(dice, 0, 12)) {
    case 0:
        set_rho(mix, job, dice_unit(dice));
        break;
    case 1:
        set_uneven(mix, job, dice);
        break;
    case 2:
        j->weight = 0.25 + dice_unit(dice);
        break;
    case 3:
        j->kind = j->kind == REGION_SERIAL ? REGION_PARALLEL : REGION_SERIAL;
        break;
    case 4:
        j->max_cores = j->min_cores + dice_range(dice, 0, 8);
        break;
    case 5:
        j->pinned = !j->pinned;
        break;
    case 6:
        mix->profile[job]->llc_per_us = dice_unit(dice);
        break;
    case 7: /* the pool shrinks, or grows again */
        if (mix->machine->llc_domain[cpu] < 0)
            break;
        if (mix->owner[cpu] == POLICY_NO_CPU)
            mix->owner[cpu] = POLICY_NOBODY;
        else if (divide_pool(&mix->input) > mix->input.job_count)
            mix->owner[cpu] = POLICY_NO_CPU;
        break;
    default:
        break;
    }
}

static void decide_alike(const struct policy *policy, struct mix *mix,
                         struct policy_workspace *ws,
                         struct policy_state *state[2])
{
    int owner[2][MAX_CPUS];
    double relative_speed[2][MAX_JOBS];
    struct policy_decision out[2];

    for (size_t i = 0; i < 2; i++) {
        mix->input.workspace = i ? ws : NULL;
        mix->input.state = state[i];
        out[i] = (struct policy_decision){.owner = owner[i], .relative_speed = relative_speed[i]};
        assert_int_equal(policy_decide(policy, &mix->input, &out[i]), MODEL_OK);
    }
    assert_string_equal(out[0].reason, out[1].reason);
    assert_true(out[0].system_util == out[1].system_util);
    assert_memory_equal(relative_speed[0], relative_speed[1],
                        mix->input.job_count * sizeof(relative_speed[0][0]));
    assert_memory_equal(owner[0], owner[1],
                        mix->machine->cpus * sizeof(owner[0][0]));
    memcpy(mix->owner, owner[0], mix->machine->cpus * sizeof(owner[0][0]));
}

static void test_as_without(void **arg)
{
    static const char *const names[] = {"nupoco", "greedy", "amdahl", "corun",
                                        "moca"};
    struct dice dice = {27};

    (void)arg;
    for (size_t n = 0; n < MIXES; n++) {
        const struct policy *policy =
            policy_find(names[n % (sizeof(names) / sizeof(names[0]))]);
        struct mix mix;
        random_mix(&mix, &dice);
        struct policy_workspace *ws =
            policy_workspace_new(mix.machine, MAX_JOBS);
        struct policy_state *state[2] = {policy_state_new(policy, mix.machine),
                                         policy_state_new(policy, mix.machine)};
        for (size_t r = 0; r < ROUNDS; r++) {
            decide_alike(policy, &mix, ws, state);
            change(&mix, &dice);
        }
        policy_state_free(state[0]);
        policy_state_free(state[1]);
        policy_workspace_free(ws);
        mix_free(&mix);
    }
}

UNIT(test_prediction_cache)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_without)};

    return cmocka_run_group_tests_name("test_prediction_cache", tests, NULL, NULL);
}
