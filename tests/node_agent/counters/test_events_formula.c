/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Formulas over counters: what they say, and what is refused how. */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/counters/formula.h"

static const char *const names[] = {"A",       "B",        "MBOX0C0",
                                    "MBOX1C0", "MBOX12C0", "MBOX0C1",
                                    "MBOXC0",  "time",     "NO"};
static const double values[] = {2, 3, 10, 20, 30, 7, 1000, 0, NAN};

static const char *name(const void *arg, size_t index)
{
    return ((const char *const *)arg)[index];
}

static const struct formula_names known = {
    .count = sizeof(names) / sizeof(names[0]), .name = name, .arg = names};

static double value(const char *text)
{
    struct errtext err = {""};
    struct formula *f = formula_parse(text, &known, &err);

    if (!f)
        fail_msg("%s: %s", text, err.text);
    double v = formula_value(f, values);
    formula_free(f);
    return v;
}

static void computes(void **state)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"1", 1},
        {" A ", 2},
        {"1+2*3", 7},
        {"(1+2)*3", 9},
        {"A-B-1", -2},
        {"12/A/B", 2},
        {"-A*-B", 6},
        {"--A", 2},
        {"-(A+B)", -5},
        {"A*(B+1)/2", 4},
        {"1.25E+2", 125},
        {"1e-3*A", 0.002},
        {".5", 0.5},
        {"1.", 1},
        {"64.0", 64},
        {"sum(MBOX#C0)", 60},
        {"sum(MBOX#C0) * 64", 3840},
        {"sum( A )", 2},
        {"sum(MBOX0C#)", 17},
        {"min(A, B) + max(A, B)", 5},
        {"max(0, A - B)", 0},
        {"min(max(A,B),sum(MBOX#C1))", 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (fabs(value(good[i].text) - good[i].value) > 1e-12)
            fail_msg("%s is %g", good[i].text, value(good[i].text));
}

static void not_measured(void **state)
{
    static const char *const nothing[] = {
        "A / time",       "0 / 0",       "A / (B - 3)",  "NO",
        "NO * 0",         "min(A, NO)",  "max(NO, A)",   "A + sum(NO)",
        "1e300 * 1e300",  "-(1 / time)", "1 / (A - 2)",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++)
        if (!isnan(value(nothing[i])))
            fail_msg("%s is %g", nothing[i], value(nothing[i]));
}

static void refused(void **state)
{
    static const struct {
        const char *text;
        const char *why;
    } bad[] = {
        {"", "at the end: expected a number or a name"},
        {"A+", "at the end: expected a number or a name"},
        {"(A", "at the end: expected \")\""},
        {"sum(A", "at the end: expected \")\""},
        {"min(A)", "\")\": expected \",\""},
        {"min(A,B,A)", "\",\": expected \")\""},
        {"A B", "\"B\": not expected here"},
        {"A)", "\")\": not expected here"},
        {"A;B", "\";\": not expected here"},
        {"A % B", "\"%\": not expected here"},
        {"* A", "\"*\": expected a number or a name"},
        {"MBX0C0 + A", "\"MBX0C0\": no such counter or variable"},
        {"A + mbox0c0", "\"mbox0c0\": no such counter or variable"},
        {"inf", "\"inf\": no such counter or variable"},
        {"sum(X#)", "\"X#\": no such counter or variable"},
        {"sum(MBOX#)", "\"MBOX#\": no such counter or variable"},
        {"sum(1)", "\"1\": expected a name"},
        {"sum(A+B)", "\"+\": expected \")\""},
        {"MBOX#C0", "\"MBOX#C0\": \"#\" only in sum()"},
        {"system(A)", "\"system\": no such function"},
        {"A(B)", "\"A\": no such function"},
        {"1.5.2", "\"1.5.2\": not a number"},
        {"0x10", "\"0x10\": not a number"},
        {"12A", "\"12A\": not a number"},
        {"1e", "\"1e\": not a number"},
        {"1e999", "\"1e999\": not a number"},
        {".", "\".\": not a number"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct errtext err = {""};
        errno = 0;
        struct formula *f = formula_parse(bad[i].text, &known, &err);
        if (f || strcmp(err.text, bad[i].why) != 0)
            fail_msg("%s: %s", bad[i].text, f ? "accepted" : err.text);
        assert_int_equal(errno, EINVAL);
        assert_null(formula_parse(bad[i].text, &known, NULL));
    }
}

/* As deep and long as may be, and a little more. */
static void limits(void **state)
{
    char text[FORMULA_BYTES + 2];
    struct errtext err = {""};

    (void)state;
    for (int depth = 1; depth <= 40; depth++) {
        char *at = text;
        for (int i = 0; i < depth; i++)
            at += sprintf(at, "max(A,B+A*");
        at += sprintf(at, "1");
        for (int i = 0; i < depth; i++)
            at += sprintf(at, ")");
        struct formula *f = formula_parse(text, &known, &err);
        assert_int_equal(f != NULL, depth < FORMULA_DEPTH);
        if (f)
            assert_true(formula_value(f, values) > 2);
        formula_free(f);
    }
    assert_non_null(strstr(err.text, "nested too deeply"));
    memset(text, '-', FORMULA_BYTES);
    text[FORMULA_BYTES - 1] = 'A';
    text[FORMULA_BYTES] = '\0';
    struct formula *f = formula_parse(text, &known, &err);
    assert_non_null(f);
    assert_float_equal(formula_value(f, values), -2, 0);
    formula_free(f);
    memset(text, ' ', FORMULA_BYTES + 1);
    text[FORMULA_BYTES + 1] = '\0';
    assert_null(formula_parse(text, &known, &err));
    assert_non_null(strstr(err.text, "too long"));
}

static void knows_its_variables(void **state)
{
    struct formula *f = formula_parse("sum(MBOX#C0) / A", &known, NULL);

    (void)state;
    assert_non_null(f);
    assert_true(formula_uses(f, 0));
    assert_false(formula_uses(f, 1));
    assert_true(formula_uses(f, 4));
    assert_false(formula_uses(f, 5));
    assert_false(formula_uses(f, 6));
    formula_free(f);
    formula_free(NULL);
}

UNIT(test_events_formula)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes), cmocka_unit_test(not_measured),
        cmocka_unit_test(refused),  cmocka_unit_test(limits),
        cmocka_unit_test(knows_its_variables),
    };

    return cmocka_run_group_tests_name("test_events_formula", tests, NULL, NULL);
}
