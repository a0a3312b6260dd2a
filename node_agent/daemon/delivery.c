/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the agent tells Slurm of its jobs. */

#include "node_agent/daemon/delivery.h"

#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/core/hot.h"
#include "node_agent/core/job_log.h"

void delivery_send(struct agent *a)
{
    for (struct pending *p = a->records ? a->pending.first : NULL; p; p = p->next) {
        if (!p->sent && slurm_link_record(a->records, p->job, p->text, p->end_s) < 0)
            return;
        p->sent = true;
    }
}

void delivery_send_interim(struct agent *a, struct job *job)
{
    char text[RECORD_TEXT_MAX];

    if (!a->slurm || job->interim_sent || job->node || a->options.report != REPORT_ALL)
        return;
    if (!job->record.policy[0])
        snprintf(job->record.policy, sizeof(job->record.policy), "%s",
                 a->options.policy);
    record_format(&job->record, "running", text);
    job->interim_sent =
        slurm_link_comment(a->slurm, job->id, text) == 0;
}

const struct pending *delivery_make_final(struct agent *a, struct job *job)
{
    char text[RECORD_TEXT_MAX];
    uint64_t end_s = (job->ended_wall_ns ? job->ended_wall_ns : clock_wall_ns()) /
                     NS_PER_S;
    uint32_t dropped;

    if (!job->record.policy[0])
        snprintf(job->record.policy, sizeof(job->record.policy), "%s",
                 a->options.policy);
    job->record.unseen = !job->started;
    if (job->cooperative)
        hot_note(&job->record, &job->regions);
    record_format(&job->record, "final", text);
    job_log_end(job);
    log_info("job %u ended: %s", job->id, text);
    if (!a->settings->slurm || job->node || a->options.report == REPORT_NONE)
        return NULL;
    const struct pending *record = pending_add(&a->pending, job->id, end_s, text, &dropped);
    if (dropped)
        log_error("record of job %u: dropped, since %d others wait for %s, which does not "
                  "keep them", dropped, PENDING_LIMIT, a->settings->helper);
    return record;
}

/* Somebody else has the record, or nobody will. */
static void forget(struct agent *a, uint32_t job, uint64_t end_s)
{
    if (!pending_remove(&a->pending, job, end_s))
        return;
    agent_kept(a, state_note_kept(&a->state, job, end_s, NULL));
    agent_touch(a);
}

void delivery_failed(void *arg, uint32_t job, uint64_t end_s, const char *error)
{
    struct agent *a = arg;

    log_warn("record of job %u: %s", job, error);
    if (end_s)
        forget(a, job, end_s);
}

/* Somebody else has the record of JOB's run that ended at END_S. */
static void on_kept(void *arg, uint32_t job, uint64_t end_s)
{
    struct agent *a = arg;

    forget(a, job, end_s);
    delivery_send(a);
}

static bool has_collector(const struct agent *a)
{
    return strcmp(a->options.collector, "none") != 0;
}

void delivery_set_collector(struct agent *a)
{
    const char *munge = a->settings->munge_socket;

    if (a->records)
        slurm_link_collector(a->records, has_collector(a) ? a->options.collector : "",
                             *munge ? munge : NULL);
}

static void on_recorded(void *arg, uint32_t job, uint64_t end_s)
{
    struct agent *a = arg;

    a->records_trouble[0] = '\0';
    log_info("job %u: its record is %s", job,
             has_collector(a) ? "with the collector" : "in the accounting");
    on_kept(arg, job, end_s);
}

static void on_trouble(void *arg, const char *event, uint32_t count, const char *error)
{
    struct agent *a = arg;

    if (strcmp(event, "waiting") == 0)
        snprintf(a->records_trouble, sizeof(a->records_trouble),
                 "%u wait, because %s does not answer: %s", count,
                 has_collector(a) ? "their collector" : "Slurm's accounting", error);
    else
        snprintf(a->records_trouble, sizeof(a->records_trouble),
                 "a restart of this node would lose those that wait: %s", error);
    log_warn("records: %s", a->records_trouble);
}

/* A helper that begins knows what the one before it has kept. */
static void on_records_ready(void *arg)
{
    struct agent *a = arg;

    for (struct pending *p = a->pending.first; p; p = p->next)
        p->sent = false;
    delivery_set_collector(a);
    delivery_send(a);
}

const struct slurm_link_handler delivery_records = {
    .failed = delivery_failed,
    .kept = on_kept,
    .recorded = on_recorded,
    .trouble = on_trouble,
    .ready = on_records_ready,
};

