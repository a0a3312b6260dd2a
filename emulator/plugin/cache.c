/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Caches: a private one of each CPU, one of each LLC domain. */

#include "emulator/plugin/cache.h"

#include <stdlib.h>
#include <string.h>

#define CHANGED UINT64_C(1)

static uint64_t whole(uint64_t line)
{
    return (line + 1) * 2;
}

int private_init(struct private_cache *c, uint64_t lines)
{
    c->mask = lines ? lines - 1 : 0;
    c->entry = calloc(c->mask + 1, sizeof(*c->entry));
    return c->entry ? 0 : -1;
}

void cache_forget(struct private_cache *c)
{
    memset(c->entry, 0, (c->mask + 1) * sizeof(*c->entry));
}

int llc_init(struct llc *c, unsigned domains, uint64_t lines, unsigned sample)
{
    c->domains = domains;
    c->sets = lines / CACHE_WAYS / sample;
    if (lines && !c->sets)
        c->sets = 1;
    c->entry = calloc(domains * c->sets * CACHE_WAYS + 1, sizeof(*c->entry));
    return c->entry ? 0 : -1;
}

static _Atomic uint64_t *set_of(struct llc *c, unsigned domain, uint64_t line)
{
    uint64_t hash = (line * UINT64_C(0x9E3779B97F4A7C15)) >> 32;

    return c->entry + (domain * c->sets + ((hash * c->sets) >> 32)) * CACHE_WAYS;
}

static uint64_t load(_Atomic uint64_t *entry)
{
    return atomic_load_explicit(entry, memory_order_relaxed);
}

static void store(_Atomic uint64_t *entry, uint64_t value)
{
    atomic_store_explicit(entry, value, memory_order_relaxed);
}

static _Atomic uint64_t *find(_Atomic uint64_t *set, uint64_t line)
{
    for (unsigned i = 0; i < CACHE_WAYS; i++)
        if ((load(&set[i]) & ~CHANGED) == whole(line))
            return &set[i];
    return NULL;
}

static void take_from_others(struct llc *c, unsigned domain, uint64_t line)
{
    for (unsigned other = 0; other < c->domains; other++) {
        _Atomic uint64_t *entry = other != domain ? find(set_of(c, other, line), line) : NULL;
        if (entry)
            store(entry, 0);
    }
}

/* An empty way, else any. */
static _Atomic uint64_t *choose(_Atomic uint64_t *set, uint64_t *random)
{
    for (unsigned i = 0; i < CACHE_WAYS; i++)
        if (!load(&set[i]))
            return &set[i];
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return &set[(*random >> 32) % CACHE_WAYS];
}

struct llc_result llc_access(struct llc *c, unsigned domain, uint64_t line, bool write,
                             uint64_t *random)
{
    if (!c->sets)
        return (struct llc_result){.miss = true, .write_back = write, .victim = line};
    _Atomic uint64_t *set = set_of(c, domain, line), *entry = find(set, line);
    struct llc_result r = {.miss = !entry};
    if (!entry) {
        entry = choose(set, random);
        uint64_t old = load(entry);
        r.write_back = old & CHANGED;
        r.victim = old / 2 - 1;
        store(entry, whole(line));
    }
    if (write && !(load(entry) & CHANGED)) {
        take_from_others(c, domain, line);
        store(entry, whole(line) | CHANGED);
    }
    return r;
}
