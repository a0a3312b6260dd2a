/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Topologies of machines that are not there: cores, LLC domains, Slurm's lists. */

#include "tests/support/unit.h"

#include "node_agent/topology/topology.h"
#include "protocol/cpulist.h"

static struct topology *synthetic(const char *text,
                                  const struct cosched_cpuset *only)
{
    struct errtext err = {""};

    setenv("HWLOC_SYNTHETIC", text, 1);
    struct topology *t = topology_new(only, &err);
    unsetenv("HWLOC_SYNTHETIC");
    if (!t)
        fail_msg("%s: %s", text, err.text);
    return t;
}

static void test_shapes(void **state)
{
    static const struct {
        const char *text;
        size_t cpus, cores, llc_domains, numa_nodes;
    } good[] = {
        {"pack:1 core:2 pu:1", 2, 2, 1, 1},
        {"pack:2 core:2 pu:1", 4, 4, 2, 1}, /* no L3: packages */
        {"pack:1 numa:2 l3:2 core:4 pu:1", 16, 16, 4, 2},
        {"pack:2 numa:1 l3:1 core:4 pu:2", 16, 8, 2, 2}, /* SMT */
        {"numa:2 core:2 pu:1", 4, 4, 2, 2},
        {"core:8 pu:1", 8, 8, 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct topology *t = synthetic(good[i].text, NULL);
        const struct machine *m = topology_machine(t);
        size_t cores = 0;
        for (size_t n = 0; n < m->llc_domains; n++)
            cores += machine_node_cpus(m, n);
        print_message("%s\n", good[i].text);
        assert_int_equal(cpuset_count(topology_cpus(t)), good[i].cpus);
        assert_int_equal(cores, good[i].cores);
        assert_int_equal(m->llc_domains, good[i].llc_domains);
        assert_int_equal(m->numa_nodes, good[i].numa_nodes);
        topology_free(t);
    }
}

static void test_core_lists(void **state)
{
    static const struct {
        const char *machine, *cores, *cpus;
    } good[] = {
        {"pack:1 core:4 pu:1", "0-3", "0-3"},
        {"pack:1 core:4 pu:1", "1,3", "1,3"},
        {"pack:1 core:4 pu:2", "1", "2-3"},       /* both threads of a core */
        {"pack:1 core:4 pu:2", "0-7", "0-7"},     /* Slurm counts threads */
        {"pack:1 core:4 pu:2", "5", "5"},
        {"pack:1 core:2 pu:1", "0-3", "0-1"},     /* more than there is */
        /* Threads of a core numbered far apart, as servers do. */
        {"pack:1 core:2 pu:2(indexes=0,2,1,3)", "0", "0,2"},
    };
    static const char *const bad[] = {"", "4-5", "a", "0-", "1024"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct topology *t = synthetic(good[i].machine, NULL);
        struct cosched_cpuset cpus;
        char list[4096];
        assert_int_equal(topology_map_cores(t, good[i].cores, &cpus, NULL), 0);
        assert_string_equal(cpulist_format(&cpus, list, sizeof(list)),
                            good[i].cpus);
        topology_free(t);
    }
    struct topology *t = synthetic("pack:1 core:4 pu:1", NULL);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct cosched_cpuset cpus = {{42}};
        struct errtext err = {""};
        assert_int_equal(topology_map_cores(t, bad[i], &cpus, &err), -1);
        assert_true(err.text[0] != '\0');
        assert_int_equal(cpus.word[0], 42);
    }
    topology_free(t);
}

static void test_siblings(void **state)
{
    struct topology *t = synthetic("pack:1 core:4 pu:2", NULL);
    struct cosched_cpuset cpus = {{0x0c}}, cores, back;

    (void)state;
    topology_cores(t, &cpus, &cores);
    assert_int_equal(cores.word[0], 0x04);
    topology_expand(t, &cores, &back);
    assert_int_equal(back.word[0], 0x0c);
    assert_int_equal(topology_count_cores(t, topology_cpus(t)), 4);
    assert_int_equal(topology_machine(t)->llc_domain[1], -1);
    assert_int_equal(topology_llc_domains(t)[1], 0);
    topology_free(t);
}

static void test_restricted(void **state)
{
    struct cosched_cpuset only = {{0x30}}, none = {{0}}, cpus;
    struct errtext err = {""};

    (void)state;
    struct topology *t = synthetic("pack:2 core:4 pu:1", &only);
    assert_int_equal(topology_cpus(t)->word[0], 0x30);
    assert_int_equal(topology_machine(t)->llc_domains, 1);
    assert_int_equal(topology_map_cores(t, "0-7", &cpus, NULL), 0);
    assert_int_equal(cpus.word[0], 0x30);
    assert_int_equal(topology_map_cores(t, "0-3", &cpus, &err), -1);
    topology_free(t);
    cpuset_add(&none, 1000);
    assert_null(topology_new(&none, &err));
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(err.text, "1000"));
}

UNIT(test_topology)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_core_lists),
        cmocka_unit_test(test_siblings),
        cmocka_unit_test(test_restricted),
    };

    return cmocka_run_group_tests_name("test_topology", tests, NULL, NULL);
}
