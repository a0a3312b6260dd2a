/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The runs of the calibration. */

#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "node_agent/calibrate/calibrate.h"
#include "protocol/cpulist.h"

#ifdef HAVE_NUMA
#include <numaif.h>

#define MAX_OS_NODES 1024
#define PAGE 4096
#define PEAK_STRIDE 64 /* each line is touched in each pass */
#define PEAK_PASSES 8

static double now_us(void)
{
    return (double)clock_ns() * 1e-3;
}

/* ---- arrays -------------------------------------------------------------- */

struct memory {
    struct kernel_arrays arrays;
    void *base;
    size_t bytes;
};

/* Is the page at ADDRESS on the NUMA node OS? */
static bool is_on(void *address, int os)
{
    int node = -1;

    return get_mempolicy(&node, NULL, 0, address, MPOL_F_NODE | MPOL_F_ADDR) <
               0 ||
           node == os;
}

/* Bind MEMORY to node OS.  With one node only (ONE) there is nothing to bind,
 * and containers that forbid it do not matter. */
static int bind_memory(const struct memory *memory, int os, bool one)
{
    unsigned long mask[MAX_OS_NODES / (8 * sizeof(long))] = {0};

    if (os < 0 || os >= MAX_OS_NODES - 1) {
        errno = EINVAL;
        return one ? 0 : -1;
    }
    mask[(size_t)os / (8 * sizeof(long))] =
        1UL << ((size_t)os % (8 * sizeof(long)));
    int rc = (int)mbind(memory->base, memory->bytes, MPOL_BIND, mask,
                        MAX_OS_NODES, 0);
    return rc < 0 && !one ? -1 : 0;
}

static void free_memory(struct memory *memory)
{
    if (memory->base)
        munmap(memory->base, memory->bytes);
    memory->base = NULL;
}

/* Three arrays of BYTES each on NUMA node NODE, filled. */
static int new_memory(struct memory *memory, const struct topology *t,
                      size_t node, size_t bytes, struct errtext *err)
{
    int os = topology_memory_os(t, node);
    bool one = topology_machine(t)->numa_nodes == 1;

    memory->bytes = 3 * bytes;
    memory->base = mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory->base == MAP_FAILED) {
        memory->base = NULL;
        return errtext_set(err, errno, "NUMA node %zu: %s", node,
                           strerror(errno));
    }
    char *base = memory->base;
    memory->arrays = (struct kernel_arrays){
        (double *)(void *)base, (double *)(void *)(base + bytes),
        (double *)(void *)(base + 2 * bytes), bytes / sizeof(double)};
    if (bind_memory(memory, os, one) < 0) {
        errtext_set(err, errno, "NUMA node %zu: mbind: %s", node,
                    strerror(errno));
        free_memory(memory);
        return -1;
    }
    kernel_fill(&memory->arrays);
    for (size_t at = 0; !one && at < memory->bytes;
         at += (memory->bytes / 8) & ~(size_t)(PAGE - 1))
        if (!is_on(base + at, os)) {
            free_memory(memory);
            return errtext_set(err, EIO, "NUMA node %zu: its pages are "
                               "elsewhere", node);
        }
    return 0;
}

/* ---- one run ------------------------------------------------------------- */

static int pin(int cpu)
{
    struct cosched_cpuset one = {{0}};

    cpuset_add(&one, cpu);
    return cpuset_set_affinity(0, &one);
}

/* Requests that were counted at MEMORY, from NODE if that is known. */
static bool take_counts(const struct sample *s, size_t node, size_t memory,
                        struct calibrate_run *run)
{
    const struct sample_memory *pair =
        &s->traffic[node * s->numa_nodes + memory];
    const struct sample_memory *m =
        isnan(pair->reads) ? &s->memory[memory] : pair;

