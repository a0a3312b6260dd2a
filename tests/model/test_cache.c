/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Who is confined in the cache, whose bandwidth is capped, and as which bits. */

#include "tests/model/near.h"

#include "model/cache.h"

#define JOBS 3
#define MB (1024.0 * 1024)

/* A node of one cache, or two, with a few jobs. */
struct world {
    struct cache_node node[2];
    struct cache_use use[JOBS][2];
    struct cache_share share[JOBS][2];
    struct cache_memory memory[JOBS][2];
    struct cache_job job[JOBS];
    char text[512];
};

static void begin(struct world *w)
{
    memset(w, 0, sizeof(*w));
    for (size_t n = 0; n < 2; n++)
        w->node[n] = (struct cache_node){30 * MB, 1000};
    for (size_t j = 0; j < JOBS; j++) {
        for (size_t n = 0; n < 2; n++) {
            w->share[j][n] = cache_unlimited;
            w->use[j][n].llc_bytes = NAN;
        }
        w->job[j] = (struct cache_job){.id = (uint32_t)(10 + j),
                                       .weight = 1,
                                       .use = w->use[j],
                                       .share = w->share[j],
                                       .memory = w->memory[j]};
    }
}

/* Job J has 4 cores on node N, with so many accesses and misses per us. */
static void does(struct world *w, size_t j, size_t n, double accesses,
                 double misses)
{
    w->use[j][n].cores = 4;
    w->use[j][n].accesses = accesses;
    w->use[j][n].misses = w->use[j][n].requests = misses;
}

static bool look(struct world *w, unsigned rules)
{
    return cache_decide(w->node, 2, rules, w->job, JOBS, w->text,
                        sizeof(w->text));
}

/* LOOKS looks; true when one of them changed anything. */
static bool looks(struct world *w, unsigned rules, size_t count)
{
    bool changed = false;

    for (size_t i = 0; i < count; i++)
        changed |= look(w, rules);
    return changed;
}

/* ---- confining ----------------------------------------------------------- */

static void test_stream_is_confined(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    does(&w, 0, 0, 100, 90);
    does(&w, 1, 0, 100, 10);
    for (size_t i = 1; i < CACHE_LOOKS; i++)
        assert_false(look(&w, CACHE_CONFINE)); /* once may be chance */
    assert_true(look(&w, CACHE_CONFINE));
    assert_near(w.share[0][0].part, CACHE_PART, 0);
    assert_near(w.share[1][0].part, 1, 0);
    assert_near(w.share[0][1].part, 1, 0);
    assert_string_equal(w.text, "job 10 on CPU node 0 is confined to 10 % of "
                                "the cache (two ways at least): 90 % of its 100 LLC accesses per "
                                "us miss");
    assert_false(looks(&w, CACHE_CONFINE, 100)); /* stays so */
    assert_string_equal(w.text, "");
}

static void test_nobody_gains(void **state)
{
    static const struct {
        double accesses, misses;
    } others[] = {
        {100, 95}, /* streams, too */
        {3, 0.1},  /* 0.75 per core: hardly uses the cache */
    };
    struct world w;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        begin(&w);
        does(&w, 0, 0, 100, 90);
        does(&w, 1, 0, others[i].accesses, others[i].misses);
        assert_false(looks(&w, CACHE_CONFINE, 10));
    }
    begin(&w);
    does(&w, 0, 0, 100, 90);
    does(&w, 1, 1, 100, 10); /* behind another cache */
    assert_false(looks(&w, CACHE_CONFINE, 10));
    /* It is nothing to a job that is not there any more. */
    does(&w, 1, 0, 100, 10);
    assert_true(looks(&w, CACHE_CONFINE, CACHE_LOOKS));
    w.use[1][0].cores = 0;
    assert_true(looks(&w, CACHE_CONFINE, CACHE_LOOKS));
    assert_non_null(strstr(w.text, "no other job would gain"));
    assert_near(w.share[0][0].part, 1, 0);
}

static void test_streams_are_confined_together(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    does(&w, 0, 0, 100, 90);
    does(&w, 1, 0, 200, 190);
    does(&w, 2, 0, NAN, NAN); /* may gain, as far as is known */
    assert_true(looks(&w, CACHE_CONFINE, CACHE_LOOKS));
    assert_near(w.share[0][0].part, CACHE_PART, 0);
    assert_near(w.share[1][0].part, CACHE_PART, 0);
    assert_near(w.share[2][0].part, 1, 0);
}

