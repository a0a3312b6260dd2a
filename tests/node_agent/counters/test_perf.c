/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The perf backend against a kernel of the test's own. */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/counters/perf.h"
#include "protocol/cpulist.h"
#include "tests/support/tree.h"
#include "tests/support/uniform_machine.h"

#define MS UINT64_C(1000000)
#define MAX_EVENTS 256
#define CPUS 8

/* ---- a kernel ----------------------------------------------------------- */

struct event {
    bool open;
    uint32_t type;
    uint64_t config;
    int cpu, leader; /* leader: index of itself when alone */
    uint64_t value, enabled, running;
    bool grouped; /* read as a group */
};

struct kernel {
    struct event event[MAX_EVENTS];
    int error;      /* of every open, if not 0 */
    size_t counters; /* events that fit into one group */
    bool no_core;   /* has events of other PMUs alone */
    bool raw;       /* has raw events */
    bool node;      /* has node-load-misses */
    bool offline[CPUS];
    double share;   /* of the time that events are counted */
};

static bool opens(const struct kernel *k, const struct perf_event_attr *attr)
{
    bool node = attr->type == PERF_TYPE_HW_CACHE &&
                (attr->config & 0xff) == PERF_COUNT_HW_CACHE_NODE;

    if (k->no_core && attr->type < PERF_TYPE_MAX)
        return false;
    return (attr->type != PERF_TYPE_RAW || k->raw) && (!node || k->node);
}

static int fake_open(void *arg, struct perf_event_attr *attr, int cpu,
                     int group)
{
    struct kernel *k = arg;
    int i = 0;

    errno = k->error ? k->error : k->offline[cpu] ? ENODEV : ENOENT;
    if (k->error || k->offline[cpu] || !opens(k, attr))
        return -1;
    if (group >= 0) {
        size_t members = 0;
        for (int e = 0; e < MAX_EVENTS; e++)
            members += k->event[e].open && k->event[e].leader == group - 100;
        errno = EINVAL;
        if (members >= k->counters)
            return -1;
    }
    while (k->event[i].open)
        if (++i == MAX_EVENTS)
            return errno = EMFILE, -1;
    k->event[i] = (struct event){
        .open = true,
        .type = attr->type,
        .config = attr->config,
        .cpu = cpu,
        .leader = group >= 0 ? group - 100 : i,
        .grouped = attr->read_format & PERF_FORMAT_GROUP,
    };
    return 100 + i;
}

static ssize_t fake_read(void *arg, int fd, void *data, size_t size)
{
    struct kernel *k = arg;
    const struct event *e = &k->event[fd - 100];
    uint64_t *word = data;

    assert_true(e->open);
    if (!e->grouped) {
        assert_int_equal(size, 24);
        word[0] = e->value;
        word[1] = e->enabled;
        word[2] = e->running;
        return 24;
    }
    size_t n = 0;
    word[1] = e->enabled;
    word[2] = e->running;
    for (int i = 0; i < MAX_EVENTS; i++)
        if (k->event[i].open && k->event[i].leader == fd - 100)
            word[3 + n++] = k->event[i].value;
    word[0] = n;
    assert_int_equal(size, (3 + n) * 8);
    return (ssize_t)size;
}

static void fake_close(void *arg, int fd)
{
    struct kernel *k = arg;

    assert_true(k->event[fd - 100].open);
    k->event[fd - 100].open = false;
}

static size_t open_events(const struct kernel *k)
{
    size_t n = 0;

    for (int i = 0; i < MAX_EVENTS; i++)
        n += k->event[i].open;
    return n;
}

/* A millisecond in which each event happens as often as its config says per CPU
 * number: so tests know what to expect. */
static double per_ms(const struct event *e)
{
    return (double)((e->type * 1000 + (e->config & 0xfff) + 1) * (e->cpu + 1));
}

static void advance(struct kernel *k, unsigned ms)
{
    for (int i = 0; i < MAX_EVENTS; i++) {
        struct event *e = &k->event[i];
        if (!e->open || k->offline[e->cpu])
            continue;
        e->value += (uint64_t)(per_ms(e) * ms * k->share);
        e->enabled += ms * MS;
        e->running += (uint64_t)((double)(ms * MS) * k->share);
    }
}

/* ---- fixture ------------------------------------------------------------ */

