/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The trace is valid JSON with the right spans, also after an overflow; its memory can only be
 * read. */

#include "tests/support/unit.h"

#include <jansson.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <math.h>

#include "node_agent/core/trace.h"
#include "node_agent/core/trace_json.h"
#include "protocol/cpulist.h"

static json_t *written_with(const struct trace *t, const struct trace_view *view)
{
    json_error_t error;
    FILE *file = tmpfile();

    assert_non_null(file);
    assert_int_equal(trace_json(trace_fd(t), view, file, NULL), 0);
    rewind(file);
    json_t *root = json_loadf(file, 0, &error);
    fclose(file);
    if (!root)
        fail_msg("line %d: %s", error.line, error.text);
    return root;
}

static json_t *written(const struct trace *t, uint32_t job, uint64_t now_ns)
{
    return written_with(t, &(struct trace_view){.job = job, .now_ns = now_ns});
}

/* The last value of counter NAME's only member up to US, -1 if there is none. */
static double counted(json_t *root, const char *name, double us)
{
    double last = -1;
    size_t i;
    json_t *e;

    json_array_foreach(json_object_get(root, "traceEvents"), i, e)
    {
        json_t *args = json_object_get(e, "args");
        if (!strcmp(json_string_value(json_object_get(e, "ph")), "C") &&
            !strcmp(json_string_value(json_object_get(e, "name")), name) &&
            json_number_value(json_object_get(e, "ts")) <= us)
            last = json_number_value(json_object_iter_value(json_object_iter(args)));
    }
    return last;
}

/* Sum of the durations (us) of spans called NAME on thread TID of process PID,
 * -1 if there is none. */
static double duration(json_t *root, int pid, int tid, const char *name)
{
    double sum = -1;
    size_t i;
    json_t *e;

    json_array_foreach(json_object_get(root, "traceEvents"), i, e)
    {
        const char *kind, *called;
        int p, t = 0;
        assert_int_equal(json_unpack(e, "{s:s, s:i, s:s, s?i}", "ph", &kind,
                                     "pid", &p, "name", &called, "tid", &t),
                         0);
        if (strcmp(kind, "X") || p != pid || t != tid || strcmp(called, name))
            continue;
        double dur = json_number_value(json_object_get(e, "dur"));
        assert_true(dur >= 0);
        sum = (sum < 0 ? 0 : sum) + dur;
    }
    return sum;
}

static void test_spans(void **state)
{
    struct trace *t = trace_new();
    struct cosched_cpuset both = {{3}}, one = {{1}}, two = {{2}}, none = {{0}};

    (void)state;
    trace_allotment(t, 1000, 7, &both, 2);
    trace_state(t, 1000, 7, "clean +40");
    trace_allotment(t, 5000, 7, &one, 1);
    trace_allotment(t, 6000, 8, &two, 1);
    trace_state(t, 6000, 7, "known +40");
    trace_allotment(t, 9000, 7, &none, 0);
    json_t *root = written(t, 0, 10000);
    assert_true(duration(root, 1, 0, "job 7") == 8);
    assert_true(duration(root, 1, 1, "job 7") == 4);
    assert_true(duration(root, 1, 1, "job 8") == 4);
    assert_true(duration(root, 2, 7, "clean +40") == 5);
    assert_true(duration(root, 2, 7, "known +40") == 4);
    json_decref(root);
    root = written(t, 8, 10000);
    assert_true(duration(root, 1, 0, "job 7") == -1);
    assert_true(duration(root, 1, 1, "job 8") == 4);
    json_decref(root);
    trace_free(t);
}

static void test_overflow(void **state)
{
    struct trace *t = trace_new();

    (void)state;
    for (uint64_t i = 0; i < TRACE_EVENTS + 10; i++) {
        struct cosched_cpuset cpus = {{1 + i % 2}};
        trace_allotment(t, i * 1000, 1 + (uint32_t)(i % 2), &cpus, 1);
    }
    json_t *root = written(t, 0, (TRACE_EVENTS + 10) * UINT64_C(1000));
    assert_true(json_array_size(json_object_get(root, "traceEvents")) >=
                TRACE_EVENTS);
    assert_true(duration(root, 1, 0, "job 1") > 0);
    json_decref(root);
    trace_free(t);
}

static void test_empty(void **state)
{
    struct trace *t = trace_new();

    (void)state;
    json_decref(written(t, 0, 5));
    trace_free(t);
}

/* Who is handed the memory can read it, and nothing else. */
static void test_sealed(void **state)
{
    struct trace *t = trace_new();
    struct cosched_cpuset one = {{1}};
    size_t size = sizeof(struct trace_ring);
    int fd = dup(trace_fd(t));

    (void)state;
    trace_allotment(t, 1, 7, &one, 1);
    assert_true(write(fd, "x", 1) < 0);
    assert_true(ftruncate(fd, 0) < 0);
    assert_true(ftruncate(fd, (off_t)size + 1) < 0);
    assert_true(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) < 0);
    assert_ptr_equal(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_true(mprotect(map, size, PROT_READ | PROT_WRITE) < 0);
    assert_true(madvise(map, 4096, MADV_REMOVE) < 0);
    munmap(map, size);
    close(fd);
    json_t *root = written(t, 7, 2000);
    assert_true(duration(root, 1, 0, "job 7") > 0);
    json_decref(root);
    trace_free(t);
}

/* What is no trace is refused, whatever its size. */
static void test_foreign(void **state)
{
    struct errtext err;
    FILE *file = tmpfile();

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trace_json(fileno(file), &(struct trace_view){0}, stdout, &err), -1);
        assert_int_equal(errno, EPROTO);
        assert_int_equal(ftruncate(fileno(file), sizeof(struct trace_ring)), 0);
    }
    fclose(file);
}

