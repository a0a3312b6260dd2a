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

#define MEMORY_GIB 1.0 /* where nobody says */
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

/* Copy TEXT, where it is not NULL, to *OUT. */
static int keep_text(struct json_reader *reader, const char *text, char **out)
{
    *out = text ? strdup(text) : NULL;
    return *out || !text ? 0 : no_memory(reader);
}

/* The value TEXT of member KEY must be one of NAMES[COUNT]; NULL: it is absent,
 * and *INDEX stays. */
static int choose(struct json_reader *reader, const char *key, const char *text,
                  const char *const *names, size_t count, size_t *index)
{
    char all[80] = "";

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

/* What S, read from VALUE, must keep to. */
static int check_region(struct json_reader *reader, const json_t *value,
                        struct scenario_region *s)
{
    static const char *const parallel_only[] = {"imbalance", "sync_share",
                                                "barriers"};
    double sum = s->read_per_us + s->write_per_us + s->prefetch_per_us;

    for (size_t i = 0; s->kind == REGION_SERIAL && i < 3; i++)
        if (json_object_get(value, parallel_only[i]))
            return json_reader_fail(reader, parallel_only[i],
                                    "is for parallel regions only");
    if (!json_object_get(value, "barriers"))
        s->barriers = s->kind == REGION_PARALLEL;
    if (!json_object_get(value, "llc_per_us"))
        s->llc_per_us = sum;
    if (s->llc_per_us < sum * (1 - 1e-9))
        return json_reader_fail(reader, "llc_per_us",
                                "%g is less than the %g requests that miss",
                                s->llc_per_us, sum);
    if (s->sync_share >= 1)
        return json_reader_fail(reader, "sync_share", "must be less than 1");
    return 0;
}

/* LIST, or NULL, into S, whose placement is known. */
static int read_thread_nodes(struct json_reader *reader, const json_t *list,
                             struct scenario_region *s)
{
    double node;

    if ((s->placement == SCENARIO_BY_THREAD) != (list != NULL))
        return json_reader_fail(reader, "thread_nodes",
                                "is for placement by-thread, which needs it");
    if (!list)
        return 0;
    if (!(s->thread_node = calloc(json_array_size(list), sizeof(*s->thread_node))))
        return no_memory(reader);
    for (; s->thread_nodes < json_array_size(list); s->thread_nodes++) {
        if (json_reader_element(reader, list, "thread_nodes", s->thread_nodes, JSON_NOT_NEGATIVE,
                                &node) < 0)
            return -1;
        if (node != floor(node) || node >= SCENARIO_THREAD_NODES)
            return json_reader_fail(reader, "thread_nodes", "%g is not the number of a NUMA node",
                                    node);
        s->thread_node[s->thread_nodes] = (size_t)node;
    }
    return 0;
}

/* What a program is read into. */
struct program {
    const char *name;
    struct scenario_job *job;
};

static int read_region(struct json_reader *reader, const json_t *value,
                       size_t index, void *arg)
{
    static const char *const kinds[] = {"serial", "parallel"};
    static const char *const placements[] = {"first-touch", "interleaved",
                                             "local", "by-thread"};
    const struct program *program = arg;
    struct scenario_job *job = program->job;
    struct scenario_region *s = &job->region[job->regions];
    const char *kind_text = NULL, *placement_text = NULL, *unused;
    const char *object = program->name;
    const json_t *thread_nodes = NULL;
    size_t kind = 1, placement = SCENARIO_INTERLEAVED;
    size_t offset = 64 * (job->regions + 1); /* any that differ */
    char made[32];
    const char *name = made;
    const struct json_member members[] = {
        JSON_MAY("name", JSON_TEXT, &name),
        JSON_MAY("source", JSON_TEXT, &unused),
        JSON_MAY("object", JSON_TEXT, &object),
        JSON_MAY("kind", JSON_TEXT, &kind_text),
        JSON_MAY("placement", JSON_TEXT, &placement_text),
        JSON_MAY_IN("thread_nodes", JSON_LIST, 1, SCENARIO_THREAD_NODES, &thread_nodes),
        JSON_MAY("thread_share", JSON_SHARE, &s->thread_share),
        JSON_MUST("work_s", JSON_POSITIVE, &s->work_s),
        JSON_MAY_IN("offset", JSON_COUNT, 0, SIZE_MAX >> 1, &offset),
        JSON_MAY("read_per_us", JSON_NOT_NEGATIVE, &s->read_per_us),
        JSON_MAY("write_per_us", JSON_NOT_NEGATIVE, &s->write_per_us),
        JSON_MAY("prefetch_per_us", JSON_NOT_NEGATIVE, &s->prefetch_per_us),
        JSON_MAY("llc_per_us", JSON_NOT_NEGATIVE, &s->llc_per_us),
        JSON_MAY("llc_loss", JSON_NOT_NEGATIVE, &s->llc_loss),
        JSON_MAY("llc_power", JSON_SHARE, &s->llc_power),
        JSON_MAY("overlap", JSON_SHARE, &s->overlap),
        JSON_MAY("latency", JSON_NOT_NEGATIVE, &s->latency),
        JSON_MAY("imbalance", JSON_NOT_NEGATIVE, &s->imbalance),
        JSON_MAY("sync_share", JSON_SHARE, &s->sync_share),
        JSON_MAY_IN("barriers", JSON_COUNT, 1, MAX_BARRIERS, &s->barriers),
        {0}};

    (void)index;
    job->regions++;
    s->thread_share = 1;
    snprintf(made, sizeof(made), "region%zu", job->regions);
    if (json_reader_members(reader, value, members) < 0 ||
        choose(reader, "kind", kind_text, kinds, 2, &kind) < 0 ||
        choose(reader, "placement", placement_text, placements, 4, &placement) <
            0 ||
        keep_text(reader, name, &s->name) < 0 ||
        keep_text(reader, object, &s->object) < 0)
        return -1;
    s->kind = kind ? REGION_PARALLEL : REGION_SERIAL;
    s->placement = (enum scenario_placement)placement;
    s->offset = offset;
    return read_thread_nodes(reader, thread_nodes, s) < 0 ? -1 : check_region(reader, value, s);
}

static int read_phase(struct json_reader *reader, const json_t *value,
                      size_t index, void *arg)
{
    struct scenario_job *job = ((const struct program *)arg)->job;
    struct scenario_phase *phase = &job->phase[job->phases++];
    const json_t *list;
    const struct json_member members[] = {
        JSON_MAY_IN("repeat", JSON_COUNT, 1, MAX_REPEAT, &phase->repeat),
        JSON_MUST_IN("regions", JSON_LIST, 1,
                     SCENARIO_MAX_REGIONS - job->regions, &list),
        {0}};

    (void)index;
    phase->repeat = 1;
    phase->first = job->regions;
    if (json_reader_members(reader, value, members) < 0)
        return -1;
    phase->count = json_array_size(list);
    return json_reader_each(reader, list, "regions", read_region, arg);
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
    struct program into = {program, job};
    if (json_reader_each(reader, list, "phases", read_phase, &into) < 0)
        return -1;
    /* Most programs have few of them. */
    struct scenario_region *fit = realloc(job->region, job->regions *
                                                             sizeof(*fit));
    job->region = fit ? fit : job->region;
    return 0;
}

/* Find PROGRAM in LIBRARY and fill JOB from it.  1: it is not there. */
static int use_program(struct library *library, const char *program,
                       struct scenario_job *job)
{
    struct json_reader *reader = &library->reader;

    for (size_t i = 0; i < json_array_size(library->programs); i++) {
        const json_t *value = json_array_get(library->programs, i);
        const char *name, *unused;
        bool malleable = true, sleeps = false;
        double memory_gib = job->memory_gib;
        const struct json_member members[] = {
            JSON_MUST("name", JSON_TEXT, &name),
            JSON_MAY("source", JSON_TEXT, &unused),
            JSON_MAY("malleable", JSON_FLAG, &malleable),
            JSON_MAY("sleeps", JSON_FLAG, &sleeps),
            JSON_MAY("memory_gib", JSON_NOT_NEGATIVE, &memory_gib),
            JSON_KNOWN("phases"),
            {0}};
        size_t mark = json_reader_enter_element(reader, "programs", i);
        int rc = json_reader_members(reader, value, members);

        if (rc == 0 && strcmp(name, program) == 0) {
            job->malleable = malleable;
            job->sleeps = sleeps;
            job->memory_gib = memory_gib;
            rc = read_phases(reader, value, program, job);
            json_reader_leave(reader, mark);
            return rc;
        }
        json_reader_leave(reader, mark);
        if (rc < 0)
            return rc;
    }
    return 1;
}

/* ---- scenarios ----------------------------------------------------------- */

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

/* What a set is read with, and the scenario that it is at. */
struct reading {
    struct sources *sources;
    struct scenario_set *set;
    struct scenario *scenario;
};

static int read_job(struct json_reader *reader, const json_t *value,
                    size_t index, void *arg)
{
    struct sources *sources = ((struct reading *)arg)->sources;
    struct scenario *scenario = ((struct reading *)arg)->scenario;
    struct scenario_job *job = &scenario->job[scenario->jobs++];
    const char *name = NULL, *program = NULL;
    bool own = json_object_get(value, "phases") != NULL;
    bool malleable = true, sleeps = false;
    double scale = 1, memory_gib = 0;
    const struct json_member members[] = {
        {"name", JSON_TEXT, !own, &name, 0, 0},
        {"program", JSON_TEXT, own, &program, 0, 0},
        JSON_KNOWN("phases"),
        JSON_MAY("arrival_s", JSON_NOT_NEGATIVE, &job->arrival_s),
        JSON_MAY("scale", JSON_POSITIVE, &scale),
        JSON_MAY("malleable", JSON_FLAG, &malleable),
        JSON_MAY("sleeps", JSON_FLAG, &sleeps),
        JSON_MAY_IN("threads", JSON_COUNT, 1, MAX_THREADS, &job->threads),
        JSON_MAY_IN("min_cores", JSON_COUNT, 1, MAX_THREADS, &job->min_cores),
        JSON_MAY_IN("max_cores", JSON_COUNT, 1, MAX_THREADS, &job->max_cores),
        JSON_MAY_IN("numa_node", JSON_COUNT, 0, MAX_THREADS, &job->numa_node),
        JSON_MAY("weight", JSON_POSITIVE, &job->weight),
        JSON_MAY("memory_gib", JSON_NOT_NEGATIVE, &memory_gib),
        {0}};

    (void)index;
    *job = (struct scenario_job){.malleable = true, .min_cores = 1,
                                 .weight = 1, .numa_node = SCENARIO_NO_NODE,
                                 .memory_gib = MEMORY_GIB};
    if (json_reader_members(reader, value, members) < 0)
        return -1;
    if (own && program)
        return json_reader_fail(reader, "program",
                                "is not for a job with phases of its own");
    if (job->max_cores != SCENARIO_ALL && job->max_cores < job->min_cores)
        return json_reader_fail(reader, "max_cores",
                                "%zu is less than min_cores, %zu",
                                job->max_cores, job->min_cores);
    if (keep_text(reader, own ? name : program, &job->program) < 0 ||
        name_job(reader, scenario, job, name) < 0 ||
        (own ? read_phases(reader, value, name, job)
             : find_program(reader, sources, program, job)) < 0)
        return -1;
    if (json_object_get(value, "malleable"))
        job->malleable = malleable;
    if (json_object_get(value, "sleeps"))
        job->sleeps = sleeps;
    if (json_object_get(value, "memory_gib"))
        job->memory_gib = memory_gib;
    for (size_t i = 0; i < job->regions; i++)
        job->region[i].work_s *= scale;
    return 0;
}

static int read_figures(struct json_reader *reader, const json_t *value,
                        struct scenario *scenario)
{
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
        const struct json_member members[] = {
            JSON_MAY("ntt", JSON_POSITIVE, &f->ntt),
            JSON_MAY("hmean", JSON_POSITIVE, &f->hmean),
            {0}};
        size_t inner = json_reader_enter(reader, policy);
        f->ntt = f->hmean = NAN;
        f->policy = strdup(policy);
        if (!f->policy)
            return no_memory(reader);
        if (json_reader_members(reader, member, members) < 0)
            return -1;
        json_reader_leave(reader, inner);
    }
    json_reader_leave(reader, mark);
    return 0;
}