struct fixture {
    struct kernel kernel;
    struct perf_source source;
    struct machine *machine;
    struct cosched_cpuset cpus;
    int package[CPUS];
    struct counters_setup setup;
    struct sample *sample;
    struct tree *tree;
    void *state;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->kernel.counters = 6;
    f->kernel.share = 1;
    f->kernel.node = true;
    f->source = (struct perf_source){fake_open, fake_read, fake_close,
                                     &f->kernel};
    f->machine = machine_new_uniform(2, CPUS / 2, 2);
    f->cpus.word[0] = 0xff;
    counters_setup_init(&f->setup, f->machine, &f->cpus);
    for (int c = 0; c < CPUS; c++)
        f->package[c] = c / (CPUS / 2);
    f->setup.package = f->package;
    f->setup.packages = 2;
    f->tree = tree_new();
    f->setup.sysfs = f->setup.procfs = f->tree->root;
    f->sample = sample_new(CPUS, 2, 2, 2);
    *state = f;
    return !f->machine || !f->sample;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    perf_close(f->state);
    assert_int_equal(open_events(&f->kernel), 0);
    sample_free(f->sample);
    machine_free(f->machine);
    tree_free(f->tree);
    free(f);
    return 0;
}

static void begin(struct fixture *f)
{
    struct errtext err = {""};

    if (perf_open(&f->source, &f->setup, &f->state, &err) < 0)
        fail_msg("%s", err.text);
}

static int take(struct fixture *f, struct errtext *err)
{
    err->text[0] = '\0';
    sample_clear(f->sample);
    return perf_sample(f->state, f->sample, err);
}

/* Expected increments of generic events on CPU in MS milliseconds. */
static double hardware(uint64_t config, int cpu, unsigned ms)
{
    struct event e = {.type = PERF_TYPE_HARDWARE, .config = config, .cpu = cpu};
    return per_ms(&e) * ms;
}

static double cache(uint64_t config, int cpu, unsigned ms)
{
    struct event e = {.type = PERF_TYPE_HW_CACHE, .config = config, .cpu = cpu};
    return per_ms(&e) * ms;
}

/* ---- refusals ----------------------------------------------------------- */

static void test_denied(void **state)
{
    struct fixture *f = *state;
    struct errtext err;

    tree_write(f->tree, "sys/kernel/perf_event_paranoid", "2\n");
    f->kernel.error = EACCES;
    assert_int_equal(perf_open(&f->source, &f->setup, &f->state, &err), -1);
    assert_int_equal(errno, EACCES);
    assert_non_null(strstr(err.text, "perf_event_paranoid is 2"));
}

static void test_no_pmu(void **state)
{
    static const int errors[] = {ENOENT, EOPNOTSUPP, ENOSYS, EINVAL};
    struct fixture *f = *state;
    struct errtext err;

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        f->kernel.error = errors[i];
        assert_int_equal(perf_open(&f->source, &f->setup, &f->state, &err), -1);
        assert_int_equal(errno, ENOTSUP);
        assert_int_equal(strncmp(err.text, "perf: ", 6), 0);
    }
}

/* ---- values ------------------------------------------------------------- */

static void test_values(void **state)
{
    struct fixture *f = *state;
    struct errtext err;

    begin(f);
    advance(&f->kernel, 1);
    take(f, &err);
    advance(&f->kernel, 50);
    assert_int_equal(take(f, &err), 0);
    for (int c = 0; c < CPUS; c++) {
        const struct sample_cpu *cpu = &f->sample->cpu[c];
        assert_true(cpu->cycles == hardware(PERF_COUNT_HW_CPU_CYCLES, c, 50));
        assert_true(cpu->instructions ==
                    hardware(PERF_COUNT_HW_INSTRUCTIONS, c, 50));
        assert_true(cpu->stalled ==
                    hardware(PERF_COUNT_HW_STALLED_CYCLES_BACKEND, c, 50));
        assert_true(cpu->read_misses ==
                    cache(PERF_COUNT_HW_CACHE_LL | 1 << 16, c, 50));
        assert_true(cpu->remote_misses ==
                    cache(PERF_COUNT_HW_CACHE_NODE | 1 << 16, c, 50));
        assert_true(cpu->llc_accesses == cache(PERF_COUNT_HW_CACHE_LL, c, 50));
        assert_true(isnan(cpu->local_misses));
    }
    assert_true(isnan(f->sample->memory[0].reads));
    assert_true(f->sample->coverage == 1);
}

static void test_describe(void **state)
{
    struct fixture *f = *state;
    struct counters_ability a[COUNTERS_METRICS] = {{0}};

    f->kernel.node = false;
    begin(f);
    perf_describe(f->state, a);
    assert_true(a[COUNTERS_CYCLES].can);
    assert_false(a[COUNTERS_CYCLES].shared);
    assert_string_equal(a[COUNTERS_READ_MISSES].why, "LLC-load-misses");
    assert_false(a[COUNTERS_LOCALITY].can);
    assert_false(a[COUNTERS_ENERGY].can);
}

