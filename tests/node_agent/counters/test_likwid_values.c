/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From LIKWID's counts to samples: a series of each event set, and what counts
 * can do wrong.
 *
 * A series (series/NAME.series) has the machine, the counts of its samples and
 * the values expected, worked out apart from the formulas:
 *
 *   events NAME                          event set
 *   machine CPUS LLC_DOMAINS MEMORIES PACKAGES
 *   cpu CPU LLC_DOMAIN PACKAGE             each CPU
 *   home LLC_DOMAIN MEMORY                 each LLC domain
 *   sample INTERVAL_NS RUNNING_NS...     begins one; the time of each set
 *   count SET EVENT COUNTER CPU VALUE    0 where there is none
 *   expect cpu|memory|energy INDEX [FIELD] VALUE
 *   expect coverage VALUE
 */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/counters/likwid_values.h"

#define CPUS_MAX 16

struct bench {
    struct events *events;
    struct machine *machine;
    struct counters_setup setup;
    struct cosched_cpuset cpus;
    int package[CPUS_MAX];
    struct likwid_opened opened;
    struct likwid_values *values;
    size_t columns, bytes;
    struct likwid_counts *counts;
    double *number; /* after the counts */
    struct sample *sample;
};

/* ---- a machine with an event set ---------------------------------------- */

static void load(struct bench *b, const char *name)
{
    struct errtext err = {""};
    char path[1024];

    snprintf(path, sizeof(path), "%s/node_agent/counters/events/%s.json",
             getenv("abs_top_srcdir"), name);
    b->events = events_load(path, &err);
    if (!b->events)
        fail_msg("%s", err.text);
}

/* All CPUs of the machine, in one node each for now. */
static void build(struct bench *b, size_t cpus, size_t nodes, size_t memories,
                  size_t packages)
{
    assert_true(cpus <= CPUS_MAX);
    b->machine = machine_new(cpus, nodes, memories);
    assert_non_null(b->machine);
    counters_setup_init(&b->setup, b->machine, &b->cpus);
    b->setup.package = b->package;
    b->setup.packages = packages;
    b->sample = sample_new(cpus, nodes, memories, packages);
}

/* After the machine is complete. */
static void open_values(struct bench *b)
{
    struct errtext err = {""};

    b->opened.sets = (uint32_t)b->events->sets;
    b->opened.cpus = (uint32_t)b->machine->cpus;
    for (size_t s = 0; s < b->events->sets; s++) {
        b->opened.events[s] = (uint32_t)b->events->set[s].count;
        b->columns += b->events->set[s].count;
    }
    for (size_t c = 0; c < b->machine->cpus; c++)
        b->opened.cpu[c] = (int16_t)c;
    b->values = likwid_values_new(b->events, &b->setup, &b->opened, &err);
    if (!b->values)
        fail_msg("%s", err.text);
    b->bytes = sizeof(*b->counts) +
               b->machine->cpus * b->columns * sizeof(double);
    b->counts = calloc(1, b->bytes);
    b->number = (double *)(b->counts + 1);
}

static void finish(struct bench *b)
{
    likwid_values_free(b->values);
    sample_free(b->sample);
    machine_free(b->machine);
    events_free(b->events);
    free(b->counts);
}

/* Where a count belongs. */
static double *number_of(struct bench *b, size_t set, const char *event,
                         const char *counter, size_t cpu)
{
    size_t column = 0;

    for (size_t s = 0; s < b->events->sets; s++)
        for (size_t i = 0; i < b->events->set[s].count; i++, column++) {
            const struct events_event *e = &b->events->set[s].event[i];
            if (s == set && !strcmp(e->event, event) &&
                !strcmp(e->counter, counter))
                return &b->number[cpu * b->columns + column];
        }
    fail_msg("no %s on %s in set %zu", event, counter, set);
    return NULL;
}

/* ---- series ------------------------------------------------------------- */