/* The scenario r->scenario; ALONE: it is the whole file, and needs no name. */
static int read_scenario(struct json_reader *reader, const json_t *value,
                         struct reading *r, bool alone)
{
    struct scenario *scenario = r->scenario;
    const char *name = alone ? "scenario" : NULL, *source = NULL;
    const json_t *list;
    const struct json_member members[] = {
        {"name", JSON_TEXT, alone, &name, 0, 0},
        JSON_MAY("source", JSON_TEXT, &source),
        JSON_MAY("history", JSON_FLAG, &scenario->history),
        JSON_KNOWN("paper"),
        JSON_MUST_IN("jobs", JSON_LIST, 1, SCENARIO_MAX_JOBS, &list),
        {alone ? "library" : NULL, JSON_OTHER, true, NULL, 0, 0},
        JSON_KNOWN("programs"),
        {0}};

    if (json_reader_members(reader, value, members) < 0)
        return -1;
    r->set->scenarios++;
    if (keep_text(reader, name, &scenario->name) < 0 ||
        keep_text(reader, source, &scenario->source) < 0 ||
        read_figures(reader, value, scenario) < 0)
        return -1;
    scenario->job = calloc(json_array_size(list), sizeof(*scenario->job));
    if (!scenario->job)
        return no_memory(reader);
    return json_reader_each(reader, list, "jobs", read_job, r);
}

