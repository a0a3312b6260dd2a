/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Energy from powercap files that the test writes. */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/counters/energy.h"
#include "tests/node_agent/counters/fake_node.h"
#include "tests/support/uniform_machine.h"

#define RAPL "class/powercap/intel-rapl:"

/* Two packages of two CPUs, whose numbers in the kernel are 0 and 3. */
static const int packages[] = {0, 0, 1, 1};

static void zone(const struct fake_node *n, const char *zone, const char *name,
                 const char *energy)
{
    char file[96];

    snprintf(file, sizeof(file), RAPL "%s/name", zone);
    tree_write(n->tree, file, name);
    snprintf(file, sizeof(file), RAPL "%s/max_energy_range_uj", zone);
    tree_write(n->tree, file, "1000000\n");
    snprintf(file, sizeof(file), RAPL "%s/energy_uj", zone);
    tree_write(n->tree, file, energy);
}

static void energy(const struct fake_node *n, const char *zone, const char *uj)
{
    char file[96];

    snprintf(file, sizeof(file), RAPL "%s/energy_uj", zone);
    tree_write(n->tree, file, uj);
}

static int setup(void **state)
{
    struct fake_node *n = calloc(1, sizeof(*n));

    fake_node_init(n, machine_new_uniform(2, 2, 2), 2);
    n->setup.package = packages;
    for (int c = 0; c < 4; c++)
        fake_node_cpu(n, c, "topology/physical_package_id",
                      c < 2 ? "0\n" : "3\n");
    *state = n;
    return 0;
}

static int teardown(void **state)
{
    fake_node_clear(*state, &counters_powercap);
    free(*state);
    return 0;
}

static void open_node(struct fake_node *n)
{
    struct errtext err = {""};

    if (counters_powercap.open(&n->setup, &n->state, &err) < 0)
        fail_msg("%s", err.text);
}

static int take(struct fake_node *n, struct errtext *err)
{
    sample_clear(n->sample);
    return counters_powercap.sample(n->state, n->sample, err);
}

static void test_sums(void **state)
{
    struct fake_node *n = *state;
    struct counters_ability ability[COUNTERS_METRICS] = {0};

    zone(n, "0", "package-0\n", "100\n");
    zone(n, "0:0", "core\n", "50\n");    /* within the package */
    zone(n, "0:1", "dram\n", "10\n");    /* beside it */
    zone(n, "1", "package-3\n", "5\n");  /* the setup's package 1 */
    zone(n, "2", "psys\n", "7\n");       /* everything once more */
    zone(n, "3", "package-9\n", "7\n");  /* not of this pool */
    open_node(n);
    energy(n, "0", "2000100\n");
    energy(n, "0:0", "900000\n");
    energy(n, "0:1", "500010\n");
    energy(n, "1", "250005\n");
    energy(n, "2", "9000000\n");
    assert_int_equal(take(n, NULL), 0);
    assert_true(fabs(n->sample->energy_j[0] - 2.5) < 1e-9);
    assert_true(fabs(n->sample->energy_j[1] - 0.25) < 1e-9);
    assert_int_equal(take(n, NULL), 0);
    assert_true(fabs(n->sample->energy_j[0] - 0) < 1e-9);
    counters_powercap.describe(n->state, ability);
    assert_true(ability[COUNTERS_ENERGY].can);
    assert_true(ability[COUNTERS_ENERGY].shared);
    assert_non_null(strstr(ability[COUNTERS_ENERGY].why, "and memory"));
    assert_false(ability[COUNTERS_CYCLES].can);
}

static void test_dies(void **state)
{
    struct fake_node *n = *state;

    zone(n, "0", "package-0-die-0\n", "0\n");
    zone(n, "1", "package-0-die-1\n", "0\n");
    open_node(n);
    energy(n, "0", "1000000\n");
    energy(n, "1", "2000000\n");
    assert_int_equal(take(n, NULL), 0);
    assert_true(fabs(n->sample->energy_j[0] - 3) < 1e-9);
    assert_true(isnan(n->sample->energy_j[1])); /* of which nothing is known */
}

static void test_wrap(void **state)
{
    struct fake_node *n = *state;

    zone(n, "0", "package-0\n", "900000\n");
    open_node(n);
    energy(n, "0", "100000\n"); /* over 1000000 */
    assert_int_equal(take(n, NULL), 0);
    assert_true(fabs(n->sample->energy_j[0] - 0.2) < 1e-9);
    /* Beyond the range that it claims, then back: from where, nobody knows. */
    energy(n, "0", "3000000\n");
    assert_int_equal(take(n, NULL), 0);
    energy(n, "0", "5\n");
    assert_int_equal(take(n, NULL), 0);
    assert_true(isnan(n->sample->energy_j[0]));
    energy(n, "0", "1000005\n");
    assert_int_equal(take(n, NULL), 0);
    assert_true(fabs(n->sample->energy_j[0] - 1) < 1e-9);
}

static void test_lost(void **state)
{
    struct fake_node *n = *state;
    struct errtext err = {""};

    zone(n, "0", "package-0\n", "0\n");
    zone(n, "0:0", "dram\n", "0\n");
    open_node(n);
    energy(n, "0", "1000000\n");
    energy(n, "0:0", ""); /* a read fails */
    assert_int_equal(take(n, &err), -1);
    assert_non_null(strstr(err.text, "intel-rapl:0:0"));
    assert_true(isnan(n->sample->energy_j[0])); /* not the package alone */
    assert_int_equal(take(n, &err), 0);         /* said once */
    energy(n, "0:0", "9000000\n");              /* of several intervals */
    assert_int_equal(take(n, &err), 0);
    assert_true(isnan(n->sample->energy_j[0]));
    energy(n, "0:0", "9500000\n");
    assert_int_equal(take(n, &err), 0);
    assert_true(fabs(n->sample->energy_j[0] - 0.5) < 1e-9);
    energy(n, "0:0", "nonsense\n");
    assert_int_equal(take(n, &err), -1); /* news again */
}

static void refused(struct fake_node *n, int errnum, const char *text)
{
    struct errtext err = {""};

    assert_int_equal(counters_powercap.open(&n->setup, &n->state, &err), -1);
    assert_int_equal(errno, errnum);
    if (!strstr(err.text, text))
        fail_msg("\"%s\" lacks \"%s\"", err.text, text);
}

static void test_refusals(void **state)
{
    struct fake_node *n = *state;

    refused(n, ENOTSUP, "class/powercap: No such file");
    zone(n, "0", "psys\n", "1\n");
    refused(n, ENOTSUP, "no intel-rapl:N");
    zone(n, "0", "package-0\n", "much\n");
    refused(n, EBADMSG, "energy_uj");
    zone(n, "0", "package-0\n", "1\n");
    open_node(n);
}

UNIT(test_energy)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sums, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dies, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
    };

    return cmocka_run_group_tests_name("test_energy", tests, NULL, NULL);
}