/* The codes of a known model come before the generic ones. */
static void test_models(void **state)
{
    static const struct {
        const char *model, *stalled, *misses;
    } models[] = {
        {"6-85-7", "CYCLE_ACTIVITY.STALLS_L3_MISS", "LLC-load-misses"},
        {"6-63-2", "CYCLE_ACTIVITY.STALLS_L2_PENDING", "LLC-load-misses"},
        {"6-42-7", "stalled-cycles-backend", "LLC-load-misses"},
        {"25-17-1", "stalled-cycles-backend",
         "ls_dmnd_fills_from_sys (near and far memory)"},
        {"nonsense", "stalled-cycles-backend", "LLC-load-misses"},
        {NULL, "stalled-cycles-backend", "LLC-load-misses"},
    };
    struct fixture *f = *state;

    f->kernel.raw = true;
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        struct counters_ability a[COUNTERS_METRICS] = {{0}};
        f->setup.cpu_model = models[i].model;
        begin(f);
        perf_describe(f->state, a);
        assert_string_equal(a[COUNTERS_STALLED].why, models[i].stalled);
        assert_string_equal(a[COUNTERS_READ_MISSES].why, models[i].misses);
        perf_close(f->state);
        f->state = NULL;
    }
}

/* Two groups that take turns: values are extrapolated, and it is said. */
static void test_multiplexing(void **state)
{
    struct fixture *f = *state;
    struct errtext err;

    f->kernel.counters = 4;
    f->kernel.share = 0.5;
    begin(f);
    advance(&f->kernel, 10);
    assert_int_equal(take(f, &err), 0);
    assert_true(f->sample->coverage == 0.5);
    assert_true(fabs(f->sample->cpu[3].read_misses /
                         cache(PERF_COUNT_HW_CACHE_LL | 1 << 16, 3, 10) -
                     1) < 1e-9);
    assert_true(f->sample->cpu[3].llc_accesses > 0);
}

/* ---- faults ------------------------------------------------------------- */

static void test_offline(void **state)
{
    struct fixture *f = *state;
    struct errtext err;
    int news = 0, samples = 0;

    begin(f);
    f->kernel.offline[5] = true;
    for (int i = 0; i < 50; i++) {
        advance(&f->kernel, 10);
        if (take(f, &err) < 0) {
            news++;
            assert_non_null(strstr(err.text, "CPU 5"));
        }
        assert_true(isnan(f->sample->cpu[5].cycles));
        assert_true(f->sample->cpu[4].cycles > 0);
    }
    assert_int_equal(news, 1);
    f->kernel.offline[5] = false;
    do {
        advance(&f->kernel, 10);
        assert_int_equal(take(f, &err), 0);
    } while (isnan(f->sample->cpu[5].cycles) && ++samples < 1000);
    /* It begins anew; nothing of before is in its first increment. */
    assert_true(f->sample->cpu[5].cycles <=
                hardware(PERF_COUNT_HW_CPU_CYCLES, 5, 10));
    f->kernel.offline[5] = true; /* a second time is news again */
    advance(&f->kernel, 10);
    assert_int_equal(take(f, &err), -1);
}

/* A CPU comes back when it is no longer permitted to count: unknown, and no more
 * words, until it is permitted again. */
static void test_withdrawn(void **state)
{
    struct fixture *f = *state;
    struct errtext err;
    int samples = 0;

    begin(f);
    f->kernel.offline[5] = true;
    advance(&f->kernel, 10);
    assert_int_equal(take(f, &err), -1);
    f->kernel.offline[5] = false;
    f->kernel.error = EACCES;
    for (int i = 0; i < 500; i++) {
        advance(&f->kernel, 10);
        assert_int_equal(take(f, &err), 0);
        assert_true(isnan(f->sample->cpu[5].cycles));
        assert_true(f->sample->cpu[4].cycles > 0); /* open before */
    }
    f->kernel.error = 0;
    do {
        advance(&f->kernel, 10);
        assert_int_equal(take(f, &err), 0);
    } while (isnan(f->sample->cpu[5].cycles) && ++samples < 1000);
    assert_true(samples < 1000);
}

static void test_offline_from_the_start(void **state)
{
    struct fixture *f = *state;
    struct errtext err;

    f->kernel.offline[7] = true;
    begin(f);
    advance(&f->kernel, 10);
    assert_int_equal(take(f, &err), 0);
    assert_true(isnan(f->sample->cpu[7].cycles));
    assert_true(f->sample->cpu[6].cycles > 0);
}

