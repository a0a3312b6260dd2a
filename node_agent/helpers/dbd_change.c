/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Writes records into the accounting, through slurmdbd. */

#include "node_agent/helpers/dbd_change.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <slurm/slurmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_agent/helpers/slurm_compat.h"

#define CONNECTIONS     12 /* to slurmdbd at a time, at most */
#define PER_CONNECTION  8  /* records that are worth one */
#define PER_TRANSACTION 64
#define SOCKETS_MAX     64 /* descriptors are below */

/* States of a run that is over, as sacct has them: with one the times mean its
 * end. */
static const struct {
    const char *name;
    unsigned number;
} ended_states[] = {
    {"COMPLETED", JOB_COMPLETE},  {"CANCELLED", JOB_CANCELLED}, {"FAILED", JOB_FAILED},
    {"TIMEOUT", JOB_TIMEOUT},     {"NODE_FAIL", JOB_NODE_FAIL}, {"PREEMPTED", JOB_PREEMPTED},
    {"BOOT_FAIL", JOB_BOOT_FAIL}, {"DEADLINE", JOB_DEADLINE},   {"OUT_OF_MEMORY", JOB_OOM},
    {"REQUEUED", JOB_REQUEUE},
};
#define ENDED_STATES (sizeof(ended_states) / sizeof(ended_states[0]))

bool dbd_change_wanted(const struct parcel *p)
{
    return (*p->run.name && p->run.ended_s >= 0 && !p->there) || *p->never_begun.name;
}

/* ---- the connection
 * ---------------------------------------------------------- */

/* Acknowledge whatever comes to the sockets of the epoll instance ARG. */
static void *acknowledge(void *arg)
{
    const int *epoll = arg, one = 1;
    struct epoll_event event;

    for (;;)
        if (epoll_wait(*epoll, &event, 1, -1) > 0)
            setsockopt(event.data.fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof(one));
        else if (errno != EINTR)
            return NULL;
}

/* Let no part of a message wait, on all sockets of this process: slower, but
 * right, where this fails. */
static void hurry(void)
{
    static int epoll;
    const int one = 1;
    pthread_t thread;

    epoll = epoll_create1(EPOLL_CLOEXEC);
    for (int fd = 3; epoll >= 0 && fd < SOCKETS_MAX; fd++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
        if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0)
            epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    }
    if (epoll >= 0 && pthread_create(&thread, NULL, acknowledge, &epoll) == 0)
        pthread_detach(thread);
}

/* ---- one change
 * --------------------------------------------------------------- */

/* The states that RUN may have, as texts. */
static List states_of(const struct run *run)
{
    static char texts[ENDED_STATES][12];
    List list = slurm_list_create(NULL);
    bool known = false;

    for (size_t i = 0; i < ENDED_STATES; i++)
        known |= strcmp(run->state, ended_states[i].name) == 0;
    for (size_t i = 0; i < ENDED_STATES; i++) {
        if (known && strcmp(run->state, ended_states[i].name) != 0)
            continue;
        snprintf(texts[i], sizeof(texts[i]), "%u", ended_states[i].number);
        slurm_list_append(list, texts[i]);
    }
    return list;
}

/* What slurmdbd takes for RUN, one of ROWS of its job. */
static void select_run(const struct run *run, size_t rows, slurmdb_job_cond_t *cond,
                       slurm_selected_step_t *step)
{
    char *rest;

    *step = (slurm_selected_step_t){.array_task_id = NO_VAL, .het_job_offset = NO_VAL};
    step->step_id.job_id = (uint32_t)strtoul(run->name, &rest, 10);
    step->step_id.step_id = step->step_id.step_het_comp = NO_VAL;
    /* The number of an array's last element means all of them; its name does
     * not. */
    if (*rest == '_')
        step->array_task_id = (uint32_t)strtoul(rest + 1, NULL, 10);
    else if (*rest == '+')
        step->het_job_offset = (uint32_t)strtoul(rest + 1, NULL, 10);
    /* Other flags, NO_VAL as well, mean jobs that have some of these. */
    *cond = (slurmdb_job_cond_t){.flags = JOBCOND_FLAG_NO_STEP,
                                 .db_flags = SLURMDB_JOB_FLAG_NOTSET};
    /* Else the last run is meant. */
    if (rows > 1) {
        cond->flags |= JOBCOND_FLAG_DUP;
        cond->usage_start = cond->usage_end = run->ended_s;
        cond->state_list = states_of(run);
    }
    cond->step_list = slurm_list_create(NULL);
    slurm_list_append(cond->step_list, step);
    /* Other clusters of the same accounting have jobs of that number, too. */
    cond->cluster_list = slurm_list_create(NULL);
    slurm_list_append(cond->cluster_list, (char *)(uintptr_t)run->cluster);
}

static void modify(void *connection, const struct run *run, size_t rows, const char *text)
{
    slurm_selected_step_t step;
    slurmdb_job_cond_t cond;
    slurmdb_job_rec_t change;

    memset(&change, 0, sizeof(change));
    change.derived_ec = NO_VAL;
    change.FINAL_RECORD = (char *)(uintptr_t)text;
    select_run(run, rows, &cond, &step);
    __auto_type changed = slurmdb_job_modify(connection, &cond, &change);
    if (changed)
        slurm_list_destroy(changed);
    if (cond.state_list)
        slurm_list_destroy(cond.state_list);
    slurm_list_destroy(cond.step_list);
    slurm_list_destroy(cond.cluster_list);
}

/* ---- all of them
 * ---------------------------------------------------------------- */

/* Every STRIDE-th of the parcels to change from FIRST on, by a connection of
 * our own. */
static void change_some(const struct parcel *parcels, size_t count, size_t first, size_t stride)
{
    uint16_t flags = 0;
    void *connection = slurmdb_connection_get(&flags);
    size_t n = 0, done = 0;

    if (!connection)
        return;
    hurry();
    for (const struct parcel *p = parcels; p < parcels + count; p++) {
        if (!dbd_change_wanted(p) || n++ % stride != first)
            continue;
        if (*p->run.name && p->run.ended_s >= 0 && !p->there)
            modify(connection, &p->run, p->rows, p->text);
        if (*p->never_begun.name)
            modify(connection, &p->never_begun, p->rows, PARCEL_NEVER_BEGUN);
        if (++done % PER_TRANSACTION == 0)
            slurmdb_connection_commit(connection, 1);
    }
    if (done % PER_TRANSACTION)
        slurmdb_connection_commit(connection, 1);
    slurmdb_connection_close(&connection);
}

void dbd_change_all(const struct parcel *parcels, size_t count)
{
    size_t wanted = 0;

    for (const struct parcel *p = parcels; p < parcels + count; p++)
        wanted += dbd_change_wanted(p);
    size_t workers = (wanted + PER_CONNECTION - 1) / PER_CONNECTION;
    if (workers > CONNECTIONS)
        workers = CONNECTIONS;
    for (size_t i = 0; i < workers; i++)
        if (fork() == 0) {
            change_some(parcels, count, i, workers);
            _exit(0);
        }
    while (wait(NULL) > 0 || errno == EINTR)
        ;
}
