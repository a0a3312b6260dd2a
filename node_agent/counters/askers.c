/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which thread asks which NUMA node: misses, accesses or faults sampled by the kernel. */

#include "node_agent/counters/askers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/number_map.h"
#include "node_agent/counters/perf_events.h"
#include "node_agent/counters/perf_sysfs.h"
#include "node_agent/topology/topology.h"
#include "protocol/cpulist.h"

#define EVENTS 2        /* of a CPU at most */
#define BY_ADDRESS SIZE_MAX

/* Each so many-eth event: a prime, so that no loop is in step with it.  A core that does little
 * else has some 10^9 loads or 5 * 10^7 misses a second, and should not have much more than
 * 10^3 interrupts. */
#define MISSES_PERIOD 100003
#define LOADS_PERIOD 1000003
#define FAULTS_PERIOD 3
/* IBS varies the last bits itself, and wants them to be 0.  Of some 5 * 10^9 operations. */
#define OPS_PERIOD 4000000

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

/* Ways to know, the most exact first. */
enum way { MISSES, LOADS, OPS, FAULTS, WAYS };

struct ring {
    int fd; /* -1: not sampled */
    size_t node; /* to which its samples' requests went; BY_ADDRESS: see theirs */
    struct perf_event_mmap_page *header;
};

struct askers {
    const struct askers_source *source;
    const struct counters_setup *setup;
    enum way way;
    struct perf_pmu_event event[EVENTS]; /* [events], counted together */
    size_t events;
    bool sizes; /* the kernel tells pages' sizes */
    char why[160]; /* this way */
    size_t page, size; /* bytes of a page, and of a ring with its header */
    struct zone *zone; /* [zones] */
    size_t zones;
    struct ring *ring; /* [rings], EVENTS for each CPU */
    size_t rings, first; /* of them to be read */
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

static int kernel_open(void *arg, struct perf_event_attr *attr, int cpu, int group)
{
    (void)arg;
    return (int)syscall(SYS_perf_event_open, attr, -1, cpu, group, PERF_FLAG_FD_CLOEXEC);
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

const struct askers_source askers_kernel = {kernel_open, kernel_map, kernel_close, NULL};

/* ---- memory ------------------------------------------------------------- */

/* The machine's number of what the kernel calls NUMA node OS; numa_nodes: it has none. */
static size_t node_of(const struct counters_setup *setup, unsigned os)
{
    for (size_t m = 0; setup->topology && m < setup->machine->numa_nodes; m++)
        if (topology_memory_os(setup->topology, m) == (int)os)
            return m;
    return setup->topology || os >= setup->machine->numa_nodes ? setup->machine->numa_nodes : os;
}

static int add_zone(struct askers *a, const struct zone *zone)
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
static int read_zones(struct askers *a, struct errtext *err)
{
    char path[512], line[256];
    unsigned os = 0;
    unsigned long long spanned = 0, start;
    int rc = 0;

    snprintf(path, sizeof(path), "%s/zoneinfo", a->setup->procfs);
    FILE *file = fopen(path, "re");
    if (!file)
        return errtext_set(err, ENOTSUP, "askers: %s: %s", path, strerror(errno));
    while (rc == 0 && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "Node %u, zone", &os) == 1 || sscanf(line, " spanned %llu", &spanned) == 1)
            continue;
        if (sscanf(line, " start_pfn: %llu", &start) == 1)
            rc = add_zone(a, &(struct zone){start, start + spanned, node_of(a->setup, os)});
    }
    fclose(file);
    if (rc < 0)
        return errtext_set(err, ENOMEM, "askers: out of memory");
    return a->zones ? 0 : errtext_set(err, ENOTSUP, "askers: %s: no zones of memory", path);
}

static size_t node_of_address(const struct askers *a, uint64_t physical)
{
    uint64_t frame = physical >> FRAME_SHIFT;

    for (size_t i = 0; i < a->zones; i++)
        if (frame >= a->zone[i].first && frame < a->zone[i].end)
            return a->zone[i].node;
    return a->setup->machine->numa_nodes;
}

/* ---- ways --------------------------------------------------------------- */

static const char *const names[WAYS] = {"misses", "loads", "operations", "faults"};

/* The events of misses; why not, or NULL. */
static const char *find_misses(struct askers *a)
{
    static const enum perf_role role[EVENTS] = {PERF_LOCAL, PERF_REMOTE};

    if (a->setup->machine->numa_nodes != 2)
        return "more than two NUMA nodes";
    if (a->setup->packages != 2)
        return "both NUMA nodes in one package";
    for (size_t e = 0; e < EVENTS; e++) {
        const struct perf_encoding *found = perf_encoding_find(role[e], a->setup->cpu_model);
        if (!found)
            return "unknown for this CPU";
        a->event[e] = (struct perf_pmu_event){found->type, {found->config, 0, 0}};
    }
    a->events = EVENTS;
    return NULL;
}

