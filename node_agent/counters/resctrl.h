/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Memory traffic and cache of each job, from the kernel's resctrl. */

#ifndef COSCHED_RESCTRL_H
#define COSCHED_RESCTRL_H

/* Concept
 *
 * Intel's RDT and AMD's PQoS tag each request with a number (RMID) that follows the CPU or
 * the task.  The L3 caches count by it, and the kernel shows that as a file system
 * (Documentation/arch/x86/resctrl.rst) below ROOT:
 *
 *     info/L3_MON/mon_features      llc_occupancy, mbm_total_bytes, ...
 *     info/L3_MON/num_rmids
 *     mon_groups/NAME/cpus_list     CPUs that are tagged for the group
 *     mon_groups/NAME/mon_data/mon_L3_ID/mbm_local_bytes
 *                                   so far; or "Unavailable", "Error"
 *
 * Each job gets a monitoring group with its CPUs, which is exact because a core belongs to
 * one job at a time.  What other tasks do on these CPUs counts as the job's.
 *
 * Groups are named "coschedd.PID.START.JOB" after the agent and its start time, so that an
 * agent removes those of a crashed one, but not of a living one.  If a group of another tool
 * has CPUs, this backend stays closed, for the kernel would take the CPUs out of it.  Control
 * groups of other tools may exist as long as they have tasks only.
 *
 * An L3 cache is a domain, ID the kernel's cache id.  Where several LLC domains of the machine
 * description lie behind one cache, a job's bytes are spread over its CPUs there.  Bytes become
 * requests of SAMPLE_LINE_BYTES.  Mounting resctrl is the administrator's decision.
 */

#include "node_agent/counters/counters.h"

/* How directories are made and removed; for tests, which play the kernel. */
struct resctrl_source {
    int (*make)(void *arg, const char *path); /* as mkdir(2), 0755 */
    int (*remove)(void *arg, const char *path); /* as rmdir(2) */
    void *arg;
};

/* The kernel's. */
extern const struct resctrl_source resctrl_kernel;

/* Open as the backend does, with SOURCE, which outlives *STATE.  ROOT is
 * setup->argument, or SYSFS/fs/resctrl when that is "". */
int resctrl_open(const struct counters_setup *setup,
                 const struct resctrl_source *source, void **state,
                 struct errtext *err);

/* Traffic and cache per job; chosen by itself or beside others. */
extern const struct counters_backend counters_resctrl;

#endif /* COSCHED_RESCTRL_H */
