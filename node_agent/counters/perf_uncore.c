/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters through perf_event_open(2): memory controllers and energy. */

#include <string.h>

#include "node_agent/counters/perf_private.h"
#include "node_agent/counters/perf_sysfs.h"
#include "protocol/cpulist.h"

/* Names under which drivers describe what we look for. */
static const struct {
    enum perf_uncore_kind kind;
    const char *prefix; /* of the PMU */
    const char *event;
} known[] = {
    {PERF_READS, "uncore_imc", "cas_count_read"},
    {PERF_READS, "uncore_imc", "data_reads"},
    {PERF_READS, "uncore_imc_free_running", "data_read"},
    {PERF_WRITES, "uncore_imc", "cas_count_write"},
    {PERF_WRITES, "uncore_imc", "data_writes"},
    {PERF_WRITES, "uncore_imc_free_running", "data_write"},
    {PERF_ENERGY, "power", "energy-pkg"},
};

/* The PMUs that have one known event. */
struct search {
    struct perf *perf;
    size_t entry; /* of known[] */
    char name[PERF_MAX_UNCORES][PERF_PMU_NAME_MAX];
    size_t count;
};

static void collect(void *arg, const char *pmu)
{
    struct search *s = arg;
    struct perf_pmu_event event;

    if (s->count < PERF_MAX_UNCORES &&
        perf_sysfs_event(s->perf->setup->sysfs, pmu, known[s->entry].event,
                         &event, NULL) == 0)
        strcpy(s->name[s->count++], pmu);
}

static size_t package_of(const struct counters_setup *setup, int cpu,
                         size_t position)
{
    if ((size_t)cpu < setup->machine->cpus && setup->package &&
        setup->package[cpu] >= 0)
        return (size_t)setup->package[cpu];
    /* A CPU outside the pool: the mask has one CPU per package, in order. */
    return position < setup->packages ? position : setup->packages - 1;
}

/* Memory node of the controller BOX of BOXES in PACKAGE. */
static size_t memory_of(const struct counters_setup *setup, size_t package,
                        size_t box, size_t boxes)
{
    const struct machine *machine = setup->machine;
    size_t nodes[machine->mem_nodes], count = 0;

    for (size_t m = 0; m < machine->mem_nodes; m++)
        for (size_t c = 0; c < machine->cpus; c++) {
            int n = setup->cpu_node[c];
            if (n >= 0 && machine->home[n] == (int)m &&
                (setup->package ? setup->package[c] : 0) == (int)package) {
                nodes[count++] = m;
                break;
            }
        }
    return count ? nodes[box * count / boxes] : SIZE_MAX;
}

static void open_on(struct search *s, size_t box, int cpu, size_t position)
{
    struct perf *p = s->perf;
    struct perf_uncore *u = &p->uncore[p->uncores];
    struct perf_pmu_event event;
    enum perf_uncore_kind kind = known[s->entry].kind;
    size_t package = package_of(p->setup, cpu, position);

    if (p->uncores == PERF_MAX_UNCORES ||
        perf_sysfs_event(p->setup->sysfs, s->name[box], known[s->entry].event,
                         &event, NULL) < 0)
        return;
    *u = (struct perf_uncore){.kind = kind};
    u->index = kind == PERF_ENERGY
                   ? package
                   : memory_of(p->setup, package, box, s->count);
    /* Controllers count lines; the scale to MiB is for people. */
    u->scale = kind == PERF_ENERGY ? event.scale : 1;
    if (u->index == SIZE_MAX)
        return;
    u->fd = perf_open_event(p, event.type, event.config, false, cpu, -1);
    if (u->fd < 0) {
        p->uncore_error = p->uncore_error ? p->uncore_error : errno;
        return;
    }
    uint64_t data[3];
    if (p->source->read(p->source->arg, u->fd, data, sizeof(data)) ==
        sizeof(data)) {
        u->value = data[0];
        u->enabled = data[1];
        u->running = data[2];
    }
    p->uncores++;
}

