/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Descriptions of machines and workloads: defaults, links, checks. */

#include "tests/model/near.h"

#include "model/machine.h"
#include "model/workload.h"
#include "tests/support/uniform_machine.h"

static void test_no_machine(void **state)
{
    (void)state;
    assert_null(machine_new(0, 1, 1));
    assert_null(machine_new(1, 0, 1));
    assert_null(machine_new(1, 1, 0));
    assert_null(machine_new_uniform(1, 0, 1));
    machine_free(NULL);
    workload_free(NULL);
}

static void break_service(struct machine *m) { m->controller_service_us[1] = 0; }
static void break_nan(struct machine *m) { m->controller_service_us[0] = NAN; }
static void break_link(struct machine *m) { m->link_service_us[0] = -1; }
static void break_endless(struct machine *m) { m->link_service_us[1] = INFINITY; }
static void break_node(struct machine *m) { m->llc_domain[0] = 2; }
static void break_hole(struct machine *m) { m->llc_domain[0] = -2; }
static void break_home(struct machine *m) { m->local_node[1] = 2; }
static void break_home_sign(struct machine *m) { m->local_node[1] = -1; }
static void break_route(struct machine *m) { m->route[1].link[0] = 2; }
static void break_cpus(struct machine *m) { m->cpus = 0; }

static void test_check_refuses(void **state)
{
    static const struct {
        const char *what;
        void (*break_it)(struct machine *);
    } bad[] = {
        {"service time 0", break_service},
        {"service time NaN", break_nan},
        {"link time negative", break_link},
        {"link time infinite", break_endless},
        {"LLC domain out of range", break_node},
        {"less than a hole", break_hole},
        {"home out of range", break_home},
        {"home negative", break_home_sign},
        {"link out of range", break_route},
        {"no CPUs", break_cpus},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct machine *m = machine_new_uniform(2, 4, 2);
        assert_int_equal(machine_connect_all(m, 0.01), MODEL_OK);
        assert_int_equal(machine_check(m), MODEL_OK);
        bad[i].break_it(m);
        if (machine_check(m) != MODEL_EINVAL)
            fail_msg("%s is accepted", bad[i].what);
        machine_free(m);
    }
}

static void test_defaults(void **state)
{
    struct machine *m = machine_new(10, 4, 2);

    (void)state;
    assert_int_equal(machine_check(m), MODEL_OK);
    for (size_t cpu = 0; cpu < 10; cpu++)
        assert_int_equal(m->llc_domain[cpu], -1);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(m->local_node[i], i / 2);
        assert_int_equal(machine_node_cpus(m, i), 0);
    }
    assert_near(m->controller_service_us[1], MACHINE_DEFAULT_SERVICE_US, 0);
    assert_int_equal(m->links, 0);
    machine_free(m);
}

static void test_uniform_and_holes(void **state)
{
    struct machine *m = machine_new_uniform(3, 4, 1);

    (void)state;
    for (size_t cpu = 0; cpu < 12; cpu++)
        assert_int_equal(m->llc_domain[cpu], cpu / 4);
    m->llc_domain[5] = m->llc_domain[6] = -1;
    assert_int_equal(machine_check(m), MODEL_OK);
    assert_int_equal(machine_node_cpus(m, 0), 4);
    assert_int_equal(machine_node_cpus(m, 1), 2);
    machine_free(m);
}

