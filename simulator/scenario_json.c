/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Scenarios from files. */

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/json_line.h"
#include "simulator/scenario_json.h"

#define MAX_SCENARIOS 4096
#define MAX_PROGRAMS 1024
#define MAX_THREADS 65536

static const char *const name_and_source[] = {"name", "source", NULL};

/* The file's own programs come before those of the library. */
struct sources {
    struct library own;
    struct library other;
};

static int find_program(struct json_reader *reader, struct sources *sources,
                        const char *program, struct scenario_job *job)
{
    int rc = library_use_program(&sources->own, program, job);

    if (rc == 1)
        rc = library_use_program(&sources->other, program, job);
    if (rc != 1)
        return rc;
    if (!sources->other.root)
        return json_reader_fail(reader, "program", "there is no program "
                                "\"%.40s\" here, and no library is named",
                                program);
    return json_reader_fail(reader, "program", "there is no program "
                            "\"%.40s\" in %.80s", program,
                            sources->other.reader.file);
}

/* Give JOB, the last of SCENARIO, its name: NAME, or one made of that of the
 * program. */
static int name_job(struct json_reader *reader, struct scenario *scenario,
                    struct scenario_job *job, const char *name)
{
    char made[64];
    size_t number = 1;
    bool taken;

    snprintf(made, sizeof(made), "%s", name ? name : job->program);
    do {
        taken = false;
        for (size_t i = 0; i + 1 < scenario->jobs; i++)
            taken |= strcmp(scenario->job[i].name, made) == 0;
        if (taken && name)
            return json_reader_fail(reader, "name",
                                    "\"%.40s\" is taken by another job", name);
        if (taken)
            snprintf(made, sizeof(made), "%.48s.%zu", job->program, ++number);
    } while (taken);
    job->name = strdup(name ? name : made);
    return job->name ? 0 : scenario_no_memory(reader);
}

static int read_job_numbers(struct json_reader *reader, const json_t *value,
                            struct scenario_job *job)
{
    double scale = 1;

    if (json_reader_number(reader, value, "arrival_s", true,
                           JSON_NOT_NEGATIVE, &job->arrival_s) < 0 ||
        json_reader_number(reader, value, "scale", true, JSON_POSITIVE,
                           &scale) < 0 ||
        scenario_read_nature(reader, value, job) < 0 ||
        json_reader_count(reader, value, "threads", true, 1, MAX_THREADS,
                          &job->threads) < 0 ||
        json_reader_count(reader, value, "min_cores", true, 1, MAX_THREADS,
                          &job->min_cores) < 0 ||
        json_reader_count(reader, value, "max_cores", true, 1, MAX_THREADS,
                          &job->max_cores) < 0 ||
        json_reader_count(reader, value, "numa_node", true, 0, MAX_THREADS,
                          &job->numa_node) < 0 ||
        json_reader_number(reader, value, "weight", true, JSON_POSITIVE,
                           &job->weight) < 0)
        return -1;
    if (job->max_cores != SCENARIO_ALL && job->max_cores < job->min_cores)
        return json_reader_fail(reader, "max_cores",
                                "%zu is less than min_cores, %zu",
                                job->max_cores, job->min_cores);
    for (size_t i = 0; i < job->regions; i++)
        job->region[i].work_s *= scale;
    return 0;
}

static int read_job(struct json_reader *reader, const json_t *value,
                    struct sources *sources, struct scenario *scenario)
{
    static const char *const known[] = {
        "name", "program", "phases", "arrival_s", "scale", "malleable",
        "sleeps", "threads", "min_cores", "max_cores", "numa_node", "weight", NULL};
    struct scenario_job *job = &scenario->job[scenario->jobs++];
    const char *name = NULL, *program = NULL;
    bool own = json_object_get(value, "phases") != NULL;
    int rc;

