/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Ends of jobs. */

#include "node_agent/daemon/ending.h"

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/client/end_note.h"
#include "node_agent/daemon/agent.h"
#include "node_agent/daemon/delivery.h"
#include "node_agent/daemon/listener.h"

/* Notes of epilogs are rare, and nobody waits for them. */
#define NOTES_INTERVAL_NS (2 * NS_PER_S)

/* After whatever root asks for, before users. */
#define PRIORITY (EVENT_USERS_PRIORITY - 1)

void ending_dead(struct agent *a, struct job *job)
{
    const struct pending *record = delivery_make_final(a, job);

    /* The state says both in one line, so that no agent makes a second record of it. */
    agent_kept(a, state_note_end(&a->state, job->id, record, NULL));
    delivery_send(a);
    looks_forget(job);
    listener_free(job->listener);
    job_remove(&a->jobs, job);
    agent_touch(a);
}

/* Of the processes and tasks of JOB, MOST at most. */
static void detach_some(struct agent *a, struct job *job, size_t most)
{
    for (; most && job->processes; most--)
        agent_detach(a, job->processes, "withdrawal");
    for (; most && job->tasks; most--)
        job_remove_task(job->tasks);
}

/* Some more of JOB.  True when that was all, and it is forgotten. */
static bool go_on(struct agent *a, struct job *job, size_t most)
{
    char why[64];

    detach_some(a, job, most);
    if (job_live(job))
        return false;
    snprintf(why, sizeof(why), "the withdrawal of job %u", job->id);
    agent_job_changed(a, job, false, why);
    ending_dead(a, job);
    return true;
}

static int on_turn(sd_event_source *source, void *arg)
{
    struct agent *a = arg;
    struct job *j = a->jobs.first;

    while (j && !j->ending)
        j = j->next;
    if (j)
        go_on(a, j, ENDING_MOST);
    return sd_event_source_set_enabled(source, j ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

/* There will be turns. */
static int arm(struct agent *a)
{
    if (a->ending_source)
        return sd_event_source_set_enabled(a->ending_source, SD_EVENT_ONESHOT);
    int rc = sd_event_add_defer(a->event, &a->ending_source, on_turn, a);
    return rc < 0 ? rc : sd_event_source_set_priority(a->ending_source, PRIORITY);
}

void ending_begin(struct agent *a, struct job *job)
{
    if (job->ending)
        return;
    job->ending = true;
    if (!go_on(a, job, ENDING_MOST) && arm(a) < 0)
        ending_finish(a, job);
}

void ending_finish(struct agent *a, struct job *job)
{
    go_on(a, job, SIZE_MAX);
}

/* ---- that nobody has told ----------------------------------------------------- */

static void on_end_note(void *arg, uint32_t id, uint64_t end_ns)
{
    struct agent *a = arg;
    struct job *job = job_find(&a->jobs, id);

    /* Else it has been withdrawn after all, or this is a later run of it. */
    if (job && end_ns >= job->announced_ns) {
        log_info("job %u: its epilog left a note", id);
        ending_begin(a, job);
    }
}

static void take_end_notes(struct agent *a)
{
    struct errtext err;

    a->notes_ns = clock_ns();
    if (end_note_take(a->settings->socket, on_end_note, a, &err) < 0 &&
        log_limit_allows(&a->notes_lost, 0, a->notes_ns))
        log_warn("notes of epilogs: %s", err.text);
}

/* End jobs whose epilog never came: slurmd died, or the agent was away then.
 * Their records would be lost, and the table would grow. */
static void end_forgotten(struct agent *a, uint64_t now_ns)
{
    struct job *next;

    for (struct job *j = a->jobs.first; j; j = next) {
        uint64_t since_ns = j->ended_ns ? j->ended_ns : j->announced_ns;
        next = j->next;
        if (!job_live(j) && now_ns > since_ns && now_ns - since_ns > a->options.forget_ns)
            ending_begin(a, j);
    }
}

void ending_look(struct agent *a, uint64_t now_ns)
{
    if (now_ns - a->notes_ns <= NOTES_INTERVAL_NS)
        return;
    take_end_notes(a);
    end_forgotten(a, now_ns);
}
