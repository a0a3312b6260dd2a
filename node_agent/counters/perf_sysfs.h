/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Events that the kernel describes in sysfs. */

#ifndef COSCHED_PERF_SYSFS_H
#define COSCHED_PERF_SYSFS_H

/* Concept
 *
 * bus/event_source/devices/PMU/ has
 *     type            the number for perf_event_attr.type
 *     events/NAME     "event=0x04,umask=0x03"
 *     format/TERM     "config:0-7,32-35": where a term's bits go
 *     cpumask         a CPU for each thing that is counted; absent for cores
 */

#include <stdint.h>

#include "common/errtext.h"
#include "protocol/layout.h"

#define PERF_PMU_NAME_MAX 64

struct perf_pmu_event {
    uint32_t type;
    uint64_t config[3]; /* config, config1, config2 */
};

/* Look up event NAME of PMU below SYSFS.  0, or -1 with errno ENOENT (no such
 * PMU or event), EINVAL (a description that makes no sense; ERR names it). */
int perf_sysfs_event(const char *sysfs, const char *pmu, const char *name,
                     struct perf_pmu_event *event, struct errtext *err);

/* The event of PMU with TERMS, "umask=0x03,inv", for a PMU that names no events.  As
 * perf_sysfs_event(); EINVAL: its format does not have them. */
int perf_sysfs_terms(const char *sysfs, const char *pmu, const char *terms,
                     struct perf_pmu_event *event, struct errtext *err);

/* The CPUs to count PMU on.  -1 with errno where it has none. */
int perf_sysfs_cpus(const char *sysfs, const char *pmu,
                    struct cosched_cpuset *cpus);

/* Call EACH for all PMUs whose name starts with PREFIX, by rising number at its
 * end ("uncore_imc_2" before "uncore_imc_10").  Returns how many. */
size_t perf_sysfs_list(const char *sysfs, const char *prefix,
                       void (*each)(void *arg, const char *pmu), void *arg);

/* First line of FILE below SYSFS, without its newline, in TEXT.  -1 with errno. */
int perf_sysfs_line(const char *sysfs, const char *file, char *text,
                    size_t size);

#endif /* COSCHED_PERF_SYSFS_H */
