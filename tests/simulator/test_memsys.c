/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The memory simulator against what is known about queues by other means. */

#include "tests/support/unit.h"

#include <math.h>

#include "tests/simulator/memsys.h"
#include "tests/support/uniform_machine.h"

/* One LLC domain, one NUMA node, cores that only read: the machine repair
 * queue. */
#define SERVICE_US 0.5

static struct machine *one_node(size_t cores)
{
    struct machine *machine = machine_new_uniform(1, cores, 1);

    assert_non_null(machine);
    machine->controller_service_us[0] = SERVICE_US;
    return machine;
}

static struct memsys_result run(const struct memsys_config *config)
{
    struct memsys_result result;

    assert_int_equal(memsys_run(config, &result), MODEL_OK);
    return result;
}

/* Laplace transform of the service time's density: all that the embedded
 * chain needs to know of a law. */
static double transform(enum memsys_law law, double cv2, double s)
{
    double p = (1 + sqrt((cv2 - 1) / (cv2 + 1))) / 2;

    switch (law) {
    case MEMSYS_DETERMINISTIC:
        return exp(-s * SERVICE_US);
    case MEMSYS_HYPEREXPONENTIAL:
        return p / (1 + s * SERVICE_US / (2 * p)) +
               (1 - p) / (1 + s * SERVICE_US / (2 * (1 - p)));
    default:
        return 1 / (1 + s * SERVICE_US);
    }
}

static double binomial(size_t n, size_t k)
{
    double result = 1;

    for (size_t i = 0; i < k; i++)
        result *= (double)(n - i) / (double)(i + 1);
    return result;
}

/* Probability that J of N computing cores ask during one service. */
static double arrivals(enum memsys_law law, double cv2, double rate, size_t n,
                       size_t j)
{
    double sum = 0;

    for (size_t l = 0; l <= j; l++)
        sum += (l % 2 ? -1 : 1) * binomial(j, l) *
               transform(law, cv2, (double)(n - j + l) * rate);
    return binomial(n, j) * sum;
}

/* Throughput of M/G/1//N by the chain of the number left behind at
 * completions, iterated to its steady state. */
static double repair_throughput(enum memsys_law law, double cv2, size_t n,
                                double rate)
{
    double state[16] = {1}, next[16];

    for (int round = 0; round < 5000; round++) {
        memset(next, 0, sizeof(next));
        for (size_t i = 0; i < n; i++) {
            size_t queue = i ? i : 1; /* when the next service begins */
            for (size_t j = 0; j + queue <= n; j++)
                next[queue - 1 + j] +=
                    state[i] * arrivals(law, cv2, rate, n - queue, j);
        }
        memcpy(state, next, sizeof(state));
    }
    return 1 / (SERVICE_US + state[0] / ((double)n * rate));
}

static void check_repair(enum memsys_law law, size_t cores, double rate)
{
    struct memsys_config config;
    struct memsys_kinds rates = {{rate, 0, 0}};
    struct memsys_job job = {&rates};

    memsys_defaults(&config);
    config.machine = one_node(cores);
    config.jobs = &job;
    config.job_count = 1;
    config.cores = &cores;
    config.law = law;
    config.seed = 7 + cores;
    config.window = 1;
    struct memsys_result r = run(&config);
    double x = repair_throughput(law, config.cv2, cores, rate);
    /* The interval holds in 95 of 100 runs, twice its width in all of ours. */
    double width = r.jobs[0].speed.half_width;

    assert_true(width > 0 && width < 0.01 * r.jobs[0].speed.mean);
    assert_true(fabs(r.jobs[0].speed.mean - x / rate) < 2 * width);
    assert_true(fabs(r.controller[0].utilisation.mean - x * SERVICE_US) <
                0.01);
    memsys_release(&r);
    machine_free((struct machine *)config.machine);
}

static void test_machine_repair(void **state)
{
    static const enum memsys_law laws[] = {
        MEMSYS_EXPONENTIAL, MEMSYS_DETERMINISTIC, MEMSYS_HYPEREXPONENTIAL};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (size_t cores = 1; cores <= 9; cores += 4)
            for (double rate = 0.05; rate < 3; rate *= 6)
                check_repair(laws[i], cores, rate);
}

