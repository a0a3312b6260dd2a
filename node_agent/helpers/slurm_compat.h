/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* libslurm as 22.05 has it, where later versions have changed it. */

#ifndef COSCHED_SLURM_COMPAT_H
#define COSCHED_SLURM_COMPAT_H

/* For coschedd-slurm, the only program with libslurm.  hostlist_t is never named in our sources;
 * the rest of what we use is the same from 20.11 on. */

#include <slurm/slurm.h>

#include "config.h"

/* Up to 23.02 they are there by these names. */
typedef struct xlist *List;
typedef struct listIterator *ListIterator;

/* Jobs are named by a step without a step, in newer structures. */
#ifdef HAVE_JOB_DESC_MSG_T_JOB_ID
#define DESC_JOB_ID(desc) ((desc)->job_id)
#else
#define DESC_JOB_ID(desc) ((desc)->step_id.job_id)
#endif
#ifdef HAVE_SLURM_JOB_INFO_T_JOB_ID
#define INFO_JOB_ID(info) ((info)->job_id)
#else
#define INFO_JOB_ID(info) ((info)->step_id.job_id)
#endif

/* Of a run that is over, slurmdbd before 21.08 changes the SystemComment, but not the
 * AdminComment: final records are there, and count instead of what is in the other. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(21, 8, 0)
#define FINAL_RECORD   admin_comment
#define RECORD_COLUMNS "admincomment"
#else
#define FINAL_RECORD   system_comment
#define RECORD_COLUMNS "systemcomment,admincomment"
#endif

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)

#define slurm_free_ctl_conf(conf) slurm_free_conf(conf)

#define slurm_load_job(jobs, job, flags)                                       \
    slurm_load_job(jobs,                                                       \
                   (slurm_step_id_t){.job_id = (job),                          \
                                     .step_id = NO_VAL,                        \
                                     .step_het_comp = NO_VAL},                 \
                   flags)

#endif

#endif /* COSCHED_SLURM_COMPAT_H */