    if (isnan(m->reads) || isnan(m->writes) || !(m->reads + m->writes > 0))
        return false;
    run->reads = m->reads;
    run->writes = m->writes;
    run->prefetches = isnan(m->prefetches) ? 0 : m->prefetches;
    run->counted = true;
    return true;
}

static int run_one(const struct calibrate_options *o, size_t node,
                   size_t memory, const struct kernel_arrays *arrays,
                   enum kernel kernel, size_t s, struct calibrate_run *run,
                   struct errtext *err)
{
    size_t stride = calibrate_strides[s];
    size_t all = stride / sizeof(double);
    double passes = (double)(o->passes < all ? o->passes : all);
    const struct sample *sample;

    for (int i = 0; i < o->repetitions; i++) {
        struct calibrate_run one = {0};
        if (o->counters)
            counters_sample(o->counters, 1, &sample, NULL);
        double start = now_us();
        double sum = kernel_run(kernel, arrays, stride, o->passes);
        one.us = now_us() - start;
        if (!isfinite(sum))
            return errtext_set(err, EIO, "kernel %s: wrong result",
                               kernel_names[kernel]);
        kernel_lines(kernel, arrays->count, stride, &one.reads, &one.writes);
        one.reads *= passes;
        one.writes *= passes;
        if (o->counters && counters_sample(o->counters, (uint64_t)(one.us * 1e3),
                                           &sample, NULL) == 0)
            take_counts(sample, node, memory, &one);
        if (!run->us || one.us < run->us)
            *run = one;
    }
    return 0;
}

/* The first run of each kernel, whose result is checked in all elements. */
static int check_kernels(const struct kernel_arrays *arrays, size_t passes,
                         struct errtext *err)
{
    for (enum kernel k = 0; k < KERNELS; k++) {
        kernel_fill(arrays);
        double sum = kernel_run(k, arrays, 64, passes);
        if (!kernel_check(k, arrays, 64, passes, sum))
            return errtext_set(err, EIO, "kernel %s: wrong result",
                               kernel_names[k]);
    }
    return 0;
}

/* ---- all cores ----------------------------------------------------------- */

/* Closed while its mutex is held. */
struct gate {
    pthread_mutex_t mutex;
    bool cancelled;
};

struct worker {
    pthread_t thread;
    struct gate *gate;
    struct memory memory;
    int cpu;
    double sum;
};

static void *work(void *arg)
{
    struct worker *w = arg;

    pin(w->cpu);
    pthread_mutex_lock(&w->gate->mutex);
    bool cancelled = w->gate->cancelled;
    pthread_mutex_unlock(&w->gate->mutex);
    if (!cancelled)
        w->sum = kernel_run(KERNEL_LOAD, &w->memory.arrays, PEAK_STRIDE,
                            PEAK_PASSES);
    return NULL;
}

