/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A node with a liblikwid of the test's own, for tests of the backend. */

#include "tests/node_agent/counters/test_likwid_stage.h"

#include "protocol/cpulist.h"
#include "tests/support/tree.h"
#include "tests/support/uniform_machine.h"

#define HASWELL "6 63 1 haswellEP Intel(R) Xeon(R) CPU E5-2697 v3"

/* So few that no interval, however short, makes them more than a core can count. */
const char *const core_values =
    "INSTR_RETIRED_ANY FIXC0 * 30000\n"
    "CPU_CLK_UNHALTED_CORE FIXC1 * 20000\n"
    "CYCLE_ACTIVITY_STALLS_L2_PENDING PMC0 * 5000\n"
    "LONGEST_LAT_CACHE_REFERENCE PMC1 * 40000\n"
    "OFFCORE_RESPONSE_0_LOCAL_DRAM PMC2 * 6000\n"
    "OFFCORE_RESPONSE_1_REMOTE_DRAM PMC3 * 1000\n";

void path_of(const struct fixture *f, const char *name, char *path)
{
    snprintf(path, 256, "%s/%s", f->dir, name);
}

void put(const struct fixture *f, const char *name, const char *text)
{
    char path[256], new[264];

    path_of(f, name, path);
    snprintf(new, sizeof(new), "%s.new", path);
    FILE *out = fopen(new, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(rename(new, path), 0);
}

void drop(const struct fixture *f, const char *name)
{
    char path[256];

    path_of(f, name, path);
    assert_int_equal(unlink(path), 0);
}

bool called(const struct fixture *f, const char *call)
{
    char path[256], line[8192];
    bool found = false;

    path_of(f, "calls", path);
    FILE *in = fopen(path, "r");
    while (in && !found && fgets(line, sizeof(line), in))
        found = !strncmp(line, call, strlen(call));
    if (in)
        fclose(in);
    return found;
}

void helper(const struct fixture *f, const char *script)
{
    char path[256];

    put(f, "libexec/coschedd-likwid", script);
    path_of(f, "libexec/coschedd-likwid", path);
    assert_int_equal(chmod(path, 0755), 0);
}

/* Our liblikwid under each name that the helper was linked with. */
static void place_library(const struct fixture *f, const char *build)
{
    char program[512], path[256], fake[512];
    char *at, *end;
    static char text[8 << 20];

    snprintf(program, sizeof(program), "%s/coschedd-likwid", build);
    snprintf(fake, sizeof(fake), "%s/tests/node_agent/counters/.libs/fake_likwid.so",
             build);
    FILE *in = fopen(program, "r");
    assert_non_null(in);
    size_t size = fread(text, 1, sizeof(text) - 1, in);
    fclose(in);
    for (at = text; (at = memmem(at, (size_t)(text + size - at),
                                 "liblikwid.so", 12)); at = end) {
        end = at + strlen(at);
        path_of(f, at, path);
        if (symlink(fake, path) < 0)
            assert_int_equal(errno, EEXIST);
    }
}

int stage_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    const char *build = getenv("abs_top_builddir");
    const char *source = getenv("abs_top_srcdir");
    char script[1024];
    static char events[512];

    strcpy(f->dir, "/tmp/cosched-test.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->libexec, sizeof(f->libexec), "%s/libexec", f->dir);
    assert_int_equal(mkdir(f->libexec, 0755), 0);
    place_library(f, build);
    setenv("LD_LIBRARY_PATH", f->dir, 1);
    setenv("FAKE_LIKWID", f->dir, 1);
    snprintf(script, sizeof(script),
             "#!/bin/sh\nexec '%s/coschedd-likwid' --lock '%s/lock'\n", build,
             f->dir);
    helper(f, script);
    put(f, "cpu", HASWELL);
    put(f, "values", core_values);
    f->machine = machine_new_uniform(2, 2, 2);
    f->package[2] = f->package[3] = 1;
    assert_int_equal(cpulist_parse("0-3", &f->cpus, NULL), 0);
    counters_setup_init(&f->setup, f->machine, &f->cpus);
    f->setup.package = f->package;
    f->setup.packages = 2;
    f->setup.libexec = f->libexec;
    f->setup.likwid_socket = NULL;
    snprintf(events, sizeof(events), "%s/node_agent/counters/events", source);
    f->setup.events = events;
    f->sample = sample_new(4, 2, 2, 2);
    likwid_timing = (struct likwid_timing){
        .start = PATIENCE_S * 1000, .answer = 1000, .hung = 500,
        .backoff_min = 50, .backoff_max = 200, .grace = 30000, .period = 2};
    *state = f;
    return 0;
}

int stage_teardown(void **state)
{
    struct fixture *f = *state;

    if (f->state)
        counters_likwid.close(f->state);
    sample_free(f->sample);
    machine_free(f->machine);
    nftw(f->dir, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(f);
    return 0;
}

void open_good(struct fixture *f)
{
    struct errtext err = {""};

    if (counters_likwid.open(&f->setup, &f->state, &err) < 0)
        fail_msg("%s", err.text);
}

void open_bad(struct fixture *f, int errnum, const char *text)
{
    struct errtext err = {""};

    assert_int_equal(counters_likwid.open(&f->setup, &f->state, &err), -1);
    int got = errno;
    if (!strstr(err.text, text) || strncmp(err.text, "likwid: ", 8))
        fail_msg("\"%s\" has no \"%s\"", err.text, text);
    assert_int_equal(got, errnum);
    assert_null(f->state);
}

int sample_once(struct fixture *f, struct errtext *err)
{
    sample_clear(f->sample);
    f->sample->time_ns = 50000000;
    return counters_likwid.sample(f->state, f->sample, err);
}

void sample_good(struct fixture *f, int errnum, const char *text)
{
    struct timespec pause = {.tv_nsec = 5000000};
    struct errtext err = {""};
    time_t until = time(NULL) + PATIENCE_S;

    for (;;) {
        if (sample_once(f, &err) < 0) {
            int got = errno;
            if (!text || !strstr(err.text, text))
                fail_msg("\"%s\" is not \"%s\"", err.text, text ? text : "");
            assert_int_equal(got, errnum);
            text = NULL;
        } else if (!isnan(f->sample->cpu[0].cycles)) {
            break;
        }
        assert_true(time(NULL) < until);
        nanosleep(&pause, NULL);
    }
    assert_null(text);
}

void close_it(struct fixture *f)
{
    counters_likwid.close(f->state);
    f->state = NULL;
}

void sample_bad(struct fixture *f, struct errtext *err)
{
    time_t until = time(NULL) + PATIENCE_S;

    while (sample_once(f, err) == 0)
        assert_true(time(NULL) < until);
}
