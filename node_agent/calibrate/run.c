/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The runs of the calibration. */

#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "node_agent/calibrate/calibrate.h"
#include "protocol/cpulist.h"

#ifdef HAVE_NUMA
#include <numaif.h>

#define MAX_OS_NODES 1024
#define PAGE 4096
#define LEAST_US 25000 /* that a run takes: counters are read at two times that are not sharp */
#define SHARP_US 250   /* so sharp should they be */
#define TRIES    8
#define LOOK_US  1000 /* between looks */

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

/* ---- streams ------------------------------------------------------------- */

/* One on each core of a group, until it is told to stop. */
struct stream {
    pthread_t thread;
    struct group *group;
    struct memory memory;
    int cpu;
    size_t passes; /* of the array, so far */
    double begin_us, us; /* the time of these */
    double sum;
};

/* Streams that run at the same time, and what they do. */
struct group {
    struct stream *stream;
    size_t count;
    enum kernel kernel;
    size_t stride; /* bytes */
    size_t least;  /* passes of each, before they may stop */
    bool at_home;  /* it loads its own controller: worth more looks */
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    size_t begun, done; /* streams that have begun, that have made their least passes */
    bool go, stop;
};

static int pin(int cpu)
{
    struct cosched_cpuset one = {{0}};

    cpuset_add(&one, cpu);
    return cpuset_set_affinity(0, &one);
}

/* Waits until all may begin; false: they shall not. */
static bool begin(struct group *g)
{
    pthread_mutex_lock(&g->mutex);
    g->begun++;
    pthread_cond_broadcast(&g->moved);
    while (!g->go && !g->stop)
        pthread_cond_wait(&g->moved, &g->mutex);
    bool go = g->go;
    pthread_mutex_unlock(&g->mutex);
    return go;
}

/* A pass of stream S has been made; false: that was the last. */
static bool go_on(struct group *g, struct stream *s)
{
    s->us = now_us() - s->begin_us;
    s->passes++;
    pthread_mutex_lock(&g->mutex);
    if (s->passes == g->least && ++g->done == g->count)
        pthread_cond_broadcast(&g->moved);
    bool more = !g->stop;
    pthread_mutex_unlock(&g->mutex);
    return more;
}

static void *run_stream(void *arg)
{
    struct stream *s = arg;
    struct group *g = s->group;

    pin(s->cpu);
    if (!begin(g))
        return NULL;
    s->begin_us = now_us();
    do
        s->sum += kernel_pass(g->kernel, &s->memory.arrays, g->stride, s->passes);
    while (go_on(g, s));
    return NULL;
}

