/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The closed network against its exact solution, bounds and laws. */

#include "tests/model/near.h"

#include "model/network.h"

#define K 2 /* classes of the random networks */
#define S 3 /* and stations */

struct tables {
    size_t count[K];
    double visits[K * S], service[K * S], posted[K * S], posted_service[K * S];
};

static struct network of(const struct tables *t)
{
    return (struct network){K,         S,         t->count,
                            t->visits, t->service, t->posted,
                            t->posted_service};
}

/* Equal service times of all at a station, no posted requests: the exact
 * solution then has product form. */
static struct tables random_tables(struct dice *dice)
{
    struct tables t = {.count = {dice_range(dice, 0, 8),
                                 dice_range(dice, 1, 8)}};

    for (size_t i = 0; i < S; i++) {
        double service = 0.1 + dice_unit(dice);
        for (size_t k = 0; k < K; k++) {
            t.service[k * S + i] = t.posted_service[k * S + i] = service;
            t.visits[k * S + i] =
                dice_range(dice, 0, 4) ? 0.01 * pow(200, dice_unit(dice)) : 0;
        }
    }
    return t;
}

struct solved {
    double share[K], response[K * S], utilisation[S];
};

static struct solved solve(enum network_method method, const struct tables *t)
{
    struct network network = of(t);
    struct solved s;
    struct network_result result = {s.share, s.response, s.utilisation};

    assert_int_equal(network_solve(method, &network, &result), MODEL_OK);
    return s;
}

/* Exact mean value analysis over all populations of two classes. */
static void exact(const struct tables *t, double *share)
{
    double queue[9][9][S] = {0};

    for (size_t a = 0; a <= t->count[0]; a++)
        for (size_t b = 0; b <= t->count[1]; b++)
            for (size_t k = 0; k < K; k++) {
                size_t n = k ? b : a;
                double r[S], total = 1;
                if (!n)
                    continue;
                for (size_t i = 0; i < S; i++) {
                    const double *seen = k ? queue[a][b - 1] : queue[a - 1][b];
                    r[i] = t->visits[k * S + i] * t->service[k * S + i] *
                           (1 + seen[i]);
                    total += r[i];
                }
                share[k] = 1 / total;
                for (size_t i = 0; i < S; i++)
                    queue[a][b][i] += (double)n * r[i] / total;
            }
}

static void test_close_to_exact(void **state)
{
    struct dice dice = {99};
    double worst[2] = {0}, sum[2] = {0};
    int compared = 0;

    (void)state;
    for (int round = 0; round < 500; round++) {
        struct tables t = random_tables(&dice);
        struct solved near_by = solve(NETWORK_SCHWEITZER, &t);
        struct solved nearer = solve(NETWORK_LINEARIZER, &t);
        double truth[K];
        exact(&t, truth);
        for (size_t k = 0; k < K; k++) {
            if (!t.count[k])
                continue;
            double e[2] = {fabs(near_by.share[k] / truth[k] - 1),
                           fabs(nearer.share[k] / truth[k] - 1)};
            for (int m = 0; m < 2; m++) {
                worst[m] = fmax(worst[m], e[m]);
                sum[m] += e[m];
            }
            compared++;
        }
    }
    print_message("share against exact: Schweitzer mean %.4f worst %.4f, "
                  "Linearizer mean %.5f worst %.4f\n",
                  sum[0] / compared, worst[0], sum[1] / compared, worst[1]);
    assert_true(compared > 800);
    assert_true(sum[0] / compared < 0.04 && worst[0] < 0.15);
    assert_true(sum[1] / compared < 0.002 && worst[1] < 0.03);
}

/* Schweitzer's fixed point the slow way: one round after the other. */
static void plain_rounds(const struct tables *t, double *share)
{
    double part[K * S] = {0};

    for (int round = 0; round < 20000; round++) {
        double seen[S] = {0};
        for (size_t e = 0; e < K * S; e++)
            seen[e % S] += (double)t->count[e / S] * part[e] * t->service[e];
        for (size_t k = 0; k < K; k++) {
            double response[S], total = 1;
            for (size_t i = 0; i < S; i++) {
                size_t e = k * S + i;
                response[i] = t->visits[e] *
                              (t->service[e] + seen[i] - part[e] * t->service[e]);
                total += response[i];
            }
            share[k] = 1 / total;
            for (size_t i = 0; i < S; i++)
                part[k * S + i] = response[i] / total;
        }
    }
}

