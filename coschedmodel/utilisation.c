/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedmodel utilisation: how well a mix uses a machine. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coschedmodel/mix.h"
#include "coschedmodel/output.h"
#include "model/analysis/closed.h"
#include "common/json_writer.h"
#include "common/progress.h"

static struct system_input as_input(const struct mix *mix)
{
    return (struct system_input){
        .machine = mix->description->machine,
        .jobs = mix->jobs,
        .profile = (const struct workload *const *)mix->profile,
        .weight = mix->weight,
        .cores = mix->cores,
        .method = mix->method,
    };
}

/* Solve MIX as its cores are now; SPEED[jobs]. */
static enum model_status solve(const struct mix *mix,
                               struct system_result *result, double *speed)
{
    const struct system_input input = as_input(mix);

    return system_solve(&input, result, speed);
}

/* Cores of each job. */
static void count_cores(const struct mix *mix, size_t *cores)
{
    memset(cores, 0, mix->jobs * sizeof(*cores));
    for (size_t i = 0; i < mix->description->machine->llc_domains; i++)
        for (size_t j = 0; j < mix->jobs; j++)
            cores[j] += mix->cores[i * mix->jobs + j];
}

/* Speed of JOB alone on COUNT cores. */
static enum model_status alone(struct mix *mix, size_t job, size_t count,
                               double *speed)
{
    double speeds[MVA_MAX_CLASSES];
    struct system_result result;

    memset(mix->cores, 0, mix->description->machine->llc_domains * mix->jobs *
                              sizeof(*mix->cores));
    mix_pack(mix, job, count);
    enum model_status status = solve(mix, &result, speeds);
    *speed = speeds[job];
    return status;
}

static int show_one(const struct arguments *arguments, struct mix *mix,
                    const char *file)
{
    static const char *const columns[] = {"name", "cores", "speed", "speedup",
                                          NULL};
    double speed[MVA_MAX_CLASSES], one = 1;
    struct system_result system;
    enum model_status status = solve(mix, &system, speed);
    struct output output = {.rows = "jobs", .columns = columns};
    json_t *rows = json_array();
    size_t cores[MVA_MAX_CLASSES];

    count_cores(mix, cores);
    for (size_t j = 0; status == MODEL_OK && j < mix->jobs; j++) {
        status = alone(mix, j, 1, &one);
        json_array_append_new(
            rows, json_pack("{s:s, s:I, s:f, s:f}", "name", mix->name[j],
                            "cores", (json_int_t)cores[j], "speed", speed[j],
                            "speedup", speed[j] / one));
    }
    if (status != MODEL_OK) {
        json_decref(rows);
        return fail_model(file, status);
    }
    output.result = json_pack("{s:f, s:f, s:f, s:o}", "utilisation",
                              system.utilisation, "cpu", system.cpu, "memory",
                              system.memory, "jobs", rows);
    if (arguments->table)
        printf("utilisation %.5g: cores %.5g, memory %.5g\n",
               system.utilisation, system.cpu, system.memory);
    return output_show(&output, arguments);
}

/* All stations together: the jobs' speeds, and how busy each server is. */
static int show_closed(const struct arguments *arguments,
                       const struct mix *mix, const char *file)
{
    static const char *const columns[] = {"name", "cores", "speed", NULL};
    const struct machine *m = mix->description->machine;
    const struct system_input input = as_input(mix);
    struct output output = {.rows = "jobs", .columns = columns};
    double speed[MVA_MAX_CLASSES];
    size_t cores[MVA_MAX_CLASSES];
    double *busy = calloc(m->numa_nodes + m->links, sizeof(*busy));
    const struct closed_result result = {.job_speed = speed,
                                         .utilisation = busy};
    enum model_status status =
        busy ? closed_solve(NETWORK_LINEARIZER, &input, &result) : MODEL_ENOMEM;

    if (status != MODEL_OK) {
        free(busy);
        return fail_model(file, status);
    }
    count_cores(mix, cores);
    json_t *rows = json_array();
    for (size_t j = 0; j < mix->jobs; j++)
        json_array_append_new(
            rows, json_pack("{s:s, s:I, s:f}", "name", mix->name[j], "cores",
                            (json_int_t)cores[j], "speed", speed[j]));
    output.result =
        json_pack("{s:o, s:o, s:o}", "controllers",
                  json_writer_numbers(busy, m->numa_nodes), "links",
                  json_writer_numbers(busy + m->numa_nodes, m->links), "jobs",
                  rows);
    free(busy);
    return output_show(&output, arguments);
}

/* Time until both jobs have done their work when the one that is left over
 * gets all cores; speeds are relative to one core alone. */
static double makespan(const double *work, const double *speed,
                       const double *full)
{
    double first = work[0] / speed[0], second = work[1] / speed[1];
    size_t left = first < second;
    double begun = fmin(first, second);

    return begun + (work[left] - begun * speed[left]) / full[left];
}