static double field(const struct sample *s, const char *what, size_t index,
                    const char *name)
{
    static const struct {
        const char *what, *name;
        size_t offset;
    } fields[] = {
        {"cpu", "cycles", offsetof(struct sample_cpu, cycles)},
        {"cpu", "stalled", offsetof(struct sample_cpu, stalled)},
        {"cpu", "instructions", offsetof(struct sample_cpu, instructions)},
        {"cpu", "llc_accesses", offsetof(struct sample_cpu, llc_accesses)},
        {"cpu", "read_misses", offsetof(struct sample_cpu, read_misses)},
        {"cpu", "local_misses", offsetof(struct sample_cpu, local_misses)},
        {"cpu", "remote_misses", offsetof(struct sample_cpu, remote_misses)},
        {"memory", "reads", offsetof(struct sample_memory, reads)},
        {"memory", "writes", offsetof(struct sample_memory, writes)},
        {"memory", "prefetches", offsetof(struct sample_memory, prefetches)},
    };
    bool cpu = !strcmp(what, "cpu");

    assert_true(index < (cpu ? s->cpus : s->numa_nodes));
    const char *base = cpu ? (const char *)&s->cpu[index]
                           : (const char *)&s->memory[index];
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (!strcmp(what, fields[i].what) && !strcmp(name, fields[i].name))
            return *(const double *)(base + fields[i].offset);
    fail_msg("%s has no %s", what, name);
    return 0;
}

