/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Measures an emulated machine from inside: programs of known cost.
 *
 * usage:
 *   probe loop ITERATIONS            one loop, divided among 1, 2, 4, ... threads
 *   probe barrier COUNT ITERATIONS   barriers of all threads, a loop before each
 *   probe sleep SECONDS
 *   probe triad CPUS NODE KIB COUNT  on each CPU of the list, memory on NODE (-1: its own)
 *   probe count CPU NODE             loops and loads of known number against the counters
 *   probe latency CPU NODE LOOPS     of a load that depends on the one before; loops between
 *   probe clock COUNT                the clock never goes back on one CPU
 *   probe interleave COMMAND...      becomes COMMAND, whose pages are dealt to all nodes in turn
 *
 * Each but the last prints lines `NAME key value ...`. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "protocol/cpulist.h"
#include "protocol/emulated_counters.h"

#define MPOL_BIND  2
#define MPOL_INTERLEAVE 3
#define LINE_BYTES 64

static _Atomic uint64_t sink;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void loop(long iterations)
{
    uint64_t x = (uint64_t)iterations;

    for (long i = 0; i < iterations; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    atomic_fetch_add(&sink, x);
}

static void on_cpu(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        perror("sched_setaffinity");
}

/* Pages of BYTES on NODE, or where the thread runs (-1), all touched. */
static void *memory(size_t bytes, int node)
{
    unsigned own = 0;

    syscall(SYS_getcpu, NULL, &own, NULL);
    unsigned long mask = 1ul << (node < 0 ? own : (unsigned)node);
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED ||
        syscall(SYS_mbind, at, bytes, MPOL_BIND, &mask, 8 * sizeof(mask), 0) < 0) {
        perror("probe: memory");
        exit(1);
    }
    memset(at, 1, bytes);
    return at;
}

/* ---- the page of counters ---- */

static bool write_one(const char *path)
{
    int fd = open(path, O_WRONLY);
    bool written = fd >= 0 && write(fd, "1", 1) == 1;

    if (fd >= 0)
        close(fd);
    return written;
}

static const struct emulated_counters *map_page(void)
{
    DIR *dir = opendir("/sys/bus/pci/devices");
    char path[PATH_MAX], text[16];

    for (struct dirent *e; dir && (e = readdir(dir));) {
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/device", e->d_name);
        FILE *f = fopen(path, "r");
        bool found = f && fgets(text, sizeof(text), f) &&
                     strtol(text, NULL, 16) == EMULATED_PCI_DEVICE;
        if (f)
            fclose(f);
        if (!found)
            continue;
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/enable", e->d_name);
        write_one(path);
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource2", e->d_name);
        int fd = open(path, O_RDWR);
        void *page = mmap(NULL, EMULATED_BYTES, PROT_READ, MAP_SHARED, fd, 0);
        if (page != MAP_FAILED && *(const uint64_t *)page == EMULATED_MAGIC)
            return page;
    }
    fprintf(stderr, "probe: no page of counters\n");
    exit(1);
}

/* The page as it was at one instant, a quantum after the call at the latest. */
static struct emulated_counters look(const struct emulated_counters *page)
{
    static struct emulated_counters copy;
    uint64_t start = atomic_load(&page->sequence), before;

    while (atomic_load(&page->sequence) == start)
        ;
    do {
        before = atomic_load_explicit(&page->sequence, memory_order_acquire);
        copy = *page;
        atomic_thread_fence(memory_order_acquire);
    } while (before % 2 || before != atomic_load(&page->sequence));
    return copy;
}

/* ---- measurements ---- */

static void measure_loop(long iterations)
{
    for (int threads = 1; threads <= omp_get_num_procs(); threads *= 2) {
        omp_set_num_threads(threads);
#pragma omp parallel
        loop(100);
        double start = now();
#pragma omp parallel
        loop(iterations / threads);
        printf("loop threads %d seconds %.6f\n", threads, now() - start);
    }
}

static void measure_barrier(int count, long iterations)
{
    for (int threads = 1; threads <= omp_get_num_procs(); threads *= 2) {
        omp_set_num_threads(threads);
#pragma omp parallel
        loop(100);
        double start = now();
#pragma omp parallel
        for (int i = 0; i < count; i++) {
            loop(iterations);
#pragma omp barrier
        }
        printf("barrier threads %d us %.3f\n", threads, (now() - start) / count * 1e6);
    }
}

static void measure_sleep(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    double start = now();

    nanosleep(&t, NULL);
    printf("sleep asked %.6f seconds %.6f\n", seconds, now() - start);
}

static void triad(double *restrict a, const double *b, const double *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 3.0 * c[i];
}

static uint64_t sum(const uint64_t *of, unsigned count)
{
    uint64_t all = 0;

    for (unsigned i = 0; i < count; i++)
        all += of[i];
    return all;
}

static void print_rates(const struct emulated_counters *a, const struct emulated_counters *b)
{
    double us = (double)(b->virtual_ns - a->virtual_ns) / 1e3;

    for (unsigned n = 0; n < b->nodes; n++) {
        uint64_t reads = 0, writes = 0;
        for (unsigned c = 0; c < b->cpus; c++) {
            reads += b->cpu[c].reads[n] - a->cpu[c].reads[n];
            writes += b->cpu[c].writes[n] - a->cpu[c].writes[n];
        }
        printf(" node%u_reads %.3f node%u_writes %.3f node%u_busy %.4f", n, (double)reads / us, n,
               (double)writes / us, n,
               (double)(b->node[n].busy_ns - a->node[n].busy_ns) / us / 1e3);
    }
    for (unsigned l = 0; l < b->links; l++)
        printf(" link%u_busy %.4f", l,
               (double)(b->link[l].busy_ns - a->link[l].busy_ns) / us / 1e3);
}

