/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The simulated node: time, memory, and the agent's scheduler on it. */

#include "tests/support/unit.h"

#include <math.h>

#include "model/analysis/closed.h"
#include "common/log.h"
#include "simulator/virtual_host.h"
#include "simulator/virtual_memory.h"
#include "simulator/vnode.h"
#include "tests/support/uniform_machine.h"

#define CLOSE 1e-6

static bool near(double a, double b, double relative)
{
    return fabs(a - b) <= relative * fabs(b);
}

/* ---- virtual time ------------------------------------------------------- */

static char order[8];

static void note(void *arg)
{
    strncat(order, arg, 1);
}

static void test_timers(void **state)
{
    struct host *host = virtual_host_new();
    struct host_timer *a = NULL, *b = NULL, *c = NULL;

    (void)state;
    order[0] = '\0';
    assert_int_equal(virtual_host_next(host), VIRTUAL_NEVER);
    assert_int_equal(host_timer_start(host, &a, 20, note, "a"), 0);
    assert_int_equal(host_timer_start(host, &b, 10, note, "b"), 0);
    assert_int_equal(host_timer_start(host, &c, 10, note, "c"), 0);
    assert_int_equal(virtual_host_next(host), VIRTUAL_BEGIN_NS + 10);
    assert_false(virtual_host_call(host)); /* not yet */
    virtual_host_advance(host, VIRTUAL_BEGIN_NS + 10);
    while (virtual_host_call(host))
        continue;
    assert_string_equal(order, "bc");
    host_timer_start(host, &b, 10, note, "b"); /* at 20, after a */
    host_timer_stop(&c);
    virtual_host_advance(host, VIRTUAL_BEGIN_NS + 20);
    while (virtual_host_call(host))
        continue;
    assert_string_equal(order, "bcab");
    assert_int_equal(virtual_host_next(host), VIRTUAL_NEVER);
    host_timer_stop(&a);
    host_timer_stop(&b);
    assert_null(a);
    virtual_host_free(host);
}

/* ---- memory ------------------------------------------------------------- */

/* Two LLC domains of four cores, two memories with a link each way. */
static struct machine *two_nodes(void)
{
    struct machine *m = machine_new_uniform(2, 4, 2);

    m->controller_service_us[0] = m->controller_service_us[1] = 0.02;
    assert_int_equal(machine_connect_all(m, 0.03), MODEL_OK);
    return m;
}

static struct scenario_region reads(double per_us)
{
    return (struct scenario_region){.name = "s",
                                     .kind = REGION_PARALLEL,
                                     .work_s = 8,
                                     .read_per_us = per_us,
                                     .llc_per_us = 4 * per_us,
                                     .placement = SCENARIO_INTERLEAVED,
                                     .barriers = 1,
                                     .object = "o"};
}

/* Interleaved data: what model/analysis/closed.h says for the same jobs. */
static void test_memory_closed(void **state)
{
    struct machine *m = two_nodes();
    struct scenario_region s[2] = {reads(10), reads(30)};
    double cores[2][2] = {{4, 1}, {0, 3}}, even[2] = {0.5, 0.5};
    struct virtual_load loads[2] = {{&s[0], cores[0], even, false, NULL, false},
                                    {&s[1], cores[1], even, false, NULL, false}};
    double speed[4], requests[8], part[2], utilisation[8];
    struct virtual_rates rates = {speed, requests, part, utilisation};
    struct workload *w[2] = {workload_new(2), workload_new(2)};
    double expected[2];
    struct closed_result result = {.job_speed = expected};
    struct system_input in = {.machine = m,
                              .jobs = 2,
                              .profile = (const struct workload *const *)w,
                              .cores = (size_t[]){4, 0, 1, 3},
                              .method = MVA_AUTOMATIC};
    struct virtual_memory *memory =
        virtual_memory_new(m, NETWORK_LINEARIZER, 2);

    (void)state;
    for (size_t j = 0; j < 2; j++)
        for (size_t k = 0; k < 2; k++)
            w[j]->rate[k] = (struct workload_rate){s[j].read_per_us / 2,
                                                   s[j].read_per_us / 2};
    assert_int_equal(closed_solve(NETWORK_LINEARIZER, &in, &result), MODEL_OK);
    assert_int_equal(virtual_memory_solve(memory, loads, 2, &rates), MODEL_OK);
    assert_true(near(speed[0] + speed[1], expected[0], CLOSE));
    assert_true(near(speed[2] + speed[3], expected[1], CLOSE));
    assert_true(speed[2] == 0);
    assert_int_equal(virtual_memory_solve(memory, loads, 2, &rates), MODEL_OK);
    assert_int_equal(virtual_memory_asked(memory), 2);
    assert_int_equal(virtual_memory_solved(memory), 1);
    virtual_memory_free(memory);
    workload_free(w[0]);
    workload_free(w[1]);
    machine_free(m);
}

