/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Brings a batch of final records into Slurm's accounting, and reads them back. */

#include "node_agent/helpers/courier.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_agent/helpers/slurm_compat.h"

#define TEXT_MAX 1000
#define CONNECTIONS 12      /* to slurmdbd at a time, at most */
#define PER_CONNECTION 8    /* records that are worth one */
#define PER_TRANSACTION 16
#define SAID_MAX 200
/* Clocks of nodes and controller may differ. */
#define SKEW_S 1

extern char **environ;

/* A record, and the run of its job that sacct shows. */
struct parcel {
    uint32_t job;
    int64_t end_s;
    char text[TEXT_MAX + 1];
    /* of the accounting; name "": it does not know the run */
    char name[32]; /* as users call it: 4_7 of an array */
    char cluster[128];
    size_t rows;     /* of that job: its runs, and older jobs of that number */
    int64_t start_s, ended_s; /* -1: not so far */
    bool fits; /* it began before the record's end */
    bool there; /* with the record */
    bool told;  /* it was there before */
    bool settled; /* slurmctld will not write it any more */
};

static struct parcel parcels[COURIER_BATCH];
static size_t count;

/* ---- talking to who has started us ------------------------------------------ */

static void say(json_t *line)
{
    if (line && json_dumpf(line, stdout, JSON_COMPACT) == 0)
        putchar('\n');
    fflush(stdout);
    json_decref(line);
}

static void say_word(const char *word, const char *text)
{
    text += strspn(text, " \n");
    say(json_pack("{s:s%}", word, text, strcspn(text, "\n")));
}

static void read_parcels(void)
{
    char *line = NULL;
    size_t room = 0;

    while (count < COURIER_BATCH && getline(&line, &room, stdin) > 0) {
        struct parcel *p = &parcels[count];
        const char *text;
        json_int_t job, end_s;
        int told = 0;
        json_t *object = json_loads(line, 0, NULL);
        if (json_unpack(object, "{s:I, s:I, s:s, s?b}", "job", &job, "end", &end_s, "text",
                        &text, "told", &told) == 0 && strlen(text) <= TEXT_MAX) {
            *p = (struct parcel){.job = (uint32_t)job, .end_s = end_s, .told = told};
            strcpy(p->text, text);
            count++;
        }
        json_decref(object);
    }
    free(line);
}

/* ---- what slurmctld knows ----------------------------------------------------- */

/* True when slurmctld has nothing more to send to slurmdbd: what it wrote in the past,
 * while that was away, is there. */
static bool queue_is_empty(void)
{
    stats_info_request_msg_t request = {.command_id = STAT_COMMAND_GET};
    stats_info_response_msg_t *stats = NULL;

    return slurm_get_statistics(&stats, &request) == 0 && stats &&
           stats->dbd_agent_queue_size == 0;
}

/* Ask whether slurmctld has forgotten the run of P: it sends what it remembers whenever it
 * restarts.  False when it does not answer. */
static bool ask_for_run(struct parcel *p)
{
    job_info_msg_t *jobs = NULL;

    p->settled = true;
    if (slurm_load_job(&jobs, p->job, SHOW_ALL) != 0)
        return errno == ESLURM_INVALID_JOB_ID;
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        const slurm_job_info_t *info = &jobs->job_array[i];
        /* A job that was requeued begins anew, and its runs so far are written. */
        if (info->job_id == p->job && info->start_time > 0 &&
            info->start_time <= p->end_s + SKEW_S)
            p->settled = false;
    }
    slurm_free_job_info_msg(jobs);
    return true;
}

/* Ask about the records that were there.  What the accounting shows after that is final. */
static void settle(void)
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

/* ---- what the accounting knows ----------------------------------------------- */

/* Start sacct for JOBS, a list of numbers, with its output in *OUT.  0 or an errno. */
static int start_sacct(char *jobs, pid_t *pid, FILE **out)
{
    /* A clock that was set back must not hide what is in the future now.  A run that was
     * requeued has a row of its own. */
    char *const show[] = {"sacct", "-n", "-P", "-X", "-D", "-E", "now+7days", "-j", jobs, "-o",
                          "jobidraw,jobid,cluster,start,end,admincomment", NULL};
    posix_spawn_file_actions_t actions;
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 2);
    int rc = posix_spawnp(pid, show[0], &actions, NULL, show, environ);
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

