/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Writer of an allotment page (protocol/layout.h). */

#ifndef COSCHED_ALLOTMENT_H
#define COSCHED_ALLOTMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errtext.h"
#include "protocol/layout.h"

struct allotment;

/* A new page in a memfd with an empty allotment.  The memfd is sealed against later writable
 * mappings, write(2) and changes of size, so the agent's mapping stays the only writable one.
 * LLC_DOMAIN maps CPU numbers 0..CPUS-1 to LLC domains (negative: none, stored as 0).  NULL with
 * the errno of the failing call. */
struct allotment *allotment_new(const struct cosched_cpuset *granted,
                                uint64_t lease_ns, const int *llc_domain,
                                size_t cpus, size_t llc_domains,
                                struct errtext *err);

/* Descriptor to hand out; stays the allotment's. */
int allotment_fd(const struct allotment *allotment);

/* Put CPUS (empty: none, with PARKED set if PARKED) into effect at NOW_NS and
 * wake all waiters.  Nothing happens when they are in effect already. */
void allotment_write(struct allotment *allotment,
                     const struct cosched_cpuset *cpus, bool parked,
                     uint64_t now_ns);

/* Change what Slurm granted and the lease.  Wakes waiters on a change. */
void allotment_regrant(struct allotment *allotment,
                       const struct cosched_cpuset *granted,
                       uint64_t lease_ns, uint64_t now_ns);

/* Say where tasks should run: HOME[COUNT], at most COSCHED_MAX_HOMES.  Wakes waiters. */
void allotment_write_homes(struct allotment *allotment, const struct cosched_home *home,
                           size_t count, uint64_t now_ns);

/* Say which near share its interleaved pages should have, as in the page.  Wakes nobody. */
void allotment_write_near_share(struct allotment *allotment, uint32_t share);

/* Say whether more CPUs come in a moment, as in the page.  Wakes nobody. */
void allotment_write_grows(struct allotment *allotment, bool grows);

/* Heartbeat: the agent lives at NOW_NS. */
void allotment_beat(struct allotment *allotment, uint64_t now_ns);

/* Generation (even) that a process has to report as applied. */
uint32_t allotment_generation(const struct allotment *allotment);

/* Takes NULL; keeps errno. */
void allotment_free(struct allotment *allotment);

#endif /* COSCHED_ALLOTMENT_H */
