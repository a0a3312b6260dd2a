/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The summary for AdminComment, and the decision log. */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/core/decisions.h"
#include "node_agent/core/record.h"

#define S UINT64_C(1000000000)

static void test_format(void **state)
{
    struct record r = {.policy = "nupoco",
                       .parallel_s = 12.41,
                       .total.regions = 3,
                       .decisions = 5,
                       .attached = true};
    char text[RECORD_TEXT_MAX];

    (void)state;
    /* Not ours to know what it does. */
    record_add_time(&r, &(struct record_time){.ns = 10 * S, .cores = 1});
    record_add_time(&r, &(struct record_time){.ns = 5 * S, .cores = 2});
    record_add_partner(&r, 17);
    record_add_partner(&r, 18);
    record_add_partner(&r, 17);
    record_format(&r, "final", text);
    assert_string_equal(
        text, "cosched/1 state=final policy=nupoco mean_cores=1.33 "
              "final_cores=2 regions=3 parallel_s=12.41 core_s=20.00 "
              "partners=17,18 decisions=5 attached=1");
    r.energy_j = 1234.56;
    record_format(&r, "final", text);
    assert_non_null(strstr(text, " attached=1 energy_j=1234.6"));
    r.unseen = true;
    record_format(&r, "final", text);
    assert_non_null(strstr(text, " attached=1 started=0 energy_j=1234.6"));
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
    r.attached = r.profiled = true;
    r.granted = 1024;
    r.rho = 0.123456789;
    r.total.barriers = 1e19;
    r.work_s = r.total.steps = r.alone_s = r.alone_work_s = 1e12;
    r.moves = r.decisions = UINT64_MAX;
    r.live_ns = 1;
    memset(r.program, 'x', sizeof(r.program) - 1);
    memset(r.policy, 'x', sizeof(r.policy) - 1);
    record_format(&r, "final", text);
    assert_true(strlen(text) < 1000);
    assert_non_null(strstr(text, " ults=1 alone_s="));
    assert_null(strpbrk(text, "\n|"));
}

/* A job that reports, on 16 cores: SERIAL s, then PARALLEL s at RHO. */
static struct record job(uint64_t serial, uint64_t parallel, double rho)
{
    struct record r = {.policy = "nupoco", .granted = 16, .attached = true};
    struct record_time time = {.ns = serial * S, .cores = 1, .reports = true,
                               .rho = NAN};

    record_add_time(&r, &time);
    time = (struct record_time){.ns = parallel * S, .cores = 8,
                                .reports = true, .parallel = true, .rho = rho};
    record_add_time(&r, &time);
    return r;
}

