/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the readers of scenarios and of programs share. */

#ifndef COSCHED_SIMULATOR_SCENARIO_JSON_H
#define COSCHED_SIMULATOR_SCENARIO_JSON_H

#include "common/json_reader.h"
#include "simulator/scenario.h"

/* Where a program may be found: READER is the file's. */
struct library {
    struct json_reader reader;
    json_t *root;
    const json_t *programs; /* array, borrowed, or NULL */
};

/* All of these return 0, or -1 with errno and the reader's text. */

int scenario_no_memory(struct json_reader *reader);

/* Members KEYS, which a NULL ends, are for people: texts, if they are there. */
int scenario_check_texts(struct json_reader *reader, const json_t *object,
                         const char *const *keys);

/* Copy member KEY to *OUT, the caller's; FALLBACK (may be NULL) where it is
 * absent. */
int scenario_read_text(struct json_reader *reader, const json_t *object,
                       const char *key, const char *fallback, char **out);

/* Member KEY; *OUT stays where it is absent. */
int scenario_read_bool(struct json_reader *reader, const json_t *object,
                       const char *key, bool *out);

/* Fill phases and regions of JOB, which runs PROGRAM, from VALUE, an object that
 * has "phases". */
int scenario_read_phases(struct json_reader *reader, const json_t *value,
                         const char *program, struct scenario_job *job);

/* What a program is by nature, which a job may say otherwise. */
int scenario_read_nature(struct json_reader *reader, const json_t *value,
                         struct scenario_job *job);

/* Find PROGRAM in LIBRARY and fill JOB from it.  1: it is not there. */
int library_use_program(struct library *library, const char *program,
                        struct scenario_job *job);

#endif /* COSCHED_SIMULATOR_SCENARIO_JSON_H */
