/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Cores at work while their power is measured. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "node_agent/calibrate/kernels.h"
#include "node_agent/calibrate/power.h"
#include "protocol/cpulist.h"

#define SETTLE_S 0.3   /* until clock and voltage are those of the load */
#define STEPS 4096     /* of a load between two looks at the time to stop */
#define CHAINS 16      /* of computing that do not wait for each other */

/* A cache line, as a link of a chain or as numbers. */
union line {
    size_t next;
    double number[KERNEL_LINE / sizeof(double)];
};

struct worker {
    pthread_t thread;
    struct crew *crew;
    int cpu;
    union line *line; /* [crew->lines]; NULL: it computes */
    size_t at;
    double sum;
    atomic_uint_fast64_t requests;
};

struct crew {
    enum power_load load;
    size_t lines;
    struct worker *worker; /* [count] */
    size_t count;
    atomic_size_t ready;
    atomic_bool stop;
};

static void sleep_s(double seconds)
{
    time_t whole = (time_t)seconds;

    nanosleep(&(struct timespec){whole, (long)((seconds - (double)whole) * 1e9)}, NULL);
}

/* One chain through all lines, in an order that no prefetcher sees (Sattolo's algorithm). */
static void make_chain(union line *line, size_t count)
{
    uint64_t chance = 1;

    for (size_t i = 0; i < count; i++)
        line[i].next = i;
    for (size_t i = count - 1; i > 0; i--) {
        chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        size_t k = (size_t)(chance >> 33) % i, other = line[k].next;
        line[k].next = line[i].next;
        line[i].next = other;
    }
}

/* Many sums at a time, as a core can. */
static double compute(double from)
{
    double sum[CHAINS], all = 0;

    for (size_t k = 0; k < CHAINS; k++)
        sum[k] = from + (double)k;
    for (size_t i = 0; i < STEPS; i++)
        for (size_t k = 0; k < CHAINS; k++)
            sum[k] = sum[k] * 0.999 + 1;
    for (size_t k = 0; k < CHAINS; k++)
        all += sum[k];
    return all / CHAINS;
}

/* The result depends on each step, so that the compiler drops none. */
static void work(struct worker *w)
{
    size_t lines = w->crew->lines;

    if (!w->line) {
        w->sum = compute(w->sum);
        return;
    }
    for (size_t i = 0; i < STEPS; i++)
        if (w->crew->load == POWER_CHASE) {
            w->at = w->line[w->at].next;
        } else {
            w->sum += w->line[w->at].number[0];
            w->at = w->at + 1 < lines ? w->at + 1 : 0;
        }
    atomic_fetch_add_explicit(&w->requests, STEPS, memory_order_relaxed);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct cosched_cpuset one = {{0}};

    cpuset_add(&one, w->cpu);
    cpuset_set_affinity(0, &one);
    /* After that its pages are near it. */
    if (w->crew->load == POWER_CHASE)
        make_chain(w->line, w->crew->lines);
    else if (w->line)
        memset(w->line, 0, w->crew->lines * sizeof(*w->line));
    atomic_fetch_add(&w->crew->ready, 1);
    while (!atomic_load_explicit(&w->crew->stop, memory_order_relaxed))
        work(w);
    return NULL;
}

/* The cores that work, with what they work on. */
static int gather(struct crew *crew, const struct power_cores *cores)
{
    const struct machine *m = cores->setup->machine;
    size_t in_domain[m->llc_domains];

    memset(in_domain, 0, sizeof(in_domain));
    crew->lines = cores->bytes * m->llc_domains / machine_all_cpus(m) / sizeof(union line);
    crew->lines = crew->lines > STEPS ? crew->lines : STEPS;
    for (size_t c = 0; crew->load != POWER_IDLE && c < m->cpus; c++) {
        int domain = m->llc_domain[c];
        if (domain < 0 || (crew->load == POWER_ONE && in_domain[domain]++))
            continue;
        struct worker *w = &crew->worker[crew->count++];
        *w = (struct worker){.crew = crew, .cpu = (int)c};
        if (crew->load >= POWER_CHASE &&
            !(w->line = aligned_alloc(KERNEL_LINE, crew->lines * sizeof(*w->line))))
            return -1;
    }
    return 0;
}

static double requests_of(struct crew *crew)
{
    double sum = 0;

    for (size_t i = 0; i < crew->count; i++)
        sum += (double)atomic_load(&crew->worker[i].requests);
    return sum;
}

/* All work: look, wait, look. */
static void watch(struct crew *crew, double seconds, void (*look)(void *of), void *of,
                  struct power_window *window)
{
    while (atomic_load(&crew->ready) < crew->count)
        sleep_s(0.001);
    sleep_s(SETTLE_S);
    double before = requests_of(crew);
    uint64_t begin_ns = clock_ns();
    look(of);
    sleep_s(seconds);
    look(of);
    window->seconds = (double)(clock_ns() - begin_ns) * 1e-9;
    window->requests = requests_of(crew) - before;
}

int power_cores_run(void *arg, enum power_load load, void (*look)(void *of), void *of,
                    struct power_window *window, struct errtext *err)
{
    const struct power_cores *cores = arg;
    struct crew crew = {.load = load};
    size_t started = 0;
    int rc = -1;

    crew.worker = calloc(cores->setup->machine->cpus, sizeof(*crew.worker));
    if (!crew.worker || gather(&crew, cores) < 0) {
        errtext_set(err, ENOMEM, "power: out of memory");
    } else {
        while (started < crew.count && pthread_create(&crew.worker[started].thread, NULL,
                                                      worker_main, &crew.worker[started]) == 0)
            started++;
        if (started == crew.count) {
            watch(&crew, cores->seconds, look, of, window);
            rc = 0;
        } else
            errtext_set(err, EAGAIN, "power: no more threads");
    }
    atomic_store(&crew.stop, true);
    for (size_t i = 0; i < started; i++)
        pthread_join(crew.worker[i].thread, NULL);
    for (size_t i = 0; i < crew.count; i++)
        free(crew.worker[i].line);
    free(crew.worker);
    return rc;
}