/* Find the events of WAY; why not, or NULL. */
static const char *find_way(struct askers *a, enum way way)
{
    a->way = way;
    a->sizes = way == FAULTS;
    if (way == MISSES)
        return find_misses(a);
    a->events = 1;
    a->event[0] =
        (struct perf_pmu_event){PERF_TYPE_SOFTWARE, {PERF_COUNT_SW_PAGE_FAULTS_MIN, 0, 0}};
    if (way == LOADS &&
        perf_sysfs_event(a->setup->sysfs, "cpu", "mem-loads", &a->event[0], NULL) < 0)
        return "not described";
    if (way == OPS &&
        perf_sysfs_terms(a->setup->sysfs, "ibs_op", "cnt_ctl,swfilt", &a->event[0], NULL) < 0)
        return "not described";
    return NULL;
}

/* The NUMA node whose requests event E is of, when they are from CPU. */
static size_t node_of_event(const struct askers *a, size_t e, int cpu)
{
    if (a->way != MISSES)
        return BY_ADDRESS;
    size_t own = (size_t)a->setup->machine->local_node[a->setup->llc_domain[cpu]];
    return e == 0 ? own : 1 - own;
}

/* ---- opening ------------------------------------------------------------ */

static int open_event(const struct askers *a, size_t e, int cpu, int group)
{
    static const uint64_t period[WAYS] = {MISSES_PERIOD, LOADS_PERIOD, OPS_PERIOD, FAULTS_PERIOD};
    const struct perf_pmu_event *event = &a->event[e];
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = event->type,
        .config = event->config[0],
        .config1 = event->config[1],
        .config2 = event->config[2],
        .sample_period = period[a->way],
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR | REGISTERS |
                       (a->sizes ? ASKERS_PAGE_SIZE : 0),
        .sample_regs_user = REGISTERS ? UINT64_C(1) << STACK_POINTER : 0,
        .precise_ip = a->way == LOADS ? 2 : 0,
        .exclude_kernel = a->way != FAULTS, /* which may happen in a system call */
    };

    return a->source->open(a->source->arg, &attr, cpu, group);
}

static void close_ring(const struct askers *a, struct ring *r)
{
    if (r->fd >= 0)
        a->source->close(a->source->arg, r->fd, r->header, a->size);
    *r = (struct ring){.fd = -1};
}

static void close_all(const struct askers *a)
{
    int saved = errno;

    for (size_t i = 0; i < a->rings; i++)
        close_ring(a, &a->ring[i]);
    errno = saved;
}

/* In one group, so that all are counted for the same time. */
static int open_cpu(struct askers *a, int cpu)
{
    struct ring *r = &a->ring[(size_t)cpu * EVENTS];

    for (size_t e = 0; e < a->events; e++) {
        r[e].node = node_of_event(a, e, cpu);
        r[e].fd = open_event(a, e, cpu, e ? r[0].fd : -1);
        if (r[e].fd < 0 ||
            !(r[e].header = a->source->map(a->source->arg, r[e].fd, a->size)))
            return -1;
    }
    return 0;
}

/* -1 with errno, unless that is of CPUs that are offline and there are others. */
static int open_all(struct askers *a)
{
    bool any = false;

    for (int c = -1; (c = cpuset_next(a->setup->cpus, c)) >= 0;) {
        if ((size_t)c >= a->setup->machine->cpus)
            continue;
        if (open_cpu(a, c) == 0)
            any = true;
        else if (a->ring[(size_t)c * EVENTS].fd >= 0 || (errno != ENODEV && errno != ENXIO)) {
            close_all(a);
            return -1;
        }
    }
    return any ? 0 : -1;
}

static int open_way(struct askers *a)
{
    if (open_all(a) == 0)
        return 0;
    if (!a->sizes)
        return -1;
    a->sizes = false; /* before Linux 5.11 */
    return open_all(a);
}

/* The first way that the kernel and the processor have. */
static int open_best(struct askers *a, struct errtext *err)
{
    static const char *const what[WAYS] = {"local and remote misses", "addresses of loads",
                                           "addresses of loads and stores",
                                           "page faults: first touches"};
    char level[32] = "?", passed[200] = "";
    size_t used = 0;

    for (enum way way = 0; way < WAYS; way++) {
        if (way == LOADS && read_zones(a, err) < 0) /* misses need no addresses */
            return -1;
        const char *why = find_way(a, way);
        if (!why && open_way(a) == 0) {
            snprintf(a->why, sizeof(a->why), "%s%s", what[way], passed);
            return 0;
        }
        why = why ? why : strerror(errno);
        if (used < sizeof(passed))
            used += (size_t)snprintf(passed + used, sizeof(passed) - used, "; no %s: %s",
                                     names[way], why);
    }
    int saved = errno;
    perf_sysfs_line(a->setup->procfs, "sys/kernel/perf_event_paranoid", level, sizeof(level));
    return errtext_set(err, saved,
                       "askers: %s (perf_event_paranoid is %s; 3 is for CAP_SYS_ADMIN alone)",
                       passed + strlen("; "), level);
}