/* Local data is faster than interleaved, and as slow when the threads have gone
 * elsewhere; a partner in the LLC costs misses. */
static void test_memory_places(void **state)
{
    struct machine *m = two_nodes();
    struct scenario_region s = reads(10), other = reads(1);
    double here[2] = {4, 0}, there[2] = {0, 4}, data[2] = {1, 0};
    double even[2] = {0.5, 0.5}, some[2] = {1, 0};
    double speed[4], requests[8], part[2], utilisation[8];
    struct virtual_rates rates = {speed, requests, part, utilisation};
    struct virtual_load load[2] = {{&s, here, data, true, NULL, false},
                                   {&other, some, even, false, NULL, false}};
    struct virtual_memory *memory =
        virtual_memory_new(m, NETWORK_LINEARIZER, 2);

    (void)state;
    assert_int_equal(virtual_memory_solve(memory, load, 1, &rates), MODEL_OK);
    double local = speed[0];
    assert_true(near(requests[0], 10, CLOSE));
    load[0].cores = there;
    assert_int_equal(virtual_memory_solve(memory, load, 1, &rates), MODEL_OK);
    assert_true(near(requests[2], 10, CLOSE)); /* node 1 asks memory 0 */
    double remote = speed[1];
    assert_true(remote < local);
    load[0] = (struct virtual_load){&s, here, even, false, NULL, false};
    assert_int_equal(virtual_memory_solve(memory, load, 1, &rates), MODEL_OK);
    assert_true(speed[0] > remote);

    s.llc_loss = 1;
    assert_int_equal(virtual_memory_solve(memory, load, 2, &rates), MODEL_OK);
    double share = 4.0 * 40 / (4 * 40 + 1 * 4);
    assert_true(near(requests[0] + requests[1], 10 * (1 + (1 - share)), CLOSE));
    virtual_memory_free(memory);
    machine_free(m);
}

/* Threads that wander ask as they do in the mean, wherever their data lie. */
static void test_memory_wanders(void **state)
{
    struct machine *m = two_nodes();
    struct scenario_region s = reads(10);
    double cores[2] = {3, 1}, data[2] = {0.75, 0.25}, asked[4] = {1, 0, 0.5, 0.5};
    double speed[4], requests[4], part[1], utilisation[8];
    struct virtual_rates rates = {speed, requests, part, utilisation};
    struct virtual_memory *memory = virtual_memory_new(m, NETWORK_LINEARIZER, 1);

    (void)state;
    for (size_t k = 0; k < 3; k++) { /* at home, first touched so, or as each core asks */
        struct virtual_load load = {&s, cores, k == 1 ? data : NULL, true,
                                    k == 2 ? asked : NULL, false};
        assert_int_equal(virtual_memory_solve(memory, &load, 1, &rates), MODEL_OK);
        double own = speed[0] + speed[1];
        assert_true(near(requests[0], 10, CLOSE));
        assert_true(near(requests[3], k == 2 ? 5 : 10, CLOSE));
        load.wanders = true;
        assert_int_equal(virtual_memory_solve(memory, &load, 1, &rates), MODEL_OK);
        for (size_t i = 0; i < 2; i++) {
            assert_true(near(requests[2 * i], k == 2 ? 8.75 : 7.5, CLOSE));
            assert_true(near(requests[2 * i + 1], k == 2 ? 1.25 : 2.5, CLOSE));
        }
        assert_true(speed[0] + speed[1] < own);
    }
    virtual_memory_free(memory);
    machine_free(m);
}

