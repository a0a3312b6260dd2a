/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Allotment pages: what a job can do with one, and torn reads. */

#include "tests/support/unit.h"

#include <pthread.h>

#include "node_agent/core/allotment.h"
#include "protocol/cpulist.h"

static const int llc_domain[] = {0, 0, 1, -1, 1};

static struct allotment *new_allotment(void)
{
    struct cosched_cpuset granted = {{0x17}};
    struct errtext err = {""};
    struct allotment *a = allotment_new(&granted, 1000, llc_domain, 5, 2, &err);

    assert_non_null(a);
    return a;
}

static const struct cosched_allotment *map(const struct allotment *a)
{
    void *page = mmap(NULL, sizeof(struct cosched_allotment), PROT_READ,
                      MAP_SHARED, allotment_fd(a), 0);

    assert_ptr_not_equal(page, MAP_FAILED);
    return page;
}

static void test_first_contents(void **state)
{
    (void)state;
    struct allotment *a = new_allotment();
    const struct cosched_allotment *page = map(a);

    assert_int_equal(page->magic, COSCHED_ALLOTMENT_MAGIC);
    assert_int_equal(page->version, COSCHED_LAYOUT_VERSION);
    assert_int_equal(page->size, sizeof(*page));
    assert_int_equal(page->generation, 0);
    assert_int_equal(page->lease_ns, 1000);
    assert_int_equal(page->llc_domains, 2);
    assert_int_equal(page->granted.word[0], 0x17);
    assert_int_equal(page->llc_domain[2], 1);
    assert_int_equal(page->llc_domain[3], 0); /* a hole */
    munmap((void *)page, sizeof(*page));
    allotment_free(a);
}

static void test_job_cannot_write(void **state)
{
    (void)state;
    struct allotment *a = new_allotment();
    int fd = allotment_fd(a);
    char again[64];

    assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                          0),
                     MAP_FAILED);
    assert_int_equal(write(fd, "x", 1), -1);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, 1 << 20), -1);
    /* A read-only mapping cannot be made writable, nor a new descriptor. */
    const struct cosched_allotment *page = map(a);
    assert_int_equal(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE), -1);
    snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
    FILE *file = fopen(again, "r+");
    if (file) {
        assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
                              fileno(file), 0),
                         MAP_FAILED);
        fclose(file);
    }
    munmap((void *)page, sizeof(*page));
    allotment_free(a);
}

static void test_generations(void **state)
{
    (void)state;
    struct allotment *a = new_allotment();
    const struct cosched_allotment *page = map(a);
    struct cosched_cpuset cpus = {{3}}, none = {{0}};

    allotment_write(a, &cpus, false, 77);
    assert_int_equal(page->generation, 2);
    assert_int_equal(allotment_generation(a), 2);
    assert_int_equal(page->cpus.word[0], 3);
    assert_int_equal(page->changed_ns, 77);
    allotment_write(a, &cpus, false, 78); /* nothing new */
    assert_int_equal(page->generation, 2);
    allotment_write(a, &none, true, 79);
    assert_int_equal(page->generation, 4);
    assert_int_equal(page->flags, COSCHED_ALLOTMENT_PARKED);
    assert_true(cpuset_empty(&page->cpus));
    allotment_beat(a, 80); /* no change of generation */
    assert_int_equal(page->generation, 4);
    assert_int_equal(page->heartbeat_ns, 80);
    assert_int_equal(page->near_share, 0);
    allotment_write_near_share(a, 751); /* likewise */
    assert_int_equal(page->generation, 4);
    assert_int_equal(page->near_share, 751);
    allotment_write_grows(a, true);
    assert_int_equal(page->grows, 1);
    allotment_write_grows(a, false);
    assert_int_equal(page->grows, 0);
    assert_int_equal(page->generation, 4);
    allotment_regrant(a, &cpus, 2000, 81);
    assert_int_equal(page->generation, 6);
    assert_int_equal(page->lease_ns, 2000);
    assert_int_equal(page->granted.word[0], 3);
    munmap((void *)page, sizeof(*page));
    allotment_free(a);
}

struct reader {
    const struct cosched_allotment *page;
    _Atomic bool stop;
    unsigned long good;
    unsigned long torn;
};

/* Each write sets all words to one value: a reader must never see two. */
static void *read_all(void *arg)
{
    struct reader *r = arg;

    while (!r->stop) {
        uint64_t word[COSCHED_MAX_CPUS / 64];
        uint32_t before =
            __atomic_load_n(&r->page->generation, __ATOMIC_ACQUIRE);
        for (size_t i = 0; i < COSCHED_MAX_CPUS / 64; i++)
            word[i] =
                __atomic_load_n(&r->page->cpus.word[i], __ATOMIC_ACQUIRE);
        if (before & 1 ||
            __atomic_load_n(&r->page->generation, __ATOMIC_RELAXED) != before)
            continue;
        for (size_t i = 1; i < COSCHED_MAX_CPUS / 64; i++)
            r->torn += word[i] != word[0];
        r->good++;
    }
    return NULL;
}

static void test_concurrent_reader(void **state)
{
    (void)state;
    struct allotment *a = new_allotment();
    struct reader r = {.page = map(a)};
    struct cosched_cpuset cpus;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, read_all, &r), 0);
    for (uint64_t n = 1; n <= 200000; n++) {
        for (size_t i = 0; i < COSCHED_MAX_CPUS / 64; i++)
            cpus.word[i] = n * UINT64_C(0x0101010101010101);
        allotment_write(a, &cpus, false, n);
    }
    r.stop = true;
    pthread_join(thread, NULL);
    assert_int_equal(r.torn, 0);
    assert_true(r.good > 0);
    munmap((void *)r.page, sizeof(*r.page));
    allotment_free(a);
}

UNIT(test_allotment)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_contents),
        cmocka_unit_test(test_job_cannot_write),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_concurrent_reader),
    };

    return cmocka_run_group_tests_name("test_allotment", tests, NULL, NULL);
}
