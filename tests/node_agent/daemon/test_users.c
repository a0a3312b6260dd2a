/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What users hold of the agent, and cost it. */

#include "tests/support/unit.h"

#include "node_agent/daemon/users.h"

#define SECOND UINT64_C(1000000000)
#define BURST  ((uint64_t)USERS_BURST_NS)

static struct users table;

static struct user *resident(uid_t uid, uint64_t now_ns)
{
    return users_find(&table, uid, false, true, now_ns);
}

static int fresh(void **state)
{
    (void)state;
    memset(&table, 0, sizeof(table));
    return 0;
}

static void test_burst(void **state)
{
    struct user *seven = resident(7, SECOND);

    (void)state;
    users_charge(&table, seven, BURST - 5, SECOND);
    assert_true(users_solvent(&table, seven, SECOND));
    users_charge(&table, seven, 5, SECOND);
    assert_false(users_solvent(&table, seven, SECOND));
    /* Others do not pay. */
    assert_true(users_solvent(&table, resident(8, SECOND), SECOND));
    assert_ptr_equal(resident(7, SECOND), seven);
}

/* What was used beyond the burst has to be earned before anything is served. */
static void test_debt(void **state)
{
    struct user *seven = resident(7, SECOND);

    (void)state;
    users_charge(&table, seven, BURST + SECOND / 10, SECOND);
    assert_int_equal(seven->left_ns, -(int64_t)SECOND / 10);
    assert_false(users_solvent(&table, seven, SECOND + SECOND * 19 / 10));
    assert_true(users_solvent(&table, seven, SECOND + SECOND * 21 / 10));
    /* Who waits for as long as told may be served. */
    users_charge(&table, seven, SECOND / 5, 4 * SECOND);
    uint64_t wait_ns = users_wait_ns(&table, seven, 4 * SECOND);
    assert_true(wait_ns > 0);
    assert_false(users_solvent(&table, seven, 4 * SECOND + wait_ns * 9 / 10));
    assert_true(users_solvent(&table, seven, 4 * SECOND + wait_ns + 1000));
    assert_int_equal(users_wait_ns(&table, seven, 4 * SECOND + wait_ns + 1000),
                     0);
    /* None is larger than can be repaid within reason. */
    users_charge(&table, seven, UINT64_MAX, 4 * SECOND);
    assert_int_equal(seven->left_ns, -USERS_DEBT_NS);
    users_charge(&table, seven, SECOND, 4 * SECOND);
    assert_int_equal(seven->left_ns, -USERS_DEBT_NS);
    assert_false(users_solvent(&table, seven, 23 * SECOND));
    assert_true(users_solvent(&table, seven, 25 * SECOND));
}

static void test_income(void **state)
{
    struct user *seven = resident(7, SECOND);

    (void)state;
    users_charge(&table, seven, BURST, SECOND);
    assert_true(users_solvent(&table, seven, 2 * SECOND));
    int64_t left = seven->left_ns;
    assert_true(left >= (int64_t)(0.99 * USERS_SHARE * 1e9) &&
                left <= (int64_t)(1.01 * USERS_SHARE * 1e9));
    /* The same instant brings nothing, nor does one that is past. */
    users_solvent(&table, seven, 2 * SECOND);
    users_solvent(&table, seven, SECOND);
    assert_int_equal(seven->left_ns, left);
    users_solvent(&table, seven, 1000 * SECOND);
    assert_int_equal(seven->left_ns, USERS_BURST_NS);
}

/* With many uids strangers get no more than their common purse has. */
static void test_strangers(void **state)
{
    uint64_t used = 0;

    (void)state;
    for (uid_t uid = 100000; uid < 165536; uid++) {
        struct user *u = users_find(&table, uid, false, false, SECOND);
        assert_non_null(u);
        if (!users_solvent(&table, u, SECOND))
            continue;
        users_charge(&table, u, SECOND / 1000, SECOND);
        used += SECOND / 1000;
    }
    assert_true(used >= BURST);
    assert_true(used <= BURST + SECOND / 1000);
    /* Who has a job does not notice. */
    assert_true(users_solvent(&table, resident(7, SECOND), SECOND));
}

/* Of more users than there are entries those are forgotten that owe least. */
static void test_many(void **state)
{
    struct user *debtor = resident(1, SECOND), *holder = resident(2, SECOND);

    (void)state;
    users_charge(&table, debtor, 2 * BURST, SECOND);
    users_connect(&table, holder);
    for (uid_t uid = 10; uid < 10 + 3 * USERS_MOST; uid++)
        users_charge(&table, resident(uid, SECOND), 10, SECOND);
    assert_ptr_equal(resident(1, SECOND), debtor);
    assert_ptr_equal(resident(2, SECOND), holder);
    assert_false(users_solvent(&table, debtor, SECOND));
    assert_int_equal(holder->connections, 1);
    /* Entries that hold something are never given away. */
    for (uid_t uid = 5000; uid < 5000 + USERS_MOST - 1; uid++)
        users_connect(&table, resident(uid, SECOND));
    assert_null(resident(9999, SECOND));
}

/* What strangers hold in all follows those who get or lose a job. */
static void test_held(void **state)
{
    struct user *u = users_find(&table, 7, false, false, SECOND);

    (void)state;
    users_connect(&table, u);
    users_connect(&table, u);
    users_unread(&table, u, 100);
    assert_int_equal(table.strangers.connections, 2);
    assert_int_equal(table.strangers.unread, 100);
    resident(7, SECOND);
    assert_int_equal(table.strangers.connections, 0);
    assert_int_equal(table.strangers.unread, 0);
    users_find(&table, 7, false, false, SECOND);
    users_disconnect(&table, u);
    users_unread(&table, u, -40);
    assert_int_equal(table.strangers.connections, 1);
    assert_int_equal(table.strangers.unread, 60);
    users_connect(&table, users_find(&table, 0, true, false, SECOND));
    assert_int_equal(table.strangers.connections, 1);
}

UNIT(test_users)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_burst, fresh),
        cmocka_unit_test_setup(test_debt, fresh),
        cmocka_unit_test_setup(test_income, fresh),
        cmocka_unit_test_setup(test_strangers, fresh),
        cmocka_unit_test_setup(test_many, fresh),
        cmocka_unit_test_setup(test_held, fresh),
    };

    return cmocka_run_group_tests_name("test_users", tests, NULL, NULL);
}