/* ---- the node ----------------------------------------------------------- */

static struct vnode_result *run(const struct machine *m,
                                const struct scenario *scenario,
                                const char *policy, uint64_t seed)
{
    struct vnode_config c;
    struct errtext err = {""};

    vnode_config_init(&c, m, scenario);
    snprintf(c.options.policy, sizeof(c.options.policy), "%s", policy);
    c.seed = seed;
    struct vnode_result *r = vnode_run(&c, &err);
    if (!r)
        fail_msg("%s", err.text);
    return r;
}

/* A job of COUNT regions, REPEAT times. */
static struct scenario_job job(char *name, struct scenario_region *regions,
                               struct scenario_phase *phase)
{
    return (struct scenario_job){.name = name,
                                 .program = name,
                                 .malleable = true,
                                 .min_cores = 1,
                                 .weight = 1,
                                 .numa_node = SCENARIO_NO_NODE,
                                 .region = regions,
                                 .regions = phase->count,
                                 .phase = phase,
                                 .phases = 1};
}

/* Nobody asks memory: time is work over cores, whoever decides. */
static void test_alone(void **state)
{
    static const char *const names[] = {"equal", "nupoco", "native", "batch"};
    struct machine *m = two_nodes();
    struct scenario_region s[2] = {reads(0), reads(0)};
    struct scenario_phase phase = {.repeat = 2, .first = 0, .count = 2};
    struct scenario_job j = job("a", s, &phase);
    struct scenario scenario = {.name = "alone", .job = &j, .jobs = 1};

    (void)state;
    s[0].kind = REGION_SERIAL;
    s[0].work_s = 2;
    s[1].offset = 1;
    for (size_t i = 0; i < 4; i++) {
        struct vnode_result *r = run(m, &scenario, names[i], 1);
        /* 2 (2 + 8 / 8), and the time to notice each region's beginning. */
        assert_true(r->makespan_s >= 6);
        assert_true(r->makespan_s < 6.3);
        assert_true(near(r->job[0].work_s, 20, 1e-3));
        vnode_result_free(r);
    }
    machine_free(m);
}

static struct scenario pair(struct scenario_job *jobs,
                            struct scenario_region *s,
                            struct scenario_phase *phase)
{
    s[0] = reads(0);
    s[1] = reads(60);
    s[1].object = "p";
    *phase = (struct scenario_phase){.repeat = 1, .first = 0, .count = 1};
    s[0].work_s = 60;
    s[1].work_s = 12;
    jobs[0] = job("cpu", &s[0], phase);
    jobs[1] = job("mem", &s[1], phase);
    return (struct scenario){.name = "pair", .job = jobs, .jobs = 2};
}

/* The real scheduler: equal halves the cores; nupoco measures, then predicts. */
static void test_policies(void **state)
{
    struct machine *m = two_nodes();
    struct scenario_job jobs[2];
    struct scenario_region s[2];
    struct scenario_phase phase;
    struct scenario scenario = pair(jobs, s, &phase);
    struct vnode_result *equal = run(m, &scenario, "equal", 1);
    struct vnode_result *nupoco = run(m, &scenario, "nupoco", 1);
    char *text = json_dumps(nupoco->log, 0);

    (void)state;
    double mem_s = equal->job[1].turnaround_s;
    assert_true(near(equal->job[1].core_s, 4 * mem_s, 0.05));
    assert_non_null(strstr(text, "profile of job 1 is unknown"));
    assert_non_null(strstr(text, "predicted system utilisation"));
    assert_true(nupoco->decisions > 2);
    assert_true(nupoco->trace_fd >= 0);
    free(text);
    vnode_result_free(equal);
    vnode_result_free(nupoco);
    machine_free(m);
}

