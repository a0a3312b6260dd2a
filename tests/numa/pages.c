/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* To be preloaded: where the pages of bound memory were when it was given back. */

/* Appends a line "NODE PAGES THERE" to the file $PAGES_LOG for each munmap() of
 * memory bound to one node: how many pages it has, and how many of these are on
 * that node.  Whoever looks from outside may come too late. */

#include "config.h"

#include <dlfcn.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define NODES_MAX 1024
#define WORD_BITS (8 * sizeof(unsigned long))

/* The only node that ADDRESS is bound to, or -1. */
static int bound_to(void *address)
{
    unsigned long mask[NODES_MAX / WORD_BITS] = {0};
    int mode, node = -1;

    if (get_mempolicy(&mode, mask, NODES_MAX, address, MPOL_F_ADDR) < 0 ||
        mode != MPOL_BIND)
        return -1;
    for (size_t n = 0; n < NODES_MAX; n++)
        if (mask[n / WORD_BITS] >> n % WORD_BITS & 1) {
            if (node >= 0)
                return -1;
            node = (int)n;
        }
    return node;
}

static void count(char *base, size_t bytes, int node)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = bytes / size, there = 0;
    const char *path = getenv("PAGES_LOG");
    void **page = calloc(pages, sizeof(*page));
    int *status = calloc(pages, sizeof(*status));
    FILE *log = path ? fopen(path, "ae") : NULL;

    for (size_t i = 0; page && i < pages; i++)
        page[i] = base + i * size;
    if (log && page && status &&
        move_pages(0, pages, page, NULL, status, 0) == 0) {
        for (size_t i = 0; i < pages; i++)
            there += status[i] == node;
        fprintf(log, "%d %zu %zu\n", node, pages, there);
    }
    if (log)
        fclose(log);
    free(page);
    free(status);
}

int munmap(void *base, size_t bytes)
{
    static int (*next)(void *, size_t);
    static __thread int within; /* the counting gives back memory, too */

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "munmap");
    int node = within ? -1 : bound_to(base);
    if (node >= 0) {
        within = 1;
        count(base, bytes, node);
        within = 0;
    }
    return next(base, bytes);
}
