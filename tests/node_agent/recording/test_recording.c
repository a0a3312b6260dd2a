/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Recordings: samples to JSON and back, files that are none, and the replay
 * backend at the speed of the clock. */

#include "tests/support/unit.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

#include "node_agent/counters/counters.h"
#include "node_agent/recording/recording.h"
#include "node_agent/counters/sample_json.h"
#include "tests/support/tree.h"
#include "tests/support/uniform_machine.h"

#define MS UINT64_C(1000000)

struct fixture {
    struct tree *tree;
    struct machine *machine;
    struct cosched_cpuset cpus;
    struct counters_setup setup;
    struct sample *sample;
    struct recorder *recorder;
    void *state;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->tree = tree_new();
    f->machine = machine_new_uniform(2, 2, 2);
    f->cpus.word[0] = 0xf;
    counters_setup_init(&f->setup, f->machine, &f->cpus);
    f->setup.packages = 2;
    f->setup.argument = f->tree->root;
    f->sample = sample_new(4, 2, 2, 2);
    f->recorder = recorder_new();
    *state = f;
    return !f->machine || !f->sample || !f->recorder;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    if (f->state)
        counters_replay.close(f->state);
    recorder_free(f->recorder);
    sample_free(f->sample);
    machine_free(f->machine);
    tree_free(f->tree);
    free(f);
    return 0;
}

/* Something in every member, and something missing in most. */
static void fill(struct sample *s)
{
    static const uint32_t jobs[] = {7, 4000000000u};

    sample_clear(s);
    s->time_ns = 50 * MS;
    s->coverage = 0.25;
    s->cpu[1] = (struct sample_cpu){1e9, 0.1, 3, NAN, 0, 6, 7};
    s->memory[1] = (struct sample_memory){1, 2, NAN};
    s->traffic[2] = (struct sample_memory){NAN, 5, 0x1p53 + 2};
    s->energy_j[0] = 1.0 / 3;
    assert_int_equal(sample_set_groups(s, jobs, 2), 0);
    s->group[3] = (struct sample_group){1, 2, 3};
}

static bool equal(const void *a, const void *b, size_t bytes)
{
    const double *x = a, *y = b;

    for (size_t i = 0; i < bytes / sizeof(double); i++)
        if (!(isnan(x[i]) ? isnan(y[i]) : x[i] == y[i]))
            return false;
    return true;
}

static void test_round_trip(void **state)
{
    struct fixture *f = *state;
    struct sample *back = sample_new(4, 2, 2, 2);

    fill(f->sample);
    for (int i = 0; i < 2; i++) {
        size_t row = sample_add_thread(
            f->sample, &(struct sample_thread){7, 8 + i, 0x7fff00001000});
        f->sample->thread_requests[2 * row + 1] = 100.25 + i;
    }
    json_t *object = sample_json_write(f->sample);
    char *text = json_dumps(object, JSON_REAL_PRECISION(17));
    json_decref(object);
    object = json_loads(text, 0, NULL);
    assert_int_equal(sample_json_read(object, back, NULL), 0);
    assert_int_equal(back->time_ns, 50 * MS);
    assert_true(back->coverage == 0.25);
    assert_true(equal(back->cpu, f->sample->cpu, 4 * sizeof(*back->cpu)));
    assert_true(
        equal(back->memory, f->sample->memory, 2 * sizeof(*back->memory)));
    assert_true(
        equal(back->traffic, f->sample->traffic, 4 * sizeof(*back->traffic)));
    assert_true(equal(back->energy_j, f->sample->energy_j, 2 * sizeof(double)));
    assert_int_equal(back->groups, 2);
    assert_true(back->group_job[1] == 4000000000u);
    assert_true(equal(back->group, f->sample->group, 4 * sizeof(*back->group)));
    assert_int_equal(back->threads, 2);
    assert_int_equal(back->thread[1].pid, 7);
    assert_int_equal(back->thread[1].tid, 9);
    assert_true(back->thread[1].stack == 0x7fff00001000);
    assert_true(equal(back->thread_requests, f->sample->thread_requests, 4 * sizeof(double)));
    json_decref(object);
    free(text);
    sample_free(back);
}

