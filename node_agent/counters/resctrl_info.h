/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What resctrl can limit on this node: ways of caches, and bandwidth. */

#ifndef COSCHED_RESCTRL_INFO_H
#define COSCHED_RESCTRL_INFO_H

/* Concept
 *
 * Where the CPU can allocate, the kernel shows below the root of resctrl
 * (Documentation/arch/x86/resctrl.rst)
 *
 *     info/L3/{cbm_mask,min_cbm_bits,shareable_bits,num_closids}
 *     info/L3CODE, info/L3DATA          instead, when mounted with -o cdp
 *     info/MB/{min_bandwidth,bandwidth_gran,num_closids}
 *     schemata                          of the default group:
 *         L3:0=fffff;1=fffff
 *         MB:0=100;1=100                percent; MB/s with -o mba_MBps
 *
 * An L3 cache is a domain, its number the kernel's cache id.  What the default
 * group has of a domain is what there is to divide: an administrator, or the
 * firmware, may have taken ways away from it.  With CDP only data is limited:
 * code is not streamed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "model/cache.h"
#include "node_agent/counters/counters.h"

#define RESCTRL_DOMAINS 256 /* of one resource; more are not looked at */

struct resctrl_domain {
    int id;        /* the kernel's */
    uint64_t base; /* what the default group has: a mask, or a bandwidth */
};

/* Something of each domain that can be limited; no domains: it cannot. */
struct resctrl_resource {
    const char *name; /* in schemata */
    size_t domains;
    struct resctrl_domain domain[RESCTRL_DOMAINS];
};

struct resctrl_info {
    struct resctrl_resource cache;
    struct resctrl_resource bandwidth;
    bool cdp;
    struct cache_ways ways; /* of each cache, before BASE */
    unsigned least, step;   /* of bandwidth, in percent */
    bool mbps;              /* bandwidth is given in MB/s, not in percent */
    unsigned groups;        /* that there can be, the default one included */
};

/* Root of resctrl: SETUP's argument, else where it is below sysfs.  The caller
 * frees it; NULL when out of memory. */
char *resctrl_root(const struct counters_setup *setup);

/* Look at what is mounted at ROOT; PROCFS tells how.  -1 with errno ENOTSUP
 * (nothing mounted, or nothing that can be limited) or EINVAL (a file makes no
 * sense) and ERR, which names it. */
int resctrl_info_read(const char *root, const char *procfs,
                      struct resctrl_info *info, struct errtext *err);

/* In words, such as "20 ways of 2 caches, bandwidth in steps of 10 %, for 15
 * jobs", in TEXT (SIZE bytes), which is returned. */
const char *resctrl_info_describe(const struct resctrl_info *info, char *text,
                                  size_t size);

#endif /* COSCHED_RESCTRL_INFO_H */
