/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Memory controllers and links: how long a request waits. */

#include "emulator/plugin/stations.h"

#include <string.h>

#define WEIGHT      0.25   /* of the last quantum in the average */
#define DEBT_SHARE  0.0625 /* of the debt is paid in a quantum */
#define MOST_DEBT   12.0   /* quanta */
#define NOTHING_NS  1.0    /* per quantum: a CPU that has been halted for long */
#define NEGLIGIBLE  0.01   /* load that makes nobody wait */
#define LEAST_THINK 0.02   /* part of its time that a CPU does not wait */

/* What one CPU asks of the station that is being solved. */
struct demand {
    double load; /* per quantum, if it took no longer: demand / quantum * active */
    double reads;
    double elsewhere; /* T without waiting here */
};

void stations_init(struct stations *s, const struct settings *settings)
{
    memset(s, 0, sizeof(*s));
    s->settings = settings;
    s->quantum_ns = (double)settings->quantum_ns;
    s->count = settings->nodes + settings->links;
    for (unsigned i = 0; i < s->count; i++) {
        const struct station_settings *of = i < settings->nodes
                                                ? &settings->node[i]
                                                : &settings->link[i - settings->nodes];
        s->at[i] = (struct station){.read_ns = of->read_us * 1e3, .write_ns = of->write_us * 1e3};
    }
    for (unsigned d = 0; d < settings->domains; d++)
        for (unsigned n = 0; n < settings->nodes; n++) {
            const struct domain_settings *domain = &settings->domain[d];
            s->crosses[d][n][n] = true;
            for (unsigned i = 0; i < domain->route_length[n]; i++)
                s->crosses[d][n][settings->nodes + domain->route[n][i]] = true;
        }
}

/* Averages the quantum that ended, without the waits that it had. */
static void take(struct stations *s, const struct station_use *use)
{
    for (unsigned c = 0; c < s->settings->cpus; c++) {
        struct station_use *mean = &s->mean[c];
        unsigned domain = s->settings->cpu_domain[c];
        double think = use[c].active_ns;
        for (unsigned n = 0; n < s->settings->nodes; n++) {
            think -= use[c].reads[n] * s->wait_ns[domain][n];
            mean->reads[n] += WEIGHT * (use[c].reads[n] - mean->reads[n]);
            mean->writes[n] += WEIGHT * (use[c].writes[n] - mean->writes[n]);
        }
        if (think < LEAST_THINK * use[c].active_ns)
            think = LEAST_THINK * use[c].active_ns;
        mean->active_ns += WEIGHT * (use[c].active_ns - mean->active_ns);
        s->think_ns[c] += WEIGHT * (think - s->think_ns[c]);
    }
}

/* What a station served in the quantum, in quanta of service. */
static double served(const struct stations *s, unsigned station, const struct station_use *use)
{
    double ns = 0;

    for (unsigned c = 0; c < s->settings->cpus; c++)
        for (unsigned n = 0; n < s->settings->nodes && use[c].active_ns > 0; n++)
            if (s->crosses[s->settings->cpu_domain[c]][n][station])
                ns += use[c].reads[n] * s->at[station].read_ns +
                      use[c].writes[n] * s->at[station].write_ns;
    return ns / s->quantum_ns;
}

/* Fills DEMANDS; returns how many there are. */
static unsigned collect(const struct stations *s, unsigned station, struct demand *demands)
{
    const struct settings *settings = s->settings;
    const struct station *at = &s->at[station];
    unsigned count = 0;

    for (unsigned c = 0; c < settings->cpus; c++) {
        const struct station_use *mean = &s->mean[c];
        unsigned domain = settings->cpu_domain[c];
        struct demand d = {.elsewhere = s->think_ns[c]};
        double ns = 0;
        for (unsigned n = 0; n < settings->nodes && mean->active_ns > NOTHING_NS; n++) {
            double wait = s->wait_ns[domain][n];
            if (s->crosses[domain][n][station]) {
                ns += mean->reads[n] * at->read_ns + mean->writes[n] * at->write_ns;
                d.reads += mean->reads[n];
                wait -= at->wait_ns;
            }
            d.elsewhere += mean->reads[n] * wait;
        }
        d.load = ns / s->quantum_ns * mean->active_ns;
        if (d.load > 0 && d.elsewhere > 0)
            demands[count++] = d;
    }
    return count;
}

static double load_at(const struct demand *demands, unsigned count, double wait)
{
    double load = 0;

    for (unsigned i = 0; i < count; i++)
        load += demands[i].load / (demands[i].elsewhere + demands[i].reads * wait);
    return load;
}

/* The longest wait: for a read and a write-back of each of COUNT CPUs. */
static double longest(const struct station *at, unsigned count, double service, double capacity)
{
    return count * (at->read_ns + at->write_ns) / capacity + service;
}

/* The load at which a queue makes a request wait for WAIT. */
static double load_of_wait(double wait, double service, double capacity)
{
    double x = 2 * wait / service;

    return capacity * x / (1 + x);
}

static double solve(const struct station *at, const struct demand *demands, unsigned count,
                    double service)
{
    double capacity = 1 - DEBT_SHARE * at->debt;
    double low = 0, high = longest(at, count, service, capacity);

    if (load_at(demands, count, 0) < NEGLIGIBLE)
        return 0;
    for (unsigned i = 0; i < 24; i++) {
        double middle = (low + high) / 2;
        if (load_at(demands, count, middle) > load_of_wait(middle, service, capacity))
            low = middle;
        else
            high = middle;
    }
    return high;
}

static void add_wait(struct stations *s, unsigned station, double more)
{
    s->at[station].wait_ns += more;
    for (unsigned d = 0; d < s->settings->domains; d++)
        for (unsigned n = 0; n < s->settings->nodes; n++)
            if (s->crosses[d][n][station])
                s->wait_ns[d][n] += more;
}

void stations_solve(struct stations *s, const struct station_use *use)
{
    struct demand demands[EMULATED_CPUS];

    take(s, use);
    for (unsigned i = 0; i < s->count; i++) {
        struct station *at = &s->at[i];
        double load = served(s, i, use);
        at->busy_ns += load * s->quantum_ns;
        at->debt += load - 1;
        at->debt = at->debt < 0 ? 0 : at->debt > MOST_DEBT ? MOST_DEBT : at->debt;
        unsigned count = collect(s, i, demands);
        double service = at->read_ns / s->settings->overlap;
        double wait = count ? solve(at, demands, count, service) : 0;
        add_wait(s, i, wait - at->wait_ns);
    }
}