static void test_bad_samples(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"ns\": -1}",
        "{\"ns\": 1.5}",
        "{\"ns\": 1, \"cpu\": []}",
        "{\"ns\": 1, \"cpu\": {\"4\": [1,1,1,1,1,1,1]}}",
        "{\"ns\": 1, \"cpu\": {\"x\": [1,1,1,1,1,1,1]}}",
        "{\"ns\": 1, \"cpu\": {\"0\": [1,1,1,1,1,1]}}",
        "{\"ns\": 1, \"cpu\": {\"0\": [1,1,1,1,1,1,-1]}}",
        "{\"ns\": 1, \"cpu\": {\"0\": [1,1,1,1,1,1,1e300]}}",
        "{\"ns\": 1, \"cpu\": {\"0\": [1,1,1,1,1,1,\"1\"]}}",
        "{\"ns\": 1, \"memory\": [[1,1,1]]}",
        "{\"ns\": 1, \"memory\": [[1,1,1],[1,1]]}",
        "{\"ns\": 1, \"traffic\": [[[1,1,1],[1,1,1]]]}",
        "{\"ns\": 1, \"energy\": [1]}",
        "{\"ns\": 1, \"groups\": []}",
        "{\"ns\": 1, \"groups\": {\"-3\": [[1,1,1],[1,1,1]]}}",
        "{\"ns\": 1, \"groups\": {\"3\": [[1,1,1]]}}",
        "{\"ns\": 1, \"threads\": {}}",
        "{\"ns\": 1, \"threads\": [[1, 2, 3]]}",
        "{\"ns\": 1, \"threads\": [[0, 2, 3, 4]]}",
        "{\"ns\": 1, \"threads\": [[1, 2, -3, 4]]}",
        "{\"ns\": 1, \"threads\": [[1, 2, null, 4]]}",
        "{\"ns\": 1, \"threads\": [[1, 3e9, 3, 4]]}",
        "{\"ns\": 1, \"threads\": [[1, 2, -3, 3, 4]]}",
        "{\"ns\": 1, \"threads\": [[1, 2, 3.5, 3, 4]]}",
        "{\"ns\": 1, \"threads\": [[1, 2, null, 3, 4]]}",
    };
    struct fixture *f = *state;
    struct errtext err;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        json_t *object = json_loads(bad[i], 0, NULL);
        assert_non_null(object);
        err.text[0] = '\0';
        if (sample_json_read(object, f->sample, &err) == 0)
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(errno, EINVAL);
        assert_true(err.text[0]);
        json_decref(object);
    }
}

/* ---- files -------------------------------------------------------------- */

static void test_write_and_read(void **state)
{
    struct fixture *f = *state;
    struct errtext err;
    const char *type;
    json_t *line;
    char dir[128];

    snprintf(dir, sizeof(dir), "%s/new", f->tree->root);
    assert_false(recorder_active(f->recorder));
    assert_false(recorder_active(NULL));
    assert_int_equal(recorder_write(f->recorder, "x", json_object(), &err), 0);
    assert_int_equal(
        recorder_start(f->recorder, dir, json_pack("{s:i}", "a", 1), &err), 0);
    assert_true(recorder_active(f->recorder));
    assert_int_equal(recorder_start(f->recorder, dir, json_object(), &err), -1);
    assert_int_equal(errno, EBUSY);
    recorder_write(f->recorder, "x", json_pack("{s:i}", "b", 2), &err);
    recorder_stop(f->recorder);
    /* Nothing is overwritten. */
    assert_int_equal(recorder_start(f->recorder, dir, json_object(), &err), -1);
    assert_int_equal(errno, EEXIST);

    struct recording *r = recording_open(dir, &err);
    assert_non_null(r);
    assert_int_equal(json_integer_value(json_object_get(recording_begin(r), "a")),
                     1);
    assert_int_equal(recording_next(r, &line, &type, &err), 1);
    assert_string_equal(type, "x");
    json_decref(line);
    assert_int_equal(recording_next(r, &line, &type, &err), 1);
    assert_string_equal(type, "end");
    json_decref(line);
    assert_int_equal(recording_next(r, &line, &type, &err), 0);
    recording_close(r);
}

