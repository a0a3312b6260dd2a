/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The backend `likwid`, helper process and all: what it counts and on what. */

#include "tests/node_agent/counters/test_likwid_stage.h"

/* ---- what it counts ----------------------------------------------------- */

static void counts(void **state)
{
    struct fixture *f = *state;
    char values[2048];

    snprintf(values, sizeof(values),
             "%s"
             "CAS_COUNT_RD MBOX0C0 0 70000\nCAS_COUNT_RD MBOX3C0 0 5000\n"
             "CAS_COUNT_WR MBOX1C1 0 1500\n"
             "CAS_COUNT_RD MBOX0C0 2 9000\nCAS_COUNT_WR MBOX7C1 2 200\n"
             "PWR_PKG_ENERGY PWR0 0 0.0025\nPWR_DRAM_ENERGY PWR3 0 0.0005\n"
             "PWR_PKG_ENERGY PWR0 2 0.004\n",
             core_values);
    put(f, "values", values);
    put(f, "missing", "MBOX4C0 MBOX5C0 MBOX6C0 MBOX7C0\n");
    open_good(f);
    sample_good(f, 0, NULL);
    for (int cpu = 0; cpu < 4; cpu++) {
        const struct sample_cpu *c = &f->sample->cpu[cpu];
        assert_float_equal(c->cycles, 2e4, 0);
        assert_float_equal(c->instructions, 3e4, 0);
        assert_float_equal(c->stalled, 5e3, 0);
        assert_float_equal(c->llc_accesses, 40000, 0);
        assert_float_equal(c->read_misses, 7000, 0);
        assert_float_equal(c->local_misses, 6000, 0);
        assert_float_equal(c->remote_misses, 1000, 0);
    }
    assert_float_equal(f->sample->memory[0].reads, 75000, 0);
    assert_float_equal(f->sample->memory[0].writes, 1500, 0);
    assert_true(isnan(f->sample->memory[0].prefetches));
    assert_float_equal(f->sample->memory[1].reads, 9000, 0);
    assert_float_equal(f->sample->memory[1].writes, 200, 0);
    assert_float_equal(f->sample->energy_j[0], 0.003, 1e-9);
    assert_float_equal(f->sample->energy_j[1], 0.004, 1e-9);
    assert_float_equal(f->sample->coverage, 1, 0);
    close_it(f);
    assert_true(called(f, "perfmon_finalize"));
}

static void describes(void **state)
{
    struct fixture *f = *state;
    struct counters_ability can[COUNTERS_METRICS];

    memset(can, 0, sizeof(can));
    put(f, "missing", "PMC3 PWR0 MBOX6C0\n");
    open_good(f);
    counters_likwid.describe(f->state, can);
    assert_true(can[COUNTERS_CYCLES].can);
    assert_false(can[COUNTERS_CYCLES].shared);
    assert_string_equal(can[COUNTERS_CYCLES].why, "LIKWID group CLOCK");
    assert_false(can[COUNTERS_READ_MISSES].can);
    assert_string_equal(can[COUNTERS_READ_MISSES].why,
                        "counter PMC3 of event set haswellEP is not to be had");
    assert_false(can[COUNTERS_ENERGY].can);
    assert_true(can[COUNTERS_MEMORY_READS].can);
    assert_true(can[COUNTERS_MEMORY_READS].shared);
    assert_false(can[COUNTERS_PREFETCHES].can);
    assert_string_equal(can[COUNTERS_PREFETCHES].why,
                        "not in event set haswellEP");
    assert_false(can[COUNTERS_JOB_TRAFFIC].can);
    sample_good(f, 0, NULL);
    assert_true(isnan(f->sample->cpu[0].read_misses));
    assert_true(isnan(f->sample->energy_j[0]));
    /* Nothing has moved there: not measured, rather than none. */
    assert_true(isnan(f->sample->memory[0].reads));
}

static void event_sets_take_turns(void **state)
{
    struct fixture *f = *state;
    time_t until = time(NULL) + PATIENCE_S;

    put(f, "cpu", "25 1 0 zen3 AMD EPYC 7763 64-Core Processor");
    put(f, "values",
        "CPU_CLOCKS_UNHALTED PMC0 * 1000\nDRAM_CHANNEL_0 DFC0 0 70\n"
        "DRAM_CHANNEL_4 DFC0 0 30\nDRAM_CHANNEL_5 DFC1 2 10\n");
    open_good(f);
    do {
        sample_good(f, 0, NULL);
        assert_true(time(NULL) < until);
    } while (isnan(f->sample->memory[0].reads) ||
             isnan(f->sample->memory[1].reads));
    assert_true(f->sample->memory[0].reads > 0);
    assert_true(f->sample->coverage < 1);
    assert_true(f->sample->coverage > 0);
    assert_true(called(f, "perfmon_switchActiveGroup"));
}