/* Element INDEX of "scenarios". */
static int read_element(struct json_reader *reader, const json_t *value,
                        size_t index, void *arg)
{
    struct reading *r = arg;

    r->scenario = &r->set->scenario[index];
    if (read_scenario(reader, value, r, false) < 0)
        return -1;
    for (size_t i = 0; i < index; i++)
        if (strcmp(r->set->scenario[i].name, r->scenario->name) == 0)
            return json_reader_fail(reader, "name",
                                    "\"%.40s\" is taken by another scenario",
                                    r->scenario->name);
    return 0;
}

static int read_set(struct json_reader *reader, const json_t *value,
                    const json_t *list, struct sources *sources,
                    struct scenario_set *set)
{
    static const char *const not_beside[] = {"jobs", "paper", "history", NULL};
    struct reading reading = {sources, set, NULL};

    set->scenario = calloc(json_array_size(list) + 1, sizeof(*set->scenario));
    if (!set->scenario)
        return no_memory(reader);
    reading.scenario = set->scenario;
    if (!list)
        return read_scenario(reader, value, &reading, true);
    for (const char *const *k = not_beside; *k; k++)
        if (json_object_get(value, *k))
            return json_reader_fail(reader, *k,
                                    "is not for a file with scenarios");
    if (json_reader_array(reader, value, "scenarios", false, 1, MAX_SCENARIOS,
                          &list) < 0)
        return -1;
    return json_reader_each(reader, list, "scenarios", read_element, &reading);
}

