/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What users call the function behind a symbol. */

#include "tests/support/unit.h"

#include "config.h"
#include "node_agent/names/symbol_name.h"

static void test_names(void **state)
{
    static const struct {
        const char *symbol, *name;
        bool fortran;
    } cases[] = {
        {"conj_grad._omp_fn.0", "conj_grad", false},
        {"conj_grad", "conj_grad", false},
        {"step.constprop.0", "step", false},
        {"main.omp_outlined", "main", false},
        {"main._omp_fn.1", "main", false},
        {"step_._omp_fn.2", "step", false},
        {"Step_", "Step_", false},
        {"Step_", "Step", true},
        {"__solver_MOD_step._omp_fn.0", "solver::step", false},
        {"__a_MOD_", "a::", false},
        {"_", "_", true},
#ifdef HAVE_CXA_DEMANGLE
        {"_ZN2ns1SIiE3runEPii._omp_fn.0", "ns::S::run", false},
        {"_ZN2ns1SIiEclEPi._omp_fn.0", "ns::S::operator()", false},
        {"_ZN12_GLOBAL__N_16hiddenEPi._omp_fn.0", "(anonymous namespace)::hidden", false},
        {"_ZZ4mainENKUlvE_clEv._omp_fn.0", "main::{lambda()#1}::operator()", false},
        {"_ZlsRSoRK1A", "operator<<", false},
        {"_Z3addIdET_S0_S0_", "add", false},
        {"_ZNK4Grid4sizeEv", "Grid::size", false},
#endif
    };
    char name[SYMBOL_NAME_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool told = symbol_name(cases[i].symbol, cases[i].fortran, name);
        if (!told || strcmp(name, cases[i].name))
            fail_msg("%s: %s, not %s", cases[i].symbol, name, cases[i].name);
    }
}

static void test_nothing(void **state)
{
    static const char *const symbols[] = {"", ".omp_outlined.", ".omp_outlined..2", "MAIN__",
                                          "MAIN__._omp_fn.0"};
    char name[SYMBOL_NAME_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        assert_false(symbol_name(symbols[i], false, name));
        assert_string_equal(name, "");
    }
}

/* Symbols that are long, deep, or end where they should not. */
static void test_hostile(void **state)
{
    static const char pieces[][9] = {"_Z", "_ZN",  "I", "E", "3abc", "St", "S_", "(", ")",
                                     "<",  "{", "operator", "_MOD_", "__", "\xff", " ", "const"};
    char symbol[3000], name[SYMBOL_NAME_MAX];
    unsigned seed = 1;

    (void)state;
    memset(symbol, 'a', sizeof(symbol) - 1);
    symbol[sizeof(symbol) - 1] = '\0';
    assert_false(symbol_name(symbol, false, name));
    symbol[1000] = '\0';
    assert_true(symbol_name(symbol, false, name));
    assert_string_equal(name + SYMBOL_NAME_MAX - 4, "...");
    for (int i = 0; i < 20000; i++) {
        symbol[0] = '\0';
        for (unsigned n = seed % 12; n; n--) {
            seed = seed * 1103515245 + 12345;
            strncat(symbol, pieces[(seed >> 16) % 17], 8);
        }
        symbol_name(symbol, i % 2, name);
        assert_non_null(memchr(name, '\0', sizeof(name)));
        seed = seed * 1103515245 + 12345;
    }
}

UNIT(test_symbol_name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_hostile),
    };

    return cmocka_run_group_tests_name("test_symbol_name", tests, NULL, NULL);
}
