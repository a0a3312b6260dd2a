/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters from an emulator's page that the test writes: pages of other
 * machines and versions, damaged ones, and one that is written while it is
 * read. */

#include "tests/support/unit.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node_agent/counters/emulated.h"
#include "protocol/cpulist.h"
#include "protocol/emulated_counters.h"
#include "tests/node_agent/counters/fake_node.h"
#include "tests/support/uniform_machine.h"

#define DEVICE "bus/pci/devices/0000:00:03.0/"
#define PAGE   DEVICE "resource2"

struct stage {
    struct fake_node n;
    struct emulated_counters *page;
};

/* Two LLC domains of two CPUs with a NUMA node each, and their page. */
static int setup(void **state)
{
    struct stage *s = calloc(1, sizeof(*s));
    char path[512];

    fake_node_init(&s->n, machine_new_uniform(2, 2, 2), 1);
    tree_write(s->n.tree, "bus/pci/devices/0000:00:01.0/vendor", "0x8086\n");
    tree_write(s->n.tree, "bus/pci/devices/0000:00:01.0/device", "0x1110\n");
    tree_write(s->n.tree, DEVICE "vendor", "0x1af4\n");
    tree_write(s->n.tree, DEVICE "device", "0x1110\n");
    tree_write(s->n.tree, PAGE, "");
    snprintf(path, sizeof(path), "%s/" PAGE, s->n.tree->root);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && ftruncate(fd, EMULATED_BYTES) == 0);
    s->page = mmap(NULL, EMULATED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                   0);
    assert_ptr_not_equal(s->page, MAP_FAILED);
    close(fd);
    s->page->magic = EMULATED_MAGIC;
    s->page->version = EMULATED_VERSION;
    s->page->cpus = 4;
    s->page->nodes = 2;
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct stage *s = *state;

    fake_node_clear(&s->n, &counters_emulated);
    munmap(s->page, EMULATED_BYTES);
    free(s);
    return 0;
}

static void open_page(struct stage *s)
{
    struct errtext err = {""};

    if (counters_emulated.open(&s->n.setup, &s->n.state, &err) < 0)
        fail_msg("%s", err.text);
}

static void refused(struct stage *s, int errnum, const char *why)
{
    struct errtext err = {""};

    assert_int_equal(counters_emulated.open(&s->n.setup, &s->n.state, &err),
                     -1);
    assert_int_equal(errno, errnum);
    if (!strstr(err.text, why))
        fail_msg("%s: not about %s", err.text, why);
}

static int take(struct stage *s, struct errtext *err)
{
    sample_clear(s->n.sample);
    return counters_emulated.sample(s->n.state, s->n.sample, err);
}

static void is(double got, double want)
{
    if (!(fabs(got - want) < 1e-9))
        fail_msg("%g, not %g", got, want);
}

static void test_counts(void **state)
{
    struct stage *s = *state;
    const struct sample *sample = s->n.sample;
    struct counters_ability ability[COUNTERS_METRICS] = {0};

    s->page->cpu[0] = (struct emulated_cpu){.cycles = 1000, .reads = {7, 7}};
    open_page(s);
    s->page->cpu[0] = (struct emulated_cpu){.cycles = 3000,
                                            .stalled = 500,
                                            .instructions = 1200,
                                            .llc_accesses = 90,
                                            .reads = {37, 17},
                                            .writes = {4, 2}};
    s->page->cpu[3] = (struct emulated_cpu){
        .cycles = 8, .reads = {16, 80}, .writes = {0, 1}};
    assert_int_equal(take(s, NULL), 0);
    is(sample->cpu[0].cycles, 2000);
    is(sample->cpu[0].stalled, 500);
    is(sample->cpu[0].instructions, 1200);
    is(sample->cpu[0].llc_accesses, 90);
    is(sample->cpu[0].read_misses, 40);
    is(sample->cpu[0].local_misses, 30);
    is(sample->cpu[0].remote_misses, 10);
    is(sample->cpu[3].local_misses, 80);
    is(sample->cpu[3].remote_misses, 16);
    is(sample->cpu[1].cycles, 0);
    is(sample->memory[0].reads, 46);
    is(sample->memory[1].reads, 90);
    is(sample->memory[0].writes, 4);
    is(sample->memory[1].writes, 3);
    assert_true(isnan(sample->memory[0].prefetches));
    is(sample->traffic[0].reads, 30);
    is(sample->traffic[1].reads, 10);
    is(sample->traffic[2].reads, 16);
    is(sample->traffic[3].writes, 1);
    assert_int_equal(take(s, NULL), 0);
    is(sample->cpu[0].cycles, 0);
    counters_emulated.describe(s->n.state, ability);
    assert_true(ability[COUNTERS_TRAFFIC].can &&
                ability[COUNTERS_TRAFFIC].shared);
    assert_true(ability[COUNTERS_STALLED].can &&
                !ability[COUNTERS_STALLED].shared);
    assert_false(ability[COUNTERS_PREFETCHES].can ||
                 ability[COUNTERS_ENERGY].can);
}

