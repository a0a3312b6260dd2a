/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the agent makes of this machine, and where memory goes, as plain lines. */

/* usage: look machine         the topology as the agent has it
 *        look distances       as hwloc has them
 *        look pages NODE MIB  memory bound to NODE, touched by a thread that is
 *                             bound to another node's CPUs: pages there / all
 *        look touch CPU MIB   memory first touched on CPU: pages per node
 *        look threads PID     number of PID's threads, then each different list
 *                             of CPUs that one of them may use
 *        look work NODE...    until killed, a thread for each NODE works on data of its own
 *                             there; writes "TID NODE" when they are there
 *        look escape N        until killed, N threads keep setting their affinity
 *                             to all CPUs */

#include "config.h"

#include <errno.h>
#include <numaif.h>
#include <numa.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwloc.h>
#include <hwloc/distances.h>

#include "node_agent/enforce/proc.h"
#include "node_agent/topology/topology.h"
#include "protocol/cpulist.h"

#define NODES_MAX 64
#define LISTS_MAX 16

static int fail(const char *what)
{
    fprintf(stderr, "look: %s: %s\n", what, strerror(errno));
    return EXIT_FAILURE;
}

static int machine(void)
{
    struct errtext err;
    struct topology *t = topology_new(NULL, &err);
    size_t packages;

    if (!t) {
        fprintf(stderr, "look: %s\n", err.text);
        return EXIT_FAILURE;
    }
    const struct machine *m = topology_machine(t);
    const int *package = topology_packages(t, &packages);
    printf("llc_domains %zu\nnuma_nodes %zu\npackages %zu\n", m->llc_domains,
           m->numa_nodes, packages);
    for (size_t c = 0; c < m->cpus; c++)
        printf("cpu %zu node %d home %d package %d\n", c, m->llc_domain[c],
               m->llc_domain[c] < 0 ? -1 : m->local_node[m->llc_domain[c]], package[c]);
    topology_free(t);
    return EXIT_SUCCESS;
}

static int distances(void)
{
    hwloc_topology_t topology;
    struct hwloc_distances_s *d;
    unsigned count = 1;

    if (hwloc_topology_init(&topology) < 0 || hwloc_topology_load(topology) < 0)
        return fail("hwloc");
    if (hwloc_distances_get_by_name(topology, "NUMALatency", &count, &d, 0) <
            0 ||
        !count)
        return fail("distances");
    for (unsigned i = 0; i < d->nbobjs; i++)
        for (unsigned j = 0; j < d->nbobjs; j++)
            printf("%llu%c", (unsigned long long)d->values[i * d->nbobjs + j],
                   j + 1 == d->nbobjs ? '\n' : ' ');
    hwloc_distances_release(topology, d);
    hwloc_topology_destroy(topology);
    return EXIT_SUCCESS;
}

/* Write on each page of BYTES at MEMORY, then ask the kernel for their nodes. */
static int count_pages(char *memory, size_t bytes, size_t *there, size_t *all)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE), n = bytes / size;
    void **page = calloc(n, sizeof(*page));
    int *status = calloc(n, sizeof(*status));
    int rc = -1;

    for (size_t i = 0; page && i < n; i++) {
        page[i] = memory + i * size;
        memory[i * size] = 1;
    }
    if (page && status && move_pages(0, n, page, NULL, status, 0) == 0)
        rc = 0;
    memset(there, 0, NODES_MAX * sizeof(*there));
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (status[i] >= 0 && status[i] < NODES_MAX)
            there[status[i]]++;
    *all = n;
    free(page);
    free(status);
    return rc;
}

static int pages(int node, size_t bytes)
{
    size_t there[NODES_MAX], all;

    /* Far from NODE, so that the binding and not the first touch decides. */
    if (numa_run_on_node(node == 0 ? 1 : 0) < 0)
        return fail("numa_run_on_node");
    char *memory = numa_alloc_onnode(bytes, node);
    if (!memory || count_pages(memory, bytes, there, &all) < 0)
        return fail("pages");
    printf("%zu/%zu\n", there[node], all);
    numa_free(memory, bytes);
    return EXIT_SUCCESS;
}

