/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: PMUs and energy in sysfs, and /proc/cpuinfo; a bundle. */

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "node_agent/counters/energy.h"
#include "node_agent/counters/perf_sysfs.h"
#include "protocol/cpulist.h"

static void each(void *arg, const char *pmu)
{
    static const char *const events[] = {"cas_count_read", "instructions"};
    const char *sysfs = arg;
    struct perf_pmu_event event;
    struct cosched_cpuset cpus;
    struct errtext err = {""};

    REQUIRE(strlen(pmu) < PERF_PMU_NAME_MAX);
    perf_sysfs_cpus(sysfs, pmu, &cpus);
    for (size_t i = 0; i < 2; i++)
        if (perf_sysfs_event(sysfs, pmu, events[i], &event, &err) < 0) {
            REQUIRE(errno == ENOENT || errno == EINVAL);
            fuzz_refused(&err);
        }
}

static void energy(const struct counters_setup *setup, struct sample *sample)
{
    struct errtext err = {""};
    void *state = NULL;

    if (counters_powercap.open(setup, &state, &err) < 0) {
        fuzz_refused(&err);
        return;
    }
    for (int i = 0; i < 3; i++) {
        sample_clear(sample);
        sample->time_ns = 50000000;
        if (counters_powercap.sample(state, sample, &err) < 0)
            fuzz_refused(&err);
        for (size_t p = 0; p < sample->packages; p++)
            REQUIRE(!(sample->energy_j[p] < 0) && !isinf(sample->energy_j[p]));
    }
    counters_powercap.close(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct machine *machine;
    static struct sample *sample;
    static struct counters_setup setup;
    static struct cosched_cpuset cpus = {{0xff}};
    char model[64], line[64];
    char *root = (char *)fuzz_files(data, size);

    if (!machine) {
        REQUIRE((machine = machine_new(8, 2, 2)) &&
                (sample = sample_new(8, 2, 2, 2)));
        counters_setup_init(&setup, machine, &cpus);
        setup.packages = 2;
        setup.sysfs = root;
    }
    perf_sysfs_list(root, "", each, root);
    if (perf_sysfs_line(root, "cpuinfo", line, sizeof(line)) == 0)
        REQUIRE(strlen(line) < sizeof(line));
    counters_cpu_model(root, model, sizeof(model));
    energy(&setup, sample);
    return 0;
}
