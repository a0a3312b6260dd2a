/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which thread asks which NUMA node: addresses sampled by the kernel. */

#include "node_agent/counters/addresses.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/number_map.h"
#include "node_agent/counters/perf_sysfs.h"
#include "node_agent/topology/topology.h"
#include "protocol/cpulist.h"

/* Each so many-eth event: a prime, so that no loop is in step with it. */
#define LOADS_PERIOD 10007
#define FAULTS_PERIOD 3

#define FRAME_SHIFT 12 /* page frames of zoneinfo, and what faults are counted in */
#define ZONES_MOST 1024

/* The stack pointer among the kernel's registers.  Without it nothing is known of a library's
 * tasks, which take turns on a thread. */
#if defined __x86_64__
#define STACK_POINTER 7
#elif defined __aarch64__
#define STACK_POINTER 31
#endif
#ifdef STACK_POINTER
#define REGISTERS PERF_SAMPLE_REGS_USER
#else
#define REGISTERS 0
#define STACK_POINTER 0
#endif

/* Page frames of one zone. */
struct zone {
    uint64_t first, end;
    size_t node; /* of the machine */
};

struct ring {
    int fd; /* -1: not sampled */
    struct perf_event_mmap_page *header;
};

struct addresses {
    const struct addresses_source *source;
    const struct counters_setup *setup;
    bool loads; /* else faults */
    bool sizes; /* the kernel tells pages' sizes */
    size_t page, size; /* bytes of a page, and of a ring with its header */
    struct zone *zone; /* [zones] */
    size_t zones;
    struct ring *ring; /* [machine->cpus] */
    size_t first;      /* of them to be read */
    struct number_map rows; /* sample_thread_key() -> its row in the sample, + 1 */
};

/* What a sample says. */
struct record {
    struct sample_thread thread;
    uint64_t physical, page_size;
};

/* Its words, after the header: thread, address, how many bits the registers have and, unless that
 * is 0, the stack pointer; physical address; page size. */
#define RECORD_WORDS 6

/* ---- the kernel --------------------------------------------------------- */

static int kernel_open(void *arg, struct perf_event_attr *attr, int cpu)
{
    (void)arg;
    return (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void *kernel_map(void *arg, int fd, size_t size)
{
    void *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    (void)arg;
    return ring == MAP_FAILED ? NULL : ring;
}

static void kernel_close(void *arg, int fd, void *ring, size_t size)
{
    (void)arg;
    if (ring)
        munmap(ring, size);
    close(fd);
}

const struct addresses_source addresses_kernel = {kernel_open, kernel_map, kernel_close, NULL};

/* ---- memory ------------------------------------------------------------- */

/* The machine's number of what the kernel calls NUMA node OS; numa_nodes: it has none. */
static size_t node_of(const struct counters_setup *setup, unsigned os)
{
    for (size_t m = 0; setup->topology && m < setup->machine->numa_nodes; m++)
        if (topology_memory_os(setup->topology, m) == (int)os)
            return m;
    return setup->topology || os >= setup->machine->numa_nodes ? setup->machine->numa_nodes : os;
}

static int add_zone(struct addresses *a, const struct zone *zone)
{
    if (zone->end == zone->first || zone->node == a->setup->machine->numa_nodes ||
        a->zones == ZONES_MOST)
        return 0;
    struct zone *grown = realloc(a->zone, (a->zones + 1) * sizeof(*grown));
    if (!grown)
        return -1;
    a->zone = grown;
    a->zone[a->zones++] = *zone;
    return 0;
}

/* "Node 0, zone Normal", then "spanned N", then "start_pfn: N", of each. */
static int read_zones(struct addresses *a, struct errtext *err)
{
    char path[512], line[256];
    unsigned os = 0;
    unsigned long long spanned = 0, start;
    int rc = 0;

    snprintf(path, sizeof(path), "%s/zoneinfo", a->setup->procfs);
    FILE *file = fopen(path, "re");
    if (!file)
        return errtext_set(err, ENOTSUP, "addresses: %s: %s", path, strerror(errno));
    while (rc == 0 && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "Node %u, zone", &os) == 1 || sscanf(line, " spanned %llu", &spanned) == 1)
            continue;
        if (sscanf(line, " start_pfn: %llu", &start) == 1)
            rc = add_zone(a, &(struct zone){start, start + spanned, node_of(a->setup, os)});
    }
    fclose(file);
    if (rc < 0)
        return errtext_set(err, ENOMEM, "addresses: out of memory");
    return a->zones ? 0 : errtext_set(err, ENOTSUP, "addresses: %s: no zones of memory", path);
}