/* More LLC domains than NUMA nodes, and fewer. */
static void test_connect_all(void **state)
{
    static const size_t sizes[][2] = {{1, 1}, {4, 4}, {8, 2}, {2, 4}};

    (void)state;
    for (size_t s = 0; s < 4; s++) {
        size_t mem = sizes[s][1];
        struct machine *m = machine_new_uniform(sizes[s][0], 2, mem);
        assert_int_equal(machine_connect_all(m, 0), MODEL_EINVAL);
        assert_int_equal(machine_connect_all(m, NAN), MODEL_EINVAL);
        assert_int_equal(machine_connect_all(m, 0.02), MODEL_OK);
        assert_int_equal(machine_check(m), MODEL_OK);
        assert_int_equal(m->links, mem * (mem - 1));
        for (size_t i = 0; i < m->llc_domains; i++)
            for (size_t j = 0; j < mem; j++) {
                const struct machine_route *r = &m->route[i * mem + j];
                assert_int_equal(r->links, (size_t)m->local_node[i] != j);
                if (!r->links)
                    continue;
                /* Nodes of the same home share links, others never do. */
                for (size_t k = 0; k < m->llc_domains * mem; k++)
                    if (m->route[k].links &&
                        m->route[k].link[0] == r->link[0]) {
                        assert_int_equal(k % mem, j);
                        assert_int_equal(m->local_node[k / mem], m->local_node[i]);
                    }
            }
        if (m->links)
            assert_int_equal(machine_connect_all(m, 0.02), MODEL_EINVAL);
        machine_free(m);
    }
}

/* All nodes serve N times what one does, unless the links between N nodes, each of which has one of
 * N^2 requests, let pass less. */
static void test_interleaved(void **state)
{
    static const struct {
        size_t nodes;
        double link; /* its service time by a controller's */
        double gain;
    } table[] = {{1, 1, 1}, {2, 4, 1},    {2, 8, 0.5}, {4, 1, 4},
                 {4, 5, 3.2}, {4, 10, 1.6}, {8, 16, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct machine *m = machine_new_uniform(table[i].nodes, 4, table[i].nodes);
        assert_non_null(m);
        assert_near(machine_interleaved_gain(m), (double)table[i].nodes, 1e-9);
        assert_false(machine_interleaves(m)); /* nobody knows */
        for (size_t k = 0; k < table[i].nodes; k++)
            m->controller_service_us[k] = 0.01;
        assert_int_equal(machine_connect_all(m, table[i].link * 0.01), MODEL_OK);
        assert_near(machine_interleaved_gain(m), table[i].gain, 1e-9);
        assert_int_equal(machine_interleaves(m), table[i].gain > 2);
        machine_free(m);
    }
}

static void test_workload_bad(void **state)
{
    static const struct {
        struct workload_rate rate;
        double sync, llc;
    } bad[] = {
        {{1, -1}, 0, 0},  {{1, 2}, 0, 0},       {{NAN, 0}, 0, 0},
        {{1, NAN}, 0, 0}, {{INFINITY, 0}, 0, 0}, {{1, 1}, -0.1, 0},
        {{1, 1}, 1.1, 0}, {{1, 1}, NAN, 0},      {{1, 1}, 0, -1},
        {{1, 1}, 0, INFINITY},
    };

    (void)state;
    assert_null(workload_new(0));
    assert_null(workload_new_rho(0, 1, 1));
    assert_null(workload_new_rho(1, -1, 1));
    assert_null(workload_new_rho(1, NAN, 1));
    assert_null(workload_new_rho(1, INFINITY, 1));
    assert_null(workload_new_rho(1, 1, 0));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct workload *w = workload_new(2);
        assert_int_equal(workload_check(w), MODEL_OK);
        w->rate[1] = bad[i].rate;
        w->sync_share = bad[i].sync;
        w->llc_per_us = bad[i].llc;
        assert_int_equal(workload_check(w), MODEL_EINVAL);
        workload_free(w);
    }
}

static void test_workload_rho(void **state)
{
    struct workload *w = workload_new_rho(4, 0.5, 0.02);
    double sum = 0;

    (void)state;
    assert_int_equal(workload_check(w), MODEL_OK);
    for (size_t j = 0; j < 4; j++) {
        sum += w->rate[j].mrr_per_us;
        assert_true(w->rate[j].mrr_per_us == w->rate[j].read_per_us);
    }
    assert_near(sum * 0.02, 0.5, 1e-12);
    workload_free(w);
}

UNIT(test_machine)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_machine),
        cmocka_unit_test(test_check_refuses),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_uniform_and_holes),
        cmocka_unit_test(test_connect_all),
        cmocka_unit_test(test_interleaved),
        cmocka_unit_test(test_workload_bad),
        cmocka_unit_test(test_workload_rho),
    };

    return cmocka_run_group_tests_name("test_machine", tests, NULL, NULL);
}
