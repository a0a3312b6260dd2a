/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the accounting shows of jobs, by sacct. */

#include "node_agent/helpers/sacct_look.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_agent/helpers/courier.h"
#include "node_agent/helpers/slurm_compat.h"

extern char **environ;

/* Start sacct for JOBS, a list of numbers, with its output in *OUT.  0 or an
 * errno. */
static int start_sacct(char *jobs, pid_t *pid, FILE **out)
{
    /* A clock that was set back must not hide what is in the future now.  A run
     * that was requeued has a row of its own. */
    char *const show[] = {"sacct",
                          "-n",
                          "-P",
                          "-X",
                          "-D",
                          "-E",
                          "now+7days",
                          "-j",
                          jobs,
                          "-o",
                          "jobidraw,jobid,cluster,start,end,state,nodelist," RECORD_COLUMNS,
                          NULL};
    posix_spawn_file_actions_t actions;
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return errno;
    posix_spawn_file_actions_init(&actions);
    int rc = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
    for (int to = 1; rc == 0 && to <= 2; to++)
        rc = posix_spawn_file_actions_adddup2(&actions, fds[1], to);
    if (rc == 0)
        rc = posix_spawnp(pid, show[0], &actions, NULL, show, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    if (rc == 0 && (*out = fdopen(fds[0], "r")))
        return 0;
    close(fds[0]);
    return rc ? rc : errno;
}

/* The next column of *REST. */
static char *column(char **rest)
{
    char *text = strsep(rest, "|");

    return text ? text : "";
}

/* Seconds, or -1: "Unknown", "None". */
static int64_t seconds(const char *text)
{
    char *end;
    long long value = strtoll(text, &end, 10);

    return end == text || *end ? -1 : value;
}

static bool starts_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* Did Slurm end a run in STATE to begin the job anew? */
static bool is_given_up(const char *state)
{
    return starts_with(state, "REQUEUE") || starts_with(state, "PREEMPTED") ||
           starts_with(state, "NODE_FAIL") || starts_with(state, "BOOT_FAIL");
}

/* When RUN began at the latest: slurmdbd may have heard of its end alone, if the job was requeued
 * at once.  -1: not so far. */
static int64_t began(const struct run *run)
{
    return run->start_s >= 0 ? run->start_s : run->ended_s;
}

/* What counts of a row's RECORD_COLUMNS, the rest of it. */
static const char *record_of(char *rest)
{
    char *last = strrchr(rest, '|');

    /* Where it is not empty, the first one. */
    if (last && strchr(RECORD_COLUMNS, ',')) {
        *last = '\0';
        return *rest ? rest : last + 1;
    }
    return rest;
}

/* RUN is of P's job, with the record COMMENT: take it if it is P's, the last
 * run that began before the record was made, or, where clocks contradict that,
 * the last. */
static void take_run(struct parcel *p, const struct run *run, const char *comment)
{
    bool fits = began(run) >= 0 && began(run) <= p->end_s + PARCEL_SKEW_S;

    if (p->fits && (!fits || began(run) < began(&p->run)))
        return;
    p->run = *run;
    p->fits = fits;
    p->there = run->ended_s >= 0 && starts_with(comment, p->text);
    p->requeued = is_given_up(run->state);
}

/* Take a ROW for the parcel that it is about. */
static void take_row(struct parcel *parcels, size_t count, char *row)
{
    struct run run = {.start_s = -1};
    char *number = column(&row), *name = column(&row), *cluster = column(&row);

    run.start_s = seconds(column(&row));
    run.ended_s = seconds(column(&row));
    char *state = column(&row), *nodes = column(&row);
    unsigned long job = strtoul(number, NULL, 10);
    if (!row || strlen(name) >= sizeof(run.name) || !*name ||
        strlen(cluster) >= sizeof(run.cluster) || number[strspn(number, "0123456789")])
        return;
    strcpy(run.name, name);
    strcpy(run.cluster, cluster);
    snprintf(run.state, sizeof(run.state), "%.*s", (int)strcspn(state, " "), state);
    /* A job that is cancelled in the queue gets a start from Slurm, too. */
    const char *record = record_of(row);
    bool begun = strcmp(nodes, "None assigned") != 0;
    for (struct parcel *p = parcels; p < parcels + count; p++) {
        if (p->job != job)
            continue;
        p->rows++;
        if (begun) {
            take_run(p, &run, record);
        } else if (run.ended_s >= 0) {
            p->forgotten = run;
            p->forgotten_there = starts_with(record, p->text);
            if (starts_with(record, PARCEL_INTERIM))
                p->never_begun = run;
        }
    }
}

/* A slurmctld that was killed before it had saved that P's run began has one that never did.  There
 * is no other, so the record is of that. */
static void take_forgotten(struct parcel *p)
{
    if (*p->run.name || p->rows != 1 || !*p->forgotten.name)
        return;
    p->run = p->forgotten;
    p->there = p->forgotten_there;
    p->never_begun.name[0] = '\0';
}

bool sacct_look(struct parcel *parcels, size_t count, char said[SACCT_SAID_MAX])
{
    static char jobs[COURIER_BATCH * 11 + 1];
    char *line = NULL;
    size_t used = 0, room = 0;
    FILE *out;
    pid_t pid;
    int status = -1;

    said[0] = '\0';
    for (struct parcel *p = parcels; p < parcels + count; p++) {
        p->run.name[0] = p->never_begun.name[0] = p->forgotten.name[0] = '\0';
        p->rows = 0;
        p->fits = p->there = p->requeued = false;
        used += (size_t)snprintf(jobs + used, sizeof(jobs) - used, "%s%u", used ? "," : "", p->job);
    }
    int rc = start_sacct(jobs, &pid, &out);
    if (rc) {
        snprintf(said, SACCT_SAID_MAX, "sacct: %s", strerror(rc));
        return false;
    }
    while (getline(&line, &room, out) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (!*said && *line)
            snprintf(said, SACCT_SAID_MAX, "%s", line);
        take_row(parcels, count, line);
    }
    for (struct parcel *p = parcels; p < parcels + count; p++)
        take_forgotten(p);
    free(line);
    fclose(out);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0 && !*said)
        snprintf(said, SACCT_SAID_MAX, "sacct failed without a word");
    return status == 0;
}
