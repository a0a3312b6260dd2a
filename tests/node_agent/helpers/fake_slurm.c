/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What coschedd-slurm uses of libslurm, told by files below $FAKE_SLURM: put in
 * front of it by LD_PRELOAD.
 *
 *   config   two lines: time of the last change, SchedulerParameters; without
 *            it slurmctld is away
 *   age      MinJobAge, 300 without it
 *   partitions  time of the last change; then "NAME NODES" per line; without it
 *            slurmctld is away
 *   partitions.asked  written: one line per look at them
 *   asked    written: one line per look at the configuration, its argument
 *   updates  written: one line per update of a job, "JOB COMMENT"
 *   comment  AdminComment of job 7; without it no job is known but those in
 *   known    "JOB START STATE COMMENT" per line, the last two may be missing: COMPLETED and
 *            none; of waiting ones START is 0
 *   known.asked  written: one line per look at a job, or "all"
 *   queue    number of messages that wait for slurmdbd, 0 without it
 *   refuse   if there, updates are refused
 *   boot     when slurmctld began, 1 without it; of several numbers each is for one look
 *   statistics.asked  written: one line per look at those of slurmctld
 *   rows     the accounting: "RAW|NAME|CLUSTER|START|END|STATE|NODES|COMMENT" per line
 *   modified written: "NAME END COMMENT" per change of rows; END 0: of the last run
 *   commits  written: one line per end of a transaction
 *   dies     if there, it is removed and slurmdbd's plugin ends its process
 *   no-dbd   if there, slurmdbd refuses changes
 *   connections  written: one line per connection to slurmdbd
 *   courier.input  written: what couriers were given
 *   courier.under  what the next courier is run under, a word per line; removed
 */

#include <errno.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "node_agent/helpers/slurm_compat.h"

static FILE *file(const char *name, const char *mode)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", getenv("FAKE_SLURM"), name);
    return fopen(path, mode);
}

static void note(const char *name, const char *format, ...)
{
    FILE *out = file(name, "a");
    va_list ap;

    va_start(ap, format);
    if (out) {
        vfprintf(out, format, ap);
        fclose(out);
    }
    va_end(ap);
}

/* In a courier. */
static void copy_input(void)
{
    char data[4096];
    off_t at = 0;
    ssize_t got;
    FILE *out = file("courier.input", "a");

    while (out && (got = pread(0, data, sizeof(data), at)) > 0)
        at += (off_t)fwrite(data, 1, (size_t)got, out);
    if (out)
        fclose(out);
}

