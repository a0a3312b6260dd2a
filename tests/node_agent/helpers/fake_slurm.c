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
 *   comment  AdminComment of job 7; without it no job is known
 *   refuse   if there, updates are refused
 */

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void slurm_init(const char *conf)
{
    (void)conf;
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
    note("updates", "%u %s\n", job->job_id, job->admin_comment);
    return SLURM_SUCCESS;
}

/* An array of which the last element has the array's number. */
int slurm_load_job(job_info_msg_t **jobs, uint32_t job, uint16_t flags)
{
    static slurm_job_info_t info[2];
    static job_info_msg_t all = {.record_count = 2, .job_array = info};
    static char comment[4096];
    FILE *in = job == 7 ? file("comment", "r") : NULL;

    (void)flags;
    if (!in) {
        errno = ESLURM_INVALID_JOB_ID;
        return SLURM_ERROR;
    }
    comment[fread(comment, 1, sizeof(comment) - 1, in)] = '\0';
    fclose(in);
    info[0] = (slurm_job_info_t){.job_id = 8, .admin_comment = "another's"};
    info[1] = (slurm_job_info_t){.job_id = 7, .admin_comment = comment};
    *jobs = &all;
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
