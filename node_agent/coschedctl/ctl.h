/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the commands of coschedctl share. */

#ifndef COSCHED_CTL_H
#define COSCHED_CTL_H

#include <jansson.h>
#include <stdbool.h>

#include "common/cli.h"
#include "node_agent/client/client.h"

/* Exit status, as the manual page has it. */
enum {
    CTL_OK = EXIT_DONE,
    CTL_FAILED = EXIT_REFUSED, /* the agent refused, no such job, output failed */
    CTL_USAGE = EXIT_USAGE,    /* bad command line */
    CTL_NO_AGENT = 3,          /* nobody answers at the socket */
};

/* The command line; NULL, 0 and false where it has nothing. */
struct arguments {
    const char *socket; /* before the command, too */
    bool json;
    const char *output;
    const char *job;  /* JOB as typed */
    const char *file; /* FILE or DIR */
    bool stop;
    const char *reason;
    double timeout_s;            /* health */
    const char *counters; /* calibrate */
    bool quick, force;
    size_t mib;
    int metric;     /* requests: enum request_metric, -1: any */
    double per_us;
    size_t run_job;   /* --job */
    const char *node; /* with it */
    bool all;         /* jobs */
    const char *cpus, *options, *libgomp, *munge;
    char **program;
};

/* The agent answers between two epochs; seconds mean that it is stuck. */
#define CTL_TIMEOUT_MS 5000

/* Send REQUEST to the agent at SOCKET (NULL: the default), with a credential of
 * the munged at MUNGE (NULL: the default) where it wants one.  0 with a new
 * reference in *REPLY and a descriptor in *FD (-1 if none came); both may be
 * NULL.  -1 with errno and ERR when there is no agent, 1 when it refuses or does
 * not answer within TIMEOUT_MS. */
int ctl_call(const char *socket, const char *munge, int timeout_ms,
             const struct message_request *request, json_t **reply, int *fd,
             struct errtext *err);

/* Ask the agent for OP about the job, directory or reason of A.  CTL_OK with
 * *REPLY and *FD as above, else the exit status, its reason already printed. */
int ctl_ask(const struct arguments *a, enum message_op op, json_t **reply,
            int *fd);

/* Member KEY of OBJECT: OTHERWISE where it is no text, 0 where it is no number. */
const char *ctl_text(const json_t *object, const char *key,
                     const char *otherwise);
double ctl_number(const json_t *object, const char *key);

/* Does the command NAME take a job? */
bool ctl_takes_job(const char *name);

/* Print VALUE as JSON with so many DIGITS to FILE (NULL: standard output), and
 * drop it.  CTL_OK, or the exit status, its reason printed. */
int ctl_write_json(json_t *value, const char *file, int digits);

/* The same for a reply, to standard output. */
int ctl_print_json(json_t *reply);

#endif /* COSCHED_CTL_H */
