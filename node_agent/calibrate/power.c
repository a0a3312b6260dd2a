/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the node draws, idle and at work, measured on the node itself. */

#include "node_agent/calibrate/power.h"

#include <math.h>

#include "node_agent/counters/energy.h"

/* The packages' energy. */
struct meter {
    void *state;
    struct sample *sample;
    double joules; /* since the look before */
};

static void look(void *arg)
{
    struct meter *m = arg;

    sample_clear(m->sample);
    counters_powercap.sample(m->state, m->sample, NULL);
    m->joules = 0;
    for (size_t i = 0; i < m->sample->packages; i++)
        m->joules += m->sample->energy_j[i]; /* NAN: one is not known */
}

/* What was measured under each load. */
struct measured {
    double watts[POWER_LOADS], requests_per_s[POWER_LOADS];
};

static int measure(struct meter *m, const struct power_rig *rig, struct measured *to,
                   struct errtext *err)
{
    for (enum power_load load = 0; load < POWER_LOADS; load++) {
        struct power_window w;
        if (rig->run(rig->arg, load, look, m, &w, err) < 0)
            return -1;
        to->watts[load] = m->joules / w.seconds;
        to->requests_per_s[load] = w.requests / w.seconds;
        if (!isfinite(to->watts[load]) || !isfinite(to->requests_per_s[load]))
            return errtext_set(err, EIO, "power: energy of a package can no longer be read");
    }
    return 0;
}

static double not_negative(double value)
{
    return value > 0 ? value : 0;
}

/* Solve for POWER with so many CORES in DOMAINS; power.h has the equations. */
static void solve(const struct measured *of, double cores, double domains,
                  struct machine_power *power)
{
    const double *w = of->watts, *r = of->requests_per_s;

    power->idle_w = w[POWER_IDLE];
    power->core_w = cores > domains ? not_negative((w[POWER_COMPUTE] - w[POWER_ONE]) /
                                                   (cores - domains))
                                    : (w[POWER_COMPUTE] - w[POWER_IDLE]) / cores;
    power->domain_w = not_negative((w[POWER_ONE] - w[POWER_IDLE]) / domains - power->core_w);
    if (!(power->domain_w > 0)) /* a lone core that runs faster, say */
        power->core_w = (w[POWER_COMPUTE] - w[POWER_IDLE]) / cores;
    double more = r[POWER_STREAM] - r[POWER_CHASE];
    double request_j = more > 0 ? not_negative((w[POWER_STREAM] - w[POWER_CHASE]) / more) : 0;
    double stalled = w[POWER_CHASE] - w[POWER_IDLE] - domains * power->domain_w -
                     request_j * r[POWER_CHASE];
    power->request_nj = 1e9 * request_j;
    power->stalled_w = fmin(not_negative(stalled / cores), power->core_w);
}

int calibrate_power(const struct counters_setup *setup, const struct power_rig *rig,
                    struct machine_power *power, struct errtext *err)
{
    const struct machine *machine = setup->machine;
    struct meter meter = {.sample = sample_new(machine->cpus, machine->llc_domains,
                                               machine->numa_nodes, setup->packages)};
    struct measured measured;
    int rc = -1;

    *power = (struct machine_power){0};
    if (!meter.sample)
        return errtext_set(err, ENOMEM, "power: out of memory");
    if (counters_powercap.open(setup, &meter.state, err) == 0) {
        rc = measure(&meter, rig, &measured, err);
        counters_powercap.close(meter.state);
    }
    sample_free(meter.sample);
    if (rc < 0)
        return -1;
    solve(&measured, (double)machine_all_cpus(machine), (double)machine->llc_domains, power);
    if (power->core_w > 0)
        return 0;
    *power = (struct machine_power){0};
    return errtext_set(err, ENODATA, "power: cores at work draw no more than the idle node");
}
