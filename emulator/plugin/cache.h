/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Caches: a private one of each CPU, one of each LLC domain. */

#ifndef COSCHED_EMULATOR_CACHE_H
#define COSCHED_EMULATOR_CACHE_H

/* Concept
 *
 * Private cache (L1 and L2 in one).  It only has to keep accesses from the LLC that no LLC sees.
 * Direct-mapped, and by virtual lines, because looking up a physical address costs more than all
 * the rest; so it is emptied now and then (cache_forget), which also stands for what other CPUs
 * take out of it.  A line remembers whether it was written: the first store to it is passed on.
 *
 * LLC.  By physical lines, 16 ways, random replacement.  Of `sample` lines one is followed, chosen
 * by a hash of the virtual line, and stands for all of them; the LLC is as much smaller. Changed
 * lines that are driven out are written to memory.  A line that is written in one LLC is taken out
 * of the others.
 *
 * CPUs that run at the same time on the host use an LLC without a lock: each entry is one word.
 * Two of them may bring in the same line twice or lose one, as rarely as they meet.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CACHE_LINE_BITS 6
#define CACHE_WAYS      16

struct private_cache {
    uint64_t *entry; /* (line + 1) * 2 + written; 0: empty */
    uint64_t mask;   /* entries - 1 */
};

struct llc {
    _Atomic uint64_t *entry; /* [domain][set][way]: (line + 1) * 2 + changed; 0: empty */
    uint64_t sets;
    unsigned domains;
};

struct llc_result {
    bool miss;
    bool write_back;
    uint64_t victim; /* the line written back */
};

/* LINES: a power of two, or 0 for no cache.  Return 0, or -1 without memory. */
int private_init(struct private_cache *c, uint64_t lines);
int llc_init(struct llc *c, unsigned domains, uint64_t lines, unsigned sample);

void cache_forget(struct private_cache *c);

/* Whether an access has to be passed on. */
static inline bool private_misses(struct private_cache *c, uint64_t line, bool write)
{
    uint64_t *e = &c->entry[line & c->mask], with = (line + 1) * 2 + write;

    if (*e == with || *e == ((line + 1) * 2 | 1)) /* written: enough for loads, too */
        return false;
    *e = with;
    return true;
}

/* Whether LINE, virtual, is one of those that are followed; SAMPLE: a power of two. */
static inline bool cache_follows(uint64_t line, unsigned sample)
{
    return !((line ^ (line >> 6) ^ (line >> 11) ^ (line >> 17)) & (sample - 1));
}

/* An access to the LLC of DOMAIN; RANDOM is the CPU's generator, not 0. */
struct llc_result llc_access(struct llc *c, unsigned domain, uint64_t line, bool write,
                             uint64_t *random);

#endif
