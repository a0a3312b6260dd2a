/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Writer of an allotment page (protocol/layout.h). */

#include "node_agent/core/allotment.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protocol/cpulist.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif

struct allotment {
    int fd;
    struct cosched_allotment *page;
    struct cosched_homes *homes;
    struct cosched_cpuset cpus; /* copy of what is in effect */
    bool parked;
};

/* The homes, which most processes never have, take no memory until they are written. */
#define ALLOTMENT_BYTES (COSCHED_HOMES_OFFSET + sizeof(struct cosched_homes))

struct allotment *allotment_new(const struct cosched_cpuset *granted,
                                uint64_t lease_ns, const int *llc_domain,
                                size_t cpus, size_t llc_domains,
                                struct errtext *err)
{
    struct allotment *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    a->page = MAP_FAILED;
    /* The order matters: this mapping must exist before the seal forbids
     * writable ones. */
    if ((a->fd = memfd_create("cosched-allotment",
                              MFD_CLOEXEC | MFD_ALLOW_SEALING)) < 0 ||
        ftruncate(a->fd, ALLOTMENT_BYTES) < 0 ||
        (a->page = mmap(NULL, ALLOTMENT_BYTES, PROT_READ | PROT_WRITE,
                        MAP_SHARED, a->fd, 0)) == MAP_FAILED ||
        fcntl(a->fd, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE |
                  F_SEAL_SEAL) < 0) {
        errtext_set(err, errno, "allotment page: %s", strerror(errno));
        allotment_free(a);
        return NULL;
    }
    a->homes = (struct cosched_homes *)((char *)a->page + COSCHED_HOMES_OFFSET);
    a->page->magic = COSCHED_ALLOTMENT_MAGIC;
    a->page->version = COSCHED_LAYOUT_VERSION;
    a->page->size = sizeof(*a->page);
    a->page->lease_ns = lease_ns;
    a->page->llc_domains = (uint32_t)llc_domains;
    a->page->granted = *granted;
    for (size_t c = 0; c < cpus && c < COSCHED_MAX_CPUS; c++)
        a->page->llc_domain[c] = (uint16_t)(llc_domain[c] > 0 ? llc_domain[c] : 0);
    return a;
}

int allotment_fd(const struct allotment *a)
{
    return a->fd;
}

static _Atomic uint32_t *generation(const struct allotment *a)
{
    return (_Atomic uint32_t *)&a->page->generation;
}

/* Readers race with us by design and notice by the generation.  What is stored
 * between its two steps is stored with release, so that none of it can become
 * visible before the odd generation. */
static void store_set(struct cosched_cpuset *to,
                      const struct cosched_cpuset *from)
{
    for (size_t i = 0; i < sizeof(to->word) / sizeof(to->word[0]); i++)
        __atomic_store_n(&to->word[i], from->word[i], __ATOMIC_RELEASE);
}

static void write_begin(struct allotment *a)
{
    uint32_t g = atomic_load_explicit(generation(a), memory_order_relaxed);

    atomic_store_explicit(generation(a), g + 1, memory_order_relaxed);
}

static void write_end(struct allotment *a)
{
    uint32_t g = atomic_load_explicit(generation(a), memory_order_relaxed);

    atomic_store_explicit(generation(a), g + 1, memory_order_release);
    syscall(SYS_futex, &a->page->generation, FUTEX_WAKE, INT_MAX, NULL, NULL,
            0);
}

void allotment_write(struct allotment *a, const struct cosched_cpuset *cpus,
                     bool parked, uint64_t now_ns)
{
    if (cpuset_equal(&a->cpus, cpus) && a->parked == parked)
        return;
    a->cpus = *cpus;
    a->parked = parked;
    write_begin(a);
    store_set(&a->page->cpus, cpus);
    __atomic_store_n(&a->page->flags, parked ? COSCHED_ALLOTMENT_PARKED : 0,
                     __ATOMIC_RELEASE);
    __atomic_store_n(&a->page->changed_ns, now_ns, __ATOMIC_RELEASE);
    __atomic_store_n(&a->page->heartbeat_ns, now_ns, __ATOMIC_RELEASE);
    write_end(a);
}

void allotment_regrant(struct allotment *a,
                       const struct cosched_cpuset *granted,
                       uint64_t lease_ns, uint64_t now_ns)
{
    if (cpuset_equal(&a->page->granted, granted) &&
        a->page->lease_ns == lease_ns)
        return;
    write_begin(a);
    store_set(&a->page->granted, granted);
    __atomic_store_n(&a->page->lease_ns, lease_ns, __ATOMIC_RELEASE);
    __atomic_store_n(&a->page->heartbeat_ns, now_ns, __ATOMIC_RELEASE);
    write_end(a);
}

void allotment_write_homes(struct allotment *a, const struct cosched_home *home, size_t count,
                           uint64_t now_ns)
{
    write_begin(a);
    __atomic_store_n(&a->homes->magic, COSCHED_HOMES_MAGIC, __ATOMIC_RELEASE);
    __atomic_store_n(&a->homes->version, COSCHED_LAYOUT_VERSION, __ATOMIC_RELEASE);
    __atomic_store_n(&a->homes->size, (uint32_t)sizeof(*a->homes), __ATOMIC_RELEASE);
    __atomic_store_n(&a->homes->count, (uint32_t)count, __ATOMIC_RELEASE);
    for (size_t i = 0; i < count; i++) {
        struct cosched_home *to = &a->homes->home[i];
        __atomic_store_n(&to->stack, home[i].stack, __ATOMIC_RELEASE);
        __atomic_store_n(&to->region, home[i].region, __ATOMIC_RELEASE);
        __atomic_store_n(&to->domain, home[i].domain, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&a->page->heartbeat_ns, now_ns, __ATOMIC_RELEASE);
    write_end(a);
}

void allotment_write_near_share(struct allotment *a, uint32_t share)
{
    __atomic_store_n(&a->page->near_share, share, __ATOMIC_RELAXED);
}

void allotment_write_grows(struct allotment *a, bool grows)
{
    /* Whoever reads 0 afterwards reads the CPUs that came before. */
    __atomic_store_n(&a->page->grows, grows, __ATOMIC_RELEASE);
}

void allotment_beat(struct allotment *a, uint64_t now_ns)
{
    __atomic_store_n(&a->page->heartbeat_ns, now_ns, __ATOMIC_RELAXED);
}

uint32_t allotment_generation(const struct allotment *a)
{
    return atomic_load_explicit(generation(a), memory_order_relaxed);
}

void allotment_free(struct allotment *a)
{
    if (!a)
        return;
    int saved = errno;
    if (a->page != MAP_FAILED)
        munmap(a->page, ALLOTMENT_BYTES);
    if (a->fd >= 0)
        close(a->fd);
    free(a);
    errno = saved;
}
