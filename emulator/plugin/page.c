/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The page of counters, written between two quanta. */

#include "emulator/plugin/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emulator/plugin/stations.h"

static void *map(const char *path)
{
    struct stat st;
    void *page = MAP_FAILED;
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return MAP_FAILED;
    if (fstat(fd, &st) == 0 && st.st_size >= EMULATED_BYTES)
        page = mmap(NULL, EMULATED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    else
        errno = EINVAL;
    int saved = errno;
    close(fd);
    errno = saved;
    return page;
}

struct emulated_counters *page_open(const struct settings *settings, char *error, size_t size)
{
    struct emulated_counters *page = map(settings->page);

    if (page == MAP_FAILED) {
        snprintf(error, size, "page %s: %s", settings->page,
                 errno == EINVAL ? "shorter than a page of counters" : strerror(errno));
        return NULL;
    }
    memset(page, 0, sizeof(*page));
    page->version = EMULATED_VERSION;
    page->cpus = settings->cpus;
    page->nodes = settings->nodes;
    page->links = settings->links;
    page->mhz = (uint32_t)settings->mhz;
    page->sample = settings->sample;
    atomic_thread_fence(memory_order_release);
    page->magic = EMULATED_MAGIC;
    return page;
}

static void show(struct emulated_station *to, const struct station *from)
{
    to->busy_ns = (uint64_t)from->busy_ns;
    to->wait_ps = (uint64_t)(from->wait_ns * 1e3);
}

void page_begin(struct emulated_counters *page, uint64_t virtual_ns, uint64_t host_ns,
                uint64_t quanta, const struct stations *stations)
{
    uint64_t sequence = atomic_load_explicit(&page->sequence, memory_order_relaxed);

    atomic_store_explicit(&page->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    page->virtual_ns = virtual_ns;
    page->host_ns = host_ns;
    page->quanta = quanta;
    for (unsigned i = 0; i < page->nodes; i++)
        show(&page->node[i], &stations->at[i]);
    for (unsigned i = 0; i < page->links; i++)
        show(&page->link[i], &stations->at[page->nodes + i]);
}

void page_end(struct emulated_counters *page)
{
    uint64_t sequence = atomic_load_explicit(&page->sequence, memory_order_relaxed);

    atomic_store_explicit(&page->sequence, sequence + 1, memory_order_release);
}