/* The chain above against numbers worked out by hand, so that an error there
 * cannot hide one in the simulator. */
static void test_reference(void **state)
{
    double e = exp(-1);

    (void)state;
    /* U(3) at rho 0.5 is 15/19 (thesis 3.3). */
    assert_true(fabs(repair_throughput(MEMSYS_EXPONENTIAL, 2, 3, 1) *
                         SERVICE_US -
                     15.0 / 19) < 1e-12);
    /* M/D/1//2, rate x service = 1: the other core is still computing at the
     * end with probability 1/e, and then 1/(2 rate) passes idle. */
    assert_true(fabs(repair_throughput(MEMSYS_DETERMINISTIC, 2, 2, 2) -
                     1 / (0.5 + e / 4)) < 1e-12);
    /* One core never waits: all laws agree. */
    assert_true(fabs(repair_throughput(MEMSYS_HYPEREXPONENTIAL, 9, 1, 2) - 1) <
                1e-12);
}

/* Two LLC domains in line: the far one's requests cross two links. */
static struct machine *line(void)
{
    struct machine *machine = machine_new_uniform(3, 4, 2);

    assert_non_null(machine);
    machine->links = 2;
    free(machine->link_service_us);
    machine->link_service_us = malloc(2 * sizeof(double));
    machine->link_service_us[0] = 0.2;
    machine->link_service_us[1] = 0.3;
    machine->controller_service_us[0] = 0.5;
    machine->controller_service_us[1] = 0.4;
    size_t *both = malloc(2 * sizeof(*both));
    size_t *first = malloc(sizeof(*first));
    both[0] = 1;
    both[1] = 0;
    first[0] = 0;
    /* LLC domain 2 to memory 0, and LLC domain 0 to memory 1. */
    machine->route[4] = (struct machine_route){2, both};
    machine->route[1] = (struct machine_route){1, first};
    assert_int_equal(machine_check(machine), MODEL_OK);
    return machine;
}

static const struct memsys_kinds line_rates[2][2] = {
    {{{0.3, 0.1, 0.2}}, {{0.1, 0, 0}}},
    {{{0, 0.4, 0}}, {{0.5, 0, 0.1}}},
};
static const struct memsys_job line_jobs[2] = {{line_rates[0]},
                                               {line_rates[1]}};
static const size_t line_cores[6] = {2, 1, 0, 4, 4, 0};

static struct memsys_config line_config(void)
{
    struct memsys_config config;

    memsys_defaults(&config);
    config.machine = line();
    config.jobs = line_jobs;
    config.job_count = 2;
    config.cores = line_cores;
    return config;
}

static void check_server(const struct memsys_server *s, double time_us,
                         double service_us)
{
    double throughput = s->completions / time_us;

    assert_true(s->completions > 1000);
    /* Little's law; its two sides are counted separately. */
    assert_true(fabs(s->queue - throughput * s->response_us) <
                0.005 * s->queue);
    /* Utilisation law. */
    assert_true(fabs(s->utilisation.mean - throughput * service_us) < 0.02);
    assert_true(s->response_us >= 0.95 * service_us);
}