/* Events that came after the caller looked at the clock. */
static void test_later(void **state)
{
    struct trace *t = trace_new();
    struct cosched_cpuset cpus = {{1}};

    (void)state;
    assert_non_null(t);
    trace_state(t, 5000000, 1, "serial");
    trace_allotment(t, 5000000, 1, &cpus, 1);
    json_t *root = written(t, 0, 4000000);
    assert_true(duration(root, 1, 0, "job 1") == 0);
    assert_true(duration(root, 2, 1, "serial") == 0);
    json_decref(root);
    trace_free(t);
}

/* Speeds, barriers and loads are counters, decisions instants with whatever reason. */
static void test_curves(void **state)
{
    static const char reason[] = "job \"7\" \\ gets 2\n cores";
    double load[64] = {0.25, 0.5, 0.125};
    struct trace *t = trace_new();
    struct cosched_cpuset cpus = {{3}};
    json_t *e, *decisions = json_pack("[{s:f, s:s, s:s, s:s, s:[]}, {s:f}, {s:s}]", "time", 1002.0,
                                      "trigger", "an \"attach\"", "policy", "corun", "text", reason,
                                      "shares", "time", 5.0, "text", "no time");
    size_t i, instants = 0;

    (void)state;
    assert_non_null(t);
    trace_allotment(t, 1000000000, 7, &cpus, 2);
    trace_speed(t, 1000000000, 7, 0.5, 1000, 3);
    trace_speed(t, 1500000000, 7, 0.5, 1600, 3.25);
    trace_speed(t, 2000000000, 7, 0.75, 1700, 4);
    trace_speed(t, 2500000000, 7, NAN, 5, 1); /* another process: no rate */
    trace_use(t, 2000000000, 1.5, load, 2, 1);
    trace_use(t, 3000000000, 1.5, load, 60, 4); /* more than it can hold */
    json_t *root = written_with(
        t, &(struct trace_view){.now_ns = 4000000000, .decisions = decisions, .epoch_s = 1000});
    assert_float_equal(counted(root, "CPUs held", 1e6), 2, 0);
    assert_float_equal(counted(root, "cores of job 7", 1e6), 2, 0);
    assert_float_equal(counted(root, "predicted speed of job 7", 1e6), 0.5, 1e-6);
    assert_float_equal(counted(root, "predicted speed of job 7", 1e9), 0.75, 1e-6);
    assert_float_equal(counted(root, "barriers of job 7", 1e6), 1200, 1e-3);
    assert_float_equal(counted(root, "barriers of job 7", 1e9), 200, 1e-3);
    /* Of two cores a half waits, then one and a half. */
    assert_float_equal(counted(root, "barrier waits of job 7", 1e6), 0.5, 1e-3);
    assert_float_equal(counted(root, "barrier waits of job 7", 1e9), 1.5, 1e-3);
    assert_float_equal(counted(root, "computing", 2e6), 1.5, 1e-6);
    assert_float_equal(counted(root, "controller 1", 2e6), 0.5, 1e-6);
    assert_float_equal(counted(root, "link 0", 2e6), 0.125, 1e-6);
    assert_true(counted(root, "controller 29", 9e9) >= 0);
    assert_true(counted(root, "controller 30", 9e9) < 0);
    json_array_foreach(json_object_get(root, "traceEvents"), i, e)
        if (!strcmp(json_string_value(json_object_get(e, "ph")), "i")) {
            json_t *args = json_object_get(e, "args");
            instants++;
            assert_string_equal(json_string_value(json_object_get(args, "reason")), reason);
            assert_float_equal(json_number_value(json_object_get(e, "ts")), 2e6, 1e-3);
        }
    assert_int_equal(instants, 1); /* what has no time, or one before the node's start, is none */
    json_decref(root);
    json_decref(decisions);
    trace_free(t);
}

/* Agents of before have no such events. */
static void test_version(void **state)
{
    struct trace *t = trace_new();
    struct trace_ring *ring;
    struct errtext err;
    int fd = memfd_create("ring", MFD_CLOEXEC);

    (void)state;
    assert_non_null(t);
    trace_state(t, 1000, 7, "serial");
    trace_speed(t, 1000, 7, 1, 1, 1);
    trace_speed(t, 2000, 7, 1, 2, 2);
    assert_int_equal(ftruncate(fd, sizeof(*ring)), 0);
    ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(ring != MAP_FAILED);
    assert_true(pread(trace_fd(t), ring, sizeof(*ring), 0) == sizeof(*ring));
    for (uint32_t version = 0; version <= TRACE_VERSION + 1; version++) {
        FILE *file = tmpfile();
        bool known = version && version <= TRACE_VERSION;
        ring->version = version;
        assert_int_equal(trace_json(fd, &(struct trace_view){.now_ns = 5000}, file, &err),
                         known ? 0 : -1);
        rewind(file);
        json_t *root = known ? json_loadf(file, 0, NULL) : NULL;
        if (known) /* what an agent of before did not say is not made up */
            assert_true((counted(root, "barrier waits of job 7", 1e9) >= 0) == (version >= 3));
        json_decref(root);
        fclose(file);
    }
    munmap(ring, sizeof(*ring));
    close(fd);
    trace_free(t);
}

UNIT(test_trace)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_later),
        cmocka_unit_test(test_curves),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_sealed),
        cmocka_unit_test(test_foreign),
    };

    return cmocka_run_group_tests_name("test_trace", tests, NULL, NULL);
}