static void expect(const struct bench *b, const char *line)
{
    char what[16], name[24];
    size_t index;
    double want, got;

    if (sscanf(line, "expect coverage %lf", &want) == 1)
        got = b->sample->coverage;
    else if (sscanf(line, "expect energy %zu %lf", &index, &want) == 2)
        got = b->sample->energy_j[index];
    else if (sscanf(line, "expect %15s %zu %23s %lf", what, &index, name,
                    &want) == 4)
        got = field(b->sample, what, index, name);
    else {
        fail_msg("not understood: %s", line);
        return;
    }
    if (isnan(want) ? !isnan(got) : !(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%.17g instead of: %s", got, line);
}

static void begin_sample(struct bench *b, const char *line)
{
    unsigned long long interval, running;
    int at, n;

    memset(b->counts, 0, b->bytes);
    assert_int_equal(sscanf(line, "sample %llu%n", &interval, &at), 1);
    b->counts->interval_ns = interval;
    for (size_t s = 0; s < b->events->sets; s++, at += n) {
        assert_int_equal(sscanf(line + at, "%llu%n", &running, &n), 1);
        b->counts->running_ns[s] = running;
    }
}

/* One line; *DONE: the present sample was computed. */
static void play(struct bench *b, const char *line, bool *done)
{
    char name[EVENTS_NAME], counter[24];
    size_t a, c, d, e;
    double value;

    if (sscanf(line, "events %63s", name) == 1) {
        load(b, name);
    } else if (sscanf(line, "machine %zu %zu %zu %zu", &a, &c, &d, &e) == 4) {
        build(b, a, c, d, e);
    } else if (sscanf(line, "cpu %zu %zu %zu", &a, &c, &d) == 3) {
        b->machine->llc_domain[a] = (int)c;
        b->package[a] = (int)d;
    } else if (sscanf(line, "home %zu %zu", &a, &c) == 2) {
        b->machine->local_node[a] = (int)c;
    } else if (!strncmp(line, "sample", 6)) {
        if (!b->values)
            open_values(b);
        begin_sample(b, line);
        *done = false;
    } else if (sscanf(line, "count %zu %63s %23s %zu %lf", &a, name, counter,
                      &c, &value) == 5) {
        *number_of(b, a, name, counter, c) = value;
    } else if (!strncmp(line, "expect", 6)) {
        if (!*done) {
            struct errtext err = {""};
            sample_clear(b->sample);
            assert_int_equal(likwid_values_set(b->values, b->counts, b->bytes,
                                               b->sample, &err), 0);
        }
        *done = true;
        expect(b, line);
    } else if (line[0] != '#') {
        fail_msg("not understood: %s", line);
    }
}

static void series(void **state)
{
    struct bench b = {.events = NULL};
    char path[1024], line[512];
    bool done = false;
    size_t expected = 0;

    snprintf(path, sizeof(path), "%s/tests/node_agent/counters/series/%s.series",
             getenv("abs_top_srcdir"), (const char *)*state);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    while (fgets(line, sizeof(line), in)) {
        line[strcspn(line, "\n")] = '\0';
        play(&b, line, &done);
        expected += !strncmp(line, "expect", 6);
    }
    fclose(in);
    assert_true(expected > 40);
    finish(&b);
}

/* ---- what counts can do wrong ------------------------------------------- */

static void haswell(struct bench *b)
{
    load(b, "haswellEP");
    build(b, 2, 1, 1, 1);
    b->machine->llc_domain[0] = b->machine->llc_domain[1] = 0;
    b->machine->local_node[0] = 0;
    open_values(b);
    b->counts->interval_ns = b->counts->running_ns[0] = 50000000;
}

static double *cycles(struct bench *b, size_t cpu)
{
    return number_of(b, 0, "CPU_CLK_UNHALTED_CORE", "FIXC1", cpu);
}

static void run(struct bench *b)
{
    sample_clear(b->sample);
    assert_int_equal(likwid_values_set(b->values, b->counts, b->bytes,
                                       b->sample, NULL), 0);
}

static void wraps_around(void **state)
{
    struct bench b = {.events = NULL};

    (void)state;
    haswell(&b);
    /* 2^48 - 1000 before, 500 after, and LIKWID has not seen it. */
    *cycles(&b, 0) = 500.0 - (0x1p48 - 1000);
    *cycles(&b, 1) = -0x1p60; /* no counter does that */
    run(&b);
    assert_float_equal(b.sample->cpu[0].cycles, 1500, 0);
    assert_true(isnan(b.sample->cpu[1].cycles));
    assert_float_equal(b.sample->cpu[1].instructions, 0, 0);
    /* The same in LIKWID's unsigned numbers, less what a double rounds off. */
    *cycles(&b, 0) = (double)(UINT64_C(50000000) -
                              ((UINT64_C(1) << 48) - 10000000));
    run(&b);
    assert_float_equal(b.sample->cpu[0].cycles, 60000000, 2048);
    finish(&b);
}

static void not_believed(void **state)
{
    struct bench b = {.events = NULL};

    (void)state;
    haswell(&b);
    *cycles(&b, 0) = 0x1p47;
    *cycles(&b, 1) = 1e8;
    *number_of(&b, 0, "PWR_PKG_ENERGY", "PWR0", 0) = 65536;
    run(&b);
    assert_true(isnan(b.sample->cpu[0].cycles));
    assert_float_equal(b.sample->cpu[1].cycles, 1e8, 0);
    assert_true(isnan(b.sample->energy_j[0]));
    *number_of(&b, 0, "PWR_PKG_ENERGY", "PWR0", 0) = 5;
    run(&b);
    assert_float_equal(b.sample->energy_j[0], 5, 0);
    *number_of(&b, 0, "PWR_PKG_ENERGY", "PWR0", 0) = -3;
    run(&b);
    assert_true(isnan(b.sample->energy_j[0]));
    finish(&b);
}

static void not_counted_at_all(void **state)
{
    struct bench b = {.events = NULL};

    (void)state;
    haswell(&b);
    *cycles(&b, 0) = 1000;
    b.counts->running_ns[0] = 0;
    run(&b);
    assert_true(isnan(b.sample->cpu[0].cycles));
    assert_float_equal(b.sample->coverage, 0, 0);
    b.counts->interval_ns = 0;
    run(&b);
    assert_true(isnan(b.sample->cpu[0].cycles));
    /* Half of the time, twice as much. */
    b.counts->interval_ns = 50000000;
    b.counts->running_ns[0] = 25000000;
    run(&b);
    assert_float_equal(b.sample->cpu[0].cycles, 2000, 0);
    assert_float_equal(b.sample->coverage, 0.5, 0);
    finish(&b);
}

/* A unit that LIKWID does not read is unlike one with nothing to count. */
static void none_is_not_zero(void **state)
{
    struct bench b = {.events = NULL};

    (void)state;
    haswell(&b);
    run(&b);
    assert_true(isnan(b.sample->memory[0].reads));
    *number_of(&b, 0, "CAS_COUNT_RD", "MBOX2C0", 0) = 10;
    run(&b);
    assert_float_equal(b.sample->memory[0].reads, 10, 0);
    assert_true(isnan(b.sample->memory[0].writes));
    *number_of(&b, 0, "CAS_COUNT_RD", "MBOX2C0", 0) = 0;
    run(&b);
    assert_float_equal(b.sample->memory[0].reads, 0, 0);
    finish(&b);
}

static void wrong_size(void **state)
{
    struct bench b = {.events = NULL};
    struct errtext err = {""};

    (void)state;
    haswell(&b);
    *cycles(&b, 0) = 1000;
    sample_clear(b.sample);
    for (int more = -8; more <= 8; more += 16) {
        assert_int_equal(likwid_values_set(b.values, b.counts,
                                           b.bytes + (size_t)more, b.sample,
                                           &err), -1);
        assert_int_equal(errno, EPROTO);
        assert_true(isnan(b.sample->cpu[0].cycles));
    }
    finish(&b);
}

static void wrong_opened(void **state)
{
    struct bench b = {.events = NULL};
    struct errtext err = {""};

    (void)state;
    haswell(&b);
    struct likwid_opened good = b.opened;
    b.opened.cpu[1] = 7;
    assert_null(likwid_values_new(b.events, &b.setup, &b.opened, &err));
    assert_string_equal(err.text, "CPU 7 was not asked for");
    b.opened.cpu[1] = -1;
    assert_null(likwid_values_new(b.events, &b.setup, &b.opened, &err));
    b.opened = good;
    b.opened.cpus = COSCHED_MAX_CPUS + 1;
    assert_null(likwid_values_new(b.events, &b.setup, &b.opened, &err));
    b.opened = good;
    b.opened.events[0]--;
    assert_null(likwid_values_new(b.events, &b.setup, &b.opened, &err));
    assert_string_equal(err.text, "set 1 has 23 events instead of 24");
    b.opened = good;
    b.opened.sets = 2;
    assert_null(likwid_values_new(b.events, &b.setup, &b.opened, &err));
    assert_int_equal(errno, EPROTO);
    finish(&b);
}

/* Counts of any value: nothing negative comes out, and nothing infinite. */
static void any_counts(void **state)
{
    static const double strange[] = {NAN,  INFINITY, -INFINITY, -1, 1e308,
                                     -0.0, 0x1p48,   -0x1p48,   5,  1e9};
    struct bench b = {.events = NULL};
    unsigned seed = 1;

    (void)state;
    haswell(&b);
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < 2 * b.columns; i++) {
            seed = seed * 1103515245 + 12345;
            b.number[i] = strange[seed >> 16 & 7] + (seed >> 20 & 1);
        }
        run(&b);
        const double *v = (const double *)b.sample->cpu;
        for (size_t i = 0; i < 2 * sizeof(*b.sample->cpu) / sizeof(*v); i++)
            assert_true(isnan(v[i]) || (v[i] >= 0 && isfinite(v[i])));
        assert_true(isnan(b.sample->memory[0].reads) ||
                    b.sample->memory[0].reads >= 0);
    }
    finish(&b);
}

#define SERIES(name) {"series " name, series, NULL, NULL, (void *)name}

UNIT(test_likwid_values)
{
    const struct CMUnitTest tests[] = {
        SERIES("haswellEP"),
        SERIES("haswellEX"),
        SERIES("skylakeX"),
        SERIES("icelakeX"),
        SERIES("sapphirerapids"),
        SERIES("interlagos"),
        SERIES("zen2"),
        SERIES("zen3"),
        SERIES("zen4"),
        cmocka_unit_test(wraps_around),
        cmocka_unit_test(not_believed),
        cmocka_unit_test(not_counted_at_all),
        cmocka_unit_test(none_is_not_zero),
        cmocka_unit_test(wrong_size),
        cmocka_unit_test(wrong_opened),
        cmocka_unit_test(any_counts),
    };

    return cmocka_run_group_tests_name("test_likwid_values", tests, NULL, NULL);
}