static void test_seed(void **state)
{
    struct machine *m = two_nodes();
    struct scenario_job jobs[2];
    struct scenario_region s[2];
    struct scenario_phase phase;
    struct scenario scenario = pair(jobs, s, &phase);
    struct vnode_result *r[3];

    (void)state;
    for (size_t i = 0; i < 3; i++)
        r[i] = run(m, &scenario, "nupoco", i < 2 ? 7 : 8);
    assert_true(r[0]->makespan_s == r[1]->makespan_s);
    assert_true(json_equal(r[0]->log, r[1]->log));
    assert_int_equal(r[0]->changes, r[1]->changes);
    for (size_t i = 0; i < r[0]->changes; i++)
        assert_memory_equal(&r[0]->change[i], &r[1]->change[i],
                            sizeof(r[0]->change[i]));
    /* Another seed: runtimes obey at other times. */
    assert_true(r[0]->makespan_s != r[2]->makespan_s);
    for (size_t i = 0; i < 3; i++)
        vnode_result_free(r[i]);
    machine_free(m);
}

/* No CPU has two jobs at a time. */
static void test_disjoint(void **state)
{
    struct machine *m = two_nodes();
    struct scenario_job jobs[2];
    struct scenario_region s[2];
    struct scenario_phase phase;
    struct scenario scenario = pair(jobs, s, &phase);
    struct cosched_cpuset has[2] = {{{0}}, {{0}}};
    struct vnode_result *r = run(m, &scenario, "nupoco", 3);

    (void)state;
    assert_true(r->changes > 4);
    for (size_t i = 0; i < r->changes; i++) {
        has[r->change[i].job] = r->change[i].cpus;
        if (i + 1 < r->changes && r->change[i + 1].time_s == r->change[i].time_s)
            continue;
        assert_int_equal(has[0].word[0] & has[1].word[0], 0);
    }
    vnode_result_free(r);
    machine_free(m);
}

/* A node that nobody has used for a while watches the next job like the first. */
static void test_after_a_pause(void **state)
{
    struct machine *m = two_nodes();
    struct scenario_job jobs[2];
    struct scenario_region s[2];
    struct scenario_phase phase;
    struct scenario scenario = pair(jobs, s, &phase);
    size_t decisions[2];

    (void)state;
    s[0].work_s = s[1].work_s = 8;
    s[0] = s[1];
    for (size_t late = 0; late < 2; late++) {
        jobs[1].arrival_s = 30;
        scenario.jobs = 1 + late;
        struct vnode_result *r = run(m, &scenario, "corun", 1);
        decisions[late] = r->decisions;
        vnode_result_free(r);
    }
    assert_true(decisions[0] >= 2); /* it is there, is known */
    assert_int_equal(decisions[1], 2 * decisions[0]);
    machine_free(m);
}

/* What one thread does in a serial region does not decide where the data lies
 * that all of them touch first in a parallel one. */
static void test_local_data(void **state)
{
    struct machine *m = two_nodes();
    struct scenario_region s[2] = {reads(1), reads(40)};
    struct scenario_phase phase = {.repeat = 1, .first = 0, .count = 2};
    struct scenario_job j = job("a", s, &phase);
    struct scenario scenario = {.name = "local", .job = &j, .jobs = 1};
    double makespan[2];

    (void)state;
    s[0].kind = REGION_SERIAL;
    s[0].work_s = 2;
    s[1].placement = SCENARIO_LOCAL;
    s[1].offset = 1;
    s[1].work_s = 40;
    for (size_t local = 0; local < 2; local++) {
        s[0].placement = local ? SCENARIO_LOCAL : SCENARIO_INTERLEAVED;
        struct vnode_result *r = run(m, &scenario, "equal", 1);
        makespan[local] = r->makespan_s;
        vnode_result_free(r);
    }
    assert_true(near(makespan[1], makespan[0], 0.02));
    machine_free(m);
}

/* Threads have data on other nodes than those where they begin: mapped there, a job is nearly as
 * fast as one whose data are local to begin with, also at random, and it is explained. */
