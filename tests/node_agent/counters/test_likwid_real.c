/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The backend `likwid` over the real liblikwid: on registers of the test's own
 * (fake_likwid_msr.c), so that it takes or refuses each of our events, and on
 * this machine as it is. */

#include "tests/node_agent/counters/test_likwid_stage.h"

#include <sched.h>

#include "node_agent/counters/events.h"
#include "node_agent/counters/likwid_link.h"
#include "protocol/cpulist.h"

#define CRASH "ended by signal"
/* liblikwid 5.1 and 5.4 want some processors' PCI devices, not seen in a machine without. */
#define NO_DEVICE "perfmon_init failed (-19"

struct processor {
    const char *file; /* our event set */
    const char *arch; /* LIKWID's name */
    unsigned family, model, stepping, intel;
};

static const struct processor processors[] = {
    {"haswellEP", "haswellEP", 6, 63, 2, 1},
    {"haswellEX", "haswellEP", 6, 63, 4, 1},
    {"skylakeX", "skylakeX", 6, 85, 4, 1},
    {"skylakeX", "CLX", 6, 85, 7, 1},
    {"interlagos", "interlagos", 21, 2, 0, 0},
    {"zen2", "zen2", 23, 49, 0, 0},
    {"zen3", "zen3", 25, 1, 1, 0},
};

/* One socket with all CPUs, in LIKWID's format.  (Where there is but one CPU,
 * liblikwid 5.2 reads outside of an array and crashes.) */
static void write_topology(const struct fixture *f, const struct processor *p,
                           const char *name)
{
    int configured = (int)sysconf(_SC_NPROCESSORS_CONF);
    int cpus = configured > 2 ? configured : 2;
    char path[256];

    path_of(f, name, path);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out,
            "cpuid_info family = %u\ncpuid_info model = %u\n"
            "cpuid_info stepping = %u\ncpuid_info isIntel = %u\n"
            "cpuid_info vendor = 0\ncpuid_info part = 0\n"
            "cpuid_info osname = Test Processor\n"
            "cpuid_info architecture = x86_64\ncpuid_info features = SSE2\n"
            "cpuid_info clock = 2000000000.0\ncpuid_info turbo = 0\n"
            "cpuid_info featureFlags = 0\ncpuid_info supportUncore = %u\n"
            "cpuid_info supportClientmem = 0\ncpuid_info perf_version = 4\n"
            "cpuid_info perf_num_ctr = 4\ncpuid_info perf_width_ctr = 48\n"
            "cpuid_info perf_num_fixed_ctr = 3\n",
            p->family, p->model, p->stepping, p->intel, p->intel);
    fprintf(out,
            "cpuid_topology numHWThreads = %d\ncpuid_topology numSockets = 1\n"
            "cpuid_topology numDies = 0\ncpuid_topology numCoresPerSocket = "
            "%d\ncpuid_topology numThreadsPerCore = 1\n"
            "cpuid_topology numCacheLevels = 3\n",
            cpus, cpus);
    for (int i = 0; i < cpus; i++)
        fprintf(out,
                "cpuid_topology threadPool %d threadId = 0\n"
                "cpuid_topology threadPool %d coreId = %d\n"
                "cpuid_topology threadPool %d packageId = 0\n"
                "cpuid_topology threadPool %d apicId = %d\n"
                "cpuid_topology threadPool %d dieId = 0\n",
                i, i, i, i, i, i, i);
    for (int level = 1; level <= 3; level++)
        fprintf(out,
                "cpuid_topology cacheLevels %d type = UNIFIEDCACHE\n"
                "cpuid_topology cacheLevels %d associativity = 8\n"
                "cpuid_topology cacheLevels %d sets = 64\n"
                "cpuid_topology cacheLevels %d lineSize = 64\n"
                "cpuid_topology cacheLevels %d size = 32768\n"
                "cpuid_topology cacheLevels %d threads = %d\n"
                "cpuid_topology cacheLevels %d inclusive = 0\n",
                level, level, level, level, level, level,
                level == 3 ? cpus : 1, level);
    fprintf(out,
            "numa_info numberOfNodes = 1\nnuma_info nodes 1 id = 0\n"
            "numa_info nodes 1 totalMemory = 1000000\n"
            "numa_info nodes 1 freeMemory = 1000000\n"
            "numa_info nodes 1 numberOfProcessors = %d\n"
            "numa_info nodes 1 numberOfDistances = 1\n"
            "numa_info nodes 1 distances 0 = 10\n",
            cpus);
    for (int i = 0; i < cpus; i++)
        fprintf(out, "numa_info nodes 1 processors %d = %d\n", i + 1, i);
    assert_int_equal(fclose(out), 0);
}