static void measure_triad(const char *list, int node, size_t kib, int count)
{
    const struct emulated_counters *page = map_page();
    static struct emulated_counters before, after;
    size_t n = kib * 1024 / sizeof(double);
    int cpu[EMULATED_CPUS], cpus = 0;
    double seconds = 0;
    struct cosched_cpuset set;

    if (cpulist_parse(list, &set, NULL) < 0)
        exit(2);
    for (int c = 0; c < EMULATED_CPUS; c++)
        if (cpuset_has(&set, c))
            cpu[cpus++] = c;
#pragma omp parallel num_threads(cpus)
    {
        on_cpu(cpu[omp_get_thread_num()]);
        double *a = memory(3 * kib * 1024, node);
        triad(a, a + n, a + 2 * n, n);
#pragma omp barrier
        if (omp_get_thread_num() == 0)
            before = look(page), seconds = now();
#pragma omp barrier
        for (int i = 0; i < count; i++)
            triad(a, a + n, a + 2 * n, n);
#pragma omp barrier
        if (omp_get_thread_num() == 0)
            seconds = now() - seconds, after = look(page);
    }
    double lines = 3.0 * (double)n * sizeof(double) / LINE_BYTES * count * cpus;
    printf("triad cpus %s node %d seconds %.6f lines_us %.3f", list, node, seconds,
           lines / seconds / 1e6);
    print_rates(&before, &after);
    printf("\n");
}

/* 4 loads of each line of 8 MiB, twice as much as fits the cache at least. */
static void measure_count(int cpu, int node)
{
    const struct emulated_counters *page = map_page();
    size_t bytes = 8 << 20;
    uint64_t all = 0;
    const long iterations = 10000000;

    on_cpu(cpu);
    const char *at = memory(bytes, node);
    struct emulated_counters a = look(page);
    double start = now();
    loop(iterations);
    double seconds = now() - start;
    struct emulated_counters b = look(page);
    for (int i = 0; i < 4; i++)
        for (size_t j = 0; j < bytes; j += LINE_BYTES)
            all += (uint64_t)at[j];
    sink += all;
    struct emulated_counters c = look(page);
    const struct emulated_cpu *x = &a.cpu[cpu], *y = &b.cpu[cpu], *z = &c.cpu[cpu];
    printf("count iterations %ld instructions %llu cycles %llu seconds %.6f "
           "mhz %.3f\n",
           iterations, (unsigned long long)(y->instructions - x->instructions),
           (unsigned long long)(y->cycles - x->cycles), seconds,
           (double)(b.cpu[cpu].cycles - a.cpu[cpu].cycles) / (double)(b.virtual_ns - a.virtual_ns) *
               1e3);
    printf("count lines %zu reads %llu of_node %llu stalled %llu\n", 4 * bytes / LINE_BYTES,
           (unsigned long long)(sum(z->reads, c.nodes) - sum(y->reads, c.nodes)),
           (unsigned long long)(z->reads[node] - y->reads[node]),
           (unsigned long long)(z->stalled - y->stalled));
}

/* Nanoseconds of COUNT loads, LINE_BYTES apart in BYTES at AT, a loop before each. */
static double walk(const char *at, size_t bytes, size_t count, long iterations)
{
    uint64_t all = 0;
    double start = now();

    for (size_t i = 0; i < count; i++) {
        loop(iterations);
        all += (uint64_t)at[i * LINE_BYTES % bytes];
    }
    double end = now();
    atomic_fetch_add(&sink, all);
    return (end - start) * 1e9;
}

static void measure_latency(int cpu, int node, long iterations)
{
    size_t bytes = 16 << 20, count = 100000;

    on_cpu(cpu);
    const char *at = memory(bytes, node);
    double cached = walk(at, 4096, count, iterations);
    double loads = walk(at, bytes, count, iterations);
    printf("latency cpu %d node %d ns %.3f\n", cpu, node, (loads - cached) / (double)count);
}

static void measure_clock(long count)
{
    double last = now(), most = 0;
    long back = 0;

    for (long i = 0; i < count; i++) {
        double t = now();
        back += t < last;
        most = t - last > most ? t - last : most;
        last = t;
    }
    printf("clock count %ld back %ld most_us %.3f\n", count, back, most * 1e6);
}

/* As the papers' programs ran: numactl --interleave=all. */
static void interleave(char **command)
{
    unsigned long nodes = ~0ul; /* those that are there count */

    if (syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &nodes, 8 * sizeof(nodes)) < 0) {
        perror("probe: set_mempolicy");
        exit(1);
    }
    execvp(command[0], command);
    perror(command[0]);
    exit(1);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(what, "loop") && argc == 3)
        measure_loop(atol(argv[2]));
    else if (!strcmp(what, "barrier") && argc == 4)
        measure_barrier(atoi(argv[2]), atol(argv[3]));
    else if (!strcmp(what, "sleep") && argc == 3)
        measure_sleep(atof(argv[2]));
    else if (!strcmp(what, "triad") && argc == 6)
        measure_triad(argv[2], atoi(argv[3]), (size_t)atol(argv[4]), atoi(argv[5]));
    else if (!strcmp(what, "count") && argc == 4)
        measure_count(atoi(argv[2]), atoi(argv[3]));
    else if (!strcmp(what, "latency") && argc == 5)
        measure_latency(atoi(argv[2]), atoi(argv[3]), atol(argv[4]));
    else if (!strcmp(what, "clock") && argc == 3)
        measure_clock(atol(argv[2]));
    else if (!strcmp(what, "interleave") && argc >= 3)
        interleave(argv + 2);
    else {
        fprintf(stderr, "probe: wrong use\n");
        return 2;
    }
    return 0;
}