    *job = (struct scenario_job){.malleable = true, .min_cores = 1,
                                 .weight = 1, .numa_node = SCENARIO_NO_NODE};
    if (json_reader_object(reader, value, known) < 0 ||
        json_reader_string(reader, value, "name", !own, &name) < 0 ||
        json_reader_string(reader, value, "program", own, &program) < 0)
        return -1;
    if (own && program)
        return json_reader_fail(reader, "program",
                                "is not for a job with phases of its own");
    job->program = strdup(own ? name : program);
    if (!job->program)
        return scenario_no_memory(reader);
    if (name_job(reader, scenario, job, name) < 0)
        return -1;
    rc = own ? scenario_read_phases(reader, value, name, job)
             : find_program(reader, sources, program, job);
    return rc < 0 ? -1 : read_job_numbers(reader, value, job);
}

static int read_figures(struct json_reader *reader, const json_t *value,
                        struct scenario *scenario)
{
    static const char *const known[] = {"ntt", "hmean", NULL};
    const char *policy;
    json_t *member, *paper = json_object_get(value, "paper");
    size_t mark = json_reader_enter(reader, "paper");

    if (paper && !json_is_object(paper))
        return json_reader_fail(reader, NULL, "must be an object");
    scenario->figure = calloc(json_object_size(paper) + 1,
                              sizeof(*scenario->figure));
    if (!scenario->figure)
        return scenario_no_memory(reader);
    json_object_foreach(paper, policy, member) {
        struct scenario_figure *f = &scenario->figure[scenario->figures++];
        size_t inner = json_reader_enter(reader, policy);
        f->ntt = f->hmean = NAN;
        f->policy = strdup(policy);
        if (!f->policy)
            return scenario_no_memory(reader);
        if (json_reader_object(reader, member, known) < 0 ||
            json_reader_number(reader, member, "ntt", true, JSON_POSITIVE,
                               &f->ntt) < 0 ||
            json_reader_number(reader, member, "hmean", true, JSON_POSITIVE,
                               &f->hmean) < 0)
            return -1;
        json_reader_leave(reader, inner);
    }
    json_reader_leave(reader, mark);
    return 0;
}

static int read_scenario(struct json_reader *reader, const json_t *value,
                         struct sources *sources, struct scenario *scenario)
{
    const json_t *list;

    if (scenario_read_text(reader, value, "name", NULL, &scenario->name) < 0 ||
        scenario_read_text(reader, value, "source", NULL, &scenario->source) <
            0 ||
        scenario_read_bool(reader, value, "history", &scenario->history) < 0 ||
        read_figures(reader, value, scenario) < 0 ||
        json_reader_array(reader, value, "jobs", false, 1, SCENARIO_MAX_JOBS,
                          &list) < 0)
        return -1;
    scenario->job = calloc(json_array_size(list), sizeof(*scenario->job));
    if (!scenario->job)
        return scenario_no_memory(reader);
    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t mark = json_reader_enter_element(reader, "jobs", i);
        if (read_job(reader, json_array_get(list, i), sources, scenario) < 0)
            return -1;
        json_reader_leave(reader, mark);
    }
    return 0;
}

/* Element INDEX of "scenarios". */
static int read_element(struct json_reader *reader, const json_t *value,
                        struct sources *sources, struct scenario_set *set,
                        size_t index)
{
    static const char *const known[] = {"name", "source", "history", "paper",
                                        "jobs", NULL};
    struct scenario *scenario = &set->scenario[index];

    if (json_reader_object(reader, value, known) < 0)
        return -1;
    if (!json_object_get(value, "name"))
        return json_reader_fail(reader, "name", "is missing");
    set->scenarios++;
    if (read_scenario(reader, value, sources, scenario) < 0)
        return -1;
    for (size_t i = 0; i < index; i++)
        if (strcmp(set->scenario[i].name, scenario->name) == 0)
            return json_reader_fail(reader, "name",
                                    "\"%.40s\" is taken by another scenario",
                                    scenario->name);
    return 0;
}

static int read_set(struct json_reader *reader, const json_t *value,
                    struct sources *sources, struct scenario_set *set)
{
    const json_t *list = json_object_get(value, "scenarios");

