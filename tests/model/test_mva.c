/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Several classes at one station: the methods against each other. */

#include "tests/model/near.h"

#include "model/analysis/mva.h"
#include "model/station.h"

static void test_bad_input(void **state)
{
    static const struct {
        enum mva_method method;
        struct mva_class class;
        size_t count;
        double service;
    } bad[] = {
        {MVA_AUTOMATIC, {2, 1}, 1, 0},
        {MVA_AUTOMATIC, {2, 1}, 1, -1},
        {MVA_AUTOMATIC, {2, 1}, 1, NAN},
        {MVA_AUTOMATIC, {2, 1}, 1, INFINITY},
        {MVA_AUTOMATIC, {2, -1}, 1, 1},
        {MVA_AUTOMATIC, {2, NAN}, 1, 1},
        {MVA_AUTOMATIC, {2, INFINITY}, 1, 1},
        {MVA_AUTOMATIC, {2, 1}, MVA_MAX_CLASSES + 1, 1},
        {MVA_LINEARIZER, {2, -1}, 1, 1},
        {MVA_EXACT, {MVA_EXACT_STATES, 1}, 1, 1},
        {MVA_EXACT, {SIZE_MAX, 1}, 1, 1},
        {(enum mva_method)99, {2, 1}, 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct mva_class classes[MVA_MAX_CLASSES + 1];
        struct mva_result result[MVA_MAX_CLASSES + 1];
        for (size_t k = 0; k <= MVA_MAX_CLASSES; k++)
            classes[k] = bad[i].class;
        assert_int_equal(mva_solve(bad[i].method, classes, bad[i].count,
                                   bad[i].service, result),
                         MODEL_EINVAL);
    }
    /* The largest that is solved exactly. */
    struct mva_class large = {MVA_EXACT_STATES - 1, 1};
    struct mva_result result;
    assert_int_equal(mva_solve(MVA_EXACT, &large, 1, 1, &result), MODEL_OK);
}

static void solve(enum mva_method method, const struct mva_class *classes,
                  size_t count, double service, struct mva_result *result)
{
    assert_int_equal(mva_solve(method, classes, count, service, result),
                     MODEL_OK);
}

/* Classes that never ask, or have nobody, change nothing. */
static void test_no_customers(void **state)
{
    static const enum mva_method methods[] = {MVA_AUTOMATIC, MVA_EXACT,
                                              MVA_APPROXIMATE, MVA_AVERAGE,
                                              MVA_LINEARIZER};
    const struct mva_class all[] = {{9, 0}, {3, 0.5}, {0, 7}, {0, 0}};
    struct mva_result with[4], alone;

    (void)state;
    for (size_t m = 0; m < 5; m++) {
        solve(methods[m], all, 4, 2, with);
        solve(methods[m], &all[1], 1, 2, &alone);
        assert_near(with[1].response, alone.response, 1e-9);
        assert_near(with[1].throughput, alone.throughput, 1e-9);
        assert_near(with[0].response, 2, 0);
        assert_near(with[0].throughput, 0, 0);
        assert_near(with[2].throughput, 0, 0);
        solve(methods[m], all, 1, 2, with); /* nobody at all */
        assert_near(with[0].response, 2, 0);
        assert_int_equal(mva_solve(methods[m], all, 0, 2, with), MODEL_OK);
    }
}

static void test_one_class_is_the_station(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 200; n = n * 2 + 1)
        for (double rho = 1e-3; rho < 200; rho *= 10) {
            struct mva_class class = {n, rho * 4};
            struct mva_result exact, average;
            struct station station;
            solve(MVA_EXACT, &class, 1, 0.25, &exact);
            solve(MVA_AVERAGE, &class, 1, 0.25, &average);
            assert_int_equal(station_solve(n, rho * 4, 4, &station), MODEL_OK);
            assert_near(exact.response, station.response, 1e-12);
            assert_near(exact.throughput, station.throughput, 1e-12);
            assert_near(average.response, station.response, 1e-12);
            assert_near(average.throughput, station.throughput, 1e-12);
        }
}

/* Two classes of the same rate are one class. */
static void test_alike_classes_are_one(void **state)
{
    const struct mva_class parts[] = {{2, 0.5}, {3, 0.1}, {4, 0.5}, {1, 0.1}};
    const struct mva_class whole[] = {{6, 0.5}, {4, 0.1}};
    struct mva_result p[4], w[2];

    (void)state;
    solve(MVA_EXACT, parts, 4, 1, p);
    solve(MVA_EXACT, whole, 2, 1, w);
    for (size_t k = 0; k < 4; k++)
        assert_near(p[k].response, w[k % 2].response, 1e-12);
    assert_near(p[0].throughput + p[2].throughput, w[0].throughput, 1e-12);
    assert_near(p[1].throughput + p[3].throughput, w[1].throughput, 1e-12);
    assert_near(p[2].throughput, 2 * p[0].throughput, 1e-12);
}

