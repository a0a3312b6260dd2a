/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Programs of scenarios, from files and libraries. */

#include "simulator/scenario_json.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REPEAT 10000000
#define MAX_BARRIERS 1000000000

int scenario_no_memory(struct json_reader *reader)
{
    return errtext_set(reader->err, ENOMEM, "%s: out of memory",
                       reader->file);
}

/* Members KEYS are for people: texts, if they are there. */
int scenario_check_texts(struct json_reader *reader, const json_t *object,
                         const char *const *keys)
{
    const char *unused = NULL;

    for (; *keys; keys++)
        if (json_reader_string(reader, object, *keys, true, &unused) < 0)
            return -1;
    return 0;
}

static const char *const source_only[] = {"source", NULL};

/* Copy member KEY, or FALLBACK (may be NULL) where it is absent. */
int scenario_read_text(struct json_reader *reader, const json_t *object,
                       const char *key, const char *fallback, char **out)
{
    const char *text = fallback;

    if (json_reader_string(reader, object, key, true, &text) < 0)
        return -1;
    if (!text)
        return 0;
    *out = strdup(text);
    return *out ? 0 : scenario_no_memory(reader);
}

/* Member KEY must be one of NAMES[COUNT]; *INDEX stays where it is absent. */
static int read_choice(struct json_reader *reader, const json_t *object,
                       const char *key, const char *const *names,
                       size_t count, size_t *index)
{
    const char *text = NULL;
    char all[80] = "";

    if (json_reader_string(reader, object, key, true, &text) < 0)
        return -1;
    for (size_t i = 0; text && i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            *index = i;
            return 0;
        }
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
                 i ? ", " : "", names[i]);
    }
    return text ? json_reader_fail(reader, key, "\"%.40s\" is none of %s",
                                   text, all)
                : 0;
}

int scenario_read_bool(struct json_reader *reader, const json_t *object,
                       const char *key, bool *out)
{
    const json_t *value = json_object_get(object, key);

    if (value && !json_is_boolean(value))
        return json_reader_fail(reader, key, "must be true or false");
    if (value)
        *out = json_is_true(value);
    return 0;
}

static int read_rates(struct json_reader *reader, const json_t *value,
                      struct scenario_region *s)
{
    double sum;

    if (json_reader_number(reader, value, "read_per_us", true,
                           JSON_NOT_NEGATIVE, &s->read_per_us) < 0 ||
        json_reader_number(reader, value, "write_per_us", true,
                           JSON_NOT_NEGATIVE, &s->write_per_us) < 0 ||
        json_reader_number(reader, value, "prefetch_per_us", true,
                           JSON_NOT_NEGATIVE, &s->prefetch_per_us) < 0)
        return -1;
    sum = s->llc_per_us = s->read_per_us + s->write_per_us +
                          s->prefetch_per_us;
    if (json_reader_number(reader, value, "llc_per_us", true,
                           JSON_NOT_NEGATIVE, &s->llc_per_us) < 0 ||
        json_reader_number(reader, value, "llc_loss", true, JSON_NOT_NEGATIVE,
                           &s->llc_loss) < 0)
        return -1;
    if (s->llc_per_us < sum * (1 - 1e-9))
        return json_reader_fail(reader, "llc_per_us",
                                "%g is less than the %g requests that miss",
                                s->llc_per_us, sum);
    return 0;
}

static int read_parallel(struct json_reader *reader, const json_t *value,
                         struct scenario_region *s)
{
    static const char *const parallel_only[] = {"imbalance", "sync_share",
                                                "barriers"};

    for (size_t i = 0; s->kind == REGION_SERIAL && i < 3; i++)
        if (json_object_get(value, parallel_only[i]))
            return json_reader_fail(reader, parallel_only[i],
                                    "is for parallel regions only");
    s->barriers = s->kind == REGION_PARALLEL;
    if (json_reader_number(reader, value, "imbalance", true,
                           JSON_NOT_NEGATIVE, &s->imbalance) < 0 ||
        json_reader_number(reader, value, "sync_share", true, JSON_SHARE,
                           &s->sync_share) < 0 ||
        json_reader_count(reader, value, "barriers", true, 1, MAX_BARRIERS,
                          &s->barriers) < 0)
        return -1;
    if (s->sync_share >= 1)
        return json_reader_fail(reader, "sync_share", "must be less than 1");
    return 0;
}