static void test_who_does_not_stream(void **state)
{
    static const struct cache_use no[] = {
        {4, 100, 70, 70, NAN},      /* a hit for each 2.3 fills */
        {4, 19, 19, 19, NAN},       /* fills too slowly */
        {4, 0, 0, 0, NAN},          /* nothing at all */
        {4, 100, 90, 90, 3.0 * MB}, /* holds no more than it would be left */
        {4, NAN, 90, 90, NAN},      /* not counted */
        {4, 100, NAN, 90, NAN},
    };
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
        begin(&w);
        w.use[0][0] = no[i];
        does(&w, 1, 0, 100, 10);
        assert_false(looks(&w, CACHE_CONFINE, 10));
    }
    begin(&w);
    does(&w, 0, 0, 100, 90);
    w.use[0][0].llc_bytes = 3.1 * MB;
    does(&w, 1, 0, 100, 10);
    assert_true(looks(&w, CACHE_CONFINE, 10));
    w.use[0][0].llc_bytes = 2 * MB; /* of course, now */
    assert_false(looks(&w, CACHE_CONFINE, 10));
    /* Two together hold too much. */
    begin(&w);
    does(&w, 0, 0, 100, 90);
    does(&w, 1, 0, 100, 90);
    does(&w, 2, 0, 100, 10);
    w.use[0][0].llc_bytes = w.use[1][0].llc_bytes = 2 * MB;
    assert_true(looks(&w, CACHE_CONFINE, CACHE_LOOKS));
    assert_true(w.share[0][0].part < 1 && w.share[1][0].part < 1);
}

static void test_unsteady(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    does(&w, 1, 0, 100, 10);
    for (size_t i = 0; i < 50; i++) { /* changes as often as we look */
        does(&w, 0, 0, 100, i % 2 ? 90 : 20);
        assert_false(look(&w, CACHE_CONFINE));
    }
    does(&w, 0, 0, 100, 80);
    assert_true(looks(&w, CACHE_CONFINE, 5));
    for (size_t i = 0; i < 50; i++) { /* around the threshold that it passed */
        does(&w, 0, 0, 100, i % 4 < 2 ? 70 : 80);
        assert_false(look(&w, CACHE_CONFINE));
    }
    does(&w, 0, 0, 100, 40);
    assert_true(looks(&w, CACHE_CONFINE, 5));
    assert_near(w.share[0][0].part, 1, 0);
    does(&w, 0, 0, NAN, NAN); /* what is not known changes nothing */
    assert_false(looks(&w, CACHE_CONFINE, 5));
}

static void test_trial(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    does(&w, 0, 0, 100, 80);
    does(&w, 1, 0, 100, 10);
    assert_true(looks(&w, CACHE_CONFINE, CACHE_LOOKS));
    does(&w, 0, 0, 100, 89); /* within the margin */
    assert_false(looks(&w, CACHE_CONFINE, 10));
    does(&w, 0, 0, 100, 95); /* did reuse what it held */
    assert_true(looks(&w, CACHE_CONFINE, CACHE_LOOKS));
    assert_near(w.share[0][0].part, 1, 0);
    assert_non_null(strstr(w.text, "95 % of its accesses miss since it was "
                                   "confined, before 80 %"));
    does(&w, 0, 0, 100, 80);
    assert_false(looks(&w, CACHE_CONFINE, CACHE_PAUSE));
    assert_true(looks(&w, CACHE_CONFINE, CACHE_LOOKS)); /* once more */
}

/* ---- capping ------------------------------------------------------------- */

static void test_cap(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    does(&w, 0, 0, NAN, 700);
    does(&w, 1, 0, NAN, 250);
    assert_false(looks(&w, CACHE_CAP, 10)); /* 650 of 700: not worth it */
    does(&w, 1, 0, NAN, 350);
    for (size_t i = 1; i < CACHE_LOOKS; i++)
        assert_false(look(&w, CACHE_CAP));
    assert_true(look(&w, CACHE_CAP));
    assert_near(w.share[0][0].requests, 550, 1e-9); /* 900 - 350 */
    assert_near(w.share[0][0].rate, 550.0 / 700, 1e-9);
}