static int touch(int cpu, size_t bytes)
{
    size_t there[NODES_MAX], all;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        return fail("sched_setaffinity");
    char *memory = numa_alloc(bytes);
    if (!memory || count_pages(memory, bytes, there, &all) < 0)
        return fail("pages");
    for (int n = 0; n <= numa_max_node(); n++)
        printf("%zu%c", there[n], n == numa_max_node() ? '\n' : ' ');
    numa_free(memory, bytes);
    return EXIT_SUCCESS;
}

/* Threads come and go meanwhile; those that are gone do not count. */
static int threads(pid_t pid)
{
    struct cosched_cpuset seen[LISTS_MAX];
    char list[4096];
    size_t lists = 0, count = 0;
    pid_t *tids;
    ssize_t n = proc_threads(pid, &tids);

    if (n < 0)
        return fail("proc_threads");
    for (ssize_t i = 0; i < n; i++) {
        struct cosched_cpuset cpus;
        size_t k = 0;
        if (cpuset_get_affinity(tids[i], &cpus) < 0)
            continue;
        count++;
        while (k < lists && !cpuset_equal(&seen[k], &cpus))
            k++;
        if (k == lists && lists < LISTS_MAX)
            seen[lists++] = cpus;
    }
    free(tids);
    printf("%zu", count);
    for (size_t k = 0; k < lists; k++)
        printf(" %s", cpulist_format(&seen[k], list, sizeof(list)));
    putchar('\n');
    return EXIT_SUCCESS;
}

#define WORK_BYTES (4u << 20)

static void *work_thread(void *arg)
{
    int node = atoi(arg);
    volatile char *data = numa_alloc_onnode(WORK_BYTES, node);
    unsigned sum = 0;

    if (!data)
        abort();
    for (size_t i = 0; i < WORK_BYTES; i += 4096)
        data[i] = 1;
    printf("%d %d\n", (int)gettid(), node);
    fflush(stdout);
    for (;;)
        for (size_t i = 0; i < WORK_BYTES; i += 64)
            sum += (unsigned)data[i];
    return (void *)(uintptr_t)sum;
}

static int work(int count, char **nodes)
{
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if ((errno = pthread_create(&thread, NULL, work_thread, nodes[i])))
            return fail("pthread_create");
    }
    pause();
    return EXIT_FAILURE;
}

static void *escape_thread(void *arg)
{
    cpu_set_t all;

    CPU_ZERO(&all);
    for (int c = 0; c < CPU_SETSIZE; c++)
        CPU_SET(c, &all);
    for (;;)
        sched_setaffinity(0, sizeof(all), &all);
    return arg;
}

static int escape(int count)
{
    for (int i = 1; i < count; i++) {
        pthread_t thread;
        if ((errno = pthread_create(&thread, NULL, escape_thread, NULL)))
            return fail("pthread_create");
    }
    escape_thread(NULL);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "threads"))
        return threads((pid_t)atoi(argv[2]));
    if (argc == 3 && !strcmp(argv[1], "escape"))
        return escape(atoi(argv[2]));
    if (argc == 2 && !strcmp(argv[1], "machine"))
        return machine();
    if (argc == 2 && !strcmp(argv[1], "distances"))
        return distances();
    if (numa_available() < 0)
        return fail("numa_available");
    if (argc > 2 && !strcmp(argv[1], "work"))
        return work(argc - 2, argv + 2);
    if (argc == 4 && !strcmp(argv[1], "pages"))
        return pages(atoi(argv[2]), (size_t)atoi(argv[3]) << 20);
    if (argc == 4 && !strcmp(argv[1], "touch"))
        return touch(atoi(argv[2]), (size_t)atoi(argv[3]) << 20);
    fprintf(stderr, "usage: look machine | distances | pages NODE MIB | "
                    "touch CPU MIB | threads PID | work NODE... | escape N\n");
    return 2;
}