static void test_mapped(void **state)
{
    static const char *const rules[] = {"none", "locality", "critical"};
    static size_t nodes[3][8] = {
        {0, 0, 0, 0, 1, 1, 1, 1}, {1, 1, 1, 1, 0, 0, 0, 0}, {1, 0, 1, 1, 0, 0, 1, 0}};
    struct machine *m = two_nodes();
    struct scenario_region s = reads(60);
    struct scenario_phase phase = {.repeat = 1, .first = 0, .count = 1};
    struct scenario_job j = job("a", &s, &phase);
    struct scenario scenario = {.name = "mapped", .job = &j, .jobs = 1};
    double makespan[3][3];

    (void)state;
    s.work_s = 60;
    s.placement = SCENARIO_BY_THREAD;
    s.thread_share = 0.9;
    s.thread_nodes = 8;
    j.malleable = false;
    for (size_t i = 0; i < 3; i++)
        for (size_t rule = 0; rule < 3; rule++) {
            struct vnode_config c;
            struct errtext err = {""};
            s.thread_node = nodes[i];
            vnode_config_init(&c, m, &scenario);
            strcpy(c.options.policy, "equal");
            snprintf(c.options.policy_options, sizeof(c.options.policy_options), "mapping:%s",
                     rules[rule]);
            struct vnode_result *r = vnode_run(&c, &err);
            if (!r)
                fail_msg("%s", err.text);
            makespan[i][rule] = r->makespan_s;
            char *text = json_dumps(r->log, 0);
            assert_int_equal(strstr(text, "8 threads mapped") != NULL, rule > 0);
            assert_int_equal(strstr(text, "candidates") != NULL, rule > 0);
            free(text);
            vnode_result_free(r);
        }
    assert_true(makespan[1][0] > 1.2 * makespan[0][0]);
    assert_true(makespan[2][0] > 1.1 * makespan[0][0]);
    for (size_t i = 0; i < 3; i++)
        for (size_t rule = 1; rule < 3; rule++)
            assert_true(makespan[i][rule] < 1.12 * makespan[0][0]);
    machine_free(m);
}

/* Jobs that begin by reading their data run on a core of one LLC domain each, as the
 * kernel spreads them, wherever the agent keeps cores for them: what they read does
 * not lie all in one memory. */
static void test_first_threads(void **state)
{
    struct machine *m = two_nodes();
    struct scenario_region s[2] = {reads(1), reads(60)};
    struct scenario_phase phase = {.repeat = 1, .first = 0, .count = 2};
    struct scenario_job jobs[2] = {job("a", s, &phase), job("b", s, &phase)};
    struct scenario scenario = {.name = "first", .job = jobs, .jobs = 2};
    double makespan[2];

    (void)state;
    s[0].kind = REGION_SERIAL;
    s[0].work_s = 2;
    s[1].offset = 1;
    s[1].work_s = 40;
    s[0].placement = s[1].placement = SCENARIO_FIRST_TOUCH;
    for (size_t forced = 0; forced < 2; forced++) {
        if (forced)
            jobs[0].numa_node = jobs[1].numa_node = 0;
        struct vnode_result *r = run(m, &scenario, "equal", 1);
        makespan[forced] = r->makespan_s;
        vnode_result_free(r);
    }
    assert_true(makespan[0] < 0.9 * makespan[1]);
    machine_free(m);
}

/* Nor has a job more than its maximum while the kernel shares the time: it is as
 * fast as on two cores at most, malleable or not. */
static void test_native_maximum(void **state)
{
    static const char *const names[] = {"native", "best-simple", "equal"};
    struct machine *m = two_nodes();
    struct scenario_job jobs[2];
    struct scenario_region s[2];
    struct scenario_phase phase;
    struct scenario scenario = pair(jobs, s, &phase);

    (void)state;
    jobs[0].max_cores = 2;
    s[0].work_s = 12;
    s[1] = reads(0);
    s[1].work_s = 60;
    for (size_t i = 0; i < 6; i++) {
        jobs[0].malleable = i % 2;
        struct vnode_result *r = run(m, &scenario, names[i / 2], 1);
        assert_true(r->job[0].turnaround_s >= 6);
        vnode_result_free(r);
    }
    machine_free(m);
}