static void test_cap_of_a_hog(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    does(&w, 0, 0, NAN, 1000);
    does(&w, 1, 0, NAN, 300);
    assert_true(looks(&w, CACHE_CAP, CACHE_LOOKS));
    assert_near(w.share[0][0].requests, 600, 1e-9);
    assert_near(w.share[0][0].rate, 0.6, 1e-9);
    assert_near(w.share[1][0].rate, 1, 0);
    assert_string_equal(w.text, "job 10 on CPU node 0 is capped to 600 of the "
                                "1000 requests per us that it would make: "
                                "memory serves 1000");
    does(&w, 0, 0, NAN, 590); /* obeys */
    assert_false(looks(&w, CACHE_CAP, 10));
    does(&w, 0, 0, NAN, 350); /* asks for less by itself */
    assert_true(looks(&w, CACHE_CAP, CACHE_LOOKS));
    assert_near(w.share[0][0].rate, 0.7, 1e-9);
    assert_true(looks(&w, CACHE_CAP, 3 * CACHE_LOOKS));
    assert_near(w.share[0][0].rate, 1, 0);
    assert_true(isinf(w.share[0][0].requests));
}

/* The hardware takes a rate as it likes. */
static void test_steering(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    does(&w, 0, 0, NAN, 1000);
    does(&w, 1, 0, NAN, 300);
    assert_true(looks(&w, CACHE_CAP, CACHE_LOOKS));
    does(&w, 0, 0, NAN, 800); /* 600 was meant */
    assert_true(looks(&w, CACHE_CAP, CACHE_LOOKS));
    assert_near(w.share[0][0].rate, 0.5, 1e-9);
    assert_near(w.share[0][0].requests, 600, 1e-9);
    assert_string_equal(w.text, "job 10 on CPU node 0 makes 800 requests per us "
                                "for a cap of 600: rate 50 %");
    does(&w, 0, 0, NAN, 400); /* too much at once */
    assert_false(looks(&w, CACHE_CAP, CACHE_PAUSE));
    assert_near(w.share[0][0].rate, 0.5, 1e-9);
    assert_true(looks(&w, CACHE_CAP, 2 * CACHE_LOOKS)); /* once a minute */
    assert_near(w.share[0][0].rate, 0.6, 1e-9);
    does(&w, 0, 0, NAN, 900); /* nothing helps */
    looks(&w, CACHE_CAP, CACHE_PAUSE + 20 * CACHE_LOOKS);
    assert_near(w.share[0][0].rate, CACHE_LEAST, 1e-9);
    assert_false(looks(&w, CACHE_CAP, CACHE_PAUSE));
}

static void test_cap_hysteresis(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    does(&w, 0, 0, NAN, 880);
    does(&w, 1, 0, NAN, 10);
    assert_false(looks(&w, CACHE_CAP, 10)); /* nobody lacks anything */
    does(&w, 1, 0, NAN, 400);
    assert_true(looks(&w, CACHE_CAP, CACHE_LOOKS));
    double rate = w.share[0][0].rate;
    does(&w, 0, 0, NAN, 500);
    does(&w, 1, 0, NAN, 360); /* less than a step */
    assert_false(looks(&w, CACHE_CAP, 10));
    assert_near(w.share[0][0].rate, rate, 0);
    w.use[1][0].cores = 0; /* alone */
    assert_true(looks(&w, CACHE_CAP, CACHE_LOOKS));
    assert_near(w.share[0][0].rate, 1, 0);
    /* Unknown service times, or demands: no caps. */
    does(&w, 1, 0, NAN, 5000);
    w.node[0].capacity = NAN;
    assert_false(looks(&w, CACHE_CAP, 10));
    w.node[0].capacity = 1000;
    w.use[0][0].requests = NAN;
    assert_false(looks(&w, CACHE_CAP, 10));
}

static void test_weights(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    does(&w, 0, 0, NAN, 1000);
    does(&w, 1, 0, NAN, 1000);
    w.job[0].weight = 2;
    assert_true(looks(&w, CACHE_CAP, CACHE_LOOKS));
    assert_near(w.share[0][0].requests, 600, 1e-9);
    assert_near(w.share[1][0].requests, 300, 1e-9);
}

static void test_rules_off(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    does(&w, 0, 0, 2000, 1900);
    does(&w, 1, 0, 100, 10);
    assert_false(looks(&w, 0, 10));
    assert_true(looks(&w, CACHE_CONFINE | CACHE_CAP, CACHE_LOOKS));
    assert_true(w.share[0][0].part < 1 && w.share[0][0].rate < 1);
    assert_true(look(&w, CACHE_CONFINE));
    assert_true(w.share[0][0].part < 1 && w.share[0][0].rate == 1);
    assert_non_null(strstr(w.text, "all of the bandwidth again"));
    assert_true(look(&w, 0));
    assert_true(w.share[0][0].part == 1);
    assert_false(look(&w, 0));
}

