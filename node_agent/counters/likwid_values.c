/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From LIKWID's counts to a sample of the machine, by the formulas. */

#include "node_agent/counters/likwid_values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* No counter counts more often: 8 instructions in each cycle at 8 GHz, twice
 * of that for one event in each half cycle of 64 channels. */
#define MAX_PER_NS 64.0

/* No package takes more. */
#define MAX_WATT 10000.0

/* Width of core and uncore counters: what LIKWID is short of when it misses
 * that one has wrapped around. */
#define COUNTER_RANGE 0x1p48

struct likwid_values {
    const struct events *events;
    const struct counters_setup *setup;
    size_t cpus;    /* counted */
    size_t columns; /* of a CPU's counts: all sets' events */
    size_t names;   /* variables with "time" and "nodes" */
    int16_t cpu[COSCHED_MAX_CPUS];
    size_t column[EVENTS_SETS][EVENTS_SET_EVENTS]; /* of an event */
    bool missing[EVENTS_VARIABLES + 2];
    size_t units;   /* most of LLC domains and packages */
    bool *moved;    /* [EVENTS_METRICS][units] */
    double *value;  /* [cpus][names] of this interval */
    double *sum;    /* [names] of one unit */
    double *weight; /* [machine cpus] */
    size_t *node;   /* [numa_nodes] of one package */
};

static size_t package_of(const struct counters_setup *s, int cpu)
{
    int p = s->package ? s->package[cpu] : 0;

    return p < 0 || (size_t)p >= s->packages ? 0 : (size_t)p;
}

static int llc_domain_of(const struct counters_setup *s, int cpu)
{
    int n = s->llc_domain[cpu];

    return n < 0 || (size_t)n >= s->machine->llc_domains ? -1 : n;
}

/* ---- set up ------------------------------------------------------------- */

static int check_opened(const struct events *e, const struct counters_setup *s,
                        const struct likwid_opened *o, struct errtext *err)
{
    if (o->sets != e->sets || o->cpus < 1 || o->cpus > COSCHED_MAX_CPUS)
        return errtext_set(err, EPROTO, "%u event sets on %u CPUs were opened",
                           o->sets, o->cpus);
    for (size_t i = 0; i < o->cpus; i++)
        if (o->cpu[i] < 0 || (size_t)o->cpu[i] >= s->machine->cpus ||
            llc_domain_of(s, o->cpu[i]) < 0)
            return errtext_set(err, EPROTO, "CPU %d was not asked for",
                               o->cpu[i]);
    for (size_t i = 0; i < e->sets; i++)
        if (o->events[i] != e->set[i].count)
            return errtext_set(err, EPROTO,
                               "set %zu has %u events instead of %zu", i + 1,
                               o->events[i], e->set[i].count);
    return 0;
}

/* A variable is missing when none of its events is counted. */
static void find_missing(struct likwid_values *v, const struct events *e,
                         const struct likwid_opened *o)
{
    for (size_t i = 0; i < e->variables; i++)
        v->missing[i] = true;
    for (size_t s = 0; s < e->sets; s++)
        for (size_t i = 0; i < e->set[s].count; i++) {
            v->column[s][i] = v->columns++;
            if (!(o->missing[s] >> i & 1))
                v->missing[e->set[s].event[i].variable] = false;
        }
}

struct likwid_values *likwid_values_new(const struct events *events,
                                        const struct counters_setup *setup,
                                        const struct likwid_opened *opened,
                                        struct errtext *err)
{
    if (check_opened(events, setup, opened, err) < 0)
        return NULL;
    struct likwid_values *v = calloc(1, sizeof(*v));
    if (!v)
        goto failed;
    v->events = events;
    v->setup = setup;
    v->cpus = opened->cpus;
    v->names = events->variables + 2;
    memcpy(v->cpu, opened->cpu, sizeof(v->cpu));
    find_missing(v, events, opened);
    v->units = setup->machine->llc_domains > setup->packages
                   ? setup->machine->llc_domains
                   : setup->packages;
    if (!(v->moved = calloc(EVENTS_METRICS * v->units, sizeof(*v->moved))) ||
        !(v->value = calloc(v->cpus * v->names, sizeof(*v->value))) ||
        !(v->sum = calloc(v->names, sizeof(*v->sum))) ||
        !(v->weight = calloc(setup->machine->cpus, sizeof(*v->weight))) ||
        !(v->node = calloc(setup->machine->numa_nodes, sizeof(*v->node))))
        goto failed;
    return v;
failed:
    likwid_values_free(v);
    errtext_set(err, ENOMEM, "out of memory");
    return NULL;
}

void likwid_values_free(struct likwid_values *v)
{
    int saved = errno;

    if (!v)
        return;
    free(v->moved);
    free(v->value);
    free(v->sum);
    free(v->weight);
    free(v->node);
    free(v);
    errno = saved;
}