static size_t node_of_address(const struct addresses *a, uint64_t physical)
{
    uint64_t frame = physical >> FRAME_SHIFT;

    for (size_t i = 0; i < a->zones; i++)
        if (frame >= a->zone[i].first && frame < a->zone[i].end)
            return a->zone[i].node;
    return a->setup->machine->numa_nodes;
}

/* ---- opening ------------------------------------------------------------ */

static int open_event(const struct addresses *a, const struct perf_pmu_event *loads, int cpu)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = loads ? loads->type : PERF_TYPE_SOFTWARE,
        .config = loads ? loads->config[0] : PERF_COUNT_SW_PAGE_FAULTS_MIN,
        .config1 = loads ? loads->config[1] : 0,
        .config2 = loads ? loads->config[2] : 0,
        .sample_period = loads ? LOADS_PERIOD : FAULTS_PERIOD,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR | REGISTERS |
                       (a->sizes ? ADDRESSES_PAGE_SIZE : 0),
        .sample_regs_user = REGISTERS ? UINT64_C(1) << STACK_POINTER : 0,
        .precise_ip = loads ? 2 : 0,
        .exclude_kernel = loads != NULL, /* a fault may happen in a system call */
    };

    return a->source->open(a->source->arg, &attr, cpu);
}

static void close_ring(const struct addresses *a, struct ring *r)
{
    if (r->fd >= 0)
        a->source->close(a->source->arg, r->fd, r->header, a->size);
    *r = (struct ring){.fd = -1};
}

/* -1 with errno, unless CPU is offline. */
static int open_ring(struct addresses *a, const struct perf_pmu_event *loads, int cpu)
{
    struct ring *r = &a->ring[cpu];

    r->fd = open_event(a, loads, cpu);
    if (r->fd < 0)
        return errno == ENODEV || errno == ENXIO ? 0 : -1;
    if ((r->header = a->source->map(a->source->arg, r->fd, a->size)))
        return 0;
    int saved = errno;
    close_ring(a, r);
    errno = saved;
    return -1;
}

static int open_all(struct addresses *a, const struct perf_pmu_event *loads)
{
    for (int c = -1; (c = cpuset_next(a->setup->cpus, c)) >= 0;)
        if ((size_t)c < a->setup->machine->cpus && open_ring(a, loads, c) < 0) {
            int saved = errno;
            for (size_t k = 0; k < a->setup->machine->cpus; k++)
                close_ring(a, &a->ring[k]);
            errno = saved;
            return -1;
        }
    return 0;
}

/* The first way that the kernel and the processor have. */
static int open_best(struct addresses *a, struct errtext *err)
{
    struct perf_pmu_event loads;
    bool described =
        perf_sysfs_event(a->setup->sysfs, "cpu", "mem-loads", &loads, NULL) == 0;

    for (int way = described ? 0 : 2; way < 4; way++) {
        a->loads = way < 2;
        a->sizes = way % 2 == 0; /* not before Linux 5.11 */
        if (open_all(a, a->loads ? &loads : NULL) == 0)
            return 0;
    }
    char level[32] = "?";
    int saved = errno;
    perf_sysfs_line(a->setup->procfs, "sys/kernel/perf_event_paranoid", level, sizeof(level));
    return errtext_set(err, saved,
                       "addresses: %s (perf_event_paranoid is %s; 3 is for CAP_SYS_ADMIN alone)",
                       strerror(saved), level);
}

int addresses_open(const struct addresses_source *source, const struct counters_setup *setup,
                   void **state, struct errtext *err)
{
    if (!setup->threads)
        return errtext_set(err, ENOTSUP, "addresses: no policy maps threads (option mapping)");
    if (setup->machine->numa_nodes < 2)
        return errtext_set(err, ENOTSUP, "addresses: there is one NUMA node");
    struct addresses *a = calloc(1, sizeof(*a));
    if (!a || !(a->ring = calloc(setup->machine->cpus, sizeof(*a->ring)))) {
        free(a);
        return errtext_set(err, ENOMEM, "addresses: out of memory");
    }
    a->source = source;
    a->setup = setup;
    a->page = (size_t)sysconf(_SC_PAGESIZE);
    a->size = (1 + ADDRESSES_RING_PAGES) * a->page;
    for (size_t c = 0; c < setup->machine->cpus; c++)
        a->ring[c].fd = -1;
    if (read_zones(a, err) < 0 || open_best(a, err) < 0) {
        int saved = errno;
        addresses_close(a);
        errno = saved;
        return -1;
    }
    *state = a;
    return 0;
}

void addresses_close(void *state)
{
    struct addresses *a = state;

    if (!a)
        return;
    for (size_t c = 0; c < a->setup->machine->cpus; c++)
        close_ring(a, &a->ring[c]);
    number_map_clear(&a->rows);
    free(a->ring);
    free(a->zone);
    free(a);
}

