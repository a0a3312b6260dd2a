/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Effective rho from the work that simulated loops report, against their truth. */

/* The memory simulator says how fast a loop of
 * known rho is on n cores.  From that come epochs of 50 ms as the agent sees
 * them: whole units of work, runs of good and bad luck, and every thirtieth
 * epoch spoiled by something else. */

#include "tests/support/unit.h"

#include <math.h>

#include "model/throughput.h"
#include "tests/simulator/memsys.h"
#include "simulator/random.h"
#include "tests/support/uniform_machine.h"

#define SERVICE_US 0.1
#define EPOCH_S 0.05
#define NOISE 0.02      /* standard deviation of an epoch */
#define MEMORY 0.5      /* correlation with the epoch before */
#define SPOILED 30      /* one epoch in so many loses up to half */
#define RATE 20000.0    /* units per second of one core without memory */
#define MOST_CORES 64
#define MOST_EPOCHS 2000 /* at each DoP: 100 s */

static const double loads[] = {0.005, 0.01, 0.02, 0.05, 0.1,
                               0.2,   0.5,  1,    2};
static const size_t dops[][3] = {{1, 2}, {4, 8}, {7, 4},      {8, 16},
                                 {4, 16}, {32, 64}, {1, 8, 64}, {2, 6, 16}};

#define LOADS (sizeof(loads) / sizeof(loads[0]))
#define SETS (sizeof(dops) / sizeof(dops[0]))

/* Cores' worth of computing on CORES cores, simulated. */
static double simulate(size_t cores, double rho)
{
    struct machine *machine = machine_new_uniform(1, cores, 1);
    struct memsys_kinds rate = {{rho / SERVICE_US}};
    struct memsys_job job = {&rate};
    struct memsys_config config;
    struct memsys_result result;

    assert_non_null(machine);
    machine->controller_service_us[0] = SERVICE_US;
    memsys_defaults(&config);
    config.machine = machine;
    config.jobs = &job;
    config.job_count = 1;
    config.cores = &cores;
    config.seed = 1000 * cores + (uint64_t)(rho * 1000);
    config.batch_events = 10000;
    config.min_batches = 4;
    config.max_batches = 40;
    config.precision = fmax(0.0004, fmin(0.002, 0.005 * rho));
    assert_int_equal(memsys_run(&config, &result), MODEL_OK);
    double mean = result.jobs[0].speed.mean;
    memsys_release(&result);
    machine_free(machine);
    return mean;
}

static double speed(size_t cores, size_t load)
{
    static double known[MOST_CORES + 1][LOADS];

    if (!(known[cores][load] > 0))
        known[cores][load] = simulate(cores, loads[load]);
    return known[cores][load];
}

/* A loop at one DoP. */
struct source {
    struct random random;
    double speed, luck, carry;
    struct throughput_series series;
};

static double normal(struct random *random)
{
    return sqrt(-2 * log(random_uniform(random))) *
           cos(2 * M_PI * random_uniform(random));
}

/* One epoch: the units that were completed in it. */
static bool epoch(struct source *s)
{
    s->luck = MEMORY * s->luck +
              NOISE * sqrt(1 - MEMORY * MEMORY) * normal(&s->random);
    double work = RATE * s->speed * EPOCH_S * (1 + s->luck);
    if (random_index(&s->random, SPOILED) == 0)
        work *= 1 - 0.5 * random_uniform(&s->random);
    work += s->carry;
    s->carry = work - floor(work);
    return throughput_add(&s->series, floor(work), EPOCH_S);
}

struct outcome {
    struct throughput_rho fit;
    enum throughput_verdict verdict;
    size_t rough; /* epochs until it was good to decide by; 0: never */
    size_t epochs; /* at each DoP */
    size_t most;
    size_t drifts;
};

static void start(struct source *s, size_t cores, size_t load, uint64_t seed)
{
    memset(s, 0, sizeof(*s));
    random_seed(&s->random, seed);
    s->speed = speed(cores, load);
}

static void fit(struct outcome *o, struct source *source, const size_t *cores,
                size_t count)
{
    struct throughput_point point[THROUGHPUT_POINTS_MAX];

    for (size_t i = 0; i < count; i++) {
        point[i].cores = cores[i];
        assert_int_equal(throughput_rate(&source[i].series, &point[i].rate),
                         MODEL_OK);
    }
    assert_int_equal(throughput_fit(point, count, &o->fit), MODEL_OK);
    o->verdict = throughput_judge(&o->fit, o->most);
    if (!o->rough && o->verdict != THROUGHPUT_OPEN)
        o->rough = o->epochs;
}

static bool done(const struct outcome *o)
{
    return o->verdict == THROUGHPUT_PRECISE ||
           o->verdict == THROUGHPUT_COMPUTE;
}

/* At the DoPs of SET until they tell all. */
static struct outcome measure(size_t set, size_t load, uint64_t seed)
{
    struct outcome o = {.verdict = THROUGHPUT_OPEN};
    struct source source[3];
    size_t count = 0;