/* CPUs that the agent may not use count for their NUMA nodes only. */
static void test_other_cpus(void **state)
{
    struct stage *s = *state;

    cpuset_remove(&s->n.cpus, 3);
    s->page->cpus = EMULATED_CPUS; /* more than the machine is said to have */
    open_page(s);
    s->page->cpu[3] = (struct emulated_cpu){.cycles = 9, .reads = {1, 2}};
    s->page->cpu[EMULATED_CPUS - 1] = (struct emulated_cpu){.reads = {10, 20}};
    assert_int_equal(take(s, NULL), 0);
    assert_true(isnan(s->n.sample->cpu[3].cycles));
    assert_true(isnan(s->n.sample->cpu[3].read_misses));
    is(s->n.sample->memory[0].reads, 11);
    is(s->n.sample->memory[1].reads, 22);
    is(s->n.sample->traffic[2].reads, 1);
}

static void test_refused(void **state)
{
    struct stage *s = *state;

    s->page->magic++;
    refused(s, ENOTSUP, "no page of counters");
    s->page->magic--;
    s->page->version++;
    refused(s, ENOTSUP, "version 2, not 1");
    s->page->version--;
    s->page->cpus = 3;
    refused(s, ENOTSUP,
            "counts 3 CPUs and 2 NUMA nodes, the machine has 4 and 2");
    s->page->cpus = EMULATED_CPUS + 1;
    refused(s, ENOTSUP, "counts 129 CPUs");
    s->page->cpus = UINT32_MAX;
    refused(s, ENOTSUP, "CPUs");
    s->page->cpus = 4;
    s->page->nodes = 1;
    refused(s, ENOTSUP, "1 NUMA nodes");
    s->page->nodes = 2;
    s->page->sequence = 1; /* written for ever */
    refused(s, EBUSY, "always being written");
    s->page->sequence = 0;
    s->n.setup.argument = "/dev/null";
    refused(s, ENOTSUP, "no page of counters");
    s->n.setup.argument = "/nowhere/page";
    refused(s, ENOENT, "/nowhere/page");
    s->n.setup.argument = "";
    tree_write(s->n.tree, PAGE, "short\n");
    refused(s, ENOTSUP, "no page of counters");
    tree_write(s->n.tree, DEVICE "device", "0x1111\n");
    refused(s, ENOTSUP, "not an emulated machine");
    tree_write(s->n.tree, DEVICE "device", "nonsense\n");
    refused(s, ENOTSUP, "not an emulated machine");
    s->n.setup.sysfs = "/nowhere";
    refused(s, ENOTSUP, "not an emulated machine");
}

/* What is lost is said once, and counted again when it is good. */
static void test_damaged(void **state)
{
    struct stage *s = *state;
    struct errtext err = {""};

    s->page->cpu[1] = (struct emulated_cpu){.cycles = 100, .reads = {50}};
    open_page(s);
    s->page->sequence = 7;
    assert_int_equal(take(s, &err), -1);
    assert_non_null(strstr(err.text, "always being written"));
    assert_true(isnan(s->n.sample->cpu[1].cycles));
    assert_int_equal(take(s, &err), 0);
    s->page->sequence = 8;
    assert_int_equal(take(s, NULL), 0);
    s->page->cpu[1] = (struct emulated_cpu){.cycles = 99, .reads = {49, 5}};
    assert_int_equal(take(s, &err), -1);
    assert_non_null(strstr(err.text, "fallen"));
    assert_true(isnan(s->n.sample->cpu[1].cycles));
    assert_true(isnan(s->n.sample->cpu[1].read_misses));
    assert_true(isnan(s->n.sample->memory[0].reads));
    is(s->n.sample->memory[1].reads, 5);
    s->page->cpu[1].cycles = 109;
    s->page->cpus = UINT32_MAX; /* its size was settled when it was opened */
    assert_int_equal(take(s, &err), 0);
    is(s->n.sample->cpu[1].cycles, 10);
}

/* ---- torn writes -------------------------------------------------------- */

#define WRITES 20000

static void *write_page(void *arg)
{
    struct emulated_counters *page = arg;

    for (uint64_t i = 1; i <= WRITES; i++) {
        atomic_store_explicit(&page->sequence, 2 * i - 1, memory_order_relaxed);
        atomic_thread_fence(memory_order_release);
        for (size_t c = 0; c < 4; c++) {
            page->cpu[c].cycles = page->cpu[c].stalled = i;
            page->cpu[c].reads[0] = page->cpu[c].reads[1] = i;
        }
        atomic_store_explicit(&page->sequence, 2 * i, memory_order_release);
        for (int wait = 0; wait < 300; wait++)
            __asm__ volatile("" ::: "memory");
        if (i % 64 == 0)
            sched_yield();
    }
    return NULL;
}

/* All counts of a sample are of one instant. */
static void test_torn(void **state)
{
    struct stage *s = *state;
    pthread_t writer;
    double sum = 0;

    open_page(s);
    assert_int_equal(pthread_create(&writer, NULL, write_page, s->page), 0);
    while (sum < WRITES) {
        take(s, NULL); /* fails while the writer is off its CPU in the middle */
        double grown = s->n.sample->cpu[0].cycles;
        sum += isnan(grown) ? 0 : grown;
        for (size_t c = 0; c < 4 && !isnan(grown); c++) {
            is(s->n.sample->cpu[c].cycles, grown);
            is(s->n.sample->cpu[c].stalled, grown);
            is(s->n.sample->cpu[c].read_misses, 2 * grown);
        }
    }
    pthread_join(writer, NULL);
}

UNIT(test_emulated)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_cpus, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_torn, setup, teardown),
    };

    return cmocka_run_group_tests_name("test_emulated", tests, NULL, NULL);
}
