/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters from the page of an emulated machine. */

#include "node_agent/counters/emulated.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node_agent/counters/perf_sysfs.h"
#include "protocol/cpulist.h"
#include "protocol/emulated_counters.h"

#define MOST_TRIES 1000 /* to find the page unwritten: twice is usual */
#define DEVICES    "bus/pci/devices"

struct emulated {
    const struct counters_setup *setup;
    const struct emulated_counters *page;
    size_t cpus; /* that the page counts */
    bool lost;   /* the last sample could not be taken, and that was said */
    struct emulated_cpu before[EMULATED_CPUS], now[EMULATED_CPUS];
};

/* ---- opening ------------------------------------------------------------ */

static bool is_device(const char *sysfs, const char *name)
{
    char file[PATH_MAX], text[16];
    unsigned vendor, device;

    snprintf(file, sizeof(file), DEVICES "/%.200s/vendor", name);
    if (perf_sysfs_line(sysfs, file, text, sizeof(text)) < 0 ||
        sscanf(text, "%x", &vendor) != 1)
        return false;
    snprintf(file, sizeof(file), DEVICES "/%.200s/device", name);
    return perf_sysfs_line(sysfs, file, text, sizeof(text)) == 0 &&
           sscanf(text, "%x", &device) == 1 && vendor == EMULATED_PCI_VENDOR &&
           device == EMULATED_PCI_DEVICE;
}

/* PATH of the page below SYSFS. */
static int find_page(const char *sysfs, char *path, size_t size)
{
    bool found = false;
    const struct dirent *e;

    snprintf(path, size, "%s/" DEVICES, sysfs);
    DIR *dir = opendir(path);
    while (dir && !found && (e = readdir(dir)))
        if ((found = is_device(sysfs, e->d_name)))
            snprintf(path, size, "%s/" DEVICES "/%.200s/resource2", sysfs,
                     e->d_name);
    if (dir)
        closedir(dir);
    return found ? 0 : -1;
}

/* Map PATH, which must be large enough: a read beyond its end would be a
 * signal. */
static const struct emulated_counters *map_page(const char *path,
                                                struct errtext *err)
{
    struct stat info;
    void *map = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), saved;

    if (fd >= 0 && fstat(fd, &info) == 0) {
        if (info.st_size < EMULATED_BYTES)
            errno = ENOTSUP;
        else
            map = mmap(NULL, EMULATED_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    }
    saved = errno;
    if (fd >= 0)
        close(fd);
    if (map != MAP_FAILED)
        return map;
    if (saved == ENOTSUP)
        errtext_set(err, saved, "emulated: %.100s: no page of counters", path);
    else
        errtext_set(err, saved, "emulated: %.100s: %s", path, strerror(saved));
    return NULL;
}

/* Does PAGE count this machine? */
static int check_page(const struct emulated_counters *page,
                      const struct counters_setup *setup, struct errtext *err)
{
    uint32_t cpus = page->cpus, nodes = page->nodes;
    int last = -1;

    if (page->magic != EMULATED_MAGIC)
        return errtext_set(err, ENOTSUP, "emulated: no page of counters");
    if (page->version != EMULATED_VERSION)
        return errtext_set(err, ENOTSUP,
                           "emulated: the page has version %u, not %d",
                           page->version, EMULATED_VERSION);
    for (int c = -1; (c = cpuset_next(setup->cpus, c)) >= 0;)
        last = c;
    if (cpus > EMULATED_CPUS || (int)cpus <= last ||
        nodes != setup->machine->numa_nodes || nodes > EMULATED_NODES)
        return errtext_set(err, ENOTSUP,
                           "emulated: the page counts %u CPUs and %u NUMA "
                           "nodes, the machine has %d and %zu",
                           cpus, nodes, last + 1, setup->machine->numa_nodes);
    return 0;
}

/* Copy the counts of one instant. */
static int take(const struct emulated *e, struct emulated_cpu *to)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        uint64_t before = atomic_load_explicit(&e->page->sequence,
                                               memory_order_acquire);
        memcpy(to, e->page->cpu, e->cpus * sizeof(*to));
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 &&
            atomic_load_explicit(&e->page->sequence, memory_order_relaxed) ==
                before)
            return 0;
    }
    return -1;
}

static void emulated_close(void *state)
{
    struct emulated *e = state;

    if (e && e->page)
        munmap((void *)e->page, EMULATED_BYTES);
    free(e);
}

static int emulated_open(const struct counters_setup *setup, void **state,
                         struct errtext *err)
{
    char path[PATH_MAX];

    if (*setup->argument)
        snprintf(path, sizeof(path), "%s", setup->argument);
    else if (find_page(setup->sysfs, path, sizeof(path)) < 0)
        return errtext_set(err, ENOTSUP, "emulated: not an emulated machine");
    struct emulated *e = calloc(1, sizeof(*e));
    if (!e)
        return errtext_set(err, ENOMEM, "emulated: out of memory");
    e->setup = setup;
    e->page = map_page(path, err);
    if (e->page && check_page(e->page, setup, err) == 0) {
        e->cpus = e->page->cpus;
        if (e->cpus <= EMULATED_CPUS && take(e, e->before) == 0) {
            *state = e;
            return 0;
        }
        errtext_set(err, EBUSY, "emulated: the page is always being written");
    }
    int saved = errno;
    emulated_close(e);
    errno = saved;
    return -1;
}