int askers_open(const struct askers_source *source, const struct counters_setup *setup,
                void **state, struct errtext *err)
{
    if (!setup->threads)
        return errtext_set(err, ENOTSUP, "askers: no policy maps threads (option mapping)");
    if (setup->machine->numa_nodes < 2)
        return errtext_set(err, ENOTSUP, "askers: there is one NUMA node");
    struct askers *a = calloc(1, sizeof(*a));
    if (!a || !(a->ring = calloc(setup->machine->cpus * EVENTS, sizeof(*a->ring)))) {
        free(a);
        return errtext_set(err, ENOMEM, "askers: out of memory");
    }
    a->source = source;
    a->setup = setup;
    a->page = (size_t)sysconf(_SC_PAGESIZE);
    a->size = (1 + ASKERS_RING_PAGES) * a->page;
    a->rings = setup->machine->cpus * EVENTS;
    for (size_t i = 0; i < a->rings; i++)
        a->ring[i].fd = -1;
    if (open_best(a, err) < 0) {
        int saved = errno;
        askers_close(a);
        errno = saved;
        return -1;
    }
    *state = a;
    return 0;
}

void askers_close(void *state)
{
    struct askers *a = state;

    if (!a)
        return;
    close_all(a);
    number_map_clear(&a->rows);
    free(a->ring);
    free(a->zone);
    free(a);
}

/* ---- sampling ----------------------------------------------------------- */

/* The row of THREAD in SAMPLE; SAMPLE_THREADS: there is no room. */
static size_t row_of(struct askers *a, const struct sample_thread *thread,
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

/* What RECORD of RING says. */
static void add_record(struct askers *a, const struct ring *ring, const struct record *record,
                       struct sample *sample)
{
    size_t node = ring->node;

    if (node == BY_ADDRESS)
        node = record->physical ? node_of_address(a, record->physical) : sample->numa_nodes;
    if (record->thread.tid <= 0 || node == sample->numa_nodes)
        return;
    size_t row = row_of(a, &record->thread, sample);
    if (row == SAMPLE_THREADS)
        return;
    double pages = a->way == FAULTS && record->page_size >> FRAME_SHIFT > 1
                       ? (double)(record->page_size >> FRAME_SHIFT)
                       : 1;
    sample->thread_requests[row * sample->numa_nodes + node] += pages;
}

/* SIZE bytes of RING at position TAIL, which may be at its end and its begin. */
static void copy(const struct askers *a, const struct ring *ring, uint64_t tail, void *to,
                 size_t size)
{
    const char *data = (const char *)ring->header + a->page;
    size_t bytes = ASKERS_RING_PAGES * a->page, at = tail % bytes;
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

static void read_ring(struct askers *a, struct ring *ring, struct sample *sample)
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
                add_record(a, ring, &record, sample);
        }
        tail += header.size;
    }
    __atomic_store_n(&ring->header->data_tail, head, __ATOMIC_RELEASE);
}

int askers_sample(void *state, struct sample *sample, struct errtext *err)
{
    struct askers *a = state;

    (void)err;
    /* Who fills the sample on one CPU does not keep those on others out for ever. */
    a->first = (a->first + 1) % a->rings;
    for (size_t n = 0; n < a->rings; n++) {
        struct ring *ring = &a->ring[(a->first + n) % a->rings];
        if (ring->fd >= 0)
            read_ring(a, ring, sample);
    }
    number_map_clear(&a->rows);
    return 0;
}

void askers_describe(const void *state, struct counters_ability *ability)
{
    const struct askers *a = state;

    ability[COUNTERS_THREADS].can = true;
    snprintf(ability[COUNTERS_THREADS].why, sizeof(ability[COUNTERS_THREADS].why), "%s", a->why);
}

static int open_kernel(const struct counters_setup *setup, void **state, struct errtext *err)
{
    return askers_open(&askers_kernel, setup, state, err);
}

const struct counters_backend counters_askers = {
    .name = "askers",
    .help = "which thread asks which NUMA node, from samples",
    .flags = COUNTERS_SUPPLEMENT | COUNTERS_STILL,
    .open = open_kernel,
    .sample = askers_sample,
    .describe = askers_describe,
    .close = askers_close,
};