static int read_region(struct json_reader *reader, const json_t *value,
                        const char *program, struct scenario_job *job)
{
    static const char *const known[] = {
        "name", "kind", "work_s", "read_per_us", "write_per_us",
        "prefetch_per_us", "placement", "llc_per_us", "llc_loss", "imbalance",
        "sync_share", "barriers", "object", "offset", "source", NULL};
    static const char *const kinds[] = {"serial", "parallel"};
    static const char *const placements[] = {"first-touch", "interleaved",
                                             "local"};
    struct scenario_region *s = &job->region[job->regions];
    size_t kind = 1, placement = SCENARIO_INTERLEAVED;
    size_t offset = 64 * (job->regions + 1); /* any that differ */
    char name[32];

    job->regions++;
    snprintf(name, sizeof(name), "region%zu", job->regions);
    if (json_reader_object(reader, value, known) < 0 ||
        scenario_check_texts(reader, value, source_only) < 0 ||
        scenario_read_text(reader, value, "name", name, &s->name) < 0 ||
        scenario_read_text(reader, value, "object", program, &s->object) < 0 ||
        json_reader_number(reader, value, "work_s", false, JSON_POSITIVE,
                           &s->work_s) < 0 ||
        read_choice(reader, value, "kind", kinds, 2, &kind) < 0 ||
        read_choice(reader, value, "placement", placements, 3, &placement) <
            0 ||
        json_reader_count(reader, value, "offset", true, 0, SIZE_MAX >> 1,
                          &offset) < 0)
        return -1;
    s->kind = kind ? REGION_PARALLEL : REGION_SERIAL;
    s->placement = (enum scenario_placement)placement;
    s->offset = offset;
    return read_rates(reader, value, s) < 0 ? -1
                                            : read_parallel(reader, value, s);
}

static int read_phase(struct json_reader *reader, const json_t *value,
                      const char *program, struct scenario_job *job)
{
    static const char *const known[] = {"repeat", "regions", NULL};
    struct scenario_phase *phase = &job->phase[job->phases++];
    const json_t *list;

    phase->repeat = 1;
    phase->first = job->regions;
    if (json_reader_object(reader, value, known) < 0 ||
        json_reader_count(reader, value, "repeat", true, 1, MAX_REPEAT,
                          &phase->repeat) < 0 ||
        json_reader_array(reader, value, "regions", false, 1,
                          SCENARIO_MAX_REGIONS - job->regions, &list) < 0)
        return -1;
    phase->count = json_array_size(list);
    for (size_t i = 0; i < phase->count; i++) {
        size_t mark = json_reader_enter_element(reader, "regions", i);
        if (read_region(reader, json_array_get(list, i), program, job) < 0)
            return -1;
        json_reader_leave(reader, mark);
    }
    return 0;
}

/* Fill phases and regions of JOB from VALUE, an object that has "phases". */
int scenario_read_phases(struct json_reader *reader, const json_t *value,
                         const char *program, struct scenario_job *job)
{
    const json_t *list;

    if (json_reader_array(reader, value, "phases", false, 1,
                          SCENARIO_MAX_REGIONS, &list) < 0)
        return -1;
    job->region = calloc(SCENARIO_MAX_REGIONS, sizeof(*job->region));
    job->phase = calloc(json_array_size(list), sizeof(*job->phase));
    if (!job->region || !job->phase)
        return scenario_no_memory(reader);
    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t mark = json_reader_enter_element(reader, "phases", i);
        if (read_phase(reader, json_array_get(list, i), program, job) < 0)
            return -1;
        json_reader_leave(reader, mark);
    }
    /* Most programs have few of them. */
    struct scenario_region *fit = realloc(job->region, job->regions *
                                                             sizeof(*fit));
    job->region = fit ? fit : job->region;
    return 0;
}

/* What a program is by nature, which a job may say otherwise. */
int scenario_read_nature(struct json_reader *reader, const json_t *value,
                         struct scenario_job *job)
{
    int rc = scenario_read_bool(reader, value, "malleable", &job->malleable);

    return rc < 0 ? rc
                  : scenario_read_bool(reader, value, "sleeps", &job->sleeps);
}

/* Find PROGRAM in LIBRARY and fill JOB from it.  1: it is not there. */
int library_use_program(struct library *library, const char *program,
                        struct scenario_job *job)
{
    static const char *const known[] = {"name", "source", "sleeps",
                                        "malleable", "phases", NULL};
    struct json_reader *reader = &library->reader;

    for (size_t i = 0; i < json_array_size(library->programs); i++) {
        const json_t *value = json_array_get(library->programs, i);
        const char *name;
        size_t mark = json_reader_enter_element(reader, "programs", i);

        if (json_reader_object(reader, value, known) < 0 ||
            scenario_check_texts(reader, value, source_only) < 0 ||
            json_reader_string(reader, value, "name", false, &name) < 0)
            return -1;
        if (strcmp(name, program) == 0) {
            int rc = scenario_read_phases(reader, value, program, job);
            if (rc == 0)
                rc = scenario_read_nature(reader, value, job);
            if (rc == 0)
                json_reader_leave(reader, mark);
            return rc;
        }
        json_reader_leave(reader, mark);
    }
    return 1;
}
