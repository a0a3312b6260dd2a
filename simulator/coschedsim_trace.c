/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From a recorded trace to a scenario: what the jobs did, without the times. */

#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/json_reader.h"
#include "simulator/coschedsim.h"

/* A job's section in a program is a serial or parallel stretch; of more than
 * this many the neighbours are put together. */
#define STRETCHES 100

/* The tracks that node_agent/core/trace.c writes. */
#define TRACK_JOBS 2

/* A stretch of a job's life. */
struct stretch {
    double begin_us, end_us;
    bool parallel;
    double work_s; /* cores times time */
};

/* A job had so many cores from then on. */
struct level {
    double time_us, cores;
};

struct traced_job {
    unsigned long id;
    struct stretch *stretch;
    size_t stretches;
    struct level *level;
    size_t levels;
};

struct traced {
    struct traced_job job[SCENARIO_MAX_JOBS];
    size_t jobs;
};

static void *grow(void *list, size_t count, size_t size)
{
    if (count && (count & (count - 1)))
        return list; /* room for the next power of two */
    return realloc(list, (count ? 2 * count : 1) * size);
}

static struct traced_job *job_of(struct traced *t, unsigned long id)
{
    for (size_t j = 0; j < t->jobs; j++)
        if (t->job[j].id == id)
            return &t->job[j];
    if (t->jobs == SCENARIO_MAX_JOBS)
        return NULL;
    t->job[t->jobs] = (struct traced_job){.id = id};
    return &t->job[t->jobs++];
}

static double number(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

/* One event: 0, or -1 when memory or jobs run out. */
static int take(struct traced *t, const json_t *event)
{
    const char *ph = json_string_value(json_object_get(event, "ph"));
    const char *name = json_string_value(json_object_get(event, "name"));
    struct traced_job *job;

    if (!ph || !name || number(event, "pid") != TRACK_JOBS)
        return 0;
    if (!strcmp(ph, "C") && !strncmp(name, "cores of job ", 13)) {
        if (!(job = job_of(t, strtoul(name + 13, NULL, 10))))
            return -1;
        void *list = grow(job->level, job->levels, sizeof(*job->level));
        if (!list)
            return -1;
        job->level = list;
        job->level[job->levels++] = (struct level){
            number(event, "ts"),
            number(json_object_get(event, "args"), "cores")};
    } else if (!strcmp(ph, "X") && strcmp(name, "idle") &&
               strcmp(name, "suspended")) {
        if (!(job = job_of(t, (unsigned long)number(event, "tid"))))
            return -1;
        void *list = grow(job->stretch, job->stretches, sizeof(*job->stretch));
        if (!list)
            return -1;
        job->stretch = list;
        job->stretch[job->stretches++] = (struct stretch){
            .begin_us = number(event, "ts"),
            .end_us = number(event, "ts") + number(event, "dur"),
            .parallel = strcmp(name, "serial") != 0};
    }
    return 0;
}

/* Core-seconds of JOB between two times. */
static double cores_between(const struct traced_job *job, double begin_us,
                            double end_us)
{
    double sum = 0;

    for (size_t i = 0; i < job->levels; i++) {
        double from = fmax(begin_us, job->level[i].time_us);
        double to = i + 1 < job->levels
                        ? fmin(end_us, job->level[i + 1].time_us)
                        : end_us;
        if (to > from)
            sum += (to - from) * job->level[i].cores * 1e-6;
    }
    return sum;
}

static int by_begin(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;

    return (x->begin_us > y->begin_us) - (x->begin_us < y->begin_us);
}

static void add_section(json_t *sections, bool parallel, double work_s)
{
    if (work_s > 1e-6)
        json_array_append_new(
            sections, json_pack("{s:s,s:s,s:f}", "name",
                                parallel ? "parallel" : "serial", "kind",
                                parallel ? "parallel" : "serial", "work_s",
                                work_s));
}

static json_t *job_json(struct traced_job *job, double begin_us)
{
    json_t *sections = json_array();
    size_t together = job->stretches / STRETCHES + 1;
    char name[32];

    qsort(job->stretch, job->stretches, sizeof(*job->stretch), by_begin);
    for (size_t i = 0; i < job->stretches;) {
        double serial_s = 0, parallel_s = 0;
        for (size_t k = 0; k < together && i < job->stretches; k++, i++) {
            const struct stretch *s = &job->stretch[i];
            if (s->parallel)
                parallel_s += cores_between(job, s->begin_us, s->end_us);
            else
                serial_s += (s->end_us - s->begin_us) * 1e-6;
        }
        add_section(sections, false, serial_s);
        add_section(sections, true, parallel_s);
    }
    if (!json_array_size(sections)) {
        json_decref(sections);
        return NULL;
    }
    snprintf(name, sizeof(name), "job %lu", job->id);
    return json_pack("{s:s,s:f,s:[{s:o}]}", "name", name, "arrival_s",
                     (job->stretch[0].begin_us - begin_us) * 1e-6, "phases",
                     "sections", sections);
}

static json_t *scenario_json(struct traced *t)
{
    double begin_us = INFINITY;
    json_t *jobs = json_array();

    for (size_t j = 0; j < t->jobs; j++)
        for (size_t i = 0; i < t->job[j].stretches; i++)
            begin_us = fmin(begin_us, t->job[j].stretch[i].begin_us);
    for (size_t j = 0; j < t->jobs; j++) {
        json_t *job = t->job[j].stretches ? job_json(&t->job[j], begin_us) : NULL;
        if (job)
            json_array_append_new(jobs, job);
    }
    return json_pack("{s:s,s:o}", "name", "replay", "jobs", jobs);
}

static int read_trace(struct world *w, const char *file, struct errtext *err)
{
    struct json_reader reader = {.err = err};
    struct traced *t = calloc(1, sizeof(*t));
    json_t *root = json_reader_load(&reader, file), *scenario = NULL;
    const json_t *events = json_object_get(root, "traceEvents");
    int rc = root && t ? 0 : -1;

    if (rc == 0 && !json_is_array(events))
        rc = json_reader_fail(&reader, "traceEvents", "is missing: this is no "
                              "trace");
    for (size_t i = 0; rc == 0 && i < json_array_size(events); i++)
        if ((rc = take(t, json_array_get(events, i))) < 0)
            errtext_set(err, ENOMEM, "%s: too many jobs, or out of memory",
                        file);
    if (rc == 0 && (scenario = scenario_json(t)) &&
        !json_array_size(json_object_get(scenario, "jobs")))
        rc = json_reader_fail(&reader, "traceEvents", "has no job that ran");
    if (rc == 0 && !(w->set = scenario_read(&reader, scenario, NULL)))
        rc = -1;
    json_decref(scenario);
    json_decref(root);
    for (size_t j = 0; t && j < t->jobs; j++) {
        free(t->job[j].stretch);
        free(t->job[j].level);
    }
    free(t);
    return rc;
}

int world_open_trace(struct world *w, const struct arguments *a)
{
    struct errtext err = {""};
    struct stat info;

    *w = (struct world){.arguments = a};
    if (!a->file)
        return fail(EXIT_USAGE, "needs a trace or a recording");
    bool recording = stat(a->file, &info) == 0 && S_ISDIR(info.st_mode);
    if (!a->machine && !recording)
        return fail(EXIT_USAGE, "needs --machine");
    if ((a->machine && !(w->machine = machine_json_find(a->machine, &err))) ||
        (recording ? world_read_recording(w, a->file, &err)
                   : read_trace(w, a->file, &err)) < 0)
        return fail(EXIT_REFUSED, "%s", err.text);
    return EXIT_DONE;
}