static void test_class(void **state)
{
    static const struct {
        uint64_t serial, parallel;
        double rho;
        const char *class;
        size_t best;
    } cases[] = {
        {0, 10, 0, "compute", 16},
        {2, 10, 0.001, "compute", 16},
        {0, 10, 0.08, "mixed", 15},
        {0, 10, 0.5, "memory", 5}, /* speedups: DESIGN's golden numbers */
        {40, 10, 0.5, "serial", 5},
        {40, 10, NAN, "serial", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct record r =
            job(cases[i].serial, cases[i].parallel, cases[i].rho);
        print_message("case %zu\n", i);
        assert_string_equal(record_class(&r), cases[i].class);
        assert_int_equal(record_best_cores(&r), cases[i].best);
    }
    struct record r = job(0, 10, NAN); /* never profiled */
    assert_null(record_class(&r));
    r = job(0, 10, 0.5);
    r.attached = false;
    assert_null(record_class(&r));
}

/* It has not done more than it had CPU time for; what it did alone is cut likewise. */
static void test_bound(void **state)
{
    struct record r = {.work_s = 40, .alone_work_s = 10, .cpu_s = 4};

    (void)state;
    record_bound_work(&r);
    assert_true(fabs(r.work_s - 4) < 1e-9 && fabs(r.alone_work_s - 1) < 1e-9);
    r.cpu_s = 5;
    record_bound_work(&r);
    assert_true(fabs(r.work_s - 4) < 1e-9);
}

static void test_work(void **state)
{
    struct record r = job(2, 10, 0.5);
    char text[RECORD_TEXT_MAX];

    (void)state;
    assert_true(fabs(record_speed(1, 0.5) - 1 / 1.5) < 1e-9);
    assert_true(fabs(record_speed(3, 0) - 3) < 1e-9);
    assert_true(fabs(r.work_s - (2 + 10 * record_speed(8, 0.5))) < 1e-9);
    assert_true(fabs(r.parallel_s - 10) < 1e-9);
    /* Another ten seconds nobody knows of. */
    struct record_time time = {.ns = 10 * S, .cores = 4, .reports = true,
                               .parallel = true, .rho = NAN};
    record_add_time(&r, &time);
    assert_true(fabs(r.rho - 0.5) < 1e-9);
    assert_true(fabs(r.profiled_share - 0.5) < 1e-9);
    time.rho = 0.2; /* and ten of less demand */
    record_add_time(&r, &time);
    assert_true(fabs(r.rho - 0.35) < 1e-9);
    r.total.steps = 1000;
    r.done_s = 9.5;
    record_set_program(&r, "/home/x/bin/my prog");
    record_set_program(&r, "/other");
    record_format(&r, "final", text);
    assert_non_null(strstr(text, " granted=16 moves=0 program=my class=mem"));
    assert_non_null(strstr(text, " rho=0.35 best_cores="));
    assert_non_null(strstr(text, " done_s=9.50 steps=1000"));
    assert_null(strstr(text, "alone_s"));
    assert_non_null(strstr(text, " ults=1"));
}

static void test_alone(void **state)
{
    struct record r = job(0, 90, 0);
    struct record_time time = {.ns = 2 * S, .cores = 16, .reports = true,
                               .parallel = true, .alone = true, .rho = 0};

    (void)state;
    record_add_time(&r, &time);
    assert_true(isnan(record_alone_s(&r))); /* too little of its work */
    time.ns = 8 * S;
    record_add_time(&r, &time);
    /* 90 s on 8 cores and 10 on 16: 55 s on 16. */
    assert_true(fabs(record_alone_s(&r) - 55) < 1e-9);
    time.cores = 15; /* a part of the node is no time alone */
    record_add_time(&r, &time);
    assert_true(fabs(r.alone_s - 10) < 1e-9);
    r = (struct record){.granted = 16, .attached = true};
    time.cores = 16;
    record_add_time(&r, &time);
    assert_true(fabs(record_alone_s(&r) - 8) < 1e-9);
}

static void test_ults(void **state)
{
    struct record r = job(0, 10, 0);

    (void)state;
    assert_int_equal(record_ults(&r), 0);
    r.total.barriers = 99; /* too few to tell */
    assert_int_equal(record_ults(&r), 0);
    r.total.barriers = 10 / 1e-3; /* each millisecond: no harm */
    assert_int_equal(record_ults(&r), 0);
    r.total.barriers = 10 / 30e-6;
    assert_int_equal(record_ults(&r), 4);
    r.total.barriers = 10 / 60e-6; /* eight, and the runtime chooses fewer */
    assert_int_equal(record_ults(&r), 0);
    r.total.barriers = 10 / 1e-6;
    assert_int_equal(record_ults(&r), 1);
    r.total.barriers = 0;
    r.total.steps = 10 / 30e-6; /* short regions are as bad */
    assert_int_equal(record_ults(&r), 4);
    r = job(0, 10, 0);
    r.total.preempted = 1000; /* 20 ms in spinning */
    assert_int_equal(record_ults(&r), 0);
    r.total.preempted = 1e6;
    assert_int_equal(record_ults(&r), 1);
    r.granted = 2; /* whose threads the runtime may count as four CPUs */
    assert_int_equal(record_ults(&r), 1);
}

/* Who waits for memory on few cores already needs no tasks for the others. */
static void test_ults_of_memory(void **state)
{
    static const struct {
        size_t granted, ults;
        double rho;
    } want[] = {
        {16, 0, 0}, {16, 0, 0.06}, {16, 5, 0.1}, {16, 3, 0.16}, {16, 1, 0.3}, {16, 1, 1e9},
        {64, 7, 0.02}, {64, 2, 0.05}, {64, 1, 0.2}, {1, 0, 0.5}, {0, 0, 0.5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        struct record r = {.granted = want[i].granted, .attached = true};
        struct record_time time = {.ns = S, .cores = 1, .reports = true, .parallel = true,
                                   .rho = want[i].rho};
        record_add_time(&r, &time);
        assert_int_equal(record_ults(&r), want[i].ults);
    }
    struct record r = job(0, 10, 0.3); /* and as long in a region that needs all of them */
    struct record_time time = {.ns = 10 * S, .cores = 8, .reports = true, .parallel = true};
    record_add_time(&r, &time);
    assert_int_equal(record_ults(&r), 4);
    r.total.barriers = 20 / 10e-6; /* the fewer of two */
    assert_int_equal(record_ults(&r), 1);
}

/* Reports begin anew with another agent: what was known stays. */
static void test_totals(void **state)
{
    struct record r = {.granted = 2};
    struct record_totals t = {.regions = 2, .steps = 30, .barriers = 50, .waited_s = 1,
                              .preempted = 7, .threads = 12};
    char text[RECORD_TEXT_MAX];

    (void)state;
    record_set_totals(&r, &t);
    t = (struct record_totals){.regions = 1, .steps = 40, .threads = 2};
    record_set_totals(&r, &t);
    assert_true(r.total.regions == 2 && r.total.threads == 12);
    assert_true(r.total.steps == 40 && r.total.barriers == 50);
    assert_true(r.total.waited_s == 1 && r.total.preempted == 7);
    record_format(&r, "final", text);
    assert_non_null(strstr(text, " steps=40 threads=12"));
}

static void test_program(void **state)
{
    struct record r = {0}, s = {0};

    (void)state;
    record_set_program(&r, "/a/b\n|\"c=d.x86_64-2+");
    assert_string_equal(r.program, "b___c_d.x86_64-2+");
    /* Who follows stays so. */
    struct follow_finding follow = {.word = FOLLOW_OTHER, .detail = "LLVM lib=omp"};
    record_set_follow(&s, &follow);
    assert_string_equal(s.follow, "other-runtime:LLVM_lib_omp");
    follow = (struct follow_finding){.word = FOLLOW_STOCK, .detail = "/home/x"};
    record_set_follow(&s, &follow);
    assert_string_equal(s.follow, "own-runtime");
    follow = (struct follow_finding){.word = FOLLOW_KTHREAD};
    memset(follow.detail, 'x', sizeof(follow.detail) - 1);
    record_set_follow(&s, &follow);
    assert_int_equal(strlen(s.follow), RECORD_FOLLOW_MAX - 1);
    follow.word = FOLLOW_STATIC;
    record_set_follow(&s, &follow);
    assert_true(!strncmp(s.follow, "kthread:xxx", 11));
    s.follow[0] = '\0';
    record_set_program(&s, "/opt/ep (deleted)");
    assert_string_equal(s.program, "ep");
}

static void test_decisions(void **state)
{
    struct decisions *d = decisions_new();

    (void)state;
    for (uint32_t i = 0; i < DECISIONS_KEPT + 3; i++) {
        decisions_add(d, json_pack("{s:o, s:[{s:i, s:i}]}", "text",
                                   json_sprintf("decision %u", i), "shares",
                                   "job", 1 + (int)(i % 2), "cores", (int)i));
    }
    json_t *all = decisions_json(d, 0, 0), *of_two = decisions_json(d, 2, 0);
    assert_int_equal(json_array_size(all), DECISIONS_KEPT);
    assert_int_equal(json_array_size(of_two), DECISIONS_KEPT / 2);
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(all, 0), "text")),
        "decision 3"); /* the oldest that is left */
    assert_int_equal(decisions_count(d), DECISIONS_KEPT + 3);
    json_decref(all);
    json_decref(of_two);
    decisions_free(d);
}

UNIT(test_record)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_class),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_ults),
        cmocka_unit_test(test_ults_of_memory),
        cmocka_unit_test(test_totals),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_decisions),
    };

    return cmocka_run_group_tests_name("test_record", tests, NULL, NULL);
}