/* Not where, or through what, somebody else may write. */
static void test_places_of_others(void **state)
{
    struct fixture *f = *state;
    struct errtext err;
    char dir[128], link[128], moved[128], path[192];

    snprintf(dir, sizeof(dir), "%s/theirs", f->tree->root);
    snprintf(link, sizeof(link), "%s/link", f->tree->root);
    snprintf(moved, sizeof(moved), "%s/moved", f->tree->root);
    assert_int_equal(mkdir(dir, 0755), 0);
    assert_int_equal(symlink(dir, link), 0);
    assert_int_equal(recorder_start(f->recorder, link, json_object(), &err), -1);
    assert_false(recorder_active(f->recorder));
    static const mode_t modes[] = {0777, 01777, 0775};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        assert_int_equal(chmod(dir, modes[i]), 0);
        assert_int_equal(recorder_start(f->recorder, dir, json_object(), &err), -1);
        assert_int_equal(errno, EPERM);
        assert_non_null(strstr(err.text, "others than root may write"));
    }
    assert_int_equal(chmod(dir, 0755), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(dir, 65534, 65534), 0);
        assert_int_equal(recorder_start(f->recorder, dir, json_object(), &err), -1);
        assert_int_equal(errno, EPERM);
        assert_int_equal(chown(dir, 0, 0), 0);
    }
    /* What is made later is in that directory, whatever has its name. */
    assert_int_equal(recorder_start(f->recorder, dir, json_object(), &err), 0);
    assert_int_equal(rename(dir, moved), 0);
    assert_int_equal(symlink(f->tree->root, dir), 0);
    FILE *file = recorder_create(f->recorder, "beside", &err);
    assert_non_null(file);
    fclose(file);
    snprintf(path, sizeof(path), "%s/beside", moved);
    assert_int_equal(access(path, F_OK), 0);
    recorder_stop(f->recorder);
}

/* A full disk ends the recording, says so once, and hurts nobody. */
static void test_disk_full(void **state)
{
    struct fixture *f = *state;
    struct errtext err;
    int news = 0;

    if (access("/dev/full", W_OK) < 0)
        skip();
    assert_int_equal(
        recorder_start(f->recorder, f->tree->root, json_object(), &err), 0);
    /* The file is open; put the full device in its place. */
    int full = open("/dev/full", O_WRONLY);
    for (int fd = 3; fd < full; fd++) {
        char link[64], target[128] = "";
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        if (readlink(link, target, sizeof(target) - 1) > 0 &&
            strstr(target, RECORDING_FILE))
            dup2(full, fd);
    }
    close(full);
    for (int i = 0; i < 5; i++)
        news += recorder_write(f->recorder, "x", json_object(), &err) < 0;
    assert_int_equal(news, 1);
    assert_false(recorder_active(f->recorder));
    assert_non_null(strstr(err.text, "ended"));
}

/* ---- replay ------------------------------------------------------------- */

#define BEGIN                                                                  \
    "{\"type\": \"begin\", \"version\": 1, \"metrics\": [\"cycles\"], "        \
    "\"machine\": {\"cpus\": 4, \"llc_domains\": 2, \"numa_nodes\": 2, "          \
    "\"packages\": 2}}\n"

