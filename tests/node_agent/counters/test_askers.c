/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Sampled misses, accesses and faults from a kernel of the test's own, and from this one. */

#include "tests/support/unit.h"

#include <sys/syscall.h>

#include "node_agent/counters/askers.h"
#include "protocol/cpulist.h"
#include "tests/node_agent/counters/fake_node.h"
#include "tests/support/uniform_machine.h"

#define MEM_LOADS "bus/event_source/devices/cpu/"
#define DATA_BYTES (ASKERS_RING_PAGES * 4096u)

/* Two NUMA nodes of 1 MiB: page frames 256 to 511, and 512 to 767; the rest is nobody's. */
static const char zoneinfo[] = "Node 0, zone   Normal\n  pages free     1\n        spanned  256\n"
                               "  start_pfn:           256\n"
                               "Node 1, zone   Normal\n        spanned  256\n"
                               "  start_pfn:           512\n";

#define CPUS 4
#define FAR CPUS /* the ring of CPU 0 for remote misses, and so on */

/* The kernel: two rings for each CPU, the second of events in another's group. */
struct kernel {
    struct fake_node node;
    struct askers_source source;
    struct perf_event_attr attr; /* of the last event */
    uint64_t config[2 * CPUS];   /* of each */
    int no_misses;               /* errno of core events, or 0 */
    bool no_second;              /* of a group */
    bool old;                    /* knows nothing of page sizes */
    int refuse;                  /* errno of faults, or 0 */
    char *ring[2 * CPUS];
    size_t open;
};

static int fake_open(void *arg, struct perf_event_attr *attr, int cpu, int group)
{
    struct kernel *k = arg;
    int fd = group < 0 ? cpu : cpu + FAR;

    assert_true(group < 0 || group == cpu);
    k->attr = *attr;
    k->config[fd] = attr->config;
    errno = k->old && attr->sample_type & ASKERS_PAGE_SIZE ? EINVAL : k->refuse;
    if (attr->type == PERF_TYPE_HW_CACHE || attr->type == PERF_TYPE_RAW)
        errno = k->no_misses ? k->no_misses : k->no_second && group >= 0 ? ENOSPC : errno;
    if (errno)
        return -1;
    k->open++;
    return fd;
}

static void *fake_map(void *arg, int fd, size_t size)
{
    struct kernel *k = arg;

    assert_int_equal(size, 4096 + DATA_BYTES);
    return k->ring[fd];
}

static void fake_close(void *arg, int fd, void *ring, size_t size)
{
    struct kernel *k = arg;

    (void)fd;
    (void)ring;
    (void)size;
    k->open--;
}

static int setup(void **state)
{
    struct kernel *k = calloc(1, sizeof(*k));

    fake_node_init(&k->node, machine_new_uniform(2, 2, 2), 1);
    k->node.setup.procfs = k->node.tree->root;
    k->node.setup.threads = true;
    tree_write(k->node.tree, "zoneinfo", zoneinfo);
    k->source = (struct askers_source){fake_open, fake_map, fake_close, k};
    for (size_t c = 0; c < 2 * CPUS; c++)
        k->ring[c] = calloc(1, 4096 + DATA_BYTES);
    *state = k;
    return 0;
}

static int teardown(void **state)
{
    struct kernel *k = *state;

    fake_node_clear(&k->node, &counters_askers);
    assert_int_equal(k->open, 0);
    for (size_t c = 0; c < 2 * CPUS; c++)
        free(k->ring[c]);
    free(k);
    return 0;
}

static void open_it(struct kernel *k)
{
    struct errtext err = {""};

    if (askers_open(&k->source, &k->node.setup, &k->node.state, &err) < 0)
        fail_msg("%s", err.text);
}

static const char *why(struct kernel *k)
{
    static struct counters_ability a[COUNTERS_METRICS];

    askers_describe(k->node.state, a);
    assert_true(a[COUNTERS_THREADS].can);
    return a[COUNTERS_THREADS].why;
}

static void put(struct kernel *k, int cpu, const void *data, size_t size)
{
    struct perf_event_mmap_page *head = (void *)k->ring[cpu];

    for (size_t i = 0; i < size; i++)
        k->ring[cpu][4096 + (head->data_head + i) % DATA_BYTES] = ((const char *)data)[i];
    head->data_head += size;
}

/* Thread TID touched the page of FRAME on CPU while its stack pointer was STACK; 0: it has no
 * registers, as in the kernel. */
