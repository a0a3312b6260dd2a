/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Traffic per job from a resctrl that the test plays. */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/counters/resctrl.h"
#include "protocol/cpulist.h"
#include "tests/node_agent/counters/fake_resctrl.h"

static void open_node(struct fake_resctrl *n)
{
    struct errtext err = {""};

    if (resctrl_open(&n->is.setup, &n->source, &n->is.state, &err) < 0)
        fail_msg("%s", err.text);
}

static const char *group_of(char name[128], unsigned job)
{
    snprintf(name, 128, ROOT "mon_groups/coschedd.%d.777.%u", (int)getpid(),
             job);
    return name;
}

/* Give JOB the CPUs LIST (NULL: no such job) and likewise OTHER. */
static int assign(struct fake_resctrl *n, unsigned job, const char *list,
                  unsigned other, const char *others, struct errtext *err)
{
    struct counters_job jobs[2];
    size_t count = 0;

    memset(jobs, 0, sizeof(jobs));
    if (list) {
        jobs[count].id = job;
        if (*list)
            assert_int_equal(cpulist_parse(list, &jobs[count].cpus, NULL), 0);
        count++;
    }
    if (others) {
        jobs[count].id = other;
        assert_int_equal(cpulist_parse(others, &jobs[count].cpus, NULL), 0);
        count++;
    }
    return counters_resctrl.assign(n->is.state, jobs, count, err);
}

static void count(const struct fake_resctrl *n, unsigned job, int domain,
                  const char *name, const char *text)
{
    char group[128], file[256];

    snprintf(file, sizeof(file), "%s/mon_data/mon_L3_%02d/%s",
             group_of(group, job), domain, name);
    fake_put(n, file, text);
}

static int take(struct fake_resctrl *n, struct errtext *err)
{
    sample_set_groups(n->is.sample, NULL, 0);
    sample_clear(n->is.sample);
    n->is.sample->time_ns = 400000000;
    return counters_resctrl.sample(n->is.state, n->is.sample, err);
}

static const struct sample_group *found(const struct fake_resctrl *n, uint32_t job,
                                        size_t node)
{
    for (size_t g = 0; g < n->is.sample->groups; g++)
        if (n->is.sample->group_job[g] == job)
            return &n->is.sample->group[g * 3 + node];
    fail_msg("no group of job %u", job);
    return NULL;
}

static void assert_list(const struct fake_resctrl *n, unsigned job, const char *list)
{
    char group[128], path[300], line[64] = "";

    snprintf(path, sizeof(path), "%s/%s/cpus_list", n->is.tree->root,
             group_of(group, job));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof(line), f));
    fclose(f);
    assert_string_equal(line, list);
}

/* ---- tests --------------------------------------------------------------- */

static void test_traffic(void **state)
{
    struct fake_resctrl *n = *state;

    open_node(n);
    assert_int_equal(assign(n, 5, "0-2,4", 6, "5-7", NULL), 0);
    assert_list(n, 5, "0-2,4\n");
    assert_int_equal(take(n, NULL), 0); /* where counting begins */
    count(n, 5, 0, "mbm_total_bytes", "19200\n"); /* 300 lines by 3 CPUs */
    count(n, 5, 0, "mbm_local_bytes", "9600\n");
    count(n, 5, 4, "mbm_total_bytes", "640\n");
    count(n, 6, 4, "mbm_total_bytes", "1280\n");
    assert_int_equal(take(n, NULL), 0);
    assert_int_equal(n->is.sample->groups, 2);
    assert_true(fabs(found(n, 5, 0)->total - 200) < 1e-9);
    assert_true(fabs(found(n, 5, 1)->total - 100) < 1e-9);
    assert_true(fabs(found(n, 5, 0)->local - 100) < 1e-9);
    assert_true(fabs(found(n, 5, 2)->total - 10) < 1e-9);
    assert_true(fabs(found(n, 6, 2)->total - 20) < 1e-9);
    assert_true(isnan(found(n, 6, 0)->total)); /* has no CPU there */
    assert_int_equal(take(n, NULL), 0);
    assert_true(fabs(found(n, 5, 0)->total - 0) < 1e-9);
}

