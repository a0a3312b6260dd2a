/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The simulated node's hardware counters. */

#include "simulator/virtual_counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct virtual_counters {
    const struct counters_backend *list[3]; /* found again by its address */
    const struct machine *machine;
    double noise;
    struct random *random;
    struct sample_cpu *cpu;        /* [cpus] */
    struct sample_memory *traffic; /* [llc_domains * numa_nodes] */
    struct sample *threads;        /* of which it tells threads alone */
};

static const struct counters_backend backend;

struct virtual_counters *virtual_counters_new(const struct machine *machine,
                                              double noise,
                                              struct random *random)
{
    struct virtual_counters *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->list[0] = &backend;
    p->list[1] = &counters_progress;
    p->machine = machine;
    p->noise = noise;
    p->random = random;
    p->cpu = calloc(machine->cpus, sizeof(*p->cpu));
    p->traffic =
        calloc(machine->llc_domains * machine->numa_nodes, sizeof(*p->traffic));
    p->threads = sample_new(1, 1, machine->numa_nodes, 0);
    if (!p->cpu || !p->traffic || !p->threads) {
        virtual_counters_free(p);
        return NULL;
    }
    return p;
}

void virtual_counters_free(struct virtual_counters *p)
{
    if (!p)
        return;
    free(p->cpu);
    free(p->traffic);
    sample_free(p->threads);
    free(p);
}

const struct counters_backend *const *virtual_counters_backends(
    const struct virtual_counters *p)
{
    return p->list;
}

struct sample_cpu *virtual_counters_cpu(struct virtual_counters *p, int cpu)
{
    return &p->cpu[cpu];
}

struct sample_memory *virtual_counters_traffic(struct virtual_counters *p,
                                               size_t llc_domain, size_t memory)
{
    return &p->traffic[llc_domain * p->machine->numa_nodes + memory];
}

struct sample *virtual_counters_threads(struct virtual_counters *p)
{
    return p->threads;
}

/* ---- the backend -------------------------------------------------------- */

static int virtual_open(const struct counters_setup *setup, void **state,
                        struct errtext *err)
{
    (void)err;
    /* The list is the first member of the counters that it belongs to. */
    *state = (void *)setup->backends;
    return 0;
}

/* A factor of log-normal distribution. */
static double noisy(struct virtual_counters *p, double value)
{
    if (!(p->noise > 0))
        return value;
    double r = sqrt(-2 * log(random_uniform(p->random)));
    double normal = r * cos(2 * M_PI * random_uniform(p->random));
    return value * exp(p->noise * normal - p->noise * p->noise / 2);
}

static void read_cpu(struct virtual_counters *p, int cpu, struct sample_cpu *to)
{
    const struct sample_cpu *c = &p->cpu[cpu];

    to->cycles = noisy(p, c->cycles);
    to->stalled = fmin(to->cycles, noisy(p, c->stalled));
    to->instructions = noisy(p, c->instructions);
    to->llc_accesses = noisy(p, c->llc_accesses);
    to->local_misses = noisy(p, c->local_misses);
    to->remote_misses = noisy(p, c->remote_misses);
    to->read_misses = to->local_misses + to->remote_misses;
}

static int virtual_sample(void *state, struct sample *sample,
                          struct errtext *err)
{
    struct virtual_counters *p = state;
    const struct machine *m = p->machine;
    size_t pairs = m->llc_domains * m->numa_nodes;

    (void)err;
    for (size_t c = 0; c < m->cpus; c++)
        if (m->llc_domain[c] >= 0)
            read_cpu(p, (int)c, &sample->cpu[c]);
    for (size_t k = 0; k < m->numa_nodes; k++)
        sample->memory[k] = (struct sample_memory){0};
    for (size_t e = 0; e < pairs; e++) {
        struct sample_memory *sum = &sample->memory[e % m->numa_nodes];
        struct sample_memory *t = &sample->traffic[e];
        t->reads = noisy(p, p->traffic[e].reads);
        t->writes = noisy(p, p->traffic[e].writes);
        t->prefetches = noisy(p, p->traffic[e].prefetches);
        sum->reads += t->reads;
        sum->writes += t->writes;
        sum->prefetches += t->prefetches;
    }
    for (size_t i = 0; i < p->threads->threads; i++) {
        size_t row = sample_add_thread(sample, &p->threads->thread[i]);
        for (size_t k = 0; row < SAMPLE_THREADS && k < m->numa_nodes; k++)
            sample->thread_requests[row * m->numa_nodes + k] =
                noisy(p, p->threads->thread_requests[i * m->numa_nodes + k]);
    }
    p->threads->threads = 0;
    memset(p->cpu, 0, m->cpus * sizeof(*p->cpu));
    memset(p->traffic, 0, pairs * sizeof(*p->traffic));
    return 0;
}

static void virtual_describe(const void *state,
                             struct counters_ability *ability)
{
    static const enum counters_metric can[] = {
        COUNTERS_CYCLES,       COUNTERS_STALLED,     COUNTERS_INSTRUCTIONS,
        COUNTERS_LLC_ACCESSES, COUNTERS_READ_MISSES, COUNTERS_LOCALITY,
        COUNTERS_MEMORY_READS, COUNTERS_MEMORY_WRITES, COUNTERS_PREFETCHES,
        COUNTERS_TRAFFIC,      COUNTERS_THREADS,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(can) / sizeof(can[0]); i++)
        ability[can[i]] =
            (struct counters_ability){.can = true, .why = "simulated"};
}

static void virtual_close(void *state)
{
    (void)state; /* the node's */
}

static const struct counters_backend backend = {
    .name = "virtual",
    .help = "exact counters of a simulated node",
    .flags = COUNTERS_COMPLETE | COUNTERS_STILL,
    .open = virtual_open,
    .sample = virtual_sample,
    .describe = virtual_describe,
    .close = virtual_close,
};
