/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Where pages lie that a thread touches before, in and after its first parallel region: first one
 * that was created before, then the initial one. */

/* Usage: pages.  Prints a line for each: the word, then how many of PAGES pages are on each NUMA
 * node.  On machines of more than LISTED nodes those beyond count as the last.
 *
 *        pages bound.  The same, but they are bound to the first node by then.
 *
 *        pages follow.  The same of MANY pages that are interleaved, `dealt` once they were
 * touched, `followed` once nearly all are on one node (the kernel cannot move each), or after
 * SECONDS. */

#define _GNU_SOURCE /* CPU_SET */
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES 64
#define LISTED 4
#define MANY 3000
#define NEARLY (MANY * 19 / 20)
#define SECONDS 20

static int node_of(void *page)
{
    int node = 0;

    if (syscall(SYS_get_mempolicy, &node, NULL, 0, page, MPOL_F_NODE | MPOL_F_ADDR) != 0) {
        perror("pages: get_mempolicy");
        exit(1);
    }
    return node < LISTED ? node : LISTED - 1;
}

/* Write to all of MEMORY on one CPU: the kernel may move a thread to another node at any time.  By
 * the kernel's own calls, which no library replaces. */
static void fill(char *memory, size_t size)
{
    cpu_set_t before, here;
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(before), &before);
    int cpu = sched_getcpu();

    if (bytes <= 0 || cpu < 0)
        abort();
    CPU_ZERO(&here);
    CPU_SET(cpu, &here);
    if (syscall(SYS_sched_setaffinity, 0, sizeof(here), &here) != 0)
        abort();
    memset(memory, 1, size);
    syscall(SYS_sched_setaffinity, 0, bytes, &before);
}

static void touch(const char *word)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    unsigned count[LISTED] = {0};
    char *memory = aligned_alloc(size, PAGES * size);

    if (!memory)
        abort();
    fill(memory, PAGES * size);
    for (size_t n = 0; n < PAGES; n++)
        count[node_of(memory + n * size)]++;
    printf("%s", word);
    for (size_t m = 0; m < LISTED; m++)
        printf(" %u", count[m]);
    printf("\n");
}

static void *touch_all(void *arg)
{
    touch("before");
#pragma omp parallel
#pragma omp master
    touch("in");
    touch("after");
    return arg;
}

/* Print WORD and where the MANY pages of MEMORY are; true when that is nearly one node. */
static int show(const char *word, char *memory, size_t size, int always)
{
    unsigned count[LISTED] = {0};
    int one = 0;

    for (size_t n = 0; n < MANY; n++)
        count[node_of(memory + n * size)]++;
    for (size_t m = 0; m < LISTED; m++)
        one |= count[m] >= NEARLY;
    if (one || always)
        printf("%s %u %u %u %u\n", word, count[0], count[1], count[2], count[3]);
    return one;
}

static void follow(int bound)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = aligned_alloc(size, MANY * size);
    unsigned long first = 1;

    if (!memory || (bound && syscall(SYS_set_mempolicy, MPOL_BIND, &first, 8 * sizeof(first)) != 0))
        abort();
    memset(memory, 1, MANY * size);
    show("dealt", memory, size, 1);
#pragma omp parallel
    __asm__ volatile("" ::: "memory"); /* it is one that the agent is told of */
    for (int i = 0; i < 10 * SECONDS; i++) {
        if ((!bound || i > 5 * SECONDS) && show("followed", memory, size, i + 1 == 10 * SECONDS))
            break;
        usleep(100000);
    }
    for (size_t n = 0; n < MANY * size; n++)
        if (memory[n] != 1)
            abort();
}

/* Become `pages WORD', under `numactl --interleave=all'. */
static void interleave(char *self, const char *word)
{
    unsigned long nodes = ~0ul; /* those that are there count */

    if (syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &nodes, 8 * sizeof(nodes)) == 0)
        execl(self, self, word, NULL);
    perror("pages");
    exit(1);
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc == 2 && !strcmp(argv[1], "follow"))
        interleave(argv[0], "followed");
    if (argc == 2 && !strcmp(argv[1], "bound"))
        interleave(argv[0], "was bound");
    if (argc == 2) {
        follow(!strcmp(argv[1], "was bound"));
        return 0;
    }
    if (pthread_create(&thread, NULL, touch_all, NULL) != 0 || pthread_join(thread, NULL) != 0)
        abort();
    touch_all(NULL);
    return 0;
}