    for (size_t i = 0; i < 3 && dops[set][i]; i++, count++) {
        start(&source[i], dops[set][i], load, seed * 31 + i);
        o.most = dops[set][i] > o.most ? dops[set][i] : o.most;
    }
    while (o.epochs < MOST_EPOCHS && !done(&o)) {
        for (size_t i = 0; i < count; i++)
            o.drifts += epoch(&source[i]);
        /* As the agent does: again with half as much data more. */
        if (++o.epochs < 3 || (o.epochs > 6 && o.epochs % (o.epochs / 2)))
            continue;
        fit(&o, source, dops[set], count);
    }
    return o;
}

static const char *const names[] = {"open", "compute", "rough", "precise"};

static void print(size_t set, double rho, const struct outcome *o)
{
    char cores[32] = "";

    for (size_t i = 0; i < 3 && dops[set][i]; i++)
        snprintf(cores + strlen(cores), sizeof(cores) - strlen(cores),
                 i ? ",%zu" : "%zu", dops[set][i]);
    printf("%-8s %6.3f %8.4f %8.4f %8.4f %7.1f%% %-8s %6zu %6zu %4zu\n", cores,
           rho, o->fit.rho, o->fit.low, o->fit.high,
           100 * (o->fit.rho / rho - 1), names[o->verdict], o->rough,
           o->epochs, o->drifts);
}

struct totals {
    size_t runs, inside;    /* truth is in the interval */
    size_t precise, good;   /* within 15 % */
    size_t drifts, epochs;
};

static void judge(double rho, const struct outcome *o, struct totals *t)
{
    double loss = 1 - station_speedup(o->most, rho) / (double)o->most;

    t->runs++;
    t->inside += rho >= o->fit.low && rho <= o->fit.high;
    t->drifts += o->drifts;
    t->epochs += o->epochs;
    if (o->verdict == THROUGHPUT_PRECISE) {
        t->precise++;
        t->good += fabs(o->fit.rho / rho - 1) <= 0.15;
        assert_true(fabs(o->fit.rho / rho - 1) <= 0.3);
    }
    /* Who is called compute-bound has nearly linear speedup indeed. */
    if (o->verdict == THROUGHPUT_COMPUTE)
        assert_true(loss < 0.07);
}

static void run(struct totals *t)
{
    for (size_t set = 0; set < SETS; set++)
        for (size_t l = 0; l < LOADS; l++) {
            struct outcome o = measure(set, l, 1 + set * LOADS + l);
            print(set, loads[l], &o);
            judge(loads[l], &o, t);
        }
}

static void test_truth(void **state)
{
    struct totals t = {0};

    (void)state;
    printf("%-8s %6s %8s %8s %8s %8s %-8s %6s %6s %4s\n", "cores", "truth", "rho",
           "low", "high", "error", "verdict", "decide", "epochs", "drift");
    run(&t);
    print_message("%zu runs, truth inside %zu, precise %zu, of these within "
                  "15 %%: %zu; %zu drifts in %zu epochs\n",
                  t.runs, t.inside, t.precise, t.good, t.drifts, t.epochs);
    assert_true(t.inside * 100 >= t.runs * 90);
    assert_true(t.precise >= 25);
    assert_true(t.good * 100 >= t.precise * 90);
}

/* A region runs on OWN cores and is probed where that tells most, three epochs
 * at a time, until all is known. */
static void choose(size_t most, size_t own, size_t load, struct totals *t)
{
    struct outcome o = {.verdict = THROUGHPUT_OPEN, .most = most};
    struct source source[8];
    size_t cores[8] = {own}, count = 1;
    double rho = loads[load];

    start(&source[0], own, load, most + load);
    while (!done(&o) && o.epochs < 400) {
        size_t next = throughput_next(count > 1 ? &o.fit : NULL, cores, count,
                                      most);
        if (next && count < 5 && (count == 1 || !o.rough || o.epochs > 100)) {
            start(&source[count], next, load, 77 * most + 5 * load + count);
            cores[count++] = next;
        }
        for (size_t e = 0; e < 3; e++, o.epochs++)
            for (size_t i = 0; i < count; i++)
                epoch(&source[i]);
        fit(&o, source, cores, count);
    }
    judge(rho, &o, t);
    assert_true(o.verdict != THROUGHPUT_OPEN);
}

static void test_choice(void **state)
{
    static const size_t pools[][2] = {{2, 1}, {8, 4}, {16, 8}, {64, 32}};

    struct totals t = {0};

    (void)state;
    for (size_t p = 0; p < sizeof(pools) / sizeof(pools[0]); p++)
        for (size_t l = 0; l < LOADS; l++)
            choose(pools[p][0], pools[p][1], l, &t);
    print_message("%zu runs, truth inside %zu, precise %zu, of these within "
                  "15 %%: %zu\n",
                  t.runs, t.inside, t.precise, t.good);
    assert_true(t.inside * 100 >= t.runs * 90);
    assert_true(t.precise >= 20);
    assert_true(t.good * 100 >= t.precise * 90);
}

UNIT(test_progress)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_truth),
                                       cmocka_unit_test(test_choice)};

    return cmocka_run_group_tests_name("test_progress", tests, NULL, NULL);
}
