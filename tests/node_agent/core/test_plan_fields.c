/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Each field that a plan is made from shows in the signature and in recordings;
 * each field of a policy's job in the keys by which policies remember. */

#include "tests/support/unit.h"

#include "model/policy/search/prediction_cache.h"
#include "model/policy/state.h"
#include "model/policy_fields.h"
#include "node_agent/core/plan_fields.h"
#include "protocol/json_fields.h"
#include "tests/node_agent/core/fake_plan.h"

static int setup(void **state)
{
    return fake_plan_new(state, "pack:1 core:8 pu:1");
}

/* Another value of FIELD in OBJECT, whatever it was. */
static void change(const struct field *field, void *object)
{
    void *value = (char *)object + field->offset;

    switch (field->type) {
    case FIELD_BOOL:
        *(bool *)value = !*(bool *)value;
        break;
    case FIELD_REAL:
        *(double *)value += 1;
        break;
    case FIELD_STRING:
        *(const char **)value = *(const char **)value ? NULL : "equal";
        break;
    case FIELD_TEXT:
        strcat(value, "x");
        break;
    default:
        *(unsigned char *)value ^= 1;
    }
}

/* Change each of FIELDS in OBJECT, a part of the plan's input, and back. */
static void check(struct fixture *f, const struct field *fields, void *object,
                  size_t size)
{
    void *before = malloc(size);

    memcpy(before, object, size);
    for (const struct field *one = fields; one->key; one++) {
        uint64_t signature = plan_signature(&f->input, 3);
        json_t *line = json_fields_write(fields, object, PLAN_WRITTEN);
        change(one, object);
        json_t *other = json_fields_write(fields, object, PLAN_WRITTEN);
        assert_int_equal(plan_signature(&f->input, 3) != signature,
                         (one->where & PLAN_SIGNED) != 0);
        assert_int_equal(
            !json_equal(line, other),
            (one->where & PLAN_WRITTEN) || one->where == PLAN_SAMPLED);
        if (one->where & PLAN_WRITTEN)
            assert_false(json_equal(json_object_get(line, one->key),
                                    json_object_get(other, one->key)));
        json_decref(line);
        json_decref(other);
        memcpy(object, before, size);
    }
    free(before);
}

static void test_input(void **state)
{
    struct fixture *f = *state;

    check(f, plan_input_fields, &f->input, sizeof(f->input));
}

static void test_jobs(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < f->input.count; i++)
        check(f, plan_job_fields, f->jobs[i], sizeof(*f->jobs[i]));
}

/* What is no field: number and order of the jobs, epoch, regions. */
static void test_beside(void **state)
{
    struct fixture *f = *state;
    uint64_t first = plan_signature(&f->input, 3);

    assert_true(plan_signature(&f->input, 3) == first);
    assert_true(plan_signature(&f->input, 4) != first);
    f->input.count = 1;
    assert_true(plan_signature(&f->input, 3) != first);
    f->input.count = 2;
    struct region *region = f->jobs[0]->region =
        region_find(&f->jobs[0]->regions, 1, 2);
    uint64_t second = plan_signature(&f->input, 3);
    assert_true(second != first);
    region->known = true;
    assert_true(plan_signature(&f->input, 3) != second);
    second = plan_signature(&f->input, 3);
    region->profile = workload_new(1);
    assert_true(plan_signature(&f->input, 3) != second);
}

/* What was written is read again. */
static void test_read(void **state)
{
    struct fixture *f = *state;
    struct job *job = f->jobs[0], *back = f->jobs[1];
    uint32_t id = back->id; /* by which its table knows it */

    job->weight = 2.5;
    job->doing = JOB_PINNED;
    strcpy(job->options_text, "policy=equal");
    job->cpus.word[0] = 6;
    json_t *line = json_fields_write(plan_job_fields, job, PLAN_WRITTEN);
    assert_int_equal(
        json_fields_read(plan_job_fields, back, line, PLAN_WRITTEN, NULL), 0);
    json_t *again = json_fields_write(plan_job_fields, back, PLAN_WRITTEN);
    assert_true(json_equal(line, again));
    assert_int_equal(back->doing, JOB_PINNED);
    back->id = id;
    json_decref(line);
    json_decref(again);
}

/* The predicted speed is written; recordings of 0.1 have none. */
static void test_speed(void **state)
{
    struct plan_share share = {.relative_speed = 0.5}, back = {.parked = true};

    (void)state;
    json_t *line = json_fields_write(plan_share_fields, &share, PLAN_WRITTEN);
    assert_true(json_real_value(json_object_get(line, "speed")) == 0.5);
    json_object_del(line, "speed");
    assert_int_equal(
        json_fields_read(plan_share_fields, &back, line, PLAN_WRITTEN, NULL), 0);
    assert_false(back.parked);
    json_decref(line);
}

/* ---- what policies remember ---------------------------------------------- */

static void test_policy_keys(void **state)
{
    const struct policy *policy = policy_find("greedy");
    struct fixture *f = *state;
    const struct machine *machine = topology_machine(f->topology);
    struct policy_state *memory = policy_state_new(policy, machine);
    struct prediction_cache *cache = prediction_cache_new(machine, 2);
    struct workload *profile = workload_new(1);
    const struct workload *profiles[] = {profile, profile};
    double options[POLICY_OPTIONS_MAX];
    int owner[8] = {0, 0, 0, 0, 1, 1, 1, 1};
    size_t pool[] = {8};
    struct policy_job jobs[2] = {{.id = 1, .profile = profile, .weight = 1},
                                 {.id = 2, .profile = profile, .weight = 1}};
    struct policy_input input = {.machine = machine, .jobs = jobs,
                                 .job_count = 2, .owner = owner,
                                 .options = options};
    struct policy_decision decision = {.owner = owner};

    policy_options_init(policy, options);
    for (const struct field *one = policy_job_fields; one->key; one++) {
        struct policy_job before = jobs[1];
        state_remember(memory, &input, &decision);
        prediction_cache_begin(cache, &input, pool, profiles);
        assert_true(state_same(memory, &input));
        assert_true(prediction_cache_begin(cache, &input, pool, profiles));
        change(one, &jobs[1]);
        assert_int_equal(state_same_jobs(memory, &input),
                         !(one->where & POLICY_SITUATION));
        assert_int_equal(prediction_cache_begin(cache, &input, pool, profiles),
                         !(one->where & POLICY_PREDICTION));
        jobs[1] = before;
    }
    state_remember(memory, &input, &decision);
    prediction_cache_begin(cache, &input, pool, profiles);
    struct policy_job first = jobs[0]; /* their order does not matter */
    jobs[0] = jobs[1];
    jobs[1] = first;
    assert_true(state_same_jobs(memory, &input));
    jobs[0].profile = NULL;
    assert_false(state_same_jobs(memory, &input));
    profile->rate[0].mrr_per_us = 1;
    assert_false(prediction_cache_begin(cache, &input, pool, profiles));
    pool[0] = 7;
    assert_false(prediction_cache_begin(cache, &input, pool, profiles));
    workload_free(profile);
    prediction_cache_free(cache);
    policy_state_free(memory);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, fake_plan_free)

UNIT(test_plan_fields)
{
    const struct CMUnitTest tests[] = {
        T(test_input), T(test_jobs), T(test_beside), T(test_read),
        T(test_speed), T(test_policy_keys),
    };

    return cmocka_run_group_tests_name("test_plan_fields", tests, NULL, NULL);
}
