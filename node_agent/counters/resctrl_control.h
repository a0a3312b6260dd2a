/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Control groups of resctrl: jobs that may not fill all of a cache. */

#ifndef COSCHED_RESCTRL_CONTROL_H
#define COSCHED_RESCTRL_CONTROL_H

/* Concept
 *
 * A job that is to have less than all gets a control group, a directory in the
 * root of resctrl called as its monitoring group would be (resctrl.h):
 *
 *     coschedd.PID.START.JOB/cpus_list   the CPUs that it has
 *     coschedd.PID.START.JOB/schemata    what it may have of each domain
 *     coschedd.PID.START.JOB/mon_data    and what it does, which the backend reads
 *
 * Like monitoring, control goes by CPU and not by task: a core belongs to one job
 * at a time, so it is as exact, it holds for processes that nobody has announced
 * and from a fork's first instruction, and it is one write when CPUs move.
 *
 * Jobs that were never limited have no group and cost no class of service
 * (CLOSID); they, and everything else on the node, are in the default group,
 * which is never written.  A job keeps its group until it ends, so that what is
 * counted goes on.  When there are no more classes a job stays in the default
 * group, not limited.
 *
 * Nothing is written before a job is to be limited for the first time, but that
 * groups which a killed agent left behind are removed.  A group that is removed
 * gives its CPUs to the default group: that undoes all.
 *
 * Other tools' control groups that have CPUs make this one refuse: they would
 * lose them.  Those that are given tasks go on, for tasks come before CPUs.
 */

#include "model/cache.h"
#include "node_agent/counters/counters.h"
#include "node_agent/counters/resctrl.h"
#include "node_agent/counters/resctrl_info.h"

struct resctrl_control;

/* Look at resctrl at SETUP's root (resctrl_root()).  SETUP and SOURCE outlive the
 * control.  NULL with errno and ERR as of resctrl_info_read(), EBUSY (another tool
 * has CPUs), ENOTSUP (whose caches these are is not known) or ENOMEM. */
struct resctrl_control *resctrl_control_new(const struct counters_setup *setup,
                                            const struct resctrl_source *source,
                                            struct errtext *err);

/* What can be limited. */
const struct resctrl_info *
resctrl_control_info(const struct resctrl_control *control);

/* JOB has a group. */
bool resctrl_control_has(const struct resctrl_control *control, uint32_t job);

/* JOB, which has CPUS, may have SHARE[cpu nodes] from now on; where several CPU
 * nodes are one domain, the least of theirs.  Nothing is written when that is so
 * already.  -1 with errno ENOSPC (no class of service is left), another of the
 * kernel's, or ENOMEM, and ERR: the job then has what it had before, or all. */
int resctrl_control_set(struct resctrl_control *control, uint32_t job,
                        const struct cosched_cpuset *cpus,
                        const struct cache_share *share, struct errtext *err);

/* The jobs and the CPUs that they have: groups follow, those of other jobs are
 * removed.  -1 with errno and ERR, the first failure; the others are done. */
int resctrl_control_assign(struct resctrl_control *control,
                           const struct counters_job *jobs, size_t count,
                           struct errtext *err);

/* Remove all groups.  Takes NULL. */
void resctrl_control_free(struct resctrl_control *control);

/* Remove the groups that killed agents left at SETUP's root, if there are any. */
void resctrl_control_sweep(const struct counters_setup *setup,
                           const struct resctrl_source *source);

#endif /* COSCHED_RESCTRL_CONTROL_H */