static void test_occupancy(void **state)
{
    struct fake_resctrl *n = *state;

    open_node(n);
    assert_int_equal(assign(n, 5, "0,2", 0, NULL, NULL), 0);
    count(n, 5, 0, "llc_occupancy", "8000\n");
    assert_int_equal(take(n, NULL), 0);
    assert_true(fabs(found(n, 5, 0)->llc_bytes - 4000) < 1e-9);
    count(n, 5, 0, "llc_occupancy", "2000\n");
    assert_int_equal(take(n, NULL), 0);
    assert_true(fabs(found(n, 5, 0)->llc_bytes - 4000) < 1e-9); /* not yet */
    assert_int_equal(take(n, NULL), 0);                         /* 1.2 s */
    assert_true(fabs(found(n, 5, 0)->llc_bytes - 1000) < 1e-9);
}

static void test_moving(void **state)
{
    struct fake_resctrl *n = *state;
    char group[128];

    open_node(n);
    assert_int_equal(assign(n, 5, "0-3", 6, "4-7", NULL), 0);
    assert_int_equal(assign(n, 5, "4-7", 6, "0-3", NULL), 0);
    assert_list(n, 5, "4-7\n");
    assert_list(n, 6, "0-3\n");
    assert_int_equal(assign(n, 5, "", 0, NULL, NULL), 0); /* 6 ended, 5 waits */
    assert_list(n, 5, "\n");
    assert_false(fake_has(n, group_of(group, 6)));
    assert_int_equal(assign(n, 7, "", 0, NULL, NULL), 0);
    assert_false(fake_has(n, group_of(group, 7))); /* needs no number yet */
    assert_int_equal(n->made, 0);
}

static void test_offline(void **state)
{
    struct fake_resctrl *n = *state;

    fake_put(n, "devices/system/cpu/online", "0-2,4-7\n");
    open_node(n);
    assert_int_equal(assign(n, 5, "0-3", 0, NULL, NULL), 0);
    assert_list(n, 5, "0-2\n");
}

static void test_unavailable(void **state)
{
    static const char *const texts[] = {"Unavailable\n", "Error\n", "12x\n"};
    struct fake_resctrl *n = *state;
    struct errtext err = {""};

    open_node(n);
    assert_int_equal(assign(n, 5, "0-1", 0, NULL, NULL), 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        count(n, 5, 0, "mbm_total_bytes", "64000\n");
        assert_int_equal(take(n, &err), 0);
        count(n, 5, 0, "mbm_total_bytes", texts[i]);
        assert_int_equal(take(n, &err), -1);
        assert_non_null(strstr(err.text, "Unavailable"));
        assert_true(isnan(found(n, 5, 0)->total));
        assert_int_equal(take(n, &err), 0); /* said once */
        count(n, 5, 0, "mbm_total_bytes", "128000\n");
        assert_int_equal(take(n, &err), 0);
        assert_true(isnan(found(n, 5, 0)->total)); /* of several intervals */
        count(n, 5, 0, "mbm_total_bytes", "128640\n");
        assert_int_equal(take(n, &err), 0);
        assert_true(fabs(found(n, 5, 0)->total - 10) < 1e-9);
        count(n, 5, 0, "mbm_total_bytes", "0\n"); /* began anew */
        take(n, NULL);
    }
}