static void wait_for(struct group *g, const size_t *number, size_t value)
{
    pthread_mutex_lock(&g->mutex);
    while (*number < value)
        pthread_cond_wait(&g->moved, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
}

static void set(struct group *g, bool *flag)
{
    pthread_mutex_lock(&g->mutex);
    *flag = true;
    pthread_cond_broadcast(&g->moved);
    pthread_mutex_unlock(&g->mutex);
}

/* Requests counted at MEMORY. */
static void take_counts(const struct sample *s, size_t memory, struct calibrate_run *run)
{
    struct sample_memory m = s->memory[memory];

    if (isnan(m.reads) || isnan(m.writes)) {
        m = (struct sample_memory){0};
        for (size_t i = 0; i < s->llc_domains; i++) {
            const struct sample_memory *pair = &s->traffic[i * s->numa_nodes + memory];
            m.reads += pair->reads;
            m.writes += pair->writes;
            m.prefetches += pair->prefetches;
        }
    }
    run->reads += m.reads;
    run->writes += m.writes;
    run->prefetches += isnan(m.prefetches) ? 0 : m.prefetches;
}

/* Adds what was counted since the last time, and returns when that was.  Who reads the counters
 * shares a core with a stream: if that came between, once more. */
static double count(const struct calibrate_options *o, size_t memory, struct calibrate_run *run)
{
    const struct sample *sample;
    double before = now_us(), after = before;

    for (int i = 0; o->counters && i < TRIES; i++, before = after) {
        int rc = counters_sample(o->counters, (uint64_t)LEAST_US * 1000, &sample, NULL);
        after = now_us();
        run->counted = rc == 0;
        if (rc < 0)
            break;
        take_counts(sample, memory, run);
        if (after - before < SHARP_US)
            break;
    }
    return (before + after) / 2;
}

static double requests(const struct calibrate_run *run)
{
    return run->reads + run->writes + run->prefetches;
}

/* What is counted in short intervals from LAST_US on. */
static void look_often(const struct calibrate_options *o, size_t memory, double last_us,
                       struct calibrate_run *run)
{
    while (run->looks < CALIBRATE_LOOKS) {
        struct calibrate_run one = {0};
        usleep(LOOK_US);
        double us = count(o, memory, &one);
        if (!one.counted)
            break;
        run->look[run->looks++] = (struct calibrate_look){us - last_us, requests(&one)};
        last_us = us;
    }
}

/* While all streams run: a time, and what was counted in it. */
static void look(const struct calibrate_options *o, struct group *g, size_t memory,
                 struct calibrate_run *run)
{
    struct calibrate_run ignored = {0};

    set(g, &g->go);
    double start = count(o, memory, &ignored);
    wait_for(g, &g->done, g->count);
    double left = LEAST_US - (now_us() - start);
    if (left > 0)
        usleep((useconds_t)left);
    double end = count(o, memory, run);
    run->us = end - start;
    run->counted = ignored.counted && run->counted && run->reads + run->writes > 0;
    if (run->counted && g->at_home)
        look_often(o, memory, end, run);
    set(g, &g->stop);
    if (!run->counted)
        run->reads = run->writes = run->prefetches = 0;
}

/* The requests that the kernels make in the time of RUN; each stream has its own. */
static void take_lines(const struct group *g, struct calibrate_run *run)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct stream *s = &g->stream[i];
        double reads, writes, part = (double)s->passes * run->us / s->us;
        kernel_lines(g->kernel, s->memory.arrays.count, g->stride, &reads, &writes);
        run->reads += reads * part;
        run->writes += writes * part;
    }
}

/* COUNT streams of GROUP at the same time. */
static int run_together(const struct calibrate_options *o, struct group *g, size_t memory,
                        struct calibrate_run *run, struct errtext *err)
{
    size_t started = 0;
    bool right = true;

    g->begun = g->done = 0;
    g->go = g->stop = false;
    for (; started < g->count; started++) {
        struct stream *s = &g->stream[started];
        s->group = g;
        s->passes = 0;
        s->sum = 0;
        if (pthread_create(&s->thread, NULL, run_stream, s) != 0)
            break;
    }
    if (started < g->count) {
        set(g, &g->stop);
    } else {
        wait_for(g, &g->begun, g->count);
        look(o, g, memory, run);
    }
    for (size_t i = 0; i < started; i++) {
        pthread_join(g->stream[i].thread, NULL);
        right &= isfinite(g->stream[i].sum) != 0;
    }
    if (started < g->count)
        return errtext_set(err, EAGAIN, "calibrate: no more threads");
    if (!right)
        return errtext_set(err, EIO, "kernel %s: wrong result", kernel_names[g->kernel]);
    if (!run->counted)
        take_lines(g, run);
    return 0;
}

/* The best of the repetitions. */
static int run_best(const struct calibrate_options *o, struct group *g, size_t memory,
                    struct calibrate_run *best, struct errtext *err)
{
    size_t all = g->stride / sizeof(double);
    int rc = 0;

    g->least = o->passes < all ? o->passes : all;
    for (int i = 0; rc == 0 && i < o->repetitions; i++) {
        struct calibrate_run one = {0};
        rc = run_together(o, g, memory, &one, err);
        if (rc == 0 && requests(&one) * best->us >= requests(best) * one.us)
            *best = one;
    }
    return rc;
}