/* Take a ROW for the parcel that it is about: the last run that began before the
 * record was made, or, where clocks contradict that, the last. */
static void take_row(char *row)
{
    char *number = column(&row), *name = column(&row), *cluster = column(&row);
    int64_t start_s = seconds(column(&row)), ended_s = seconds(column(&row));
    unsigned long job = strtoul(number, NULL, 10);

    if (!row || strlen(name) >= sizeof(parcels->name) || !*name ||
        strlen(cluster) >= sizeof(parcels->cluster) || number[strspn(number, "0123456789")])
        return;
    for (struct parcel *p = parcels; p < parcels + count; p++) {
        bool fits = start_s >= 0 && start_s <= p->end_s + SKEW_S;
        if (p->job == job)
            p->rows++;
        if (p->job != job || (p->fits && (!fits || start_s < p->start_s)))
            continue;
        strcpy(p->name, name);
        strcpy(p->cluster, cluster);
        p->start_s = start_s;
        p->ended_s = ended_s;
        p->fits = fits;
        p->there = ended_s >= 0 && strncmp(row, p->text, strlen(p->text)) == 0;
    }
}

/* Ask sacct.  False, and said why, when it does not answer. */
static bool look(void)
{
    static char jobs[COURIER_BATCH * 11 + 1];
    char said[SAID_MAX] = "", *line = NULL;
    size_t used = 0, room = 0;
    FILE *out;
    pid_t pid;
    int status = -1;

    for (struct parcel *p = parcels; p < parcels + count; p++) {
        p->name[0] = '\0';
        p->rows = 0;
        p->fits = p->there = false;
        used += (size_t)snprintf(jobs + used, sizeof(jobs) - used, "%s%u", used ? "," : "",
                                 p->job);
    }
    int rc = start_sacct(jobs, &pid, &out);
    if (rc) {
        snprintf(said, sizeof(said), "sacct: %s", strerror(rc));
        say_word("away", said);
        return false;
    }
    while (getline(&line, &room, out) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (!*said && *line)
            snprintf(said, sizeof(said), "%s", line);
        take_row(line);
    }
    free(line);
    fclose(out);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status == 0)
        return true;
    say_word(strstr(said, "disabled") ? "refused" : "away",
             *said ? said : "sacct failed without a word");
    return false;
}

/* ---- changing it -------------------------------------------------------------- */

/* All states of a run that is over, as texts: with them the times mean its end. */
static char ended_states[10][8];

static void name_states(void)
{
    static const unsigned states[] = {JOB_COMPLETE, JOB_CANCELLED, JOB_FAILED,   JOB_TIMEOUT,
                                      JOB_NODE_FAIL, JOB_PREEMPTED, JOB_BOOT_FAIL, JOB_DEADLINE,
                                      JOB_OOM,       JOB_REQUEUE};

    _Static_assert(sizeof(states) / sizeof(states[0]) ==
                       sizeof(ended_states) / sizeof(ended_states[0]), "one text for each");
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        snprintf(ended_states[i], sizeof(ended_states[i]), "%u", states[i]);
}

/* What slurmdbd takes for the run of P. */
static void select_run(const struct parcel *p, slurmdb_job_cond_t *cond,
                       slurm_selected_step_t *step)
{
    char *rest;

    *step = (slurm_selected_step_t){.array_task_id = NO_VAL, .het_job_offset = NO_VAL};
    step->step_id.job_id = (uint32_t)strtoul(p->name, &rest, 10);
    step->step_id.step_id = step->step_id.step_het_comp = NO_VAL;
    /* The number of an array's last element means all of them; its name does not. */
    if (*rest == '_')
        step->array_task_id = (uint32_t)strtoul(rest + 1, NULL, 10);
    else if (*rest == '+')
        step->het_job_offset = (uint32_t)strtoul(rest + 1, NULL, 10);
    *cond = (slurmdb_job_cond_t){.flags = JOBCOND_FLAG_NO_STEP, .db_flags = NO_VAL};
    /* Else the last run is meant. */
    if (p->rows > 1) {
        cond->flags |= JOBCOND_FLAG_DUP;
        cond->usage_start = cond->usage_end = p->ended_s;
        cond->state_list = slurm_list_create(NULL);
        for (size_t i = 0; i < sizeof(ended_states) / sizeof(ended_states[0]); i++)
            slurm_list_append(cond->state_list, ended_states[i]);
    }
    cond->step_list = slurm_list_create(NULL);
    slurm_list_append(cond->step_list, step);
    /* Other clusters of the same accounting have jobs of that number, too. */
    cond->cluster_list = slurm_list_create(NULL);
    slurm_list_append(cond->cluster_list, (char *)(uintptr_t)p->cluster);
}

