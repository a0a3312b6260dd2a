/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Power of a machine whose energy the test writes, and cores at work. */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/calibrate/power.h"
#include "node_agent/counters/energy.h"
#include "tests/node_agent/counters/fake_node.h"
#include "tests/support/uniform_machine.h"

#define RAPL "class/powercap/intel-rapl:0/"
#define RANGE_UJ UINT64_C(65532610987) /* as of real ones: 1100 W wrap around within a minute */
#define DOMAINS 2

static const struct machine_power truth = {
    .idle_w = 50, .domain_w = 10, .core_w = 5, .stalled_w = 3, .request_nj = 20};

/* A machine that draws what TRUTH says. */
struct rig {
    struct fake_node node;
    struct machine_power truth;
    double lone_w;     /* more that a core draws that works alone in its LLC domain */
    uint64_t uj;
    enum power_load fails, vanishes; /* POWER_LOADS: none */
};

static double watts(const struct rig *r, enum power_load load, double requests_per_s)
{
    const struct machine_power *p = &r->truth;
    double cores = (double)r->node.machine->cpus;

    switch (load) {
    case POWER_IDLE:
        return p->idle_w;
    case POWER_ONE:
        return p->idle_w + DOMAINS * (p->domain_w + p->core_w + r->lone_w);
    case POWER_COMPUTE:
        return p->idle_w + DOMAINS * p->domain_w + cores * p->core_w;
    default:
        return p->idle_w + DOMAINS * p->domain_w + cores * p->stalled_w +
               1e-9 * p->request_nj * requests_per_s;
    }
}

static void write_energy(const struct rig *r)
{
    char text[32];

    snprintf(text, sizeof(text), "%llu\n", (unsigned long long)r->uj);
    tree_write(r->node.tree, RAPL "energy_uj", text);
}

static int run(void *arg, enum power_load load, void (*look)(void *of), void *of,
               struct power_window *window, struct errtext *err)
{
    struct rig *r = arg;
    double requests_per_s = load == POWER_STREAM ? 4e8 : load == POWER_CHASE ? 1e7 : 0;

    if (load == r->fails)
        return errtext_set(err, EAGAIN, "power: no more threads");
    look(of);
    window->seconds = 2;
    window->requests = 2 * requests_per_s;
    r->uj = (r->uj + (uint64_t)(2e6 * watts(r, load, requests_per_s))) % RANGE_UJ;
    write_energy(r);
    if (load == r->vanishes)
        tree_write(r->node.tree, RAPL "energy_uj", "");
    look(of);
    return 0;
}

static void init(struct rig *r, size_t cores)
{
    *r = (struct rig){.truth = truth, .fails = POWER_LOADS, .vanishes = POWER_LOADS,
                      .uj = RANGE_UJ - 150000000}; /* it wraps around in a window */
    fake_node_init(&r->node, machine_new_uniform(DOMAINS, cores, DOMAINS), 1);
    tree_write(r->node.tree, RAPL "name", "package-0\n");
    tree_write(r->node.tree, RAPL "max_energy_range_uj", "65532610987\n");
    write_energy(r);
}

static int calibrated(struct rig *r, struct machine_power *power, struct errtext *err)
{
    return calibrate_power(&r->node.setup, &(struct power_rig){run, r}, power, err);
}

static void clear(struct rig *r)
{
    r->node.state = NULL;
    fake_node_clear(&r->node, &counters_powercap);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-3 * fmax(1, b);
}

static void test_power(void **state)
{
    struct rig r;
    struct machine_power p;
    struct errtext err = {""};

    (void)state;
    init(&r, 4);
    assert_int_equal(calibrated(&r, &p, &err), 0);
    assert_true(near(p.idle_w, 50) && near(p.domain_w, 10) && near(p.core_w, 5));
    assert_true(near(p.stalled_w, 3) && near(p.request_nj, 20));
    r.node.machine->power = p;
    assert_true(machine_has_power(r.node.machine));
    clear(&r);
}

/* What cannot be told apart, or would be negative. */
static void test_odd(void **state)
{
    struct rig r;
    struct machine_power p;
    struct errtext err = {""};

    (void)state;
    init(&r, 1); /* a core is a domain */
    assert_int_equal(calibrated(&r, &p, &err), 0);
    assert_true(near(p.core_w, 15) && p.domain_w == 0 && near(p.idle_w, 50));
    clear(&r);
    init(&r, 4);
    r.truth.domain_w = 0;
    r.lone_w = -4; /* one that works alone draws less than its part of the whole */
    assert_int_equal(calibrated(&r, &p, &err), 0);
    assert_true(p.domain_w == 0 && near(p.core_w, 5));
    clear(&r);
    init(&r, 4);
    r.truth.request_nj = -10;
    r.truth.stalled_w = 9;
    assert_int_equal(calibrated(&r, &p, &err), 0);
    assert_true(p.request_nj == 0 && near(p.stalled_w, 5)); /* no more than one that computes */
    clear(&r);
}

static void refused(struct rig *r, int errnum, const char *why)
{
    struct machine_power p = truth;
    struct errtext err = {""};

    assert_int_equal(calibrated(r, &p, &err), -1);
    assert_int_equal(errno, errnum);
    if (!strstr(err.text, why))
        fail_msg("%s", err.text);
    assert_true(p.core_w == 0);
    clear(r);
}

static void test_refused(void **state)
{
    struct rig r;

    (void)state;
    init(&r, 4);
    r.node.setup.sysfs = "/nowhere";
    refused(&r, ENOTSUP, "/nowhere/class/powercap");
    init(&r, 4);
    r.truth = (struct machine_power){.idle_w = 50};
    refused(&r, ENODATA, "draw no more than the idle node");
    init(&r, 4);
    r.vanishes = POWER_CHASE;
    refused(&r, EIO, "can no longer be read");
    init(&r, 4);
    r.fails = POWER_ONE;
    refused(&r, EAGAIN, "no more threads");
}

struct looks {
    const struct power_cores *cores;
    size_t count;
};

static void look(void *of)
{
    ((struct looks *)of)->count++;
}

/* Cores at work on this machine: the loads make the requests that they say. */
static void test_cores(void **state)
{
    struct rig r;
    struct errtext err = {""};

    (void)state;
    init(&r, 1);
    struct power_cores cores = {&r.node.setup, 1 << 20, 0.02};
    for (enum power_load load = 0; load < POWER_LOADS; load++) {
        struct looks looks = {&cores, 0};
        struct power_window window = {0, -1};
        assert_int_equal(power_cores_run(&cores, load, look, &looks, &window, &err), 0);
        assert_int_equal(looks.count, 2);
        assert_true(window.seconds > 0);
        assert_true(load >= POWER_CHASE ? window.requests > 0 : window.requests == 0);
    }
    clear(&r);
}

UNIT(test_power)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_odd),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cores),
    };

    return cmocka_run_group_tests_name("test_power", tests, NULL, NULL);
}
