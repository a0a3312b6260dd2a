/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Calibration without a quiet machine: kernels, regression, load. */

#include "config.h"

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/calibrate/calibrate.h"
#include "tests/support/tree.h"

/* ---- kernels ------------------------------------------------------------- */

#define COUNT 4096

static double space[3][COUNT];
static const struct kernel_arrays arrays = {space[0], space[1], space[2], COUNT};

static void test_kernels(void **state)
{
    (void)state;
    for (enum kernel k = 0; k < KERNELS; k++)
        for (size_t s = 0; s < CALIBRATE_STRIDES; s++)
            for (size_t passes = 1; passes <= 16; passes *= 4) {
                size_t stride = calibrate_strides[s];
                kernel_fill(&arrays);
                double sum = kernel_run(k, &arrays, stride, passes);
                assert_true(kernel_check(k, &arrays, stride, passes, sum));
                assert_false(kernel_check(k, &arrays, stride, passes, sum + 1));
                space[0][COUNT - 1] -= 1; /* one element too few, or wrong */
                assert_false(kernel_check(k, &arrays, stride, passes, sum));
            }
}

static void test_lines(void **state)
{
    double reads, writes;

    (void)state;
    kernel_lines(KERNEL_ADD, 4096, 64, &reads, &writes);
    assert_true(reads == 3 * 512 && writes == 512);
    kernel_lines(KERNEL_LOAD, 4096, 8, &reads, &writes); /* each line once */
    assert_true(reads == 512 && writes == 0);
    kernel_lines(KERNEL_WRITE, 4096, 128, &reads, &writes);
    assert_true(reads == 256 && writes == 256);
}

/* ---- regression ---------------------------------------------------------- */

/* Two sockets of known times (us): controllers and the link. */
static const struct machine_service local[2] = {{0.004, 0.003, 0.002},
                                                {0.005, 0.004, 0.001}};
static const struct machine_service beyond = {0.006, 0.005, 0.003};

static double time_of(const struct machine_service *s,
                      const struct calibrate_run *r)
{
    return s->read_us * r->reads + s->write_us * r->writes +
           s->prefetch_us * r->prefetches;
}

/* All runs as such a machine would do them, loaded fully: who waits for the link waits for
 * nothing else. */
static struct calibration *synthetic(bool counted)
{
    struct calibration *c = calibration_new(2, 2);

    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++)
            for (enum kernel k = 0; k < KERNELS; k++)
                for (size_t s = 0; s < CALIBRATE_STRIDES; s++) {
                    struct calibrate_run *r = calibration_run(c, i, j, k, s);
                    kernel_lines(k, 1 << 20, calibrate_strides[s], &r->reads,
                                 &r->writes);
                    r->counted = counted;
                    if (counted) { /* the longer the stride, the fewer */
                        r->prefetches = r->reads * 0.15 * (double)(5 - s);
                        r->reads -= r->prefetches;
                    }
                    r->us = time_of(i == j ? &local[j] : &beyond, r);
                    /* Computing, which must not count without counters. */
                    if (!counted && calibrate_strides[s] < 64)
                        r->us *= 3;
                    if (k == KERNEL_LOAD && calibrate_strides[s] == KERNEL_LINE)
                        *calibration_half(c, i, j) = *r;
                }
    return c;
}

static struct machine_description *two_sockets(void)
{
    struct machine_description *d = NULL;
    struct errtext err = {""};

    setenv("HWLOC_SYNTHETIC", "pack:2 [numa] l3:1 core:2 pu:1", 1);
    struct topology *t = topology_new(NULL, &err);
    unsetenv("HWLOC_SYNTHETIC");
    if (!t || !(d = topology_description(t)))
        fail_msg("%s", err.text);
    topology_free(t);
    return d;
}

#ifdef HAVE_GSL
static void near_to(double got, double wanted)
{
    if (!(fabs(got - wanted) <= 1e-6 * wanted))
        fail_msg("%g is not %g", got, wanted);
}