/* The machine: the first CPU that we may run on. */
static int one_cpu(struct fixture *f)
{
    struct cosched_cpuset mine;

    assert_int_equal(cpuset_get_affinity(0, &mine), 0);
    int cpu = cpuset_next(&mine, -1);
    machine_free(f->machine);
    sample_free(f->sample);
    f->machine = machine_new((size_t)cpu + 1, 1, 1);
    f->sample = sample_new((size_t)cpu + 1, 1, 1, 1);
    f->machine->llc_domain[cpu] = 0;
    cpuset_zero(&f->cpus);
    cpuset_add(&f->cpus, cpu);
    f->setup.machine = f->machine;
    f->setup.llc_domain = f->machine->llc_domain;
    f->setup.package = NULL;
    f->setup.packages = 1;
    return cpu;
}

/* A helper NAME with the real library: on registers of ours as of P, or (NULL)
 * on those of this machine. */
static void real(const struct fixture *f, const char *name,
                 const struct processor *p)
{
    const char *build = getenv("abs_top_builddir");
    char script[2048], preload[600] = "", topology[64], path[256], file[64];

    snprintf(topology, sizeof(topology), "topology.%.40s", name);
    if (p) {
        write_topology(f, p, topology);
        snprintf(preload, sizeof(preload),
                 "LD_PRELOAD='%s/tests/node_agent/counters/.libs/fake_likwid_msr.so'",
                 build);
    }
    snprintf(script, sizeof(script),
             "#!/bin/sh\nunset LD_LIBRARY_PATH\n"
             "FAKE_LIKWID_TOPOLOGY='%s/%s' FAKE_LIKWID_STEPS='%s/steps' "
             "ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 %s "
             "exec '%s/coschedd-likwid' --lock '%s/lock'\n",
             f->dir, topology, f->dir, preload, build, f->dir);
    snprintf(file, sizeof(file), "libexec/%.40s", name);
    put(f, file, script);
    path_of(f, file, path);
    assert_int_equal(chmod(path, 0755), 0);
}

/* Whether this version of liblikwid takes our word for the processor. */
static bool believes(const struct likwid_hello *hello,
                     const struct processor *p)
{
    return hello->family == p->family && hello->model == p->model &&
           !strcmp(hello->arch, p->arch);
}

static void open_message(struct fixture *f, const struct events *e,
                         struct likwid_open *o)
{
    memset(o, 0, sizeof(*o));
    o->cpus = f->cpus;
    o->mode = LIKWID_DIRECT;
    o->sets = (uint32_t)e->sets;
    o->period_ns = 1000000;
    for (size_t s = 0; s < e->sets; s++)
        assert_true(events_string(e, s, o->set[s], sizeof(o->set[s])) <
                    sizeof(o->set[s]));
}

struct trial {
    const struct processor *processor;
    struct events *events;
    struct likwid_link *link; /* NULL: nothing to be learnt */
};

static void end_trial(struct trial *t)
{
    likwid_link_free(t->link, 30000);
    events_free(t->events);
    t->link = NULL;
    t->events = NULL;
}