const char *likwid_values_lacks(const struct likwid_values *v,
                                enum events_metric metric)
{
    const struct formula *f = v->events->metric[metric].formula;

    for (size_t i = 0; f && i < v->events->variables; i++)
        if (v->missing[i] && !v->events->variable[i].optional &&
            formula_uses(f, i))
            return v->events->variable[i].name;
    return NULL;
}

bool likwid_values_can(const struct likwid_values *v,
                       enum events_metric metric)
{
    return v->events->metric[metric].formula &&
           !likwid_values_lacks(v, metric);
}

/* ---- the variables of each CPU ------------------------------------------ */

static double mended(double count, double interval_ns)
{
    /* Some versions of LIKWID subtract in unsigned 64 bits. */
    if (count >= 0x1p63)
        count -= 0x1p64;
    if (count < 0 && count > -COUNTER_RANGE)
        count += COUNTER_RANGE;
    return count >= 0 && count <= MAX_PER_NS * interval_ns ? count : NAN;
}

/* The variables of one CPU from its COUNT[columns], into VALUE[names]. */
static void set_variables(const struct likwid_values *v, const double *count,
                          const struct likwid_counts *c, double *value,
                          double *coverage)
{
    const struct events *e = v->events;
    double total[EVENTS_VARIABLES] = {0}, running[EVENTS_VARIABLES] = {0};
    double interval = (double)c->interval_ns;

    for (size_t s = 0; s < e->sets; s++)
        for (size_t i = 0; i < e->set[s].count; i++) {
            size_t variable = e->set[s].event[i].variable;
            double n = count[v->column[s][i]];
            if (isnan(n) && !v->missing[variable])
                continue; /* another set has it */
            total[variable] += mended(n, interval);
            running[variable] += (double)c->running_ns[s];
        }
    for (size_t i = 0; i < e->variables; i++) {
        if (v->missing[i]) {
            value[i] = e->variable[i].optional ? 0 : NAN;
            continue;
        }
        double of = running[i] < interval ? running[i] : interval;
        value[i] = sample_scale(total[i], interval, of, coverage);
    }
    value[e->variables] = interval * 1e-9;
    value[e->variables + 1] = NAN;
}

/* Add up the variables of the CPUs in UNIT (of PER); how many CPUs. */
static size_t add_up(struct likwid_values *v, enum events_per per, size_t unit)
{
    const struct counters_setup *s = v->setup;
    size_t variables = v->events->variables, count = 0;
    size_t package = unit;

    memset(v->sum, 0, v->names * sizeof(*v->sum));
    for (size_t c = 0; c < v->cpus; c++) {
        int cpu = v->cpu[c];
        size_t of = per == EVENTS_PER_PACKAGE ? package_of(s, cpu)
                                              : (size_t)llc_domain_of(s, cpu);
        if (of != unit)
            continue;
        for (size_t i = 0; i < variables; i++)
            v->sum[i] += v->value[c * v->names + i];
        package = package_of(s, cpu);
        count++;
    }
    v->sum[variables] = v->value[variables];
    v->sum[variables + 1] = (double)counters_package_nodes(s, package, v->node);
    return count;
}

/* Whether the counters of METRIC ever moved in UNIT. */
static bool has_counters(struct likwid_values *v, enum events_metric metric,
                         size_t unit)
{
    bool *moved = &v->moved[metric * v->units + unit];
    const struct formula *f = v->events->metric[metric].formula;

    for (size_t i = 0; !*moved && i < v->events->variables; i++)
        *moved = v->sum[i] > 0 && formula_uses(f, i);
    return *moved;
}

static double believed(double value)
{
    return value >= 0 ? value : NAN;
}

/* ---- where the values go ------------------------------------------------ */

static double *cpu_field(struct sample_cpu *cpu, enum events_metric metric)
{
    switch (metric) {
    case EVENTS_CYCLES:
        return &cpu->cycles;
    case EVENTS_STALLED:
        return &cpu->stalled;
    case EVENTS_INSTRUCTIONS:
        return &cpu->instructions;
    case EVENTS_LLC_ACCESSES:
        return &cpu->llc_accesses;
    case EVENTS_READ_MISSES:
        return &cpu->read_misses;
    case EVENTS_LOCAL_MISSES:
        return &cpu->local_misses;
    default:
        return &cpu->remote_misses;
    }
}

static double *memory_field(struct sample_memory *memory,
                            enum events_metric metric)
{
    return metric == EVENTS_READS    ? &memory->reads
           : metric == EVENTS_WRITES ? &memory->writes
                                     : &memory->prefetches;
}