/* ---- sampling ----------------------------------------------------------- */

/* What is new of a count; NAN when it fell, and *FELL. */
static double grown(uint64_t before, uint64_t now, bool *fell)
{
    if (now >= before)
        return (double)(now - before);
    *fell = true;
    return NAN;
}

/* CPU's requests by NUMA node, into its own sums and those of node and LLC
 * domain. */
static void add_requests(const struct emulated *e, size_t cpu, struct sample *s,
                         bool *fell)
{
    const struct emulated_cpu *a = &e->before[cpu], *b = &e->now[cpu];
    const struct machine *machine = e->setup->machine;
    int domain = cpu < machine->cpus ? e->setup->llc_domain[cpu] : -1;
    double local = 0, remote = 0;

    for (size_t m = 0; m < s->numa_nodes; m++) {
        double reads = grown(a->reads[m], b->reads[m], fell);
        double writes = grown(a->writes[m], b->writes[m], fell);
        s->memory[m].reads += reads;
        s->memory[m].writes += writes;
        if (domain < 0)
            continue;
        struct sample_memory *t =
            &s->traffic[(size_t)domain * s->numa_nodes + m];
        t->reads += reads;
        t->writes += writes;
        *((size_t)machine->local_node[domain] == m ? &local : &remote) += reads;
    }
    if (cpu < s->cpus && cpuset_has(e->setup->cpus, (int)cpu)) {
        s->cpu[cpu].local_misses = local;
        s->cpu[cpu].remote_misses = remote;
        s->cpu[cpu].read_misses = local + remote;
    }
}

static void add_core(const struct emulated *e, size_t cpu, struct sample *s,
                     bool *fell)
{
    const struct emulated_cpu *a = &e->before[cpu], *b = &e->now[cpu];
    struct sample_cpu *to = &s->cpu[cpu];

    to->cycles = grown(a->cycles, b->cycles, fell);
    to->stalled = grown(a->stalled, b->stalled, fell);
    to->instructions = grown(a->instructions, b->instructions, fell);
    to->llc_accesses = grown(a->llc_accesses, b->llc_accesses, fell);
}

/* Says WHAT, once until it is good again. */
static int lost(struct emulated *e, const char *what, struct errtext *err)
{
    bool said = e->lost;

    e->lost = true;
    return said ? 0 : errtext_set(err, EIO, "emulated: %s", what);
}

static int emulated_sample(void *state, struct sample *s, struct errtext *err)
{
    struct emulated *e = state;
    bool fell = false;

    if (take(e, e->now) < 0)
        return lost(e, "the page is always being written", err);
    for (size_t m = 0; m < s->numa_nodes; m++)
        s->memory[m].reads = s->memory[m].writes = 0;
    for (size_t i = 0; i < s->llc_domains * s->numa_nodes; i++)
        s->traffic[i].reads = s->traffic[i].writes = 0;
    for (size_t c = 0; c < e->cpus; c++) {
        add_requests(e, c, s, &fell);
        if (c < s->cpus && cpuset_has(e->setup->cpus, (int)c))
            add_core(e, c, s, &fell);
    }
    memcpy(e->before, e->now, e->cpus * sizeof(*e->now));
    if (fell)
        return lost(e, "counts have fallen: a damaged page", err);
    e->lost = false;
    return 0;
}

static void emulated_describe(const void *state,
                              struct counters_ability *ability)
{
    static const enum counters_metric can[] = {
        COUNTERS_CYCLES,       COUNTERS_STALLED,       COUNTERS_INSTRUCTIONS,
        COUNTERS_LLC_ACCESSES, COUNTERS_READ_MISSES,   COUNTERS_LOCALITY,
        COUNTERS_MEMORY_READS, COUNTERS_MEMORY_WRITES, COUNTERS_TRAFFIC,
    };
    const struct emulated *e = state;

    for (size_t i = 0; i < COUNTERS_METRICS; i++)
        snprintf(ability[i].why, sizeof(ability[i].why),
                 "no emulated machine counts it");
    for (size_t i = 0; i < sizeof(can) / sizeof(can[0]); i++) {
        struct counters_ability *a = &ability[can[i]];
        a->can = true;
        a->shared = can[i] == COUNTERS_MEMORY_READS ||
                    can[i] == COUNTERS_MEMORY_WRITES ||
                    can[i] == COUNTERS_TRAFFIC;
        snprintf(a->why, sizeof(a->why), "page of the emulator, version %u",
                 e->page->version);
    }
}

const struct counters_backend counters_emulated = {
    .name = "emulated",
    .help = "the counters of an emulated machine",
    .flags = COUNTERS_AUTO,
    .open = emulated_open,
    .sample = emulated_sample,
    .describe = emulated_describe,
    .close = emulated_close,
};
