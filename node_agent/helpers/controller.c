/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What slurmctld remembers of runs that are over. */

#include "node_agent/helpers/controller.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <string.h>

#include "node_agent/helpers/slurm_compat.h"

/* A list of all jobs costs slurmctld less than so many questions, while it has no more than so many
 * jobs for each of them. */
#define MANY 32
#define JOBS_FOR_ONE 16

bool controller_ask(int64_t *age_s, int64_t *boot_s)
{
    slurm_conf_t *conf = NULL;

    if (slurm_load_ctl_conf(0, &conf) != 0)
        return false;
    *age_s = conf->min_job_age;
    *boot_s = conf->boot_time;
    slurm_free_ctl_conf(conf);
    return true;
}

/* True when slurmctld has nothing more to send to slurmdbd: what it wrote in
 * the past, while that was away, is there.  *JOBS is how many it has that have
 * not ended. */
static bool queue_is_empty(size_t *jobs)
{
    stats_info_request_msg_t request = {.command_id = STAT_COMMAND_GET};
    stats_info_response_msg_t *stats = NULL;

    if (slurm_get_statistics(&stats, &request) != 0 || !stats)
        return false;
    *jobs = (size_t)stats->jobs_pending + stats->jobs_running;
    return stats->dbd_agent_queue_size == 0;
}

/* Write the record of a run that may never begin. */
static bool note_never_begun(uint32_t job)
{
    job_desc_msg_t update;

    slurm_init_job_desc_msg(&update);
    DESC_JOB_ID(&update) = job;
    update.admin_comment = PARCEL_NEVER_BEGUN;
    return slurm_update_job(&update) == 0;
}

/* May slurmctld, as it knows INFO of P's job, write what is wrong? */
static bool may_mislead(const struct parcel *p, const slurm_job_info_t *info)
{
    uint32_t state = info->job_state & JOB_STATE_BASE;
    bool waits = state == JOB_PENDING;
    bool begun = !waits && info->nodes && *info->nodes;

    /* A job that was requeued begins anew, and its runs so far are written. */
    if (info->start_time > 0 && info->start_time <= p->end_s + PARCEL_SKEW_S && !waits)
        return true;
    if (begun || !info->admin_comment ||
        strncmp(info->admin_comment, PARCEL_INTERIM, strlen(PARCEL_INTERIM)) != 0)
        return false;
    return !waits || !note_never_begun(p->job);
}

/* P is settled unless one of JOBS contradicts. */
static void judge(struct parcel *p, const job_info_msg_t *jobs)
{
    p->settled = true;
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        const slurm_job_info_t *info = &jobs->job_array[i];
        if (INFO_JOB_ID(info) == p->job && may_mislead(p, info))
            p->settled = false;
    }
}

/* Ask whether slurmctld has forgotten the run of P.  False when it does not
 * answer. */
static bool ask_for_run(struct parcel *p)
{
    job_info_msg_t *jobs = NULL;

    p->settled = true;
    /* Other clusters of a federation are no concern of its. */
    if (slurm_load_job(&jobs, p->job, SHOW_ALL | SHOW_LOCAL) != 0)
        return errno == ESLURM_INVALID_JOB_ID;
    judge(p, jobs);
    slurm_free_job_info_msg(jobs);
    return true;
}

/* The same for all of COUNT PARCELS that were told, by one question for all jobs. */
static bool ask_for_all(struct parcel *parcels, size_t count)
{
    job_info_msg_t *jobs = NULL;

    if (slurm_load_jobs(0, &jobs, SHOW_ALL | SHOW_LOCAL) != 0)
        return false;
    for (struct parcel *p = parcels; p < parcels + count; p++)
        if (p->told)
            judge(p, jobs);
    slurm_free_job_info_msg(jobs);
    return true;
}

bool controller_mend_requeued(struct parcel *p)
{
    bool answers = ask_for_run(p);

    p->settled = false; /* asked again before it is let go */
    return answers;
}

void controller_settle(struct parcel *parcels, size_t count)
{
    size_t told = 0, jobs = 0;

    for (const struct parcel *p = parcels; p < parcels + count; p++)
        told += p->told;
    bool answers = told > 0 && queue_is_empty(&jobs);
    if (answers && told >= MANY && jobs <= told * JOBS_FOR_ONE)
        answers = ask_for_all(parcels, count);
    else
        for (struct parcel *p = parcels; answers && p < parcels + count; p++)
            answers = !p->told || ask_for_run(p);
    /* Again: it may have restarted in between. */
    if (answers && queue_is_empty(&jobs))
        return;
    for (struct parcel *p = parcels; p < parcels + count; p++)
        p->settled = false;
}
