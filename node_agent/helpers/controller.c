/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What slurmctld remembers of runs that are over. */

#include "node_agent/helpers/controller.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <string.h>

#include "node_agent/helpers/slurm_compat.h"

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
 * the past, while that was away, is there. */
static bool queue_is_empty(void)
{
    stats_info_request_msg_t request = {.command_id = STAT_COMMAND_GET};
    stats_info_response_msg_t *stats = NULL;

    return slurm_get_statistics(&stats, &request) == 0 && stats && stats->dbd_agent_queue_size == 0;
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

/* Ask whether slurmctld has forgotten the run of P.  False when it does not
 * answer. */
static bool ask_for_run(struct parcel *p)
{
    job_info_msg_t *jobs = NULL;

    p->settled = true;
    /* Other clusters of a federation are no concern of its. */
    if (slurm_load_job(&jobs, p->job, SHOW_ALL | SHOW_LOCAL) != 0)
        return errno == ESLURM_INVALID_JOB_ID;
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        const slurm_job_info_t *info = &jobs->job_array[i];
        if (INFO_JOB_ID(info) == p->job && may_mislead(p, info))
            p->settled = false;
    }
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
    size_t told = 0;

    for (const struct parcel *p = parcels; p < parcels + count; p++)
        told += p->told;
    bool answers = told > 0 && queue_is_empty();
    for (struct parcel *p = parcels; answers && p < parcels + count; p++)
        answers = !p->told || ask_for_run(p);
    /* Again: it may have restarted in between. */
    if (answers && queue_is_empty())
        return;
    for (struct parcel *p = parcels; p < parcels + count; p++)
        p->settled = false;
}
