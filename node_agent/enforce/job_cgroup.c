/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The cgroup that Slurm gave a job, and who is in it. */

#include "node_agent/enforce/job_cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOB "/job_"

/* The end of a name of a path. */
static bool ends(char c)
{
    return c == '/' || c == '\n' || c == '\0';
}

char *job_cgroup_find(const char *text, uint32_t id)
{
    char name[32];
    size_t length = (size_t)snprintf(name, sizeof(name), JOB "%u", id);

    for (const char *line = text; *line; line += *line == '\n') {
        const char *end = line + strcspn(line, "\n");
        const char *colon = strchr(line, ':'), *at = line;
        while (colon && colon < end && strncmp(colon, ":name=", 6) != 0 &&
               (at = strstr(at, name)) && at < end) {
            at += length;
            if (ends(*at))
                return strndup(line, (size_t)(at - line));
        }
        line = end;
    }
    return NULL;
}

const char *job_cgroup_next(const char *text, uint32_t *id)
{
    while ((text = strstr(text, JOB))) {
        char *end = NULL;
        text += strlen(JOB);
        unsigned long n = *text >= '1' && *text <= '9' ? strtoul(text, &end, 10)
                                                       : 0;
        if (n && n <= UINT32_MAX && ends(*end)) {
            *id = (uint32_t)n;
            return end;
        }
    }
    return NULL;
}

/* REST of a path below a job's cgroup: /step_S/slurm... */
static bool is_stepds(const char *rest)
{
    if (strncmp(rest, "/step_", 6) != 0)
        return false;
    rest += 1 + strcspn(rest + 1, "/\n");
    return !strncmp(rest, "/slurm", 6) && ends(rest[6]);
}

bool job_cgroup_has(const char *cgroup, const char *text)
{
    size_t length = strlen(cgroup);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, cgroup, length) && ends(line[length]))
            return !is_stepds(line + length);
    }
    return false;
}
