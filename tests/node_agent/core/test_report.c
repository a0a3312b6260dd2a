/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Report pages: honest ones are read, hostile ones refused. */

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "tests/support/unit.h"

#include "node_agent/core/report.h"

struct fixture {
    struct report *report;
    struct cosched_report *page; /* as the job sees it */
    struct report_view view;
};

static void make_honest(struct cosched_report *p)
{
    memset(p, 0, sizeof(*p));
    p->magic = COSCHED_REPORT_MAGIC;
    p->version = COSCHED_LAYOUT_VERSION;
    p->size = sizeof(*p);
    p->mode = COSCHED_MODE_ULT;
    p->regions_used = 2;
    p->region = 1;
    p->regions[1].iterations = 17;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->report = report_new(NULL);
    if (!f->report)
        return -1;
    f->page = mmap(NULL, sizeof(*f->page), PROT_READ | PROT_WRITE, MAP_SHARED,
                   report_fd(f->report), 0);
    *state = f;
    return f->page == MAP_FAILED;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    munmap(f->page, sizeof(*f->page));
    report_free(f->report);
    free(f);
    return 0;
}

static void test_empty(void **state)
{
    struct fixture *f = *state;
    struct errtext err;

    assert_int_equal(report_read(f->report, 1, &f->view, &err), 0);
    assert_false(f->view.ready);
    assert_int_equal(f->view.used, 0);
    assert_int_equal(f->view.region, COSCHED_REGION_SERIAL);
}

/* A glance tells whether it is serial, and whether a region was between; never before the page is
 * filled in, nor of a page that is none any more. */
static void test_glance(void **state)
{
    struct fixture *f = *state;
    uint32_t region = 7;
    uint64_t begin_ns = 7;

    assert_false(report_glance(f->report, &region, &begin_ns));
    make_honest(f->page);
    assert_false(report_glance(f->report, &region, &begin_ns)); /* not read so far */
    assert_int_equal(report_read(f->report, 1, &f->view, NULL), 0);
    f->page->region_begin_ns = 12345;
    assert_true(report_glance(f->report, &region, &begin_ns));
    assert_int_equal(region, 1);
    assert_int_equal(begin_ns, 12345);
    f->page->region = COSCHED_REGION_SERIAL;
    assert_true(report_glance(f->report, &region, &begin_ns));
    assert_int_equal(region, COSCHED_REGION_SERIAL);
    f->page->magic++;
    assert_false(report_glance(f->report, &region, &begin_ns));
}

static void test_honest(void **state)
{
    struct fixture *f = *state;
    struct errtext err;

    make_honest(f->page);
    assert_int_equal(report_read(f->report, 1, &f->view, &err), 0);
    assert_true(f->view.ready);
    assert_int_equal(f->view.used, 2);
    assert_int_equal(f->view.regions[1].iterations, 17);
    assert_false(f->view.interleaved);
    f->page->interleaved = 7; /* whatever it writes */
    f->page->region = COSCHED_REGION_SERIAL;
    f->page->regions_used = COSCHED_MAX_REGIONS;
    assert_int_equal(report_read(f->report, 1, &f->view, &err), 0);
    assert_int_equal(f->view.used, COSCHED_MAX_REGIONS);
    assert_true(f->view.interleaved);
}

static void test_hostile(void **state)
{
    static const struct {
        size_t offset;
        uint32_t value;
        const char *named;
    } bad[] = {
        {offsetof(struct cosched_report, magic), 0x12345678, "magic"},
        {offsetof(struct cosched_report, version), 2, "version"},
        {offsetof(struct cosched_report, size), 64, "size"},
        {offsetof(struct cosched_report, mode), 4, "mode"},
        {offsetof(struct cosched_report, regions_used), 257, "regions_used"},
        {offsetof(struct cosched_report, regions_used), UINT32_MAX,
         "regions_used"},
        {offsetof(struct cosched_report, region), 2, "region"},
        {offsetof(struct cosched_report, region), UINT32_MAX - 1, "region"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct errtext err = {""};
        make_honest(f->page);
        memcpy((char *)f->page + bad[i].offset, &bad[i].value, 4);
        assert_int_equal(report_read(f->report, 4711, &f->view, &err), -1);
        assert_int_equal(errno, EPROTO);
        assert_non_null(strstr(err.text, bad[i].named));
        assert_non_null(strstr(err.text, "4711"));
        assert_false(f->view.ready);
        assert_int_equal(f->view.used, 0);
    }
}

static void test_random_bytes(void **state)
{
    struct fixture *f = *state;
    unsigned seed = 1;

    for (int round = 0; round < 2000; round++) {
        make_honest(f->page);
        for (int i = 0; i < 8; i++) {
            size_t at = (size_t)rand_r(&seed) % 128;
            ((unsigned char *)f->page)[at] = (unsigned char)rand_r(&seed);
        }
        if (report_read(f->report, 1, &f->view, NULL) == 0) {
            assert_true(f->view.used <= COSCHED_MAX_REGIONS);
            assert_true(f->view.region == COSCHED_REGION_SERIAL ||
                        f->view.region < f->view.used);
            assert_true(f->view.mode <= COSCHED_MODE_KTHREAD);
        }
    }
}

static void test_job_cannot_shrink(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ftruncate(report_fd(f->report), 0), -1);
    assert_int_equal(errno, EPERM);
}