/* In a courier: start it again under a program, if one is to be. */
__attribute__((constructor)) static void run_under(int argc, char **argv)
{
    static char word[16][4096], self[4096];
    char path[4096], *command[18];
    int words = 0;

    if (argc != 2 || strcmp(argv[1], "--deliver") != 0 || !getenv("FAKE_SLURM"))
        return;
    copy_input();
    FILE *in = file("courier.under", "r");
    snprintf(path, sizeof(path), "%s/courier.under", getenv("FAKE_SLURM"));
    if (!in || unlink(path) < 0 || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        return;
    while (words < 15 && fscanf(in, "%4095s", word[words]) == 1) {
        command[words] = word[words];
        words++;
    }
    command[words++] = self;
    command[words++] = argv[1];
    command[words] = NULL;
    fclose(in);
    execv(command[0], command);
    abort();
}

void slurm_init(const char *conf)
{
    (void)conf;
}

static time_t boot_time(void)
{
    char rest[256] = "";
    long long boot = 1;
    FILE *in = file("boot", "r");

    if (in && fscanf(in, "%lld %255[^\n]", &boot, rest) < 1)
        abort();
    if (in)
        fclose(in);
    FILE *out = *rest ? file("boot", "w") : NULL;
    if (out) {
        fprintf(out, "%s\n", rest);
        fclose(out);
    }
    return boot;
}

int slurm_load_ctl_conf(time_t update_time, slurm_conf_t **conf)
{
    static char parameters[65536];
    long long last_update;
    FILE *in = file("config", "r");

    note("asked", "%lld\n", (long long)update_time);
    if (!in) {
        errno = SLURM_COMMUNICATIONS_CONNECTION_ERROR;
        return SLURM_ERROR;
    }
    parameters[0] = '\0';
    int got = fscanf(in, "%lld\n%65535[^\n]", &last_update, parameters);
    fclose(in);
    if (got < 1 || update_time > last_update) {
        errno = SLURM_NO_CHANGE_IN_DATA;
        return SLURM_ERROR;
    }
    *conf = calloc(1, sizeof(**conf));
    if (!*conf)
        return SLURM_ERROR;
    (*conf)->last_update = last_update;
    (*conf)->min_job_age = 300;
    FILE *age = file("age", "r");
    if (age && fscanf(age, "%u", &(*conf)->min_job_age) != 1)
        abort();
    if (age)
        fclose(age);
    FILE *hides = file("private", "r");
    if (hides) {
        (*conf)->private_data = PRIVATE_DATA_JOBS | PRIVATE_DATA_USAGE;
        (*conf)->slurm_user_id = 64;
        fclose(hides);
    }
    (*conf)->boot_time = boot_time();
    (*conf)->cluster_name = "fake";
    (*conf)->sched_params = got == 2 ? parameters : NULL;
    return SLURM_SUCCESS;
}

void slurm_free_ctl_conf(slurm_conf_t *conf)
{
    free(conf);
}

int slurm_load_partitions(time_t update_time, partition_info_msg_t **message,
                          uint16_t flags)
{
    static char text[16][2][64];
    static partition_info_t part[16];
    long long last_update;
    char line[128];
    FILE *in = file("partitions", "r");

    (void)flags;
    note("partitions.asked", "%lld\n", (long long)update_time);
    if (!in || fscanf(in, "%lld\n", &last_update) != 1) {
        errno = SLURM_COMMUNICATIONS_CONNECTION_ERROR;
        return SLURM_ERROR;
    }
    *message = calloc(1, sizeof(**message));
    if (!*message)
        abort();
    (*message)->last_update = last_update;
    (*message)->partition_array = part;
    while ((*message)->record_count < 16 && fgets(line, sizeof(line), in)) {
        uint32_t i = (*message)->record_count++;
        text[i][1][0] = '\0';
        if (sscanf(line, "%63s %63s", text[i][0], text[i][1]) < 1)
            abort();
        part[i].name = text[i][0];
        part[i].nodes = *text[i][1] ? text[i][1] : NULL;
    }
    fclose(in);
    if (update_time > last_update) {
        free(*message);
        errno = SLURM_NO_CHANGE_IN_DATA;
        return SLURM_ERROR;
    }
    return SLURM_SUCCESS;
}

void slurm_free_partition_info_msg(partition_info_msg_t *message)
{
    free(message);
}

void slurm_init_job_desc_msg(job_desc_msg_t *job)
{
    memset(job, 0, sizeof(*job));
}

int slurm_update_job(job_desc_msg_t *job)
{
    FILE *refuse = file("refuse", "r");

    if (refuse) {
        fclose(refuse);
        errno = ESLURM_ALREADY_DONE;
        return SLURM_ERROR;
    }
    note("updates", "%u %s\n", DESC_JOB_ID(job), job->admin_comment);
    return SLURM_SUCCESS;
}

/* Take a job from a line of "known". */
static void take_known(const char *line, slurm_job_info_t *info, char comment[4096])
{
    char state[32] = "";
    long start_s;

    comment[0] = '\0';
    if (sscanf(line, "%u %ld %31s %4095[^\n]", &INFO_JOB_ID(info), &start_s, state, comment) < 2)
        abort();
    info->start_time = start_s;
    info->job_state = strcmp(state, "PENDING") ? JOB_COMPLETE : JOB_PENDING;
    info->nodes = strcmp(state, "PENDING") && strcmp(state, "CANCELLED") ? "n1" : NULL;
    info->admin_comment = *comment ? comment : NULL;
}

int slurm_load_jobs(time_t update, job_info_msg_t **jobs, uint16_t flags)
{
    static slurm_job_info_t info[16];
    static char comments[16][4096];
    static job_info_msg_t all;
    FILE *known = file("known", "r");
    char line[4096];

    (void)update, (void)flags;
    note("known.asked", "all\n");
    all = (job_info_msg_t){.job_array = info};
    for (; known && fgets(line, sizeof(line), known); all.record_count++)
        take_known(line, &info[all.record_count], comments[all.record_count]);
    if (known)
        fclose(known);
    *jobs = &all;
    return SLURM_SUCCESS;
}

/* Job 7: an array of which the last element has the array's number. */
#ifdef slurm_load_job
#undef slurm_load_job
int slurm_load_job(job_info_msg_t **jobs, slurm_step_id_t step, uint16_t flags)
{
    uint32_t job = step.job_id;
#else
int slurm_load_job(job_info_msg_t **jobs, uint32_t job, uint16_t flags)
{
#endif
    static slurm_job_info_t info[2];
    static job_info_msg_t all;
    static char comment[4096];
    FILE *in = job == 7 ? file("comment", "r") : NULL;
    FILE *known = file("known", "r");
    char line[4096];

    (void)flags;
    note("known.asked", "%u\n", job);
    all = (job_info_msg_t){.job_array = info};
    while (known && fgets(line, sizeof(line), known)) {
        take_known(line, info, comment);
        if (INFO_JOB_ID(info) == job && ++all.record_count)
            break;
    }
    if (known)
        fclose(known);
    if (in) {
        comment[fread(comment, 1, sizeof(comment) - 1, in)] = '\0';
        fclose(in);
        info[0] = (slurm_job_info_t){.admin_comment = "another's"};
        INFO_JOB_ID(info) = 8;
        info[1] = (slurm_job_info_t){.admin_comment = comment};
        INFO_JOB_ID(info + 1) = 7;
        all.record_count = 2;
    }
    *jobs = &all;
    errno = ESLURM_INVALID_JOB_ID;
    return all.record_count ? SLURM_SUCCESS : SLURM_ERROR;
}

int slurm_get_statistics(stats_info_response_msg_t **stats, stats_info_request_msg_t *request)
{
    static stats_info_response_msg_t all;
    FILE *config = file("config", "r"), *queue = file("queue", "r");

    (void)request;
    note("statistics.asked", "\n");
    all.dbd_agent_queue_size = 0;
    if (queue && fscanf(queue, "%u", &all.dbd_agent_queue_size) != 1)
        abort();
    if (queue)
        fclose(queue);
    *stats = &all;
    errno = SLURM_COMMUNICATIONS_CONNECTION_ERROR;
    if (!config)
        return SLURM_ERROR;
    fclose(config);
    return SLURM_SUCCESS;
}

void slurm_free_job_info_msg(job_info_msg_t *jobs)
{
    (void)jobs;
}

char *slurm_strerror(int number)
{
    static char text[32];

    snprintf(text, sizeof(text), "fake error %d", number);
    return text;
}

void *slurmdb_connection_get(uint16_t *flags)
{
    static int connection;

    (void)flags;
    note("connections", "%d\n", (int)getpid());
    return &connection;
}

int slurmdb_connection_commit(void *connection, bool commit)
{
    (void)connection;
    note("commits", "%d\n", commit);
    return SLURM_SUCCESS;
}

int slurmdb_connection_close(void **connection)
{
    *connection = NULL;
    return SLURM_SUCCESS;
}

/* The element of LIST, which has one. */
static void *only(List list)
{
    ListIterator i = slurm_list_iterator_create(list);
    void *element = slurm_list_next(i);

    slurm_list_iterator_destroy(i);
    return element;
}

/* Is STATE one of LIST (NULL: of all)? */
static int has_state(List list, const char *state)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"COMPLETED", JOB_COMPLETE}, {"CANCELLED", JOB_CANCELLED},
                 {"REQUEUED", JOB_REQUEUE}};
    ListIterator i = list ? slurm_list_iterator_create(list) : NULL;
    const char *number;
    int found = !list;

    while (i && (number = slurm_list_next(i)))
        for (size_t n = 0; n < 3; n++)
            found |= atoi(number) == names[n].number &&
                     !strncmp(state, names[n].name, strlen(names[n].name));
    if (i)
        slurm_list_iterator_destroy(i);
    return found;
}

