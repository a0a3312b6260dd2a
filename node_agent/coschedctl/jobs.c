/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl jobs: one's co-scheduled jobs in the queue, as Slurm knows them.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/ctl.h"

/* What squeue prints of a job: fields of fixed width, as names may hold
 * anything. */
static const struct field {
    const char *key, *format;
    size_t width;
} fields[] = {
    {"job", "JobID:12", 12},     {"state", "State:14", 14},
    {"time", "TimeUsed:14", 14}, {"nodes", "NodeList:40", 40},
    {"user", "UserName:24", 24}, {"comment", "admin_comment:1001", 1001},
    {"name", "Name:64", 64},
};
#define FIELDS  (sizeof(fields) / sizeof(fields[0]))
#define COMMENT 5
#define NAME    6

/* What the comment of a job that has not ended has of use: the rest is of its first moment. */
static const char *const shown[] = {"program", "class", "policy", "runs"};
#define SHOWN (sizeof(shown) / sizeof(shown[0]))

/* Start squeue; what it prints, or NULL. */
static FILE *start_squeue(const struct arguments *a)
{
    char command[320] = "command -v squeue >/dev/null && exec squeue "
                        "--noheader --array --Format=";
    size_t used = strlen(command);

    for (size_t i = 0; i < FIELDS; i++)
        used += (size_t)snprintf(command + used, sizeof(command) - used, "%s%s",
                                 i ? "," : "", fields[i].format);
    if (!a->all)
        snprintf(command + used, sizeof(command) - used, " --user=%u",
                 geteuid());
    return popen(command, "re");
}

/* The value of KEY in the record TEXT into TO, "" if it has none. */
static void record_value(const char *text, const char *key, char *to,
                         size_t size)
{
    size_t length = strlen(key);

    to[0] = '\0';
    for (const char *p = text; (p = strstr(p, key)); p += length)
        if ((p == text || p[-1] == ' ') && p[length] == '=') {
            snprintf(to, size, "%.*s", (int)strcspn(p + length + 1, " "),
                     p + length + 1);
            return;
        }
}

/* A job from LINE, or NULL if it is not co-scheduled. */
static json_t *parse_line(const char *line)
{
    char text[FIELDS][1002], value[512];
    size_t at = 0, length = strcspn(line, "\n");

    for (size_t i = 0; i < FIELDS; i++) {
        size_t width = at + fields[i].width < length ? fields[i].width
                                                     : length - at;
        memcpy(text[i], line + at, width);
        while (width && text[i][width - 1] == ' ')
            width--;
        text[i][width] = '\0';
        errtext_clean(text[i]);
        at = at + fields[i].width < length ? at + fields[i].width : length;
    }
    if (strncmp(text[COMMENT], "cosched/1 ", 10) &&
        strncmp(text[COMMENT], "cosched-job/1", 13))
        return NULL;
    json_t *job = json_object();
    for (size_t i = 0; i < FIELDS; i++)
        json_object_set_new(job, i == COMMENT ? "record" : fields[i].key,
                            json_string(text[i]));
    for (size_t i = 0; i < SHOWN; i++) {
        record_value(text[COMMENT], shown[i], value, sizeof(value));
        json_object_set_new(job, shown[i],
                            *value ? json_string(value) : json_null());
    }
    return job;
}

static const char *or_none(const json_t *job, const char *key)
{
    const char *value = ctl_text(job, key, "-");

    return *value ? value : "-";
}

static void print_jobs(const json_t *jobs)
{
    json_t *job;
    size_t i;

    printf("%8s  %-14s %-8s %-10s %11s %-16s %-9s %s\n", "JOB", "NAME", "USER", "STATE", "TIME",
           "NODES", "CLASS", "POLICY");
    json_array_foreach(jobs, i, job)
        printf("%8s  %-14.14s %-8.8s %-10.10s %11s %-16s %-9s %s\n", ctl_text(job, "job", "-"),
               ctl_text(job, "name", "-"), ctl_text(job, "user", "-"), ctl_text(job, "state", "-"),
               ctl_text(job, "time", "-"), or_none(job, "nodes"), ctl_text(job, "class", "-"),
               ctl_text(job, "policy", "-"));
}

int ctl_jobs(const struct arguments *a)
{
    json_t *jobs = json_array();
    char *line = NULL;
    size_t room = 0;
    FILE *in = start_squeue(a);

    if (!in) {
        json_decref(jobs);
        return fail(CTL_FAILED, "jobs: squeue: %s", strerror(errno));
    }
    while (getline(&line, &room, in) >= 0) {
        json_t *job = parse_line(line);
        if (job)
            json_array_append_new(jobs, job);
    }
    free(line);
    int status = pclose(in);
    if (status != 0) {
        json_decref(jobs);
        return fail(CTL_FAILED, "jobs: squeue: %s",
                    WIFEXITED(status) && WEXITSTATUS(status) == 127
                        ? "not found"
                        : "failed");
    }
    if (a->json)
        return ctl_print_json(json_pack("{s:o}", "jobs", jobs));
    print_jobs(jobs);
    json_decref(jobs);
    return CTL_OK;
}