static void modify(void *connection, const struct parcel *p)
{
    slurm_selected_step_t step;
    slurmdb_job_cond_t cond;
    slurmdb_job_rec_t change;

    memset(&change, 0, sizeof(change));
    change.derived_ec = NO_VAL;
    change.admin_comment = (char *)(uintptr_t)p->text;
    select_run(p, &cond, &step);
    __auto_type changed = slurmdb_job_modify(connection, &cond, &change);
    if (changed)
        slurm_list_destroy(changed);
    if (cond.state_list)
        slurm_list_destroy(cond.state_list);
    slurm_list_destroy(cond.step_list);
    slurm_list_destroy(cond.cluster_list);
}

static bool to_modify(const struct parcel *p)
{
    return *p->name && p->ended_s >= 0 && !p->there;
}

/* Every STRIDE-th of the parcels to modify from FIRST on, by a connection of our own. */
static void modify_some(size_t first, size_t stride)
{
    uint16_t flags = 0;
    void *connection = slurmdb_connection_get(&flags);
    size_t n = 0, done = 0;

    if (!connection)
        return;
    for (const struct parcel *p = parcels; p < parcels + count; p++) {
        if (!to_modify(p) || n++ % stride != first)
            continue;
        modify(connection, p);
        if (++done % PER_TRANSACTION == 0)
            slurmdb_connection_commit(connection, 1);
    }
    slurmdb_connection_commit(connection, 1);
    slurmdb_connection_close(&connection);
}

/* Change all that has to be.  What has come of it is to be looked at. */
static void modify_all(void)
{
    size_t wanted = 0;

    for (const struct parcel *p = parcels; p < parcels + count; p++)
        wanted += to_modify(p);
    size_t workers = (wanted + PER_CONNECTION - 1) / PER_CONNECTION;
    if (workers > CONNECTIONS)
        workers = CONNECTIONS;
    for (size_t i = 0; i < workers; i++) {
        pid_t pid = workers > 1 ? fork() : -1;
        if (pid > 0)
            continue;
        modify_some(i, workers);
        if (pid == 0)
            _exit(0);
    }
    while (wait(NULL) > 0 || errno == EINTR)
        ;
}

static void answer(const struct parcel *p)
{
    const char *error = !*p->name       ? "sacct does not know the job"
                        : p->ended_s < 0 ? "the job's end is not in the accounting yet"
                        : !p->there      ? "sacct does not show the record"
                                         : NULL;

    say(json_pack("{s:I, s:I, s:s*, s:b}", "job", (json_int_t)p->job, "end",
                  (json_int_t)p->end_s, "error", error, "settled", p->settled && !error));
}

/* How long slurmctld keeps ended jobs: it may write its own record again until then. */
static void tell_age(void)
{
    slurm_conf_t *conf = NULL;

    if (slurm_load_ctl_conf(0, &conf) != 0)
        return;
    say(json_pack("{s:I}", "age", (json_int_t)conf->min_job_age));
    slurm_free_ctl_conf(conf);
}

int courier(void)
{
    bool some = false;

    read_parcels();
    setenv("SLURM_TIME_FORMAT", "%s", 1);
    name_states();
    slurm_init(NULL);
    settle();
    if (!count || !look())
        return 0;
    for (const struct parcel *p = parcels; p < parcels + count; p++)
        some |= to_modify(p);
    if (some) {
        modify_all();
        if (!look())
            return 0;
    }
    for (const struct parcel *p = parcels; p < parcels + count; p++)
        answer(p);
    tell_age();
    return 0;
}