/* A hole reads as zeros and costs nobody a page, whoever is short of memory. */
static void test_punched(void **state)
{
    struct fixture *f = *state;
    struct stat at;

    make_honest(f->page);
    assert_int_equal(report_read(f->report, 1, &f->view, NULL), 0);
    assert_true(f->view.ready);
    assert_int_equal(fallocate(report_fd(f->report),
                               FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                               1 << 20),
                     0);
    assert_int_equal(report_read(f->report, 1, &f->view, NULL), 0);
    assert_false(f->view.ready);
    assert_int_equal(report_applied(f->report), 0);
    assert_int_equal(fstat(report_fd(f->report), &at), 0);
    assert_int_equal(at.st_blocks, 0);
    /* Only its table. */
    make_honest(f->page);
    assert_int_equal(fallocate(report_fd(f->report),
                               FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096,
                               sizeof(*f->page) - 4096),
                     0);
    f->page->regions_used = COSCHED_MAX_REGIONS;
    assert_int_equal(report_read(f->report, 1, &f->view, NULL), 0);
    assert_int_equal(f->view.regions[COSCHED_MAX_REGIONS - 1].entries, 0);
}

/* ---- read while it is written ----------------------------------------------
 */

static void *begin_regions(void *page)
{
    struct cosched_report *p = page;

    p->version = COSCHED_LAYOUT_VERSION;
    p->size = sizeof(*p);
    p->region = COSCHED_REGION_SERIAL;
    __atomic_store_n(&p->magic, COSCHED_REPORT_MAGIC, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < COSCHED_MAX_REGIONS; i++) {
        p->regions[i].object_id = i + 1;
        __atomic_store_n(&p->regions_used, i + 1, __ATOMIC_RELEASE);
        __atomic_store_n(&p->region, i, __ATOMIC_RELEASE);
        for (uint64_t flip = 0; flip < 64; flip++)
            __atomic_store_n(&p->regions[i].entries, 0 - (flip & 1),
                             __ATOMIC_RELAXED);
    }
    return NULL;
}

/* An honest process is never refused, its index is never ahead of its table,
 * and no word is half of one value and half of the next. */
static void test_written_meanwhile(void **state)
{
    struct fixture *f = *state;

    for (int round = 0; round < 50; round++) {
        struct report *report = report_new(NULL);
        assert_non_null(report);
        void *page = mmap(NULL, sizeof(struct cosched_report),
                          PROT_READ | PROT_WRITE, MAP_SHARED, report_fd(report),
                          0);
        pthread_t writer;
        assert_true(page != MAP_FAILED);
        assert_int_equal(pthread_create(&writer, NULL, begin_regions, page), 0);
        do {
            assert_int_equal(report_read(report, 1, &f->view, NULL), 0);
            if (!f->view.ready || f->view.region == COSCHED_REGION_SERIAL)
                continue;
            assert_int_equal(f->view.regions[f->view.region].object_id,
                             f->view.region + 1);
            for (uint32_t i = 0; i < f->view.used; i++)
                assert_true(f->view.regions[i].entries + 1 <= 1);
        } while (f->view.used < COSCHED_MAX_REGIONS);
        pthread_join(writer, NULL);
        munmap(page, sizeof(struct cosched_report));
        report_free(report);
    }
}

/* A user who keeps the descriptor after the end keeps no memory with it. */
static void test_forgotten(void **state)
{
    struct errtext err;
    struct report *r = report_new(&err);
    int kept = dup(report_fd(r));
    struct stat st;

    (void)state;
    assert_int_equal(fstat(kept, &st), 0);
    assert_true(st.st_blocks > 0);
    report_forget(r);
    assert_int_equal(fstat(kept, &st), 0);
    assert_int_equal(st.st_blocks, 0);
    report_free(r);
    close(kept);
}

/* A process that lost its agent goes on with the page that it has. */
static void test_left(void **state)
{
    struct errtext err;
    struct report *r = report_new(&err);
    int kept = dup(report_fd(r));
    uint32_t value = 7;

    (void)state;
    assert_int_equal(pwrite(kept, &value, sizeof(value), 64), sizeof(value));
    report_free(r);
    value = 0;
    assert_int_equal(pread(kept, &value, sizeof(value), 64), sizeof(value));
    assert_int_equal(value, 7);
    close(kept);
}

UNIT(test_report)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_glance, setup, teardown),
        cmocka_unit_test_setup_teardown(test_honest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
        cmocka_unit_test_setup_teardown(test_random_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_job_cannot_shrink, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_punched, setup, teardown),
        cmocka_unit_test_setup_teardown(test_written_meanwhile, setup,
                                        teardown),
        cmocka_unit_test(test_forgotten),
        cmocka_unit_test(test_left),
    };

    return cmocka_run_group_tests_name("test_report", tests, NULL, NULL);
}