/* Extrapolation leads to where the rounds would have gone, also where memory
 * is full and they are slow. */
static void test_short_cuts(void **state)
{
    struct dice dice = {17};

    (void)state;
    for (int round = 0; round < 50; round++) {
        struct tables t = random_tables(&dice);
        double share[K];
        for (size_t k = 0; k < K; k++)
            t.count[k] *= round % 2 ? 1 : 40;
        plain_rounds(&t, share);
        struct solved s = solve(NETWORK_SCHWEITZER, &t);
        for (size_t k = 0; k < K; k++)
            if (t.count[k])
                assert_near(s.share[k], share[k], 1e-6 * share[k]);
    }
}

static void check_laws(const struct tables *t, const struct solved *s)
{
    for (size_t i = 0; i < S; i++) {
        double queue = 0, load = 0;
        for (size_t k = 0; k < K; k++) {
            size_t e = k * S + i;
            double x = (double)t->count[k] * s->share[k] * t->visits[e];
            queue += x * s->response[e];
            load += x * t->service[e];
            assert_true(s->response[e] >= t->service[e] - 1e-12);
        }
        assert_true(queue <= (double)(t->count[0] + t->count[1]) + 1e-6);
        /* The approximations may pass 1 by a little. */
        assert_true(load <= 1.02);
        assert_near(s->utilisation[i], fmin(1, load), 1e-9);
    }
    /* A customer computes or is at a station (Little's law of the loop). */
    for (size_t k = 0; k < K; k++) {
        double total = 1;
        for (size_t i = 0; i < S; i++)
            total += t->visits[k * S + i] * s->response[k * S + i];
        assert_near(s->share[k] * total, 1, 1e-6);
    }
}

static void test_laws(void **state)
{
    struct dice dice = {3};

    (void)state;
    for (int round = 0; round < 300; round++) {
        enum network_method method = (enum network_method)(round % 2);
        struct tables t = random_tables(&dice), more = t;
        struct solved s = solve(method, &t);
        check_laws(&t, &s);
        /* More customers: nobody gets faster, all together do more. */
        more.count[1]++;
        struct solved m = solve(method, &more);
        assert_true(m.share[0] <= s.share[0] + 1e-3);
        assert_true(m.share[1] <= s.share[1] + 1e-3);
        assert_true((double)more.count[1] * m.share[1] >=
                    (double)t.count[1] * s.share[1] * (1 - 0.01));
    }
}

/* Classes in other order; all times in other units. */
static void test_permutation_and_units(void **state)
{
    struct dice dice = {17};

    (void)state;
    for (int round = 0; round < 200; round++) {
        enum network_method method = (enum network_method)(round % 2);
        struct tables t = random_tables(&dice), turned, scaled = t;
        for (size_t e = 0; e < K * S; e++) {
            size_t o = (e + S) % (K * S);
            turned.visits[o] = t.visits[e];
            turned.service[o] = turned.posted_service[o] = t.service[e];
            turned.posted[o] = 0;
            scaled.visits[e] = t.visits[e] / 1000;
            scaled.service[e] = t.service[e] * 1000;
        }
        turned.count[0] = t.count[1];
        turned.count[1] = t.count[0];
        struct solved a = solve(method, &t), b = solve(method, &turned);
        struct solved c = solve(method, &scaled);
        for (size_t k = 0; k < K; k++) {
            assert_near(b.share[1 - k], a.share[k], 1e-6);
            assert_near(c.share[k], a.share[k], 1e-6);
        }
        for (size_t e = 0; e < K * S; e++)
            assert_near(c.response[e] / 1000, a.response[e], 1e-5);
    }
}

static void test_limits(void **state)
{
    struct tables t = {.count = {5, 1}};

    (void)state;
    for (size_t e = 0; e < K * S; e++)
        t.service[e] = t.posted_service[e] = 1;
    /* Nobody asks: all compute. */
    struct solved s = solve(NETWORK_LINEARIZER, &t);
    assert_near(s.share[0], 1, 0);
    assert_near(s.response[0], 1, 0);
    /* Hardly anybody: a lone request's time. */
    t.visits[0] = 1e-9;
    s = solve(NETWORK_LINEARIZER, &t);
    assert_near(s.share[0], 1, 1e-8);
    assert_near(s.response[0], 1, 1e-8);
    /* Everybody always: the server's pace. */
    t.visits[0] = 1e9;
    s = solve(NETWORK_LINEARIZER, &t);
    assert_near(5 * s.share[0] * 1e9, 1, 1e-3);
    assert_near(s.utilisation[0], 1, 1e-3);
    assert_near(s.response[0], 5, 0.01);
    assert_near(s.share[1], 1, 0);
}