static void touch_on(struct kernel *k, int cpu, uint32_t tid, uint64_t stack, uint64_t frame,
                     uint64_t page_size)
{
    uint64_t word[8] = {0, (uint64_t)tid << 32 | 70, 0x1000};
    struct perf_event_header header = {.type = PERF_RECORD_SAMPLE};
    size_t n = 3;

    if (k->attr.sample_type & PERF_SAMPLE_REGS_USER) {
        word[n++] = stack ? 2 : 0;
        if (stack)
            word[n++] = stack;
    }
    word[n++] = frame << 12;
    if (k->attr.sample_type & ASKERS_PAGE_SIZE)
        word[n++] = page_size;
    header.size = (uint16_t)(n * sizeof(*word));
    memcpy(word, &header, sizeof(header));
    put(k, cpu, word, header.size);
}

static void touch(struct kernel *k, int cpu, uint32_t tid, uint64_t frame, uint64_t page_size)
{
    touch_on(k, cpu, tid, 0, frame, page_size);
}

static const struct sample *look(struct kernel *k)
{
    sample_clear(k->node.sample);
    assert_int_equal(askers_sample(k->node.state, k->node.sample, NULL), 0);
    return k->node.sample;
}

static double of(const struct sample *s, pid_t tid, size_t node)
{
    for (size_t i = 0; i < s->threads; i++)
        if (s->thread[i].tid == tid)
            return s->thread_requests[2 * i + node];
    return 0;
}

/* Faults count by their pages' sizes, wherever the thread was; others' memory is nobody's. */
static void test_faults(void **state)
{
    struct kernel *k = *state;
    const struct perf_event_header lost = {.type = PERF_RECORD_LOST, .size = 24};

    open_it(k);
    assert_int_equal(k->open, 4);
    assert_int_equal(k->attr.type, PERF_TYPE_SOFTWARE);
    assert_non_null(strstr(why(k), "first touches"));
    touch(k, 0, 71, 256, 4096);
    touch(k, 3, 71, 767, 4096);
    put(k, 1, &lost, sizeof(lost));
    put(k, 1, &(char[16]){0}, 16);
    touch(k, 1, 72, 600, 2 << 20);
    touch(k, 1, 72, 768, 4096); /* beyond */
    touch(k, 1, 72, 0, 4096);   /* the kernel does not say */
    const struct sample *s = look(k);
    assert_int_equal(s->threads, 2);
    assert_true(of(s, 71, 0) == 1 && of(s, 71, 1) == 1);
    assert_true(of(s, 72, 0) == 0 && of(s, 72, 1) == 512);
    assert_int_equal(s->thread[0].pid, 70);
    assert_int_equal(look(k)->threads, 0);
}

/* The tasks that one thread runs have stacks of their own, and rows; a program may have any stack
 * pointer. */
static void test_stacks(void **state)
{
    struct kernel *k = *state;

    open_it(k);
    if (!(k->attr.sample_type & PERF_SAMPLE_REGS_USER))
        skip();
    assert_true(k->attr.sample_regs_user != 0);
    touch_on(k, 0, 71, 0x7f0000100f00, 300, 4096);
    touch_on(k, 0, 71, 0x7f0000900f00, 600, 4096);
    touch_on(k, 0, 71, 0x7f0000100a00, 300, 4096); /* the first again, one call deeper */
    touch_on(k, 0, 71, UINT64_MAX, 600, 4096);
    const struct sample *s = look(k);
    assert_int_equal(s->threads, 3);
    assert_true(s->thread[0].stack == 0x7f0000100f00 && s->thread_requests[0] == 2);
    assert_true(s->thread[1].stack == 0x7f0000900f00 && s->thread_requests[3] == 1);
    assert_true(s->thread[2].stack == INT64_MAX && s->thread[2].tid == 71);
}

/* A record may be at the ring's end and its begin; a size of 0 ends the look, not the agent. */
static void test_ring(void **state)
{
    struct kernel *k = *state;
    static const char nothing[64];

    k->old = true;
    open_it(k);
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < 3; i++)
            touch(k, 2, 71, 300, 0);
        assert_true(of(look(k), 71, 0) == 3);
    }
    put(k, 2, nothing, sizeof(nothing));
    touch(k, 2, 71, 300, 0);
    assert_int_equal(look(k)->threads, 0);
    touch(k, 2, 71, 300, 0);
    assert_true(of(look(k), 71, 0) == 1);
}

