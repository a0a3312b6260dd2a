/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Scenarios, and programs of libraries, from files. */

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_reader.h"
#include "simulator/json_line.h"
#include "simulator/scenario.h"

#define MAX_SCENARIOS 4096
#define MAX_PROGRAMS 1024
#define MAX_THREADS 65536
#define MAX_REPEAT 10000000
#define MAX_BARRIERS 1000000000

/* ---- programs ------------------------------------------------------------ */

/* Where a program may be found: READER is the file's. */
struct library {
    struct json_reader reader;
    json_t *root;
    const json_t *programs; /* array, borrowed, or NULL */
};

static int no_memory(struct json_reader *reader)
{
    return errtext_set(reader->err, ENOMEM, "%s: out of memory",
                       reader->file);
}

/* Members KEYS are for people: texts, if they are there. */
static int check_texts(struct json_reader *reader, const json_t *object,
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
static int read_text(struct json_reader *reader, const json_t *object,
                     const char *key, const char *fallback, char **out)
{
    const char *text = fallback;

    if (json_reader_string(reader, object, key, true, &text) < 0)
        return -1;
    if (!text)
        return 0;
    *out = strdup(text);
    return *out ? 0 : no_memory(reader);
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

static int read_bool(struct json_reader *reader, const json_t *object,
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
        check_texts(reader, value, source_only) < 0 ||
        read_text(reader, value, "name", name, &s->name) < 0 ||
        read_text(reader, value, "object", program, &s->object) < 0 ||
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
static int read_phases(struct json_reader *reader, const json_t *value,
                       const char *program, struct scenario_job *job)
{
    const json_t *list;

    if (json_reader_array(reader, value, "phases", false, 1,
                          SCENARIO_MAX_REGIONS, &list) < 0)
        return -1;
    job->region = calloc(SCENARIO_MAX_REGIONS, sizeof(*job->region));
    job->phase = calloc(json_array_size(list), sizeof(*job->phase));
    if (!job->region || !job->phase)
        return no_memory(reader);
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
static int read_nature(struct json_reader *reader, const json_t *value,
                       struct scenario_job *job)
{
    int rc = read_bool(reader, value, "malleable", &job->malleable);

    return rc < 0 ? rc
                  : read_bool(reader, value, "sleeps", &job->sleeps);
}

/* Find PROGRAM in LIBRARY and fill JOB from it.  1: it is not there. */
static int use_program(struct library *library, const char *program,
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
            check_texts(reader, value, source_only) < 0 ||
            json_reader_string(reader, value, "name", false, &name) < 0)
            return -1;
        if (strcmp(name, program) == 0) {
            int rc = read_phases(reader, value, program, job);
            if (rc == 0)
                rc = read_nature(reader, value, job);
            if (rc == 0)
                json_reader_leave(reader, mark);
            return rc;
        }
        json_reader_leave(reader, mark);
    }
    return 1;
}

/* ---- scenarios ----------------------------------------------------------- */

static const char *const name_and_source[] = {"name", "source", NULL};

/* The file's own programs come before those of the library. */
struct sources {
    struct library own;
    struct library other;
};

static int find_program(struct json_reader *reader, struct sources *sources,
                        const char *program, struct scenario_job *job)
{
    int rc = use_program(&sources->own, program, job);

    if (rc == 1)
        rc = use_program(&sources->other, program, job);
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
    return job->name ? 0 : no_memory(reader);
}

static int read_job_numbers(struct json_reader *reader, const json_t *value,
                            struct scenario_job *job)
{
    double scale = 1;

    if (json_reader_number(reader, value, "arrival_s", true,
                           JSON_NOT_NEGATIVE, &job->arrival_s) < 0 ||
        json_reader_number(reader, value, "scale", true, JSON_POSITIVE,
                           &scale) < 0 ||
        read_nature(reader, value, job) < 0 ||
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
        return no_memory(reader);
    if (name_job(reader, scenario, job, name) < 0)
        return -1;
    rc = own ? read_phases(reader, value, name, job)
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
        return no_memory(reader);
    json_object_foreach(paper, policy, member) {
        struct scenario_figure *f = &scenario->figure[scenario->figures++];
        size_t inner = json_reader_enter(reader, policy);
        f->ntt = f->hmean = NAN;
        f->policy = strdup(policy);
        if (!f->policy)
            return no_memory(reader);
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

    if (read_text(reader, value, "name", NULL, &scenario->name) < 0 ||
        read_text(reader, value, "source", NULL, &scenario->source) < 0 ||
        read_bool(reader, value, "history", &scenario->history) < 0 ||
        read_figures(reader, value, scenario) < 0 ||
        json_reader_array(reader, value, "jobs", false, 1, SCENARIO_MAX_JOBS,
                          &list) < 0)
        return -1;
    scenario->job = calloc(json_array_size(list), sizeof(*scenario->job));
    if (!scenario->job)
        return no_memory(reader);
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
            return no_memory(reader);
        if (read_scenario(reader, value, sources, set->scenario) < 0)
            return -1;
        if (!set->scenario->name)
            set->scenario->name = strdup("scenario");
        return set->scenario->name ? 0 : no_memory(reader);
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
        return no_memory(reader);
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
        check_texts(reader, library->root, name_and_source) < 0)
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
        rc = no_memory(reader);

    if (rc == 0)
        rc = json_reader_object(reader, value, known);
    if (rc == 0)
        rc = check_texts(reader, value, name_and_source);
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
    return rc == 0 ? 0 : no_memory(reader);
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