static void test_replay_refusals(void **state)
{
    struct fixture *f = *state;
    struct errtext err;

    assert_int_equal(counters_replay.open(&f->setup, &f->state, &err), -1);
    assert_int_equal(errno, ENOENT);
    tree_write(f->tree, RECORDING_FILE, BEGIN);
    f->setup.packages = 1;
    assert_int_equal(counters_replay.open(&f->setup, &f->state, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(err.text, "2 packages"));
    f->setup.argument = "";
    assert_int_equal(counters_replay.open(&f->setup, &f->state, &err), -1);
    assert_non_null(strstr(err.text, "replay:DIR"));
    assert_null(f->state);
}

static double take(struct fixture *f, uint64_t ms, int want, struct errtext *err)
{
    sample_set_groups(f->sample, NULL, 0);
    sample_clear(f->sample);
    f->sample->time_ns = ms * MS;
    assert_int_equal(counters_replay.sample(f->state, f->sample, err), want);
    return f->sample->cpu[0].cycles;
}

/* Intervals of the recording are given out by the time that is asked for, in
 * parts if need be; lines of other types do not matter. */
static void test_replay_by_time(void **state)
{
    struct fixture *f = *state;
    struct counters_ability a[COUNTERS_METRICS] = {{0}};
    struct errtext err = {""};

    tree_write(f->tree, RECORDING_FILE, BEGIN
               "{\"type\": \"sample\", \"ns\": 10000000, \"cpu\": "
               "{\"0\": [100,0,0,0,0,0,null]}}\n"
               "{\"type\": \"decision\"}\n"
               "{\"type\": \"sample\", \"ns\": 30000000, \"cpu\": "
               "{\"0\": [900,0,0,0,0,0,null]}, "
               "\"groups\": {\"5\": [[10,20,4096],[null,null,null]]}}\n"
               "{\"type\": \"end\"}\n");
    assert_int_equal(counters_replay.open(&f->setup, &f->state, &err), 0);
    counters_replay.describe(f->state, a);
    assert_true(a[COUNTERS_CYCLES].can);
    assert_false(a[COUNTERS_ENERGY].can);
    assert_true(take(f, 5, 0, &err) == 50);
    assert_true(isnan(f->sample->cpu[0].remote_misses));
    assert_true(isnan(f->sample->cpu[1].cycles));
    assert_true(fabs(take(f, 15, 0, &err) - (50 + 300)) < 1e-9);
    assert_int_equal(f->sample->groups, 1);
    assert_true(fabs(f->sample->group[0].total - 20.0 / 3) < 1e-9);
    assert_true(f->sample->group[0].llc_bytes == 4096);
    assert_true(fabs(take(f, 100, -1, &err) - 600) < 1e-9); /* what was left */
    assert_non_null(strstr(err.text, "end"));
    assert_true(isnan(take(f, 100, 0, &err))); /* said once */
}

/* The thread-node table: by time, too, and an error where it is wanted and was not recorded. */
static void test_replay_of_threads(void **state)
{
    struct fixture *f = *state;
    struct counters_ability a[COUNTERS_METRICS] = {{0}};
    struct errtext err = {""};

    f->setup.threads = true;
    tree_write(f->tree, RECORDING_FILE, BEGIN);
    assert_int_equal(counters_replay.open(&f->setup, &f->state, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(err.text, "metrics: \"threads\" is missing"));
    assert_null(f->state);
    tree_write(f->tree, RECORDING_FILE,
               "{\"type\": \"begin\", \"version\": 1, \"metrics\": [\"threads\"], "
               "\"machine\": {\"cpus\": 4, \"llc_domains\": 2, \"numa_nodes\": 2, "
               "\"packages\": 2}}\n"
               "{\"type\": \"sample\", \"ns\": 10000000, \"threads\": "
               "[[7, 8, 100, 0], [7, 9, 0, 40]]}\n"
               "{\"type\": \"sample\", \"ns\": 10000000, \"threads\": "
               "[[7, 9, 20, 2], [7, 10, 6, 6]]}\n"
               "{\"type\": \"end\"}\n");
    assert_int_equal(counters_replay.open(&f->setup, &f->state, &err), 0);
    counters_replay.describe(f->state, a);
    assert_true(a[COUNTERS_THREADS].can);
    take(f, 5, 0, &err);
    assert_int_equal(f->sample->threads, 2);
    assert_int_equal(f->sample->thread[1].tid, 9);
    assert_true(f->sample->thread_requests[0] == 50);
    take(f, 10, 0, &err); /* a half of each */
    assert_int_equal(f->sample->threads, 3);
    assert_int_equal(f->sample->thread[2].tid, 10);
    assert_true(f->sample->thread_requests[2] == 10);
    assert_true(f->sample->thread_requests[3] == 20 + 1);
    assert_true(f->sample->thread_requests[5] == 3);
}

static void test_replay_of_garbage(void **state)
{
    struct fixture *f = *state;
    struct errtext err = {""};

    tree_write(f->tree, RECORDING_FILE,
               BEGIN "{\"type\": \"sample\", \"ns\": 10000000, \"energy\": "
                     "[1,2,3]}\n");
    assert_int_equal(counters_replay.open(&f->setup, &f->state, &err), 0);
    assert_true(isnan(take(f, 5, -1, &err)));
    assert_non_null(strstr(err.text, ":2: energy"));
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

UNIT(test_recording)
{
    const struct CMUnitTest tests[] = {
        T(test_round_trip),     T(test_bad_samples),
        T(test_write_and_read), T(test_places_of_others), T(test_disk_full),
        T(test_replay_refusals), T(test_replay_by_time),
        T(test_replay_of_threads),
        T(test_replay_of_garbage),
    };

    return cmocka_run_group_tests_name("test_recording", tests, NULL, NULL);
}