/* GB/s that COUNT workers read together; 0 when not all could be started. */
static double run_workers(struct worker *workers, size_t count)
{
    struct gate gate = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    double bytes = 0, start;
    size_t started = 0;

    pthread_mutex_lock(&gate.mutex);
    for (; started < count; started++) {
        struct worker *w = &workers[started];
        w->gate = &gate;
        bytes += (double)w->memory.arrays.count * sizeof(double) * PEAK_PASSES;
        if (pthread_create(&w->thread, NULL, work, w) != 0)
            break;
    }
    gate.cancelled = started < count;
    start = now_us();
    pthread_mutex_unlock(&gate.mutex);
    for (size_t i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    double us = now_us() - start;
    pthread_mutex_destroy(&gate.mutex);
    return !gate.cancelled && us > 0 ? bytes / us * 1e-3 : 0;
}

static int run_peak(const struct topology *t, const struct calibrate_options *o,
                    size_t memory, double *peak, struct errtext *err)
{
    const struct machine *m = topology_machine(t);
    struct worker *workers = calloc(m->cpus, sizeof(*workers));
    size_t count = 0;
    int rc = workers ? 0 : errtext_set(err, ENOMEM, "calibrate: out of memory");

    for (size_t c = 0; rc == 0 && c < m->cpus; c++) {
        if (m->llc_domain[c] < 0)
            continue;
        workers[count].cpu = (int)c;
        /* Together about as large as those of one thread, but beyond caches. */
        rc = new_memory(&workers[count].memory, t, memory,
                        (o->array_bytes / 4 + PAGE) & ~(size_t)(PAGE - 1), err);
        count += rc == 0;
    }
    if (rc == 0)
        *peak = run_workers(workers, count);
    for (size_t i = 0; i < count; i++)
        free_memory(&workers[i].memory);
    free(workers);
    return rc;
}

/* ---- all together -------------------------------------------------------- */

static int first_cpu(const struct machine *m, size_t node)
{
    for (size_t c = 0; c < m->cpus; c++)
        if (m->llc_domain[c] == (int)node)
            return (int)c;
    return -1;
}

static int run_pair(const struct topology *t, const struct calibrate_options *o,
                    struct calibration *c, size_t node, size_t memory,
                    struct errtext *err)
{
    struct memory space = {0};
    int cpu = first_cpu(topology_machine(t), node);

    if (cpu < 0)
        return 0;
    if (pin(cpu) < 0)
        return errtext_set(err, errno, "CPU %d: %s", cpu, strerror(errno));
    if (new_memory(&space, t, memory, o->array_bytes, err) < 0)
        return -1;
    int rc = check_kernels(&space.arrays, o->passes, err);
    for (enum kernel k = 0; rc == 0 && k < KERNELS; k++)
        for (size_t s = 0; rc == 0 && s < CALIBRATE_STRIDES; s++)
            rc = run_one(o, node, memory, &space.arrays, k, s,
                         calibration_run(c, node, memory, k, s), err);
    free_memory(&space);
    return rc;
}

static int run_all(const struct topology *t, const struct calibrate_options *o,
                   struct calibration *c, struct errtext *err)
{
    size_t total = c->llc_domains * c->numa_nodes + c->numa_nodes, done = 0;
    char what[64];
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->llc_domains; i++)
        for (size_t j = 0; rc == 0 && j < c->numa_nodes; j++) {
            snprintf(what, sizeof(what), "LLC domain %zu, NUMA node %zu", i, j);
            if (o->progress)
                o->progress(o->arg, done++, total, what);
            rc = run_pair(t, o, c, i, j, err);
        }
    for (size_t j = 0; rc == 0 && j < c->numa_nodes; j++) {
        snprintf(what, sizeof(what), "all cores, NUMA node %zu", j);
        if (o->progress)
            o->progress(o->arg, done++, total, what);
        rc = run_peak(t, o, j, &c->peak_gb_s[j], err);
    }
    if (rc == 0 && o->progress)
        o->progress(o->arg, total, total, "done");
    return rc;
}

struct calibration *calibrate(const struct topology *t,
                              const struct calibrate_options *o,
                              struct errtext *err)
{
    const struct machine *m = topology_machine(t);
    struct calibration *c = calibration_new(m->llc_domains, m->numa_nodes);
    struct cosched_cpuset before;
    int rc = -1;

    if (!c)
        errtext_set(err, ENOMEM, "calibrate: out of memory");
    else if (cpuset_get_affinity(0, &before) < 0)
        errtext_set(err, errno, "calibrate: affinity: %s", strerror(errno));
    else {
        rc = run_all(t, o, c, err);
        int saved = errno;
        cpuset_set_affinity(0, &before);
        errno = saved;
    }
    if (rc == 0)
        return c;
    int saved = errno;
    calibration_free(c);
    errno = saved;
    return NULL;
}
#else
struct calibration *calibrate(const struct topology *t,
                              const struct calibrate_options *o,
                              struct errtext *err)
{
    (void)t;
    (void)o;
    errtext_set(err, ENOTSUP, "calibrate: built without libnuma");
    return NULL;
}
#endif