/* By hand: one customer of each of two classes at a server of time 1.  The
 * one that arrives sees the other alone: its queue is lambda / (1 + lambda). */
static void test_by_hand(void **state)
{
    const struct mva_class classes[] = {{1, 1}, {1, 0.25}};
    struct mva_result r[2];

    (void)state;
    solve(MVA_EXACT, classes, 2, 1, r);
    assert_near(r[0].response, 1 + 0.25 / 1.25, 1e-15);
    assert_near(r[1].response, 1 + 1 / 2.0, 1e-15);
    assert_near(r[0].throughput, 1 / (1 + 1.2), 1e-15);
    assert_near(r[1].throughput, 1 / (4 + 1.5), 1e-15);
}

struct mix {
    struct mva_class classes[4];
    size_t count;
    double service;
};

static struct mix random_mix(struct dice *dice)
{
    struct mix mix = {.count = dice_range(dice, 2, 4),
                      .service = 0.1 + dice_unit(dice)};

    for (size_t k = 0; k < mix.count; k++) {
        mix.classes[k].count = dice_range(dice, 0, 6);
        mix.classes[k].lambda =
            dice_range(dice, 0, 9) ? 0.001 * pow(3000, dice_unit(dice)) : 0;
    }
    return mix;
}

static double utilisation(const struct mix *mix, const struct mva_result *r)
{
    double sum = 0;

    for (size_t k = 0; k < mix->count; k++)
        sum += r[k].throughput;
    return sum * mix->service;
}

/* The bounds that docs/model.md states. */
static void test_approximate_is_close(void **state)
{
    struct dice dice = {77};
    double worst = 0, worst_average = 0, sum = 0, sum_average = 0, asks = 0;
    double worst_linearizer = 0, sum_linearizer = 0;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct mix mix = random_mix(&dice);
        struct mva_result exact[4], near_by[4], average[4], linear[4];
        solve(MVA_EXACT, mix.classes, mix.count, mix.service, exact);
        solve(MVA_APPROXIMATE, mix.classes, mix.count, mix.service, near_by);
        solve(MVA_AVERAGE, mix.classes, mix.count, mix.service, average);
        solve(MVA_LINEARIZER, mix.classes, mix.count, mix.service, linear);
        assert_true(utilisation(&mix, exact) <= 1 + 1e-12);
        for (size_t k = 0; k < mix.count; k++) {
            if (exact[k].throughput == 0)
                continue;
            double e = fabs(near_by[k].throughput / exact[k].throughput - 1);
            double a = fabs(average[k].throughput / exact[k].throughput - 1);
            double l = fabs(linear[k].throughput / exact[k].throughput - 1);
            worst_linearizer = fmax(worst_linearizer, l);
            sum_linearizer += l;
            worst = fmax(worst, e);
            worst_average = fmax(worst_average, a);
            sum += e;
            sum_average += a;
            asks++;
        }
    }
    print_message("throughput of a class against exact: approximate mean "
                  "%.4f worst %.4f, linearizer mean %.4f worst %.4f, "
                  "average mean %.4f worst %.4f\n",
                  sum / asks, worst, sum_linearizer / asks, worst_linearizer,
                  sum_average / asks, worst_average);
    assert_true(asks > 1000);
    assert_true(worst < 0.25);
    assert_true(sum / asks < 0.02);
    assert_true(sum_linearizer < sum / 5);
    assert_true(worst_linearizer < 0.05);
    assert_true(sum / asks < sum_average / asks / 2);
}

/* The table of docs/model.md. */
static void test_table_of_errors(void **state)
{
    static const struct mix mixes[] = {
        {{{11, 0}, {5, 0.5}}, 2, 1},
        {{{8, 0.02}, {8, 0.5}}, 2, 1},
        {{{8, 0.01}, {8, 1}}, 2, 1},
        {{{4, 0.1}, {12, 0.05}}, 2, 1},
        {{{15, 0.05}, {1, 2}}, 2, 1},
        {{{1, 1}, {1, 0.25}}, 2, 1},
        {{{6, 0.01}, {5, 0.1}, {5, 0.5}}, 3, 1},
    };

    (void)state;
    print_message("cores x rho           utilisation: exact  approximate  "
                  "average   worst class: approximate  average\n");
    for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++) {
        const struct mix *mix = &mixes[i];
        struct mva_result r[3][4];
        double worst[3] = {0};
        char name[64] = "";
        static const enum mva_method methods[] = {MVA_EXACT, MVA_APPROXIMATE,
                                                  MVA_AVERAGE};
        for (size_t m = 0; m < 3; m++)
            solve(methods[m], mix->classes, mix->count, mix->service, r[m]);
        for (size_t k = 0; k < mix->count; k++) {
            size_t used = strlen(name);
            snprintf(name + used, sizeof(name) - used, "%s%zux%g",
                     k ? " " : "", mix->classes[k].count,
                     mix->classes[k].lambda);
            for (size_t m = 1; m < 3 && r[0][k].throughput > 0; m++)
                worst[m] = fmax(worst[m], fabs(r[m][k].throughput /
                                                   r[0][k].throughput - 1));
        }
        print_message("%-22s             %.3f  %11.3f  %7.3f %24.1f%% %7.1f%%\n",
                      name, utilisation(mix, r[0]), utilisation(mix, r[1]),
                      utilisation(mix, r[2]), 100 * worst[1], 100 * worst[2]);
        assert_near(utilisation(mix, r[1]), utilisation(mix, r[0]), 0.1);
        assert_true(worst[1] < 0.30);
        /* The average is good where rates are close, and only there. */
        if (i == 1 || i == 2 || i == 6)
            assert_true(worst[2] > 5 * worst[1]);
    }
}