static void check_counts(const struct memsys_result *r)
{
    double served = r->controller[0].completions +
                    r->controller[1].completions;
    double asked = 0, crossed = 0;

    for (size_t j = 0; j < 2; j++) {
        double sum = 0;
        for (size_t i = 0; i < 18; i++)
            sum += r->requests[j * 18 + i];
        for (size_t k = 0; k < MEMSYS_KINDS; k++)
            asked += r->jobs[j].requests[k];
        assert_true(fabs(sum - r->jobs[j].requests[0] - r->jobs[j].requests[1] -
                         r->jobs[j].requests[2]) < 0.5);
        /* A core computes or waits. */
        double cores = j ? 5 : 6;
        assert_true(fabs(r->jobs[j].cpu_us + r->jobs[j].stall_us -
                         cores * r->time_us) < 1e-6 * r->time_us);
        assert_true(fabs(r->jobs[j].speed.mean * r->time_us -
                         r->jobs[j].cpu_us) < 1e-6 * r->jobs[j].cpu_us);
        /* Each job asks at its rates per time of computing. */
        for (size_t k = 0; k < MEMSYS_KINDS; k++) {
            double rate = line_rates[j][0].of[k] + line_rates[j][1].of[k];
            assert_true(fabs(r->jobs[j].requests[k] -
                             rate * r->jobs[j].cpu_us) <=
                        5 * sqrt(rate * r->jobs[j].cpu_us));
        }
    }
    /* What was under way at the begin and the end differs by a few. */
    assert_true(fabs(asked - served) <= 11 * 17);
    /* Link 1 carries what LLC domain 2 asks of memory 0, and only that. */
    for (size_t k = 0; k < MEMSYS_KINDS; k++)
        crossed += r->requests[12 + k] + r->requests[18 + 12 + k];
    assert_true(fabs(crossed - r->link[1].completions) <= 11 * 17);
}

static void test_laws_of_flow(void **state)
{
    struct memsys_config config = line_config();

    (void)state;
    for (int law = MEMSYS_EXPONENTIAL; law <= MEMSYS_HYPEREXPONENTIAL; law++)
        for (size_t window = 1; window < 9; window += 7) {
            config.law = (enum memsys_law)law;
            config.window = window;
            config.min_batches = 20;
            struct memsys_result r = run(&config);
            check_counts(&r);
            check_server(&r.controller[0], r.time_us, 0.5);
            check_server(&r.controller[1], r.time_us, 0.4);
            check_server(&r.link[0], r.time_us, 0.2);
            check_server(&r.link[1], r.time_us, 0.3);
            memsys_release(&r);
        }
    machine_free((struct machine *)config.machine);
}

static void test_same_seed(void **state)
{
    struct memsys_config config = line_config();
    struct memsys_result a, b, c;

    (void)state;
    config.max_batches = config.min_batches;
    a = run(&config);
    b = run(&config);
    config.seed++;
    c = run(&config);
    assert_int_equal(a.events, b.events);
    assert_true(a.time_us == b.time_us);
    assert_memory_equal(a.jobs, b.jobs, 2 * sizeof(*a.jobs));
    assert_memory_equal(a.controller, b.controller, 2 * sizeof(*a.controller));
    assert_true(a.jobs[0].speed.mean != c.jobs[0].speed.mean);
    memsys_release(&a);
    memsys_release(&b);
    memsys_release(&c);
    machine_free((struct machine *)config.machine);
}

/* How often the 95 % interval holds the truth: 100 runs, of which 95 +- 11
 * (five standard deviations) should. */
static void test_intervals(void **state)
{
    struct memsys_config config;
    struct memsys_kinds rates = {{1, 0, 0}};
    struct memsys_job job = {&rates};
    size_t cores = 3;
    int inside = 0;

    (void)state;
    memsys_defaults(&config);
    config.machine = one_node(cores);
    config.jobs = &job;
    config.job_count = 1;
    config.cores = &cores;
    config.batch_events = 2000;
    config.max_batches = config.min_batches;
    for (uint64_t seed = 0; seed < 100; seed++) {
        config.seed = seed;
        struct memsys_result r = run(&config);
        /* Speed is X / lambda = U / rho = (15 / 19) / 0.5. */
        inside += fabs(r.jobs[0].speed.mean - 30.0 / 19) <
                  r.jobs[0].speed.half_width;
        memsys_release(&r);
    }
    assert_in_range(inside, 84, 100);
    machine_free((struct machine *)config.machine);
}

/* Posted requests: cores are not stalled while the memory keeps up, and slowed
 * to its pace by their full buffers when it does not. */