/* ---- groups -------------------------------------------------------------- */

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

/* A stream on each core of DOMAIN, or of all domains, each domain's arrays together as large as
 * those asked for. */
static int new_group(struct group *g, const struct topology *t,
                     const struct calibrate_options *o, size_t domain, size_t memory,
                     struct errtext *err)
{
    const struct machine *m = topology_machine(t);

    *g = (struct group){.stream = calloc(m->cpus, sizeof(*g->stream)),
                        .at_home = domain < m->llc_domains &&
                                   m->local_node[domain] == (int)memory,
                        .mutex = PTHREAD_MUTEX_INITIALIZER,
                        .moved = PTHREAD_COND_INITIALIZER};
    if (!g->stream)
        return errtext_set(err, ENOMEM, "calibrate: out of memory");
    for (size_t c = 0; c < m->cpus; c++) {
        int of = m->llc_domain[c];
        if (of < 0 || (domain < m->llc_domains && of != (int)domain))
            continue;
        struct stream *s = &g->stream[g->count];
        size_t bytes = o->array_bytes / machine_node_cpus(m, (size_t)of) / PAGE;
        s->cpu = (int)c;
        if (new_memory(&s->memory, t, memory, (bytes ? bytes : 1) * PAGE, err) < 0)
            return -1;
        g->count++;
    }
    return 0;
}

static void free_group(struct group *g)
{
    for (size_t i = 0; i < g->count; i++)
        free_memory(&g->stream[i].memory);
    free(g->stream);
    pthread_cond_destroy(&g->moved);
    pthread_mutex_destroy(&g->mutex);
}

/* Brings every other stream of GROUP to the front: half of the cores of each LLC domain. */
static void spread(struct group *g)
{
    for (size_t i = 1; 2 * i < g->count; i++) {
        struct stream other = g->stream[i];
        g->stream[i] = g->stream[2 * i];
        g->stream[2 * i] = other;
    }
}

/* Every run of GROUP, and one of half of its cores. */
static int run_kernels(const struct calibrate_options *o, struct calibration *c,
                       struct group *g, size_t domain, size_t memory, struct errtext *err)
{
    size_t count = g->count;
    int rc = check_kernels(&g->stream[0].memory.arrays, o->passes, err);

    for (g->kernel = 0; rc == 0 && g->kernel < KERNELS; g->kernel++)
        for (size_t s = 0; rc == 0 && s < CALIBRATE_STRIDES; s++) {
            g->stride = calibrate_strides[s];
            rc = run_best(o, g, memory, calibration_run(c, domain, memory, g->kernel, s), err);
        }
    spread(g);
    g->kernel = KERNEL_LOAD;
    g->stride = KERNEL_LINE;
    g->count = count / 2;
    g->at_home = false; /* nobody asks for these looks */
    if (rc == 0 && g->count)
        rc = run_best(o, g, memory, calibration_half(c, domain, memory), err);
    g->count = count;
    return rc;
}

static int run_all(const struct topology *t, const struct calibrate_options *o,
                   struct calibration *c, struct errtext *err)
{
    size_t domains = c->llc_domains, groups = domains > 1 ? domains + 1 : domains;
    size_t total = groups * c->numa_nodes, done = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < groups; i++)
        for (size_t j = 0; rc == 0 && j < c->numa_nodes; j++) {
            char what[64] = "all cores";
            struct group group;
            if (i < domains)
                snprintf(what, sizeof(what), "LLC domain %zu", i);
            snprintf(what + strlen(what), sizeof(what) - strlen(what), ", NUMA node %zu", j);
            if (o->progress)
                o->progress(o->arg, done++, total, what);
            rc = new_group(&group, t, o, i, j, err);
            if (rc == 0 && group.count)
                rc = run_kernels(o, c, &group, i, j, err);
            free_group(&group);
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

    if (!c) {
        errtext_set(err, ENOMEM, "calibrate: out of memory");
        return NULL;
    }
    if (run_all(t, o, c, err) == 0)
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
