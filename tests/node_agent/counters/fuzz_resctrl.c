/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: the files of resctrl; a bundle.
 *
 * The group of a job is made of what is in new/; between the first two samples
 * its values become those in then/. */

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "node_agent/counters/resctrl.h"

static char group[400]; /* of the job */

static int make(void *arg, const char *path)
{
    char from[256];

    (void)arg;
    snprintf(from, sizeof(from), "%s/new", fuzz_directory());
    snprintf(group, sizeof(group), "%s", path);
    return rename(from, path);
}

static int take_away(void *arg, const char *path)
{
    (void)arg;
    REQUIRE(!strncmp(path, fuzz_directory(), strlen(fuzz_directory())));
    return 0;
}

/* The kernel counts on. */
static void go_on(void)
{
    char from[256], old[256], to[450];

    snprintf(from, sizeof(from), "%s/then", fuzz_directory());
    snprintf(old, sizeof(old), "%s/old", fuzz_directory());
    snprintf(to, sizeof(to), "%s/mon_data", group);
    if (*group && rename(to, old) == 0)
        rename(from, to);
}

static bool known_or_nan(double value)
{
    return isnan(value) || (value >= 0 && isfinite(value));
}

static void check_sample(const struct sample *s)
{
    for (size_t i = 0; i < s->groups * s->llc_domains; i++) {
        REQUIRE(known_or_nan(s->group[i].local) &&
                known_or_nan(s->group[i].total));
        REQUIRE(known_or_nan(s->group[i].llc_bytes));
    }
}

static void use(void *state, struct sample *sample)
{
    const struct counters_job jobs[] = {{7, {{0x0f}}}, {8, {{0xf0}}}};
    struct counters_ability ability[COUNTERS_METRICS] = {{0}};
    struct errtext err = {""};

    if (counters_resctrl.assign(state, jobs, 2, &err) < 0)
        fuzz_refused(&err);
    for (int i = 0; i < 3; i++) {
        sample_clear(sample);
        sample->time_ns = 700000000;
        if (counters_resctrl.sample(state, sample, &err) < 0)
            fuzz_refused(&err);
        check_sample(sample);
        go_on();
    }
    counters_resctrl.describe(state, ability);
    counters_resctrl.assign(state, jobs, 1, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int domains[] = {0, 0, 1, 1, 2, 2, 2, 2};
    static const struct resctrl_source source = {make, take_away, NULL};
    static struct machine *machine;
    static struct sample *sample;
    static struct counters_setup setup;
    static struct cosched_cpuset cpus = {{0xff}};
    struct errtext err = {""};
    void *state = NULL;

    if (!machine) {
        REQUIRE((machine = machine_new(8, 3, 2)) &&
                (sample = sample_new(8, 3, 2, 1)));
        memcpy(machine->llc_domain, domains, sizeof(domains));
        counters_setup_init(&setup, machine, &cpus);
        setup.sysfs = setup.procfs = setup.argument = fuzz_directory();
    }
    fuzz_files(data, size);
    *group = '\0';
    if (resctrl_open(&setup, &source, &state, &err) < 0) {
        fuzz_refused(&err);
        return 0;
    }
    use(state, sample);
    counters_resctrl.close(state);
    return 0;
}