struct sweep {
    double one[2], full[2]; /* speed alone, on one core and on all */
    double batch;           /* one job after the other, 0: no work given */
    size_t best_cpu, best_utilisation, best_makespan; /* cores of the first */
    double cpu, utilisation, time;                    /* there */
};

/* The row for FIRST cores of the first job. */
static enum model_status sweep_row(struct mix *mix, struct sweep *s,
                                   size_t first, size_t all, json_t *rows)
{
    struct system_result system;
    double speed[2];

    memset(mix->cores, 0, mix->description->machine->llc_domains * mix->jobs *
                              sizeof(*mix->cores));
    mix_pack(mix, 0, first);
    mix_pack(mix, 1, all - first);
    enum model_status status = solve(mix, &system, speed);
    if (status != MODEL_OK)
        return status;
    speed[0] /= s->one[0];
    speed[1] /= s->one[1];
    json_t *row = json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "first",
                            (json_int_t)first, "second",
                            (json_int_t)(all - first), "cpu", system.cpu,
                            "memory", system.memory, "utilisation",
                            system.utilisation, "speedup_first", speed[0],
                            "speedup_second", speed[1]);
    if (system.cpu > s->cpu) {
        s->cpu = system.cpu;
        s->best_cpu = first;
    }
    if (system.utilisation > s->utilisation) {
        s->utilisation = system.utilisation;
        s->best_utilisation = first;
    }
    if (s->batch > 0) {
        double time = makespan(mix->work, speed, s->full);
        json_object_set_new(row, "makespan", json_real(time));
        json_object_set_new(row, "of_batch", json_real(time / s->batch));
        if (s->best_makespan == 0 || time < s->time) {
            s->time = time;
            s->best_makespan = first;
        }
    }
    json_array_append_new(rows, row);
    return MODEL_OK;
}

static enum model_status sweep_begin(struct mix *mix, struct sweep *s,
                                     size_t all)
{
    enum model_status status = MODEL_OK;

    for (size_t j = 0; status == MODEL_OK && j < 2; j++) {
        status = alone(mix, j, 1, &s->one[j]);
        if (status == MODEL_OK)
            status = alone(mix, j, all, &s->full[j]);
        s->full[j] /= s->one[j];
    }
    if (mix->work[0] > 0 && mix->work[1] > 0)
        s->batch = mix->work[0] / s->full[0] + mix->work[1] / s->full[1];
    return status;
}

static int show_sweep(const struct arguments *arguments,
                      const struct sweep *s, json_t *rows)
{
    static const char *const columns[] = {
        "first", "second", "cpu", "memory", "utilisation", "speedup_first",
        "speedup_second", "makespan", "of_batch", NULL};
    struct output output = {
        .rows = "points", .columns = columns, .chart = "utilisation",
    };
    json_t *best = json_pack("{s:I, s:I}", "cpu", (json_int_t)s->best_cpu,
                             "utilisation", (json_int_t)s->best_utilisation);

    output.result = json_pack("{s:o, s:o}", "best", best, "points",
                              json_incref(rows));
    if (s->batch > 0) {
        json_object_set_new(best, "makespan",
                            json_integer((json_int_t)s->best_makespan));
        json_object_set_new(output.result, "batch", json_real(s->batch));
    }
    return output_show(&output, arguments);
}

static int sweep(const struct arguments *arguments, struct mix *mix,
                 const char *file)
{
    size_t all = mix_cpus(mix);
    struct sweep s = {0};
    json_t *rows = json_array();
    enum model_status status = sweep_begin(mix, &s, all);

    if (all < 2) {
        json_decref(rows);
        return fail(EXIT_REFUSED, "%s: --sweep needs two cores", file);
    }
    progress("utilisation", 0, all);
    for (size_t a = 1; status == MODEL_OK && a < all; a++) {
        status = sweep_row(mix, &s, a, all, rows);
        progress("utilisation", a + 1, all);
    }
    int rc = status == MODEL_OK ? show_sweep(arguments, &s, rows)
                                : fail_model(file, status);
    json_decref(rows);
    return rc;
}

int command_utilisation(const struct arguments *arguments)
{
    struct errtext err = {""};
    struct json_reader reader;
    struct mix mix;
    json_t *input = load_input(arguments, &reader, &err);

    if (!input)
        return EXIT_REFUSED;
    int status = mix_read(&mix, arguments, &reader, input);
    if (status == EXIT_DONE)
        status = arguments->sweep ? sweep(arguments, &mix, reader.file)
                 : mix.closed     ? show_closed(arguments, &mix, reader.file)
                                  : show_one(arguments, &mix, reader.file);
    mix_release(&mix);
    json_decref(input);
    return status;
}