/* The next message to TRIAL, of TYPE; NULL and the end of the trial when
 * liblikwid crashed on registers as strange as ours, or wants devices, too: its
 * own business. */
static const void *answer(struct trial *t, int type)
{
    struct errtext err = {""};
    struct likwid_header h;
    const void *data;

    if (likwid_link_wait(t->link, PATIENCE_S * 1000, &h, &data, &err) == 1) {
        assert_int_equal(h.type, type);
        return data;
    }
    if (!strstr(err.text, CRASH) && !strstr(err.text, NO_DEVICE))
        fail_msg("%s: %s", t->processor->file, err.text);
    print_message("%s: %s\n", t->processor->file, err.text);
    end_trial(t);
    return NULL;
}

/* Whether the helper's liblikwid is of a version before that of the event set. */
static bool too_old(const struct events *e)
{
    unsigned has[2] = {0}, wants[2] = {0};
    char command[1200], line[300];

    snprintf(command, sizeof(command), "ldd '%s/coschedd-likwid'", getenv("abs_top_builddir"));
    FILE *in = popen(command, "r");
    assert_non_null(in);
    while (fgets(line, sizeof(line), in)) {
        const char *name = strstr(line, "liblikwid.so.");
        if (name && sscanf(name, "liblikwid.so.%u.%u", &has[0], &has[1]) < 1)
            fail_msg("%s", line);
    }
    pclose(in);
    assert_int_equal(sscanf(e->likwid, "%u.%u", &wants[0], &wants[1]), 2);
    return has[0] < wants[0] || (has[0] == wants[0] && has[1] < wants[1]);
}

/* Start a helper and send it the event set. */
static void begin_trial(struct fixture *f, const struct processor *p,
                        struct trial *t)
{
    static struct likwid_open o;
    struct errtext err = {""};
    char path[1200], name[40];

    snprintf(name, sizeof(name), "%.16s-%.16s", p->file, p->arch);
    real(f, name, p);
    t->processor = p;
    snprintf(path, sizeof(path), "%s/%s.json", f->setup.events, p->file);
    t->events = events_load(path, &err);
    assert_non_null(t->events);
    snprintf(path, sizeof(path), "%s/%s", f->libexec, name);
    t->link = likwid_link_start(path, &err);
    assert_non_null(t->link);
    const struct likwid_hello *hello = answer(t, LIKWID_HELLO);
    if (!hello)
        return;
    if (!believes(hello, p) || too_old(t->events)) {
        print_message("%s: this LIKWID knows it not, or not all events\n", p->file);
        end_trial(t);
        return;
    }
    open_message(f, t->events, &o);
    assert_int_equal(likwid_link_send(t->link, LIKWID_OPEN, 1, &o, sizeof(o),
                                      &err), 0);
}

/* Memory controllers are PCI devices.  liblikwid 5.1 looks for these by hwloc, which does
 * not see ours: where this machine has none it says that all counters of theirs are
 * missing, and nothing of their events. */
static bool on_device(const struct events_set *set, size_t i)
{
    return !strncmp(set->event[i].counter, "MBOX", 4);
}

static bool no_devices(const struct events *e, const struct likwid_opened *opened)
{
    for (size_t s = 0; s < e->sets; s++)
        for (size_t i = 0; i < e->set[s].count; i++)
            if (on_device(&e->set[s], i) && !(opened->missing[s] >> i & 1))
                return false;
    return true;
}

/* Each event of the set is one of LIKWID's, on a counter that takes it. */
static void finish_trial(struct trial *t)
{
    const struct likwid_opened *opened = answer(t, LIKWID_OPENED);
    bool blind = opened && no_devices(t->events, opened);

    for (size_t s = 0; opened && s < t->events->sets; s++)
        for (size_t i = 0; i < t->events->set[s].count; i++)
            if (opened->missing[s] >> i & 1 && !(blind && on_device(&t->events->set[s], i)))
                fail_msg("%s: LIKWID has no %s on %s (%s)",
                         t->processor->file,
                         t->events->set[s].event[i].event,
                         t->events->set[s].event[i].counter,
                         likwid_link_said(t->link));
    end_trial(t);
}