/* Who has a greater weight has more of equal shares. */
static void test_weight(void **state)
{
    struct machine *m = machine_new_uniform(1, 8, 1);
    struct scenario_job jobs[2];
    struct scenario_region s[2];
    struct scenario_phase phase;
    struct scenario scenario = pair(jobs, s, &phase);

    (void)state;
    s[1] = reads(0);
    s[1].work_s = 60;
    jobs[1].weight = 3;
    struct vnode_result *r = run(m, &scenario, "equal", 1);
    /* Six cores; the other one has two until then. */
    assert_true(near(r->job[1].core_s, 6 * r->job[1].turnaround_s, 0.02));
    assert_true(r->job[0].turnaround_s > 1.3 * r->job[1].turnaround_s);
    vnode_result_free(r);
    machine_free(m);
}

/* A job that never attaches is pinned to its share by affinity. */
static void test_pinned(void **state)
{
    struct machine *m = two_nodes();
    struct scenario_job jobs[2];
    struct scenario_region s[2];
    struct scenario_phase phase;
    struct scenario scenario = pair(jobs, s, &phase);

    (void)state;
    jobs[0].malleable = false;
    struct vnode_result *r = run(m, &scenario, "equal", 1);
    /* 60 on 4 cores while the other is there, then on all. */
    assert_true(r->job[0].turnaround_s > 7.5);
    assert_true(r->job[0].turnaround_s < 17);
    assert_true(near(r->job[0].work_s, 60, 1e-3));
    vnode_result_free(r);
    machine_free(m);
}

/* Two pinned jobs, each with a thread for each of the node's cores, on half of them: each loses
 * cache to the other and waits for its requests, and neither more than the other. */
static void test_pinned_share_memory(void **state)
{
    struct machine *m = machine_new_uniform(1, 8, 1);
    struct scenario_region s = reads(30);
    struct scenario_phase phase = {.repeat = 1, .first = 0, .count = 1};
    struct scenario_job jobs[2] = {job("a", &s, &phase), job("b", &s, &phase)};
    struct scenario scenario = {.name = "pinned", .job = jobs, .jobs = 2};
    double end[2];

    (void)state;
    m->controller_service_us[0] = 0.005;
    s.work_s = 60;
    jobs[0].malleable = jobs[1].malleable = false;
    for (int loses = 0; loses < 2; loses++) {
        s.llc_loss = loses;
        struct vnode_result *r = run(m, &scenario, "equal", 1);
        end[loses] = r->makespan_s;
        assert_true(near(r->job[0].end_s, r->job[1].end_s, 0.02));
        vnode_result_free(r);
    }
    assert_true(end[1] > 1.05 * end[0]);
    machine_free(m);
}

static void test_refused(void **state)
{
    struct machine *m = two_nodes();
    struct scenario_job jobs[2];
    struct scenario_region s[2];
    struct scenario_phase phase;
    struct scenario scenario = pair(jobs, s, &phase);
    struct vnode_config c;
    struct errtext err = {""};

    (void)state;
    vnode_config_init(&c, m, &scenario);
    c.counters = "likwid?";
    assert_null(vnode_run(&c, &err));
    assert_non_null(strstr(err.text, "likwid?"));
    vnode_config_init(&c, m, &scenario);
    c.limit_s = 1;
    assert_null(vnode_run(&c, &err));
    assert_int_equal(errno, ETIME);
    jobs[1].numa_node = 2;
    assert_null(vnode_run(&c, &err));
    assert_non_null(strstr(err.text, "mem: numa_node 2"));
    machine_free(m);
}

UNIT(test_vnode)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers),
        cmocka_unit_test(test_memory_closed),
        cmocka_unit_test(test_memory_places), cmocka_unit_test(test_memory_wanders),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_disjoint),
        cmocka_unit_test(test_after_a_pause),
        cmocka_unit_test(test_local_data), cmocka_unit_test(test_mapped),
        cmocka_unit_test(test_first_threads),
        cmocka_unit_test(test_native_maximum),
        cmocka_unit_test(test_weight),
        cmocka_unit_test(test_pinned),
        cmocka_unit_test(test_pinned_share_memory),
        cmocka_unit_test(test_refused),
    };

    log_open(LOG_ERR, false);
    return cmocka_run_group_tests_name("test_vnode", tests, NULL, NULL);
}