static void test_regression(void **state)
{
    struct machine_description *d = two_sockets();
    struct calibration *c = synthetic(true);
    struct errtext err = {""};
    char notes[1024];

    (void)state;
    assert_int_equal(calibration_fit(c, d, notes, sizeof(notes), &err), 0);
    assert_string_equal(notes, "");
    for (size_t j = 0; j < 2; j++) {
        near_to(d->machine->controller_service[j].read_us, local[j].read_us);
        near_to(d->machine->controller_service[j].write_us, local[j].write_us);
        near_to(d->machine->controller_service[j].prefetch_us,
                local[j].prefetch_us);
        near_to(d->machine->controller_service_us[j], local[j].read_us);
    }
    near_to(d->machine->link_service[0].read_us, beyond.read_us);
    near_to(d->machine->link_service[0].write_us, beyond.write_us);
    near_to(d->machine->link_service[0].prefetch_us, beyond.prefetch_us);
    near_to(d->machine->link_service_us[0], beyond.read_us);
    assert_int_equal(machine_check(d->machine), MODEL_OK);
    calibration_free(c);
    machine_description_free(d);
}

static void test_times_alone(void **state)
{
    struct machine_description *d = two_sockets();
    struct calibration *c = synthetic(false);
    char notes[1024];

    (void)state;
    assert_int_equal(calibration_fit(c, d, notes, sizeof(notes), NULL), 0);
    near_to(d->machine->controller_service[1].read_us, local[1].read_us);
    near_to(d->machine->controller_service[1].write_us, local[1].write_us);
    near_to(d->machine->controller_service[1].prefetch_us, local[1].read_us);
    near_to(d->machine->link_service[0].write_us, beyond.write_us);
    calibration_free(c);
    machine_description_free(d);
}

/* What a regression cannot support is said. */
static void test_unsupported(void **state)
{
    struct machine_description *d = two_sockets();
    struct calibration *c = synthetic(true);
    struct errtext err = {""};
    char notes[1024];

    (void)state;
    for (enum kernel k = 0; k < KERNELS; k++)
        for (size_t s = 0; s < CALIBRATE_STRIDES; s++) {
            struct calibrate_run *r = calibration_run(c, 0, 0, k, s);
            /* The more is written, the faster: no such thing. */
            r->us = (r->reads + r->prefetches) * 0.01 / (1 + r->writes);
            calibration_run(c, 0, 1, k, s)->us = 0;
            calibration_run(c, 1, 0, k, s)->us = 0;
        }
    double before = d->machine->link_service_us[0];
    assert_int_equal(calibration_fit(c, d, notes, sizeof(notes), NULL), 0);
    assert_non_null(strstr(notes, "NUMA node 0: reads, writes"));
    assert_null(strstr(notes, "NUMA node 1"));
    assert_non_null(strstr(notes, "link 0: nothing measured"));
    assert_true(d->machine->link_service_us[0] == before);
    assert_true(d->machine->controller_service_us[0] > 0);
    memset(c->run, 0, (2 + 1) * 2 * (KERNELS * CALIBRATE_STRIDES + 1) * sizeof(*c->run));
    assert_int_equal(calibration_fit(c, d, notes, sizeof(notes), &err), -1);
    assert_int_equal(errno, ENODATA);
    calibration_free(c);
    machine_description_free(d);
}
/* LLC domain I gets FASTER times as much of memory J as the one at home there. */
static void set_all(const struct calibration *c, size_t i, size_t j, double faster)
{
    for (enum kernel k = 0; k < KERNELS; k++)
        for (size_t s = 0; s < CALIBRATE_STRIDES; s++) {
            struct calibrate_run *r = calibration_run(c, i, j, k, s);
            *r = *calibration_run(c, j, j, k, s);
            r->us /= faster;
        }
}

/* A controller that more cores load more, a link that is no slower than the memory behind it. */
static void test_not_loaded_fully(void **state)
{
    struct machine_description *d = two_sockets();
    struct calibration *c = synthetic(true);
    char notes[1024];

    (void)state;
    calibration_half(c, 1, 1)->us *= 1.5;
    assert_int_equal(calibration_fit(c, d, notes, sizeof(notes), NULL), 0);
    assert_string_equal(notes, "NUMA node 1: not loaded fully; its times are at most these\n");
    set_all(c, 2, 1, 1.25); /* all cores get more of it than those at home there */
    *calibration_half(c, 2, 1) = *calibration_run(c, 2, 1, KERNEL_LOAD, 3);
    assert_int_equal(calibration_fit(c, d, notes, sizeof(notes), NULL), 0);
    assert_string_equal(notes, "");
    near_to(d->machine->controller_service[1].read_us, local[1].read_us / 1.25);
    near_to(d->machine->controller_service[1].write_us, local[1].write_us / 1.25);
    set_all(c, 0, 1, 1.24);
    assert_int_equal(calibration_fit(c, d, notes, sizeof(notes), NULL), 0);
    assert_non_null(strstr(notes, "link 0: not loaded fully; its times are at most these\n"));
    calibration_free(c);
    machine_description_free(d);
}
#else
static void test_without_gsl(void **state)
{
    struct machine_description *d = two_sockets();
    struct calibration *c = synthetic(true);
    struct errtext err = {""};
    char notes[64];

    (void)state;
    assert_int_equal(calibration_fit(c, d, notes, sizeof(notes), &err), -1);
    assert_int_equal(errno, ENOTSUP);
    calibration_free(c);
    machine_description_free(d);
}
#endif