static void all_events_exist(void **state)
{
    struct fixture *f = *state;
    struct trial trials[sizeof(processors) / sizeof(processors[0])];
    size_t count = sizeof(processors) / sizeof(processors[0]);

    one_cpu(f);
    /* All at once: each takes a second to find out about the clock. */
    for (size_t i = 0; i < count; i++)
        begin_trial(f, &processors[i], &trials[i]);
    for (size_t i = 0; i < count; i++)
        if (trials[i].link)
            finish_trial(&trials[i]);
}

/* Where any program may use the instruction rdpmc, liblikwid reads the machine's
 * own counters with it instead of ours. */
static bool rdpmc_for_all(void)
{
    FILE *in = fopen("/sys/bus/event_source/devices/cpu/rdpmc", "r");
    int c = in ? fgetc(in) : EOF;

    if (in)
        fclose(in);
    return c == '2';
}

/* What the registers say comes out at the right place. */
static void registers_to_values(void **state)
{
    struct fixture *f = *state;
    struct errtext err = {""};
    int cpu = one_cpu(f);

    if (rdpmc_for_all())
        skip();
    real(f, "coschedd-likwid", &processors[0]);
    put(f, "steps",
        "msr 309 600000\nmsr 30a 400000\nmsr c1 30000\nmsr c2 4000\n"
        "msr c3 700\nmsr c4 200\npci a0 1000\npci a8 300\n");
    f->setup.argument = "direct";
    if (counters_likwid.open(&f->setup, &f->state, &err) < 0) {
        if (!strstr(err.text, "no event set") && !strstr(err.text, CRASH) &&
            !strstr(err.text, NO_DEVICE))
            fail_msg("%s", err.text);
        print_message("%s\n", err.text);
        return;
    }
    const struct sample_cpu *c = &f->sample->cpu[cpu];
    const struct sample_memory *m = &f->sample->memory[0];
    time_t until = time(NULL) + PATIENCE_S;
    do {
        sample_once(f, NULL);
        assert_true(time(NULL) < until);
    } while (isnan(c->cycles));
    assert_true(c->cycles >= 0x400000);
    assert_float_equal(c->instructions / c->cycles, 1.5, 1e-6);
    assert_float_equal(c->stalled / c->cycles, 0x3p16 / 0x4p20, 1e-6);
    assert_float_equal(c->llc_accesses / c->cycles, 0x4p12 / 0x4p20, 1e-6);
    assert_float_equal(c->local_misses / c->remote_misses, 3.5, 1e-6);
    assert_float_equal(c->read_misses, c->local_misses + c->remote_misses, 1);
    assert_true(m->reads >= 8 * 0x1000);
    assert_float_equal(m->reads / m->writes, 0x1p12 / 0x3p8, 1e-6);
}

/* This machine: it counts, or says why not; it never does neither. */
static void this_machine(void **state)
{
    struct fixture *f = *state;
    struct errtext err = {""};

    one_cpu(f);
    real(f, "coschedd-likwid", NULL);
    if (counters_likwid.open(&f->setup, &f->state, &err) < 0) {
        assert_int_equal(strncmp(err.text, "likwid: ", 8), 0);
        assert_true(strlen(err.text) > 20);
        assert_null(f->state);
    } else {
        assert_non_null(f->state);
        snprintf(err.text, sizeof(err.text), "it counts");
    }
    print_message("here: %s\n", err.text);
}

UNIT(test_likwid_real)
{
    const struct CMUnitTest tests[] = {
        STAGE_TEST(all_events_exist),
        STAGE_TEST(registers_to_values),
        STAGE_TEST(this_machine),
    };

    return cmocka_run_group_tests_name("test_likwid_real", tests, NULL, NULL);
}