static int load_library(struct library *library, const char *file)
{
    const char *unused;
    const struct json_member members[] = {
        JSON_MAY("name", JSON_TEXT, &unused),
        JSON_MAY("source", JSON_TEXT, &unused),
        JSON_MUST_IN("programs", JSON_LIST, 1, MAX_PROGRAMS,
                     &library->programs),
        {0}};

    library->root = json_reader_load(&library->reader, file);
    return library->root ? json_reader_members(&library->reader, library->root,
                                               members)
                         : -1;
}

struct scenario_set *scenario_read(struct json_reader *reader,
                                   const json_t *value, const char *library)
{
    struct sources sources = {{.reader = *reader}, {.reader = *reader}};
    struct scenario_set *set = calloc(1, sizeof(*set));
    const char *named = NULL, *unused;
    const json_t *list = NULL;
    const struct json_member members[] = {
        JSON_MAY("name", JSON_TEXT, &unused),
        JSON_MAY("source", JSON_TEXT, &unused),
        JSON_MAY("library", JSON_TEXT, &named),
        JSON_MAY_IN("programs", JSON_LIST, 0, MAX_PROGRAMS,
                    &sources.own.programs),
        JSON_MAY_IN("scenarios", JSON_LIST, 0, MAX_SCENARIOS, &list),
        JSON_KNOWN("jobs"),
        JSON_KNOWN("paper"),
        JSON_KNOWN("history"),
        {0}};
    int rc = 0;

    if (!set || !(set->file = strdup(reader->file)))
        rc = no_memory(reader);
    if (rc == 0)
        rc = json_reader_members(reader, value, members);
    if (library)
        named = library;
    if (rc == 0 && named)
        rc = load_library(&sources.other, named);
    if (rc == 0)
        rc = read_set(reader, value, list, &sources, set);
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