static void argument_chooses(void **state)
{
    struct fixture *f = *state;

    put(f, "missing", "FIXC1");
    f->setup.argument = "direct,skylakeX";
    open_bad(f, EBUSY, "FIXC1 cannot be counted");
    assert_true(called(f, "HPMmode direct"));
    assert_true(called(f, "perfmon_addEventSet INSTR_RETIRED_ANY:FIXC0,"));
    f->setup.argument = "daemon";
    drop(f, "missing");
    open_good(f);
    assert_true(called(f, "HPMmode daemon"));
    close_it(f);
    f->setup.argument = "nonesuch";
    open_bad(f, ENOENT, "events/nonesuch.json");
    f->setup.argument = "/nonesuch/x.json";
    open_bad(f, ENOENT, "/nonesuch/x.json");
    f->setup.argument = ",";
    open_bad(f, EINVAL, "likwid:,: not \"direct\"");
}

/* ---- processors --------------------------------------------------------- */

static void unknown_processor(void **state)
{
    struct fixture *f = *state;

    put(f, "cpu", "6 207 1 unknown Some Processor 9000");
    open_bad(f, ENOENT,
             "for \"Some Processor 9000\" (GenuineIntel family 6 model 207)");
}

static void processor_by_name(void **state)
{
    struct fixture *f = *state;
    struct counters_ability can[COUNTERS_METRICS];

    memset(can, 0, sizeof(can));
    put(f, "cpu", "25 200 0 zen3 AMD Something 9000");
    open_good(f);
    counters_likwid.describe(f->state, can);
    assert_string_equal(can[COUNTERS_CYCLES].why,
                        "\"AMD Something 9000\" (family 25 model 200) is in no "
                        "event set; using zen3, as LIKWID calls it");
}

static void brand_decides(void **state)
{
    struct fixture *f = *state;

    put(f, "cpu", "6 63 1 haswellEP Intel(R) Xeon(R) CPU E7-8870 v3 @ 2.1GHz");
    open_good(f);
    close_it(f);
    assert_true(called(f, "perfmon_addEventSet INSTR_RETIRED_ANY:FIXC0,"
                          "CPU_CLK_UNHALTED_CORE:FIXC1,"
                          "CYCLE_ACTIVITY_STALLS_L2_PENDING:PMC0,"
                          "LONGEST_LAT_CACHE_REFERENCE:PMC1,"
                          "OFFCORE_RESPONSE_0_LOCAL_DRAM:PMC2:MATCH0=0x1,"
                          "OFFCORE_RESPONSE_1_REMOTE_DRAM:PMC3:MATCH0=0x1,"
                          "IMC_READS_NORMAL:BBOX0C0,"));
}

/* CPUs that are offline are not asked for. */
static void offline(void **state)
{
    struct fixture *f = *state;

    put(f, "cpus", "2");
    open_good(f);
    sample_good(f, 0, NULL);
    assert_false(isnan(f->sample->cpu[1].cycles));
    assert_true(isnan(f->sample->cpu[2].cycles));
    close_it(f);
    put(f, "cpus", "0");
    open_bad(f, ENODEV, "no CPU of the pool is online");
}

/* `auto` takes it when it counts, and not when nothing moves. */
static void chosen_by_auto(void **state)
{
    static const struct counters_backend *const backends[] = {&counters_likwid,
                                                              NULL};
    struct fixture *f = *state;
    struct errtext err = {""};
    char reason[512];

    f->setup.backends = backends;
    struct counters *c = counters_open("auto", &f->setup, reason,
                                       sizeof(reason), &err);
    assert_non_null(c);
    assert_string_equal(counters_name(c), "likwid");
    counters_close(c);
    put(f, "values", "");
    assert_null(counters_open("auto", &f->setup, reason, sizeof(reason), &err));
    assert_non_null(strstr(reason, "likwid: opens, but its values do not move"));
}

UNIT(test_likwid)
{
    const struct CMUnitTest tests[] = {
        STAGE_TEST(counts),
        STAGE_TEST(describes),
        STAGE_TEST(event_sets_take_turns),
        STAGE_TEST(argument_chooses),
        STAGE_TEST(unknown_processor),
        STAGE_TEST(processor_by_name),
        STAGE_TEST(brand_decides),
        STAGE_TEST(offline),
        STAGE_TEST(chosen_by_auto),
    };

    return cmocka_run_group_tests_name("test_likwid", tests, NULL, NULL);
}
