/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Looking at backends from outside: what they can, and whether values move. */

#include "node_agent/counters/probe.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "node_agent/counters/sample_json.h"
#include "protocol/cpulist.h"

/* Larger than a core's share of any last-level cache. */
#define THREAD_BYTES (64 << 20)

static json_t *abilities_json(const struct counters_ability *ability)
{
    json_t *object = json_object();

    for (size_t m = 0; m < COUNTERS_METRICS; m++)
        json_object_set_new(
            object, counters_metric_name(m),
            json_pack("{s:b, s:b, s:s}", "can", (int)ability[m].can, "shared",
                      (int)ability[m].shared, "why", ability[m].why));
    return object;
}

json_t *counters_metrics_json(const struct counters *counters)
{
    struct counters_ability ability[COUNTERS_METRICS];

    counters_describe(counters, ability);
    return abilities_json(ability);
}

/* ---- one backend -------------------------------------------------------- */

static void look(const struct counters_setup *setup,
                 const struct counters_backend *b, void *state, size_t rounds,
                 json_t *object)
{
    struct sample *s =
        sample_new(setup->machine->cpus, setup->machine->llc_domains,
                   setup->machine->numa_nodes, setup->packages);
    struct errtext err = {""};

    if (!s)
        return;
    /* What counts by job counts all that runs. */
    struct counters_job job = {.id = 1, .cpus = *setup->cpus};
    if (b->assign)
        b->assign(state, &job, 1, &err);
    b->sample(state, s, &err); /* what came before is not the load's */
    uint64_t begin_ns = clock_ns();
    for (size_t i = 0; i < rounds; i++)
        setup->load(setup);
    sample_set_groups(s, NULL, 0);
    sample_clear(s);
    s->time_ns = clock_ns() - begin_ns;
    if (b->sample(state, s, &err) < 0)
        json_object_set_new(object, "error", json_string(err.text));
    bool any = sample_moved(s);
    if (any || !(b->flags & COUNTERS_STILL))
        json_object_set_new(object, "moves", json_boolean(any));
    json_object_set_new(object, "sample", sample_json_write(s));
    sample_free(s);
}

json_t *probe_backend(const struct counters_setup *setup,
                      const struct counters_backend *b, size_t rounds)
{
    json_t *object =
        json_pack("{s:s, s:s, s:b, s:n, s:n, s:n, s:n}", "name", b->name,
                  "help", b->help, "opens", 0, "moves", "error", "metrics",
                  "sample");
    struct counters_ability ability[COUNTERS_METRICS];
    struct errtext err = {""};
    void *state = NULL;

    if (!object)
        return NULL;
    if (b->open(setup, &state, &err) < 0) {
        json_object_set_new(object, "error",
                            json_string(err.text[0] ? err.text
                                                    : strerror(errno)));
        return object;
    }
    json_object_set_new(object, "opens", json_true());
    memset(ability, 0, sizeof(ability));
    b->describe(state, ability);
    json_object_set_new(object, "metrics", abilities_json(ability));
    if (rounds && b->sample)
        look(setup, b, state, rounds, object);
    b->close(state);
    return object;
}

/* ---- a load ------------------------------------------------------------- */

struct reader {
    pthread_t thread;
    int cpu;
    uint64_t until_ns;
    double lines;
    bool runs;
};

static void *read_lines(void *arg)
{
    struct reader *r = arg;
    struct cosched_cpuset cpu = {{0}};
    volatile char *memory;
    char sum = 0;

    cpuset_add(&cpu, r->cpu);
    if (cpuset_set_affinity(0, &cpu) < 0 || !(memory = malloc(THREAD_BYTES)))
        return NULL;
    /* Touched by this thread, so that it lies near. */
    memset((void *)memory, 1, THREAD_BYTES);
    do {
        for (size_t i = 0; i < THREAD_BYTES; i += SAMPLE_LINE_BYTES)
            sum = (char)(sum + memory[i]);
        r->lines += THREAD_BYTES / SAMPLE_LINE_BYTES;
    } while (clock_ns() < r->until_ns);
    memory[0] = sum;
    free((void *)memory);
    return NULL;
}

void probe_load(const struct counters_setup *setup, unsigned ms,
                size_t *threads, double *lines)
{
    size_t count = (size_t)cpuset_count(setup->cpus), i = 0;
    struct reader *readers = calloc(count ? count : 1, sizeof(*readers));

    *threads = 0;
    *lines = 0;
    for (int c = -1; readers && (c = cpuset_next(setup->cpus, c)) >= 0; i++) {
        readers[i].cpu = c;
        readers[i].until_ns = clock_ns() + ms * UINT64_C(1000000);
        readers[i].runs = pthread_create(&readers[i].thread, NULL, read_lines,
                                         &readers[i]) == 0;
    }
    for (i = 0; readers && i < count; i++) {
        if (!readers[i].runs)
            continue;
        pthread_join(readers[i].thread, NULL);
        *threads += readers[i].lines > 0;
        *lines += readers[i].lines;
    }
    free(readers);
}