static void test_posted(void **state)
{
    static const double rate[] = {0.1, 4};
    size_t cores = 4;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct memsys_config config;
        struct memsys_kinds rates = {{0, rate[i] / 2, rate[i] / 2}};
        struct memsys_job job = {&rates};

        memsys_defaults(&config);
        config.machine = one_node(cores);
        config.jobs = &job;
        config.job_count = 1;
        config.cores = &cores;
        struct memsys_result r = run(&config);
        double want = i ? 1 / (rate[i] * SERVICE_US) : (double)cores;
        assert_true(fabs(r.jobs[0].speed.mean - want) < 0.01 * want);
        assert_true(r.jobs[0].requests[MEMSYS_READ] == 0);
        memsys_release(&r);
        machine_free((struct machine *)config.machine);
    }
}

/* Service times by kind: reads of 0.2 us beside writes of 0.8 us. */
static void test_kinds(void **state)
{
    struct memsys_config config;
    struct memsys_kinds rates = {{0.4, 0.2, 0}};
    struct memsys_kinds service = {{0.2, 0.8, 1}};
    struct memsys_job job = {&rates};
    size_t cores = 2;

    (void)state;
    memsys_defaults(&config);
    config.machine = one_node(cores);
    config.controller_us = &service;
    config.jobs = &job;
    config.job_count = 1;
    config.cores = &cores;
    struct memsys_result r = run(&config);
    double want = r.jobs[0].speed.mean * (0.4 * 0.2 + 0.2 * 0.8);
    assert_true(fabs(r.controller[0].utilisation.mean - want) < 0.01 * want);
    memsys_release(&r);
    machine_free((struct machine *)config.machine);
}

static void test_nothing_asked(void **state)
{
    struct memsys_config config;
    struct memsys_kinds rates = {{0, 0, 0}};
    struct memsys_job jobs[2] = {{&rates}, {&rates}};
    size_t cores[2] = {3, 0};

    (void)state;
    memsys_defaults(&config);
    config.machine = one_node(3);
    config.jobs = jobs;
    config.job_count = 2;
    config.cores = cores;
    struct memsys_result r = run(&config);
    assert_true(r.jobs[0].speed.mean == 3);
    assert_true(r.jobs[1].speed.mean == 0);
    assert_true(r.controller[0].utilisation.mean == 0);
    assert_int_equal(r.events, 0);
    memsys_release(&r);
    machine_free((struct machine *)config.machine);
}

static void test_bad_input(void **state)
{
    struct memsys_config good = line_config(), bad;
    struct memsys_result r = {.events = 99};
    struct memsys_kinds rates[2] = {{{-1, 0, 0}}, {{0, NAN, 0}}};
    struct memsys_kinds service[2] = {{{1, 1, 0}}, {{1, 1, 1}}};
    struct memsys_job jobs[2] = {{rates}, {rates}};

    (void)state;
#define REFUSED(CHANGE)                                         \
    do {                                                        \
        bad = good;                                             \
        CHANGE;                                                 \
        assert_int_equal(memsys_run(&bad, &r), MODEL_EINVAL);   \
        assert_int_equal(r.events, 99);                         \
    } while (0)
    REFUSED(bad.machine = NULL);
    REFUSED(bad.job_count = 0);
    REFUSED(bad.window = 0);
    REFUSED(bad.posted_limit = 0);
    REFUSED(bad.warmup_events = 0);
    REFUSED(bad.batch_events = 0);
    REFUSED(bad.min_batches = 1);
    REFUSED(bad.max_batches = bad.min_batches - 1);
    REFUSED(bad.max_batches = MEMSYS_MAX_BATCHES + 1);
    REFUSED(bad.precision = 0);
    REFUSED((bad.law = MEMSYS_HYPEREXPONENTIAL, bad.cv2 = 1));
    REFUSED(bad.controller_us = service);
    REFUSED(bad.link_us = service);
    REFUSED(bad.jobs = jobs);
    rates[0].of[0] = 0;
    REFUSED(bad.jobs = jobs);
#undef REFUSED
    machine_free((struct machine *)good.machine);
}

UNIT(test_memsys)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_machine_repair),
        cmocka_unit_test(test_laws_of_flow),
        cmocka_unit_test(test_same_seed),
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_posted),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_nothing_asked),
    };

    return cmocka_run_group_tests_name("test_memsys", tests, NULL, NULL);
}