/* Copy the accounting from IN to OUT with COMMENT for what is called NAME and, unless that is 0,
 * ended at END in one of STATES; else for the last row of that name. */
static void change(FILE *in, FILE *out, const char *name, long end, List states,
                   const char *comment)
{
    static char line[4096], of[64], stop[32], state[64];
    long last = -1, number = 0;

    while (fgets(line, sizeof(line), in)) {
        if (sscanf(line, "%*[^|]|%63[^|]|%*[^|]|%*[^|]|%31[^|]|%63[^|]|", of, stop, state) == 3 &&
            !strcmp(of, name) &&
            (!end || (atol(stop) == end && has_state(states, state))))
            last = number;
        number++;
    }
    rewind(in);
    for (number = 0; fgets(line, sizeof(line), in); number++) {
        if (number != last) {
            fputs(line, out);
            continue;
        }
        *strrchr(line, '|') = '\0';
        fprintf(out, "%s|%s\n", line, comment);
    }
}

List slurmdb_job_modify(void *connection, slurmdb_job_cond_t *cond, slurmdb_job_rec_t *job)
{
    const slurm_selected_step_t *step = only(cond->step_list);
    char name[64], path[4096], fresh[4100];
    bool one = cond->flags & JOBCOND_FLAG_DUP && cond->usage_start == cond->usage_end &&
               cond->state_list;

    (void)connection;
    snprintf(path, sizeof(path), "%s/dies", getenv("FAKE_SLURM"));
    if (unlink(path) == 0)
        _exit(127); /* as the dynamic linker ends a process */
    if (access((snprintf(path, sizeof(path), "%s/no-dbd", getenv("FAKE_SLURM")), path), F_OK) ==
            0 || strcmp(only(cond->cluster_list), "fake"))
        return NULL;
    snprintf(name, sizeof(name), step->array_task_id == NO_VAL ? "%u" : "%u_%u",
             step->step_id.job_id, step->array_task_id);
    FILE *lock = file("rows.lock", "a");
    if (!lock || flock(fileno(lock), LOCK_EX) < 0)
        abort();
    snprintf(path, sizeof(path), "%s/rows", getenv("FAKE_SLURM"));
    snprintf(fresh, sizeof(fresh), "%s.to", path);
    FILE *in = fopen(path, "r"), *out = fopen(fresh, "w");
    if (in && out)
        change(in, out, name, one ? (long)cond->usage_end : 0, cond->state_list,
               job->admin_comment);
    if (in)
        fclose(in);
    if (out)
        fclose(out);
    note("modified", "%s %ld %s\n", name, one ? (long)cond->usage_end : 0L, job->admin_comment);
    rename(fresh, path);
    fclose(lock);
    return slurm_list_create(NULL);
}