static void test_taken_by_another(void **state)
{
    struct fixture *f = *state;
    struct errtext err;

    begin(f);
    f->kernel.share = 0;
    advance(&f->kernel, 10);
    assert_int_equal(take(f, &err), -1);
    assert_int_equal(errno, EBUSY);
    assert_true(isnan(f->sample->cpu[0].cycles));
    assert_true(f->sample->coverage == 0 || f->sample->coverage == 1);
    for (int i = 0; i < 7; i++) { /* one CPU each time, then silence */
        advance(&f->kernel, 10);
        take(f, &err);
    }
    advance(&f->kernel, 10);
    assert_int_equal(take(f, &err), 0);
    f->kernel.share = 1;
    advance(&f->kernel, 10);
    assert_int_equal(take(f, &err), 0);
    assert_true(f->sample->cpu[0].cycles ==
                hardware(PERF_COUNT_HW_CPU_CYCLES, 0, 10));
}

/* ---- uncore ------------------------------------------------------------- */

static void imc(struct fixture *f, int box)
{
    static const char *const files[][2] = {
        {"format/event", "config:0-7\n"},
        {"format/umask", "config:8-15\n"},
        {"events/cas_count_read", "event=0x04,umask=0x03\n"},
        {"events/cas_count_read.scale", "6.103515625e-5\n"},
        {"events/cas_count_write", "event=0x04,umask=0x0c\n"},
        {"cpumask", "0,4\n"},
    };
    char path[128], type[16];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path),
                 "bus/event_source/devices/uncore_imc_%d/%s", box, files[i][0]);
        tree_write(f->tree, path, files[i][1]);
    }
    snprintf(path, sizeof(path), "bus/event_source/devices/uncore_imc_%d/type",
             box);
    snprintf(type, sizeof(type), "%d\n", 20 + box);
    tree_write(f->tree, path, type);
}

static double lines(int box, uint64_t config, int cpu, unsigned ms)
{
    struct event e = {.type = 20 + (uint32_t)box, .config = config, .cpu = cpu};
    return per_ms(&e) * ms;
}

static void test_controllers(void **state)
{
    struct fixture *f = *state;
    struct counters_ability a[COUNTERS_METRICS] = {{0}};
    struct errtext err;

    imc(f, 0);
    imc(f, 1);
    begin(f);
    advance(&f->kernel, 20);
    assert_int_equal(take(f, &err), 0);
    for (int m = 0; m < 2; m++) {
        int cpu = 4 * m;
        assert_true(f->sample->memory[m].reads ==
                    lines(0, 0x304, cpu, 20) + lines(1, 0x304, cpu, 20));
        assert_true(f->sample->memory[m].writes ==
                    lines(0, 0xc04, cpu, 20) + lines(1, 0xc04, cpu, 20));
        assert_true(isnan(f->sample->memory[m].prefetches));
    }
    perf_describe(f->state, a);
    assert_true(a[COUNTERS_MEMORY_READS].can);
    assert_true(a[COUNTERS_MEMORY_READS].shared);
}

/* One package, two NUMA nodes: controllers belong to them by their number. */
static void test_sub_numa(void **state)
{
    struct fixture *f = *state;
    struct errtext err;

    for (int box = 0; box < 4; box++)
        imc(f, box);
    f->setup.package = NULL;
    f->setup.packages = 1;
    begin(f);
    advance(&f->kernel, 1);
    assert_int_equal(take(f, &err), 0);
    assert_true(f->sample->memory[0].reads > 0);
    assert_true(f->sample->memory[1].reads > f->sample->memory[0].reads);
}

/* Controllers without core events, as where only uncore is permitted. */
static void test_controllers_alone(void **state)
{
    struct fixture *f = *state;
    struct counters_ability a[COUNTERS_METRICS] = {{0}};
    struct errtext err;

    imc(f, 0);
    f->kernel.no_core = true;
    begin(f);
    advance(&f->kernel, 10);
    assert_int_equal(take(f, &err), 0);
    assert_true(f->sample->memory[0].writes == lines(0, 0xc04, 0, 10));
    assert_true(isnan(f->sample->cpu[0].cycles));
    perf_describe(f->state, a);
    assert_true(a[COUNTERS_MEMORY_WRITES].can);
    assert_false(a[COUNTERS_CYCLES].can);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT(test_perf)
{
    const struct CMUnitTest tests[] = {
        T(test_denied),
        T(test_no_pmu),
        T(test_values),
        T(test_describe),
        T(test_models),
        T(test_multiplexing),
        T(test_offline),
        T(test_withdrawn),
        T(test_offline_from_the_start),
        T(test_taken_by_another),
        T(test_controllers),
        T(test_sub_numa),
        T(test_controllers_alone),
    };

    return cmocka_run_group_tests_name("test_perf", tests, NULL, NULL);
}
