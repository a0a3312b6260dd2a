/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What a job asks for where --coschedule itself leaves it open. */

#ifndef COSCHED_JOB_DEFAULTS_H
#define COSCHED_JOB_DEFAULTS_H

/* Concept
 *
 * Each key of --coschedule (protocol/options.h) that is not given takes the
 * value of the user's environment variable COSCHED_KEY, in capitals
 * (COSCHED_POLICY, COSCHED_MIN_CORES, ...), then that of the site's defaults in
 * plugstack.conf.  All of these are texts in the form of the option's value;
 * completing one by another adds the entries whose keys it lacks, so that what
 * was typed stays as typed.
 *
 * No variable turns co-scheduling on: a job that shares its node says so.
 */

#include <stddef.h>

#include "common/errtext.h"

#define JOB_VARIABLE_MAX 32 /* name of a variable with its zero */

/* Name of the variable of KEY: "COSCHED_MIN_CORES" for "min_cores". */
const char *job_variable(const char *key, char name[JOB_VARIABLE_MAX]);

/* The value of variable NAME, or NULL where it is unset. */
typedef const char *job_lookup(const char *name);

/* Write the options of the environment, "ults=2,max_cores=4", to RESULT (SIZE
 * bytes).  Variables that are unset, empty, or "auto" (which COSCHED_ULTS may
 * be for the runtime library) say nothing.  Returns 0, or -1 with errno EINVAL
 * and ERR such as "COSCHED_ULTS=70: not a number from 1 to 64"; RESULT is ""
 * then. */
int job_defaults_environment(job_lookup *lookup, char *result, size_t size,
                             struct errtext *err);

/* Write TEXT, completed by the entries of DEFAULTS whose keys it lacks, to
 * RESULT (SIZE bytes, not one of the others).  TEXT and DEFAULTS are valid
 * values of --coschedule; NULL and "(null)" are empty.  Returns 0, or -1 with
 * errno EINVAL where both together contradict themselves or are too long for
 * RESULT; RESULT is TEXT then, if that fits. */
int job_defaults_complete(const char *text, const char *defaults, char *result,
                          size_t size, struct errtext *err);

#endif /* COSCHED_JOB_DEFAULTS_H */