    if (!list) {
        set->scenario = calloc(1, sizeof(*set->scenario));
        set->scenarios = set->scenario ? 1 : 0;
        if (!set->scenario)
            return scenario_no_memory(reader);
        if (read_scenario(reader, value, sources, set->scenario) < 0)
            return -1;
        if (!set->scenario->name)
            set->scenario->name = strdup("scenario");
        return set->scenario->name ? 0 : scenario_no_memory(reader);
    }
    for (const char *const *k = (const char *const[]){"jobs", "paper", "history",
                                                    NULL};
         *k; k++)
        if (json_object_get(value, *k))
            return json_reader_fail(reader, *k,
                                    "is not for a file with scenarios");
    if (json_reader_array(reader, value, "scenarios", false, 1, MAX_SCENARIOS,
                          &list) < 0)
        return -1;
    set->scenario = calloc(json_array_size(list), sizeof(*set->scenario));
    if (!set->scenario)
        return scenario_no_memory(reader);
    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t mark = json_reader_enter_element(reader, "scenarios", i);
        if (read_element(reader, json_array_get(list, i), sources, set, i) < 0)
            return -1;
        json_reader_leave(reader, mark);
    }
    return 0;
}

static int load_library(struct library *library, const char *file)
{
    static const char *const known[] = {"name", "source", "programs", NULL};
    struct json_reader *reader = &library->reader;

    library->root = json_reader_load(reader, file);
    if (!library->root ||
        json_reader_object(reader, library->root, known) < 0 ||
        scenario_check_texts(reader, library->root, name_and_source) < 0)
        return -1;
    return json_reader_array(reader, library->root, "programs", false, 1,
                             MAX_PROGRAMS, &library->programs);
}

struct scenario_set *scenario_read(struct json_reader *reader,
                                   const json_t *value, const char *library)
{
    static const char *const known[] = {"name", "source", "library",
                                        "programs", "scenarios", "jobs",
                                        "paper", "history", NULL};
    struct sources sources = {{.reader = *reader}, {.reader = *reader}};
    struct scenario_set *set = calloc(1, sizeof(*set));
    const char *named = library;
    int rc = 0;
    if (!set || !(set->file = strdup(reader->file)))
        rc = scenario_no_memory(reader);

    if (rc == 0)
        rc = json_reader_object(reader, value, known);
    if (rc == 0)
        rc = scenario_check_texts(reader, value, name_and_source);
    if (rc == 0 && !library)
        rc = json_reader_string(reader, value, "library", true, &named);
    if (rc == 0)
        rc = json_reader_array(reader, value, "programs", true, 0,
                               MAX_PROGRAMS, &sources.own.programs);
    if (rc == 0 && named)
        rc = load_library(&sources.other, named);
    if (rc == 0)
        rc = read_set(reader, value, &sources, set);
    int saved = errno;
    json_decref(sources.other.root);
    if (rc < 0) {
        scenario_set_free(set);
        set = NULL;
    }
    errno = saved;
    return set;
}

/* Make the "library" of ROOT relative to the directory of FILE. */
static int resolve_library(struct json_reader *reader, json_t *root,
                           const char *file)
{
    json_t *named = json_object_get(root, "library");
    const char *slash = strrchr(file, '/');

    if (!json_is_string(named) || !*json_string_value(named) ||
        json_string_value(named)[0] == '/' || !slash)
        return 0;
    json_t *path = json_sprintf("%.*s/%s", (int)(slash - file), file,
                                json_string_value(named));
    int rc = json_object_set_new(root, "library", path);
    return rc == 0 ? 0 : scenario_no_memory(reader);
}

struct scenario_set *scenario_load(const char *file, const char *library,
                                   struct errtext *err)
{
    struct errtext text;
    struct json_reader reader = {.err = err ? err : &text};
    struct scenario_set *set = NULL;
    json_t *root = json_reader_load(&reader, file);

    if (root && (library || resolve_library(&reader, root, file) == 0))
        set = scenario_read(&reader, root, library);
    int saved = errno;
    if (root && !set && saved == EINVAL) {
        const char *other = library;
        if (!other)
            other = json_string_value(json_object_get(root, "library"));
        json_line_add(reader.err, reader.file);
        if (other)
            json_line_add(reader.err, other);
    }
    json_decref(root);
    errno = saved;
    return set;
}