static void test_short_text(void **state)
{
    struct world w;
    char text[40];

    (void)state;
    begin(&w);
    for (size_t n = 0; n < 2; n++) {
        does(&w, 0, n, 2000, 1900);
        does(&w, 1, n, 100, 10);
    }
    for (size_t i = 0; i < CACHE_LOOKS; i++)
        cache_decide(w.node, 2, 3, w.job, JOBS, text, sizeof(text));
    assert_int_equal(strlen(text), sizeof(text) - 1);
    begin(&w);
    assert_false(cache_decide(w.node, 2, 3, w.job, JOBS, text, 0));
    assert_false(cache_decide(w.node, 2, 3, NULL, 0, text, sizeof(text)));
    assert_string_equal(text, "");
}

/* ---- masks --------------------------------------------------------------- */

static void test_masks(void **state)
{
    static const struct {
        uint64_t usable, shareable;
        unsigned least;
        double part;
        uint64_t mask;
    } table[] = {
        {0xfffff, 0, 1, 0.1, 0x3},          /* 20 ways */
        {0xfffff, 0, 2, 0.1, 0x3},
        {0xfffff, 0, 1, 0.25, 0x1f},
        {0xfffff, 0xc0000, 1, 0.1, 0x3},    /* devices at the high end */
        {0xfffff, 0x3, 1, 0.1, 0xc0000},    /* at the low one */
        {0xfffff, 0xfffff, 1, 0.1, 0x3},
        {0x7ff, 0x600, 1, 0.1, 0x3},        /* 11 ways: 1.1 are 2 */
        {0x7ff, 0x600, 1, 0.5, 0x3f},
        {0x7ff, 0, 4, 0.1, 0xf},
        {0x7ff, 0, 1, 1, 0x7ff},            /* all */
        {0x7ff, 0, 1, NAN, 0x7ff},
        {0x7f8, 0, 1, 0.1, 0x18},           /* others have the low ones */
        {0xff0ff, 0, 1, 0.25, 0x3},         /* two runs of eight: the low one */
        {0x3, 0, 1, 0.1, 0x3},              /* nothing would be left */
        {0x7, 0, 1, 0.1, 0x3},
        {0x7, 0, 2, 0.1, 0x7},
        {0x1, 0, 0, 0.1, 0x1},
        {0, 0, 1, 0.1, 0},
        {UINT64_MAX, 0, 1, 0.1, 0x7f},
        {UINT64_MAX, 0, 1, 1, UINT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct cache_ways ways = {table[i].usable, table[i].shareable,
                                  table[i].least};
        if (cache_mask(&ways, table[i].part) != table[i].mask)
            fail_msg("%zu: %llx", i,
                     (unsigned long long)cache_mask(&ways, table[i].part));
    }
}

static void test_any_mask(void **state)
{
    struct dice dice = {42};

    (void)state;
    for (int i = 0; i < 10000; i++) {
        struct cache_ways ways = {dice_next(&dice), dice_next(&dice),
                                  (unsigned)dice_range(&dice, 0, 4)};
        uint64_t run = cache_run(ways.usable);
        uint64_t mask = cache_mask(&ways, dice_unit(&dice));
        assert_true(run && mask);
        assert_int_equal(mask & ~run, 0);
        assert_int_equal(mask & (mask + (mask & -mask)), 0); /* one run */
        if (mask != run) {
            assert_true(__builtin_popcountll(mask) >= (int)ways.least);
            assert_true(__builtin_popcountll(run & ~mask) >= (int)ways.least);
        }
    }
}

static void test_percent(void **state)
{
    (void)state;
    assert_int_equal(cache_percent(0.6, 10, 10), 60);
    assert_int_equal(cache_percent(0.61, 10, 10), 70);
    assert_int_equal(cache_percent(0.01, 10, 10), 10);
    assert_int_equal(cache_percent(0.01, 0, 1), 1);
    assert_int_equal(cache_percent(0.555, 12, 0), 56);
    assert_int_equal(cache_percent(0.95, 10, 30), 100);
    assert_int_equal(cache_percent(1, 10, 10), 100);
    assert_int_equal(cache_percent(7, 10, 10), 100);
    assert_int_equal(cache_percent(-1, 10, 10), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream_is_confined),
        cmocka_unit_test(test_nobody_gains),
        cmocka_unit_test(test_streams_are_confined_together),
        cmocka_unit_test(test_who_does_not_stream),
        cmocka_unit_test(test_unsteady),
        cmocka_unit_test(test_trial),
        cmocka_unit_test(test_cap),
        cmocka_unit_test(test_cap_of_a_hog),
        cmocka_unit_test(test_steering),
        cmocka_unit_test(test_cap_hysteresis),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_rules_off),
        cmocka_unit_test(test_short_text),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_any_mask),
        cmocka_unit_test(test_percent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