/* ---- sampling ----------------------------------------------------------- */

/* The row of THREAD in SAMPLE; SAMPLE_THREADS: there is no room. */
static size_t row_of(struct addresses *a, const struct sample_thread *thread,
                     struct sample *sample)
{
    uintptr_t known = (uintptr_t)number_map_find(&a->rows, sample_thread_key(thread));

    if (known)
        return known - 1;
    size_t row = sample_add_thread(sample, thread);
    if (row < SAMPLE_THREADS)
        number_map_put(&a->rows, sample_thread_key(thread), (void *)(uintptr_t)(row + 1));
    return row;
}

static void add_record(struct addresses *a, const struct record *record, struct sample *sample)
{
    size_t node = node_of_address(a, record->physical);

    if (record->thread.tid <= 0 || !record->physical || node == sample->numa_nodes)
        return;
    size_t row = row_of(a, &record->thread, sample);
    if (row == SAMPLE_THREADS)
        return;
    double pages = !a->loads && record->page_size >> FRAME_SHIFT > 1
                       ? (double)(record->page_size >> FRAME_SHIFT)
                       : 1;
    sample->thread_requests[row * sample->numa_nodes + node] += pages;
}

/* SIZE bytes of RING at position TAIL, which may be at its end and its begin. */
static void copy(const struct addresses *a, const struct ring *ring, uint64_t tail, void *to,
                 size_t size)
{
    const char *data = (const char *)ring->header + a->page;
    size_t bytes = ADDRESSES_RING_PAGES * a->page, at = tail % bytes;
    size_t first = size < bytes - at ? size : bytes - at;

    memcpy(to, data + at, first);
    memcpy((char *)to + first, data, size - first);
}

/* What COUNT words of a record say; false: too little. */
static bool read_words(const uint64_t *word, size_t count, struct record *record)
{
    bool asked = REGISTERS != 0, registers = asked && count > 2 && word[2];
    size_t physical = (size_t)2 + asked + registers;

    if (count <= physical)
        return false;
    memcpy(&record->thread.pid, &word[0], sizeof(uint32_t));
    memcpy(&record->thread.tid, (const char *)&word[0] + sizeof(uint32_t), sizeof(uint32_t));
    record->thread.stack = registers ? word[3] & INT64_MAX : 0; /* the program's to choose */
    record->physical = word[physical];
    record->page_size = count > physical + 1 ? word[physical + 1] : 0;
    return true;
}

static void read_ring(struct addresses *a, struct ring *ring, struct sample *sample)
{
    uint64_t head = __atomic_load_n(&ring->header->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->header->data_tail;

    while (tail < head) {
        struct perf_event_header header;
        uint64_t word[RECORD_WORDS];
        struct record record;
        copy(a, ring, tail, &header, sizeof(header));
        if (header.size < sizeof(header))
            break;
        size_t words = (header.size - sizeof(header)) / sizeof(*word);
        words = words < RECORD_WORDS ? words : RECORD_WORDS;
        if (header.type == PERF_RECORD_SAMPLE) {
            copy(a, ring, tail + sizeof(header), word, words * sizeof(*word));
            if (read_words(word, words, &record))
                add_record(a, &record, sample);
        }
        tail += header.size;
    }
    __atomic_store_n(&ring->header->data_tail, head, __ATOMIC_RELEASE);
}

int addresses_sample(void *state, struct sample *sample, struct errtext *err)
{
    struct addresses *a = state;

    size_t cpus = a->setup->machine->cpus;

    (void)err;
    /* Who fills the sample on one CPU does not keep those on others out for ever. */
    a->first = (a->first + 1) % cpus;
    for (size_t n = 0; n < cpus; n++) {
        struct ring *ring = &a->ring[(a->first + n) % cpus];
        if (ring->fd >= 0)
            read_ring(a, ring, sample);
    }
    number_map_clear(&a->rows);
    return 0;
}

void addresses_describe(const void *state, struct counters_ability *ability)
{
    const struct addresses *a = state;

    ability[COUNTERS_THREADS].can = true;
    snprintf(ability[COUNTERS_THREADS].why, sizeof(ability[COUNTERS_THREADS].why), "%s",
             a->loads ? "mem-loads: addresses of loads" : "page faults: first touches");
}

static int open_kernel(const struct counters_setup *setup, void **state, struct errtext *err)
{
    return addresses_open(&addresses_kernel, setup, state, err);
}

const struct counters_backend counters_addresses = {
    .name = "addresses",
    .help = "which thread asks which NUMA node, from sampled addresses",
    .flags = COUNTERS_SUPPLEMENT | COUNTERS_STILL,
    .open = open_kernel,
    .sample = addresses_sample,
    .describe = addresses_describe,
    .close = addresses_close,
};