static bool has_kind(const struct perf *p, enum perf_uncore_kind kind)
{
    for (size_t i = 0; i < p->uncores; i++)
        if (p->uncore[i].kind == kind)
            return true;
    return false;
}

void perf_uncore_open(struct perf *p)
{
    for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
        struct search s = {.perf = p, .entry = k};
        if (has_kind(p, known[k].kind))
            continue;
        perf_sysfs_list(p->setup->sysfs, known[k].prefix, collect, &s);
        for (size_t box = 0; box < s.count; box++) {
            struct cosched_cpuset cpus = {{1}};
            size_t position = 0;
            perf_sysfs_cpus(p->setup->sysfs, s.name[box], &cpus);
            for (int c = -1; (c = cpuset_next(&cpus, c)) >= 0;)
                open_on(&s, box, c, position++);
        }
    }
}

/* Where U belongs in SAMPLE. */
static double *place(struct sample *sample, const struct perf_uncore *u)
{
    if (u->kind == PERF_ENERGY)
        return &sample->energy_j[u->index];
    return u->kind == PERF_READS ? &sample->memory[u->index].reads
                                 : &sample->memory[u->index].writes;
}

/* Increment of U, NAN when it was not counted. */
static double increment(const struct perf *p, struct perf_uncore *u,
                        double *coverage)
{
    uint64_t data[3];

    if (p->source->read(p->source->arg, u->fd, data, sizeof(data)) !=
        sizeof(data))
        return NAN;
    double count = sample_scale(sample_wrap(u->value, data[0], 64),
                                sample_wrap(u->enabled, data[1], 64),
                                sample_wrap(u->running, data[2], 64), coverage);
    u->value = data[0];
    u->enabled = data[1];
    u->running = data[2];
    return count * u->scale;
}

int perf_uncore_sample(struct perf *p, struct sample *sample,
                       struct errtext *err)
{
    bool lost = false;

    for (size_t i = 0; i < p->uncores; i++) {
        struct perf_uncore *u = &p->uncore[i];
        double count = increment(p, u, &sample->coverage);
        u->lost = isnan(count);
        lost |= u->lost;
        *place(sample, u) = sample_add(*place(sample, u), count);
    }
    /* A sum that lacks a part is no sum. */
    for (size_t i = 0; i < p->uncores; i++)
        if (p->uncore[i].lost)
            *place(sample, &p->uncore[i]) = NAN;
    bool news = lost && !p->uncore_told;
    p->uncore_told = lost;
    if (!news)
        return 0;
    return errtext_set(err, EBUSY, "perf: a memory controller's or package's "
                                   "counter is taken by another tool or gone");
}

void perf_uncore_describe(const struct perf *p,
                          struct counters_ability *ability)
{
    static const struct {
        enum perf_uncore_kind kind;
        enum counters_metric metric;
        const char *can, *cannot;
    } text[] = {
        {PERF_READS, COUNTERS_MEMORY_READS, "uncore_imc, reads",
         "sysfs describes no memory controller (uncore_imc*)"},
        {PERF_WRITES, COUNTERS_MEMORY_WRITES, "uncore_imc, writes",
         "sysfs describes no memory controller (uncore_imc*)"},
        {PERF_ENERGY, COUNTERS_ENERGY, "power/energy-pkg",
         "sysfs describes no power/energy-pkg"},
    };

    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        struct counters_ability *a = &ability[text[i].metric];
        a->can = has_kind(p, text[i].kind);
        a->shared = a->can;
        if (!a->can && p->uncore_error)
            snprintf(a->why, sizeof(a->why), "%s", strerror(p->uncore_error));
        else
            snprintf(a->why, sizeof(a->why), "%s",
                     a->can ? text[i].can : text[i].cannot);
    }
}

void perf_uncore_close(struct perf *p)
{
    for (size_t i = 0; i < p->uncores; i++)
        p->source->close(p->source->arg, p->uncore[i].fd);
    p->uncores = 0;
}
