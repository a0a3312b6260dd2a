/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl: output in which parallel regions have their names. */

#ifndef COSCHED_CTL_NAMED_H
#define COSCHED_CTL_NAMED_H

/* Concept
 *
 * The agent calls a region OBJECT+OFFSET in all that it says.  A command writes that into memory;
 * when it is complete all regions in it are looked for at once (names/region_names.h), in the
 * processes that the agent's status tells, and what was found stands in their place.
 */

#include <jansson.h>
#include <stdio.h>

#include "node_agent/names/region_names.h"

struct arguments;

struct ctl_named {
    FILE *file;
    char *text;
    size_t size;
};

/* Begin; write into the stream that is returned. */
FILE *ctl_named_open(struct ctl_named *named);

/* Write all of it to OUT.  JOBS: those of a status; NULL: ask the agent of A for it if need be.
 * 0; -1 with errno ENOMEM.  OUT has its own errors. */
int ctl_named_close(struct ctl_named *named, const struct arguments *a, const json_t *jobs,
                    FILE *out);

/* The same to standard output: the exit status. */
int ctl_named_print(struct ctl_named *named, const struct arguments *a, const json_t *jobs);
void ctl_named_drop(struct ctl_named *named);

/* Add the name of its region to each of JOBS where it is known, as "name". */
void ctl_name_jobs(json_t *jobs);

/* Look for the regions that JOBS are in now. */
void ctl_names_of_jobs(struct region_names *names, const json_t *jobs);

#endif /* COSCHED_CTL_NAMED_H */