static void test_permutation_and_units(void **state)
{
    struct dice dice = {4711};

    (void)state;
    for (int round = 0; round < 300; round++) {
        struct mix mix = random_mix(&dice);
        enum mva_method method = (enum mva_method)dice_range(&dice, 0, 4);
        struct mva_class turned[4], scaled[4];
        struct mva_result r[4], t[4], s[4];
        size_t n = mix.count;
        for (size_t k = 0; k < n; k++) {
            turned[(k + 1) % n] = mix.classes[k];
            scaled[k] = mix.classes[k];
            scaled[k].lambda /= 1000;
        }
        solve(method, mix.classes, n, mix.service, r);
        solve(method, turned, n, mix.service, t);
        solve(method, scaled, n, mix.service * 1000, s);
        for (size_t k = 0; k < n; k++) {
            assert_near(t[(k + 1) % n].response, r[k].response, 1e-8);
            assert_near(t[(k + 1) % n].throughput, r[k].throughput, 1e-8);
            assert_near(s[k].response / 1000, r[k].response, 1e-8);
            assert_near(s[k].throughput * 1000, r[k].throughput, 1e-8);
        }
    }
}

/* The papers' way takes eight cores that hardly ask for half as busy as the
 * busy ones: it has all wait too long and loses a third of the throughput. */
static void test_average_is_wrong(void **state)
{
    const struct mva_class classes[] = {{8, 0.01}, {8, 1}};
    struct mva_result exact[2], average[2];

    (void)state;
    solve(MVA_EXACT, classes, 2, 1, exact);
    solve(MVA_AVERAGE, classes, 2, 1, average);
    assert_near(average[0].response, average[1].response, 1e-12);
    assert_true(exact[0].response > exact[1].response);
    assert_true(average[0].response > 1.5 * exact[0].response);
    assert_near(exact[0].throughput + exact[1].throughput, 1, 1e-4);
    assert_true(average[0].throughput + average[1].throughput < 0.7);
}

/* Beyond the exact limit automatic is the approximation, and close to the
 * station, which is exact for one class. */
static void test_automatic(void **state)
{
    const struct mva_class small[] = {{5, 0.3}, {7, 0.02}};
    const struct mva_class large[] = {{3000, 0.3}, {3000, 0.02}};
    struct mva_result a[2], b[2];

    (void)state;
    solve(MVA_AUTOMATIC, small, 2, 1, a);
    solve(MVA_EXACT, small, 2, 1, b);
    assert_memory_equal(a, b, sizeof(a));
    solve(MVA_AUTOMATIC, large, 2, 1, a);
    solve(MVA_APPROXIMATE, large, 2, 1, b);
    assert_memory_equal(a, b, sizeof(a));
    assert_near(a[0].throughput + a[1].throughput, 1, 1e-3);
}

static void test_extremes_converge(void **state)
{
    static const double lambda[] = {1e-300, 1e-9, 1e-3, 0.5, 1e3, 1e9};

    (void)state;
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++)
            for (size_t n = 1; n <= 100000; n *= 10) {
                struct mva_class classes[] = {{n, lambda[i]}, {n, lambda[j]}};
                struct mva_result r[2];
                for (int m = 0; m < 2; m++) {
                    solve(m ? MVA_LINEARIZER : MVA_APPROXIMATE, classes, 2, 1,
                          r);
                    assert_true(r[0].response >= 1 - 1e-9);
                    assert_true(r[0].response <= 2.0 * (double)n + 1e-6);
                    assert_true(r[0].throughput + r[1].throughput <= 1.01);
                }
            }
}

UNIT(test_mva)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_no_customers),
        cmocka_unit_test(test_one_class_is_the_station),
        cmocka_unit_test(test_alike_classes_are_one),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_approximate_is_close),
        cmocka_unit_test(test_table_of_errors),
        cmocka_unit_test(test_permutation_and_units),
        cmocka_unit_test(test_average_is_wrong),
        cmocka_unit_test(test_automatic),
        cmocka_unit_test(test_extremes_converge),
    };

    return cmocka_run_group_tests_name("test_mva", tests, NULL, NULL);
}
