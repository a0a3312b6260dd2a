/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What hosts the plugin in its unit tests, instead of Slurm and the agent. */

#ifndef COSCHED_FAKE_HOST_H
#define COSCHED_FAKE_HOST_H

/* Concept
 *
 * fake_host.c defines the functions of Slurm that the plugin calls, and those
 * of node_agent/client/client.h and end_note.h.  They act on `host`: the test says what Slurm and
 * the agent would answer, and looks at what the plugin did.
 */

#include "tests/support/unit.h"

#include <errno.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/message.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A test that begins with an empty host. */
#define HOST_TEST(name) cmocka_unit_test_setup(name, host_reset)

#define HOST_VARIABLES 16
#define HOST_CALLS 8

struct host {
    spank_context_t context;
    bool broken;       /* every function of SPANK fails */
    const char *cores; /* S_JOB_ALLOC_CORES, NULL: not available */
    uint32_t job, step, task;
    uint32_t array, element; /* of an array; 0: none */
    int status;              /* S_TASK_EXIT_STATUS */
    uint32_t tasks;    /* S_JOB_LOCAL_TASK_COUNT, 0: not available */
    const char *reply; /* the agent's answer in JSON, NULL: none */
    bool option_used;    /* answer of spank_option_getopt() */
    int agent_errno;     /* 0: the agent answers, else each call fails so */
    int open_errno;      /* 0: there is an agent */
    int open_failures;   /* it is there after so many failures; 0: never */

    /* The job's environment, "NAME=value". */
    char *environment[HOST_VARIABLES];
    char control[2][MESSAGE_OPTIONS_MAX + 32]; /* the last job control
                                                * variables, last first */
    struct spank_option *option;            /* registered */
    char errors[1024], rest[1024]; /* slurm_error(); info and below */
    char said[512];                /* slurm_spank_log() */
    unsigned error_lines;

    struct message_request calls[HOST_CALLS]; /* that reached the agent */
    size_t calls_made, opened, bounded, closed;
    uint32_t noted; /* job of the last note, 0: none */
    int note_errno; /* 0: it can be left */
};

extern struct host host;

/* Forget everything: a batch task of job 7 of a user on CPUs 0-3. */
int host_reset(void **state);
/* Set or (NULL) remove a variable of the job. */
void host_setenv(const char *name, const char *value);
/* Its value, or NULL. */
const char *host_getenv(const char *name);

#endif /* COSCHED_FAKE_HOST_H */
