/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Report pages: honest ones are read, hostile ones refused. */

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

static void test_honest(void **state)
{
    struct fixture *f = *state;
    struct errtext err;

    make_honest(f->page);
    assert_int_equal(report_read(f->report, 1, &f->view, &err), 0);
    assert_true(f->view.ready);
    assert_int_equal(f->view.used, 2);
    assert_int_equal(f->view.regions[1].iterations, 17);
    f->page->region = COSCHED_REGION_SERIAL;
    f->page->regions_used = COSCHED_MAX_REGIONS;
    assert_int_equal(report_read(f->report, 1, &f->view, &err), 0);
    assert_int_equal(f->view.used, COSCHED_MAX_REGIONS);
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

UNIT(test_report)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_honest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
        cmocka_unit_test_setup_teardown(test_random_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_job_cannot_shrink, setup,
                                        teardown),
    };

    return cmocka_run_group_tests_name("test_report", tests, NULL, NULL);
}