/* ---- looks --------------------------------------------------------------- */

#ifdef HAVE_NUMA
#define SERVED 7 /* reads, each time that somebody looks */

static int open_fake(const struct counters_setup *setup, void **state, struct errtext *err)
{
    (void)err;
    *state = (void *)setup->machine;
    return 0;
}

static int sample_fake(void *state, struct sample *sample, struct errtext *err)
{
    (void)err;
    for (size_t i = 0; i < ((const struct machine *)state)->numa_nodes; i++)
        sample->memory[i] = (struct sample_memory){SERVED, 0, NAN};
    return 0;
}

static void describe_fake(const void *state, struct counters_ability *ability)
{
    (void)state;
    ability[COUNTERS_MEMORY_READS].can = ability[COUNTERS_MEMORY_WRITES].can = true;
}

static void close_fake(void *state)
{
    (void)state;
}

/* What a domain's own memory serves is counted often enough for a test of its distribution. */
static void test_looks(void **state)
{
    static const struct counters_backend fake = {
        .name = "fake", .help = "", .flags = COUNTERS_STILL, .open = open_fake,
        .sample = sample_fake, .describe = describe_fake, .close = close_fake};
    const struct counters_backend *const backends[] = {&fake, NULL};
    struct errtext err = {""};
    struct topology *t = topology_new(NULL, &err);
    const struct machine *m = topology_machine(t);
    struct counters_setup setup;

    (void)state;
    counters_setup_init(&setup, m, topology_cpus(t));
    setup.backends = backends;
    struct calibrate_options options = {.array_bytes = 1 << 18, .repetitions = 1, .passes = 1};
    if (!(options.counters = counters_open("fake", &setup, NULL, 0, &err)))
        fail_msg("%s", err.text);
    struct calibration *c = calibrate(t, &options, &err);
    if (!c)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < m->llc_domains; i++)
        for (size_t j = 0; j < m->numa_nodes; j++) {
            const struct calibrate_run *run = calibration_run(c, i, j, KERNEL_COPY, 3);
            bool home = m->local_node[i] == (int)j;
            assert_int_equal(run->looks, home ? CALIBRATE_LOOKS : 0);
            for (size_t l = 0; l < run->looks; l++) {
                assert_true(run->look[l].us > 0 && run->look[l].requests >= SERVED);
                assert_true(fmod(run->look[l].requests, SERVED) == 0);
            }
            assert_int_equal(calibration_half(c, i, j)->looks, 0);
        }
    calibration_free(c);
    counters_close(options.counters);
    topology_free(t);
}
#endif

/* ---- load ---------------------------------------------------------------- */

static void work_a_while(void *arg)
{
    /* 190 ticks: 40 busy, 140 idle, 10 waiting for a disk. */
    tree_write(arg, "stat", "cpu 130 0 110 1140 20 0 0 0 0 0\ncpu0 1\ncpu1 1\n"
                            "intr 5\n");
}

static void nothing(void *arg)
{
    (void)arg;
}

static void test_busy(void **state)
{
    struct tree *t = tree_new();

    (void)state;
    assert_true(calibrate_busy(t->root, nothing, NULL) < 0); /* no file */
    tree_write(t, "stat", "cpu 100 0 100 1000 10 0 0 0 0 0\ncpu0 1\ncpu1 1\n"
                          "intr 5\n");
    assert_true(fabs(calibrate_busy(t->root, work_a_while, t) -
                     2 * 40.0 / 190) < 1e-9);
    assert_true(calibrate_busy(t->root, nothing, NULL) < 0); /* time stands */
    tree_free(t);
}

UNIT(test_calibrate)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_lines),
#ifdef HAVE_GSL
        cmocka_unit_test(test_regression),
        cmocka_unit_test(test_times_alone),
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_not_loaded_fully),
#else
        cmocka_unit_test(test_without_gsl),
#endif
#ifdef HAVE_NUMA
        cmocka_unit_test(test_looks),
#endif
        cmocka_unit_test(test_busy),
    };

    return cmocka_run_group_tests_name("test_calibrate", tests, NULL, NULL);
}
