/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The summary for AdminComment, and the decision log. */

#include "tests/node_agent/unit.h"

#include "node_agent/decisions.h"
#include "node_agent/record.h"

static void test_format(void **state)
{
    struct record r = {.policy = "nupoco",
                       .parallel_s = 12.41,
                       .sections = 3,
                       .decisions = 5,
                       .attached = true};
    char text[RECORD_TEXT_MAX];

    (void)state;
    record_add_time(&r, 10 * UINT64_C(1000000000), 1);
    record_add_time(&r, 5 * UINT64_C(1000000000), 2);
    record_add_partner(&r, 17);
    record_add_partner(&r, 18);
    record_add_partner(&r, 17);
    record_format(&r, "final", text);
    assert_string_equal(
        text, "cosched/1 state=final policy=nupoco mean_cores=1.33 "
              "final_cores=2 sections=3 parallel_s=12.41 core_s=20.00 "
              "partners=17,18 decisions=5 attached=1");
    r.energy_j = 1234.56;
    record_format(&r, "final", text);
    assert_non_null(strstr(text, " attached=1 energy_j=1234.6"));
}

static void test_limits(void **state)
{
    struct record r = {.policy = "nupoco"};
    char text[RECORD_TEXT_MAX];

    (void)state;
    record_format(&r, "running", text); /* no time yet: no division by it */
    assert_non_null(strstr(text, "mean_cores=0.00"));
    assert_non_null(strstr(text, "partners=- "));
    for (uint32_t i = 0; i < 100; i++)
        record_add_partner(&r, UINT32_MAX - i);
    r.core_s = r.parallel_s = r.energy_j = 1e12;
    record_format(&r, "final", text);
    assert_true(strlen(text) < 1000);
    assert_non_null(strstr(text, "attached=0"));
    assert_null(strpbrk(text, "\n|"));
}

static void test_decisions(void **state)
{
    struct decisions *d = decisions_new();

    (void)state;
    for (uint32_t i = 0; i < DECISIONS_KEPT + 3; i++) {
        struct decision one = {.shares = 1};
        one.share[0].job = 1 + i % 2;
        one.share[0].cores = i;
        snprintf(one.text, sizeof(one.text), "decision %u", i);
        decisions_add(d, &one);
    }
    json_t *all = decisions_json(d, 0), *of_two = decisions_json(d, 2);
    assert_int_equal(json_array_size(all), DECISIONS_KEPT);
    assert_int_equal(json_array_size(of_two), DECISIONS_KEPT / 2);
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(all, 0), "text")),
        "decision 3"); /* the oldest that is left */
    json_decref(all);
    json_decref(of_two);
    decisions_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_decisions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