/* Posted requests stall nobody until the server cannot keep up. */
static void test_posted(void **state)
{
    struct tables t = {.count = {4, 2}};

    (void)state;
    for (size_t e = 0; e < K * S; e++)
        t.service[e] = t.posted_service[e] = 0.5;
    t.posted[0] = 0.1;
    struct solved s = solve(NETWORK_SCHWEITZER, &t);
    assert_near(s.share[0], 1, 0);
    assert_near(s.utilisation[0], 0.2, 1e-12);
    /* A reader behind an open stream of load 0.2: M/M/1 with a visitor. */
    t.count[1] = 1;
    t.visits[S] = 1e-6;
    s = solve(NETWORK_SCHWEITZER, &t);
    assert_near(s.response[S], 0.5 / (1 - 0.2), 1e-6);
    t.visits[S] = 0;
    t.posted[0] = 10; /* load 20 of one: a twentieth of the pace */
    s = solve(NETWORK_SCHWEITZER, &t);
    assert_near(s.share[0], 0.05, 0.002);
    assert_near(s.share[1], 1, 0);
    assert_near(s.utilisation[0], 1, 0.03);
}

/* Readers that also post, up to four times as much, whatever the load: a
 * solution is found and no server does more than it can. */
static void test_posted_and_read(void **state)
{
    struct dice dice = {8};

    (void)state;
    for (int round = 0; round < 500; round++) {
        struct tables t = random_tables(&dice);
        double much = pow(1000, dice_unit(&dice)) / 30;
        for (size_t e = 0; e < K * S; e++) {
            t.visits[e] *= much;
            t.posted[e] = t.visits[e] * 4 * dice_unit(&dice);
        }
        struct solved s = solve((enum network_method)(round % 2), &t);
        for (size_t i = 0; i < S; i++) {
            double load = 0;
            for (size_t k = 0; k < K; k++)
                load += (double)t.count[k] * s.share[k] *
                        (t.visits[k * S + i] + t.posted[k * S + i]) *
                        t.service[k * S + i];
            assert_true(load <= 1.06); /* an approximation */
        }
    }
}

static void test_bad_input(void **state)
{
    struct tables good = {.count = {1, 1}};
    struct network network;
    struct network_result none = {0};

    (void)state;
    for (size_t e = 0; e < K * S; e++)
        good.service[e] = good.posted_service[e] = good.visits[e] = 1;
    network = of(&good);
    assert_int_equal(network_solve(NETWORK_SCHWEITZER, &network, &none),
                     MODEL_OK);
    assert_int_equal(network_solve((enum network_method)2, &network, &none),
                     MODEL_EINVAL);
    network.classes = 0;
    assert_int_equal(network_solve(NETWORK_SCHWEITZER, &network, &none),
                     MODEL_EINVAL);
    network = of(&good);
    network.stations = 0;
    assert_int_equal(network_solve(NETWORK_SCHWEITZER, &network, &none),
                     MODEL_EINVAL);
    for (int field = 0; field < 4; field++)
        for (int value = 0; value < 3; value++) {
            struct tables bad = good;
            double *table[] = {bad.visits, bad.service, bad.posted,
                               bad.posted_service};
            table[field][4] = (double[]){-1, NAN, INFINITY}[value];
            network = of(&bad);
            assert_int_equal(
                network_solve(NETWORK_LINEARIZER, &network, &none),
                MODEL_EINVAL);
        }
    good.service[1] = good.posted_service[1] = 0; /* asks of nothing */
    network = of(&good);
    assert_int_equal(network_solve(NETWORK_SCHWEITZER, &network, &none),
                     MODEL_EINVAL);
}

UNIT(test_network)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_close_to_exact),
        cmocka_unit_test(test_short_cuts),
        cmocka_unit_test(test_laws),
        cmocka_unit_test(test_permutation_and_units),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_posted),
        cmocka_unit_test(test_posted_and_read),
    };

    return cmocka_run_group_tests_name("test_network", tests, NULL, NULL);
}