/* More threads than a sample has room for. */
static void test_many(void **state)
{
    struct kernel *k = *state;

    open_it(k);
    for (uint32_t tid = 1; tid <= SAMPLE_THREADS + 300; tid += 100) {
        for (uint32_t i = 0; i < 100; i++)
            touch(k, 0, tid + i, 300, 4096);
        askers_sample(k->node.state, k->node.sample, NULL);
    }
    assert_int_equal(k->node.sample->threads, SAMPLE_THREADS);
}

static void test_loads(void **state)
{
    struct kernel *k = *state;

    tree_write(k->node.tree, MEM_LOADS "type", "4\n");
    tree_write(k->node.tree, MEM_LOADS "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
    tree_write(k->node.tree, MEM_LOADS "format/event", "config:0-7\n");
    tree_write(k->node.tree, MEM_LOADS "format/umask", "config:8-15\n");
    tree_write(k->node.tree, MEM_LOADS "format/ldlat", "config1:0-15\n");
    open_it(k);
    assert_int_equal(k->attr.type, 4);
    assert_int_equal(k->attr.config, 0x1cd);
    assert_int_equal(k->attr.config1, 3);
    assert_int_equal(k->attr.precise_ip, 2);
    touch(k, 0, 71, 300, 2 << 20); /* a load is one, however large its page */
    assert_true(of(look(k), 71, 0) == 1);
    assert_non_null(strstr(why(k), "addresses of loads"));
}

#define IBS_OP "bus/event_source/devices/ibs_op/"

/* AMD's; each in so many operations that the last four bits are 0.  Most have no address. */
static void test_operations(void **state)
{
    struct kernel *k = *state;

    tree_write(k->node.tree, IBS_OP "type", "11\n");
    tree_write(k->node.tree, IBS_OP "format/cnt_ctl", "config:19\n");
    open_it(k); /* before Linux 6.14 */
    assert_int_equal(k->attr.type, PERF_TYPE_SOFTWARE);
    assert_non_null(strstr(why(k), "no operations: not described"));
    askers_close(k->node.state);
    tree_write(k->node.tree, IBS_OP "format/swfilt", "config2:0\n");
    open_it(k);
    assert_int_equal(k->open, CPUS);
    assert_int_equal(k->attr.type, 11);
    assert_int_equal(k->attr.config, 1 << 19);
    assert_int_equal(k->attr.config2, 1);
    assert_int_equal(k->attr.sample_period % 16, 0);
    assert_int_equal(k->attr.precise_ip, 0);
    assert_true(k->attr.exclude_kernel && k->attr.sample_type & PERF_SAMPLE_PHYS_ADDR);
    touch(k, 0, 71, 300, 2 << 20);
    touch(k, 3, 71, 600, 4096);
    touch(k, 1, 72, 0, 0); /* an addition */
    const struct sample *s = look(k);
    assert_int_equal(s->threads, 1);
    assert_true(of(s, 71, 0) == 1 && of(s, 71, 1) == 1);
    assert_non_null(strstr(why(k), "addresses of loads and stores"));
}

/* Two packages with a NUMA node each, of Skylake servers. */
static void use_servers(struct kernel *k)
{
    k->node.setup.packages = 2;
    k->node.setup.cpu_model = "6-85-7";
}

/* CPU and event say which node was asked: local misses on CPUs 0 and 1 are of node 0, remote ones
 * of node 1, and the other way round on CPUs 2 and 3; a thread may have been on both. */
static void test_misses(void **state)
{
    struct kernel *k = *state;

    use_servers(k);
    tree_write(k->node.tree, "zoneinfo", "");
    open_it(k);
    assert_string_equal(why(k), "local and remote misses");
    assert_int_equal(k->open, 2 * CPUS);
    assert_int_equal(k->attr.type, PERF_TYPE_HW_CACHE);
    for (size_t c = 0; c < CPUS; c++) { /* node-loads and node-load-misses */
        assert_int_equal(k->config[c], PERF_COUNT_HW_CACHE_NODE);
        assert_int_equal(k->config[c + FAR], PERF_COUNT_HW_CACHE_NODE | 1 << 16);
    }
    for (int i = 0; i < 3; i++)
        touch(k, 1, 71, 0, 0);
    touch(k, 1 + FAR, 71, 0, 0);
    touch(k, 2, 71, 300, 0); /* no address counts */
    for (int i = 0; i < 5; i++)
        touch_on(k, 3 + FAR, 72, 0x7f0000100f00, 0, 0);
    const struct sample *s = look(k);
    assert_int_equal(s->threads, 2);
    assert_true(of(s, 71, 0) == 3 && of(s, 71, 1) == 2);
    assert_true(of(s, 72, 0) == 5 && of(s, 72, 1) == 0);
    assert_true(s->thread[0].tid == 71 || s->thread[0].stack == 0x7f0000100f00);
}

/* AMD's have codes of their own. */
static void test_misses_amd(void **state)
{
    struct kernel *k = *state;

    use_servers(k);
    k->node.setup.cpu_model = "25-17-1";
    open_it(k);
    assert_int_equal(k->attr.type, PERF_TYPE_RAW);
    assert_int_equal(k->config[3], 0x0843);
    assert_int_equal(k->config[3 + FAR], 0x4043);
}

/* Open K's, which must fall back to faults and say why. */
static void falls_back(struct kernel *k, const char *reason)
{
    open_it(k);
    assert_int_equal(k->open, CPUS);
    assert_int_equal(k->attr.type, PERF_TYPE_SOFTWARE);
    if (!strstr(why(k), reason))
        fail_msg("%s", why(k));
    touch(k, 0, 71, 600, 4096);
    assert_true(of(look(k), 71, 1) == 1);
    askers_close(k->node.state);
    k->node.state = NULL;
}

/* Where misses do not tell nodes, or cannot be had. */
static void test_no_misses(void **state)
{
    struct kernel *k = *state;

    falls_back(k, "no misses: both NUMA nodes in one package; no loads: not described; "
                 "no operations: not described");
    use_servers(k);
    k->node.setup.cpu_model = "6-62-4"; /* whose node-loads are all */
    falls_back(k, "no misses: unknown for this CPU");
    k->node.setup.cpu_model = NULL;
    falls_back(k, "no misses: unknown for this CPU");
    use_servers(k);
    k->no_misses = ENOENT;
    falls_back(k, "no misses: No such file or directory");
    k->no_misses = ENXIO; /* a guest whose host keeps these registers, not CPUs that are offline */
    falls_back(k, "no misses: No such device or address");
    k->no_misses = 0;
    k->no_second = true;
    falls_back(k, "no misses: No space left on device");
    k->node.machine->numa_nodes = 4;
    falls_back(k, "no misses: more than two NUMA nodes");
    k->node.machine->numa_nodes = 2;
}

static void refused(struct kernel *k, const char *reason)
{
    struct errtext err = {""};

    assert_int_equal(askers_open(&k->source, &k->node.setup, &k->node.state, &err), -1);
    if (!strstr(err.text, reason))
        fail_msg("%s", err.text);
}

static void test_refused(void **state)
{
    struct kernel *k = *state;

    k->refuse = EACCES;
    refused(k, "Permission denied");
    k->refuse = 0;
    tree_write(k->node.tree, "zoneinfo", "Node 0, zone\n");
    refused(k, "no zones of memory");
    k->node.setup.procfs = "/nowhere";
    refused(k, "/nowhere/zoneinfo");
    k->node.setup.threads = false;
    refused(k, "mapping");
    k->node.setup.threads = true;
    k->node.machine->numa_nodes = 1;
    refused(k, "one NUMA node");
    k->node.machine->numa_nodes = 2;
}

/* What this kernel says of the test's own first touches. */
static void test_real(void **state)
{
    struct kernel *k = *state;
    struct errtext err;

    k->node.setup.procfs = "/proc";
    cpuset_zero(&k->node.cpus);
    cpuset_get_affinity(0, &k->node.cpus);
    if (askers_open(&askers_kernel, &k->node.setup, &k->node.state, &err) < 0) {
        print_message("left out: %s\n", err.text);
        skip();
    }
    const size_t size = 400 * 4096;
    volatile char *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    for (size_t i = 0; i < size; i += 4096)
        memory[i] = 1;
    const struct sample *s = look(k);
    pid_t me = (pid_t)syscall(SYS_gettid);
    assert_true(of(s, me, 0) + of(s, me, 1) > 10);
    munmap((void *)memory, size);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

UNIT(test_askers)
{
    const struct CMUnitTest tests[] = {T(test_faults), T(test_stacks), T(test_ring), T(test_many),
                                       T(test_loads), T(test_operations), T(test_misses),
                                       T(test_misses_amd), T(test_no_misses), T(test_refused),
                                       T(test_real)};

    return cmocka_run_group_tests_name("test_askers", tests, NULL, NULL);
}