/* Divide VALUE of LLC domain UNIT among its CPUs. */
static void share_out(struct likwid_values *v, enum events_metric metric,
                      size_t unit, double value, struct sample *sample)
{
    bool accesses = metric != EVENTS_LLC_ACCESSES;
    double sum = 0;
    size_t count = 0;

    for (size_t c = 0; c < v->cpus; c++)
        if ((size_t)llc_domain_of(v->setup, v->cpu[c]) == unit &&
            isnan(sample->cpu[v->cpu[c]].llc_accesses))
            accesses = false;
    for (size_t c = 0; c < v->cpus; c++) {
        const struct sample_cpu *cpu = &sample->cpu[v->cpu[c]];
        bool here = (size_t)llc_domain_of(v->setup, v->cpu[c]) == unit;
        double w = accesses ? cpu->llc_accesses : cpu->cycles;
        v->weight[c] = here && w > 0 ? w : 0;
        sum += v->weight[c];
        count += here;
    }
    for (size_t c = 0; c < v->cpus; c++)
        if ((size_t)llc_domain_of(v->setup, v->cpu[c]) == unit)
            *cpu_field(&sample->cpu[v->cpu[c]], metric) =
                value * (sum > 0 ? v->weight[c] / sum : 1.0 / (double)count);
}

/* The sum of unit values that share a NUMA node. */
static void add_memory(struct sample *sample, size_t node,
                       enum events_metric metric, double value)
{
    double *field = memory_field(&sample->memory[node], metric);

    *field = isnan(*field) ? value : *field + value;
}

static void set_package_memory(struct likwid_values *v,
                               enum events_metric metric, struct sample *sample)
{
    const struct events_formula *f = &v->events->metric[metric];
    size_t nodes = (size_t)v->sum[v->events->variables + 1];

    for (size_t i = 0; i < nodes; i++) {
        const struct formula *part =
            nodes <= EVENTS_PARTS ? f->parts[nodes - 1][i] : NULL;
        double value = part ? formula_value(part, v->sum)
                            : formula_value(f->formula, v->sum) /
                                  (double)nodes;
        add_memory(sample, v->node[i], metric, believed(value));
    }
}

static void set_unit(struct likwid_values *v, enum events_metric metric,
                     size_t unit, struct sample *sample)
{
    const struct events_formula *f = &v->events->metric[metric];
    double value = believed(formula_value(f->formula, v->sum));

    if (metric == EVENTS_ENERGY)
        sample->energy_j[unit] =
            value <= MAX_WATT * v->sum[v->events->variables] ? value : NAN;
    else if (metric < EVENTS_READS)
        share_out(v, metric, unit, value, sample);
    else if (f->per == EVENTS_PER_LLC_DOMAIN)
        add_memory(sample, (size_t)v->setup->machine->local_node[unit], metric, value);
    else
        set_package_memory(v, metric, sample);
}

static void set_units(struct likwid_values *v, enum events_per per,
                      size_t units, struct sample *sample)
{
    for (size_t u = 0; u < units; u++) {
        if (!add_up(v, per, u))
            continue;
        for (int m = 0; m < EVENTS_METRICS; m++)
            if (v->events->metric[m].formula &&
                v->events->metric[m].per == per &&
                has_counters(v, (enum events_metric)m, u))
                set_unit(v, (enum events_metric)m, u, sample);
    }
}

static void set_cpus(struct likwid_values *v, enum events_metric metric,
                     struct sample *sample)
{
    const struct formula *f = v->events->metric[metric].formula;

    for (size_t c = 0; c < v->cpus; c++)
        *cpu_field(&sample->cpu[v->cpu[c]], metric) =
            believed(formula_value(f, &v->value[c * v->names]));
}

int likwid_values_set(struct likwid_values *v,
                      const struct likwid_counts *counts, size_t bytes,
                      struct sample *sample, struct errtext *err)
{
    size_t numbers = v->cpus * v->columns;
    const char *at = (const char *)counts + sizeof(*counts);
    double count[EVENTS_SETS * EVENTS_SET_EVENTS];

    if (bytes != sizeof(*counts) + numbers * sizeof(double))
        return errtext_set(err, EPROTO, "%zu bytes of counts instead of %zu",
                           bytes, sizeof(*counts) + numbers * sizeof(double));
    for (size_t c = 0; c < v->cpus; c++) {
        memcpy(count, at + c * v->columns * sizeof(double),
               v->columns * sizeof(double));
        set_variables(v, count, counts, &v->value[c * v->names],
                      &sample->coverage);
    }
    for (int m = 0; m < EVENTS_METRICS; m++)
        if (v->events->metric[m].formula &&
            v->events->metric[m].per == EVENTS_PER_CPU)
            set_cpus(v, (enum events_metric)m, sample);
    /* After those: by them values of an LLC are divided. */
    set_units(v, EVENTS_PER_LLC_DOMAIN, v->setup->machine->llc_domains, sample);
    set_units(v, EVENTS_PER_PACKAGE, v->setup->packages, sample);
    return 0;
}