/* Somebody unmounts it, or takes the group away, while jobs run. */
static void test_gone(void **state)
{
    struct fake_resctrl *n = *state;
    struct errtext err = {""};
    char group[128], path[256];

    open_node(n);
    assert_int_equal(assign(n, 5, "0-1", 0, NULL, NULL), 0);
    assert_int_equal(take(n, &err), 0);
    snprintf(path, sizeof(path), "%s/%s", n->is.tree->root, group_of(group, 5));
    assert_int_equal(nftw(path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    assert_int_equal(take(n, &err), -1);
    assert_non_null(strstr(err.text, "its group is gone"));
    assert_true(isnan(found(n, 5, 0)->total));
    assert_true(isnan(found(n, 5, 0)->local));
    for (int i = 0; i < 10; i++)
        assert_int_equal(take(n, &err), 0); /* said once */
}

static void test_wrap(void **state)
{
    struct fake_resctrl *n = *state;

    open_node(n);
    assert_int_equal(assign(n, 5, "0-1", 0, NULL, NULL), 0);
    count(n, 5, 0, "mbm_total_bytes", "18446744073709551552\n"); /* -64 */
    take(n, NULL);
    count(n, 5, 0, "mbm_total_bytes", "18446744073709551488\n"); /* back */
    take(n, NULL);
    assert_true(isnan(found(n, 5, 0)->total));
    count(n, 5, 0, "mbm_total_bytes", "64\n");
    take(n, NULL);
    assert_true(fabs(found(n, 5, 0)->total - 3) < 1e-9);
}

static void test_numbers_used_up(void **state)
{
    struct fake_resctrl *n = *state;
    struct errtext err = {""};
    char group[128];

    n->most = 1;
    open_node(n);
    assert_int_equal(assign(n, 5, "0-1", 6, "2-3", &err), -1);
    assert_int_equal(errno, ENOSPC);
    assert_non_null(strstr(err.text, "job 6: all monitoring numbers"));
    assert_int_equal(take(n, &err), 0);
    count(n, 5, 0, "mbm_total_bytes", "640\n");
    assert_int_equal(take(n, &err), 0);
    assert_true(fabs(found(n, 5, 0)->total - 10) < 1e-9); /* goes on */
    assert_true(isnan(found(n, 6, 1)->total));
    n->most = 2;
    assert_false(fake_has(n, group_of(group, 6)));
    assert_int_equal(take(n, &err), 0); /* a second later */
    assert_true(fake_has(n, group_of(group, 6)));
}

static void test_left_behind(void **state)
{
    struct fake_resctrl *n = *state;
    char own[128];

    /* Of a process that is gone, of one whose id was used again, of one that
     * lives, and of no agent at all. */
    fake_put(n, ROOT "mon_groups/coschedd.4000000.1.7/cpus_list", "0-1\n");
    snprintf(own, sizeof(own), ROOT "mon_groups/coschedd.%d.776.7/cpus_list",
             (int)getpid());
    fake_put(n, own, "2\n");
    fake_put(n, "proc/77/stat", "77 (coschedd) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 "
                           "18 19 20 21 900\n");
    fake_put(n, ROOT "mon_groups/coschedd.77.900.3/cpus_list", "\n");
    fake_put(n, ROOT "mon_groups/coschedd.mine/cpus_list", "\n");
    n->made = 4;
    open_node(n);
    assert_int_equal(n->made, 2);
    assert_true(fake_has(n, ROOT "mon_groups/coschedd.77.900.3"));
    assert_true(fake_has(n, ROOT "mon_groups/coschedd.mine"));
    assert_false(fake_has(n, ROOT "mon_groups/coschedd.4000000.1.7"));
    counters_resctrl.close(n->is.state);
    /* Somebody monitors CPUs. */
    fake_put(n, ROOT "mon_groups/pqos/cpus_list", "4-7\n");
    struct errtext err = {""};
    n->is.state = NULL;
    assert_int_equal(resctrl_open(&n->is.setup, &n->source, &n->is.state, &err), -1);
    assert_int_equal(errno, EBUSY);
    assert_non_null(strstr(err.text, "group pqos"));
    assert_non_null(strstr(err.text, "4-7"));
}

static void test_control_group(void **state)
{
    struct fake_resctrl *n = *state;
    struct errtext err = {""};
    char group[128], path[300];

    /* The kernel refuses the CPUs: here, the file is a directory. */
    open_node(n);
    assert_int_equal(assign(n, 5, "0-1", 0, NULL, NULL), 0);
    snprintf(path, sizeof(path), "%s/%s/cpus_list", n->is.tree->root,
             group_of(group, 5));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(assign(n, 5, "0-2", 0, NULL, &err), -1);
    assert_non_null(strstr(err.text, "job 5: CPUs 0-2"));
    assert_false(fake_has(n, group)); /* a group without CPUs is of no use */
}

static void test_order_for_want_of_ids(void **state)
{
    struct fake_resctrl *n = *state;
    struct errtext err = {""};
    char file[96], path[300];

    for (int c = 0; c < 8; c++) {
        snprintf(file, sizeof(file), "devices/system/cpu/cpu%d/cache/index3/id",
                 c);
        snprintf(path, sizeof(path), "%s/%s", n->is.tree->root, file);
        assert_int_equal(unlink(path), 0);
    }
    /* Two domains, three LLC domains: which is where? */
    assert_int_equal(resctrl_open(&n->is.setup, &n->source, &n->is.state, &err), -1);
    assert_int_equal(errno, ENOTSUP);
    assert_non_null(strstr(err.text, "CPU 0"));
    fake_put(n, ROOT "mon_data/mon_L3_09/mbm_total_bytes", "0\n");
    open_node(n); /* three and three */
}

static void remove_file(const struct fake_resctrl *n, const char *file)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/%s", n->is.tree->root, file);
    assert_int_equal(remove(path), 0);
}

static void refused(struct fake_resctrl *n, const char *text)
{
    struct errtext err = {""};

    assert_int_equal(resctrl_open(&n->is.setup, &n->source, &n->is.state, &err), -1);
    assert_int_equal(errno, ENOTSUP);
    if (!strstr(err.text, text))
        fail_msg("\"%s\" lacks \"%s\"", err.text, text);
}

static void test_refusals(void **state)
{
    struct fake_resctrl *n = *state;
    char elsewhere[96];

    fake_put(n, ROOT "info/L3_MON/mon_features", "nothing_known\n");
    refused(n, "neither traffic nor occupancy");
    remove_file(n, ROOT "info/L3_MON/mon_features");
    refused(n, "does not monitor");
    snprintf(elsewhere, sizeof(elsewhere), "%s/proc", n->is.tree->root);
    n->is.setup.argument = elsewhere;
    refused(n, "nothing mounted at");
    n->is.setup.argument = "/nowhere";
    refused(n, "/nowhere: No such file");
}

static void test_abilities(void **state)
{
    struct fake_resctrl *n = *state;
    struct counters_ability ability[COUNTERS_METRICS];

    memset(ability, 0, sizeof(ability));
    fake_put(n, ROOT "info/L3_MON/mon_features", "mbm_total_bytes\n");
    open_node(n);
    counters_resctrl.describe(n->is.state, ability);
    assert_true(ability[COUNTERS_JOB_TRAFFIC].can);
    assert_false(ability[COUNTERS_JOB_LLC].can);
    assert_string_equal(ability[COUNTERS_JOB_LLC].why, "no llc_occupancy");
    assert_false(ability[COUNTERS_JOB_TRAFFIC].shared);
}

static int setup(void **state)
{
    *state = fake_resctrl_new();
    return 0;
}

static int teardown(void **state)
{
    struct fake_resctrl *n = *state;

    counters_resctrl.close(n->is.state);
    fake_resctrl_free(n);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT(test_resctrl)
{
    const struct CMUnitTest tests[] = {
        TEST(test_traffic),       TEST(test_occupancy),
        TEST(test_moving),        TEST(test_offline),
        TEST(test_gone),
        TEST(test_unavailable),   TEST(test_wrap),
        TEST(test_numbers_used_up), TEST(test_left_behind),
        TEST(test_control_group), TEST(test_order_for_want_of_ids),
        TEST(test_refusals),      TEST(test_abilities),
    };

    return cmocka_run_group_tests_name("test_resctrl", tests, NULL, NULL);
}
