/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the commands of coschedctl share. */

#ifndef COSCHED_CTL_H
#define COSCHED_CTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/cli.h"
#include "node_agent/client/client.h"
#include "model/io/machine_json.h"

/* Exit status, as the manual page has it. */
enum {
    CTL_OK = 0,
    CTL_FAILED = 1,   /* the agent refused, no such job, output failed */
    CTL_USAGE = 2,    /* bad command line */
    CTL_NO_AGENT = 3, /* nobody answers at the socket */
};

/* The command line before and behind the command's name. */
struct ctl {
    const char *socket; /* --socket, or NULL */
    bool json;          /* --json */
    const char *output; /* --output, or NULL */
    uint32_t job;       /* JOB, or 0 */
    const char *dir;    /* DIR, or NULL */
    bool stop;          /* --stop */
    const char *reason; /* --reason, or NULL */
};

/* The agent answers between two epochs; seconds mean that it is stuck. */
#define CTL_TIMEOUT_MS 5000

/* Ask the agent for OP about ctl->job or ctl->dir, with a munge credential where
 * it wants one.  Returns CTL_OK with a new reference in
 * *REPLY and a descriptor in *FD (-1 if none came; FD may be NULL), else the
 * exit status, its reason already printed. */
int ctl_ask(const struct ctl *ctl, enum message_op op, json_t **reply,
            int *fd);

/* Parse a job id as typed.  0, or the exit status with the reason printed. */
int ctl_parse_job(const char *text, uint32_t *job);

/* WHEN, seconds since 1970, as local date and time in OUT. */
const char *ctl_time(double when, char *out, size_t size);

/* Print REPLY as JSON, drop it, and return CTL_OK. */
int ctl_print_json(json_t *reply);

/* Write DESCRIPTION to FILE (NULL: standard output) as JSON.  The exit status,
 * its reason printed. */
int ctl_print_machine(const struct machine_description *description,
                      const char *file);

#endif /* COSCHED_CTL_H */
