/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedmodel train: predictors of concurrency from samples, and how good they are. */

#include "common/progress.h"
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coschedmodel/output.h"

#ifdef HAVE_GSL

#include "model/analysis/train.h"
#include "model/io/concurrency_json.h"

#define MOST_SAMPLES 20000
#define MOST_PROGRAMS 64
#define MUCH 5.0 /* percent of error that the paper counts separately */

struct samples {
    struct machine_description *machine;
    size_t cores, count, programs;
    const char *program[MOST_PROGRAMS];
    size_t *program_of;          /* [count] */
    struct train_sample *sample; /* [count] */
    struct concurrency_thread *thread; /* [count * cores] */
    double *cost;                      /* [count * 2 * cores]: time, edp */
};

static void samples_release(struct samples *s)
{
    machine_description_free(s->machine);
    free(s->program_of);
    free(s->sample);
    free(s->thread);
    free(s->cost);
}

/* ---- input -------------------------------------------------------------------------- */

static int read_thread(struct json_reader *reader, const json_t *threads, size_t c,
                       struct concurrency_thread *thread)
{
    double *rate[CONCURRENCY_RATES] = {&thread->ipc, &thread->local, &thread->remote,
                                       &thread->branch_misses};
    const json_t *row = json_array_get(threads, c);
    size_t mark = json_reader_enter_element(reader, "threads", c);
    int rc = 0;

    if (json_array_size(row) != CONCURRENCY_RATES)
        rc = json_reader_fail(reader, NULL, "must be an array of %d", CONCURRENCY_RATES);
    for (size_t r = 0; rc == 0 && r < CONCURRENCY_RATES; r++)
        rc = json_reader_element(reader, row, "", r, JSON_NOT_NEGATIVE, rate[r]);
    json_reader_leave(reader, mark);
    return rc;
}

/* A row for each core, or for each LLC domain, whose cores are alike. */
static int read_threads(struct json_reader *reader, const struct samples *s,
                        const json_t *threads, struct concurrency_thread *thread)
{
    const struct machine *m = s->machine->machine;
    size_t rows = json_array_size(threads), core = 0;

    if (rows != s->cores && rows != m->llc_domains)
        return json_reader_fail(reader, "threads", "has %zu elements, must have %zu, or %zu for "
                                "LLC domains", rows, s->cores, m->llc_domains);
    for (size_t c = 0; rows == s->cores && c < rows; c++)
        if (read_thread(reader, threads, c, &thread[c]) < 0)
            return -1;
    for (size_t i = 0; rows < s->cores && i < m->llc_domains; i++) {
        struct concurrency_thread each;
        if (read_thread(reader, threads, i, &each) < 0)
            return -1;
        for (size_t n = machine_node_cpus(m, i); n > 0; n--)
            thread[core++] = each;
    }
    return 0;
}

static int name_program(struct json_reader *reader, struct samples *s, const char *name,
                        size_t *program)
{
    for (*program = 0; *program < s->programs; ++*program)
        if (strcmp(s->program[*program], name) == 0)
            return 0;
    if (s->programs == MOST_PROGRAMS)
        return json_reader_fail(reader, "program", "is one more than %d", MOST_PROGRAMS);
    s->program[s->programs++] = name;
    return 0;
}

static int read_sample(struct json_reader *reader, const json_t *value, size_t index, void *arg)
{
    struct samples *s = arg;
    const char *program, *region;
    const json_t *threads, *time, *energy;
    const struct json_member members[] = {
        JSON_MUST("program", JSON_TEXT, &program),
        JSON_MAY("region", JSON_TEXT, &region),
        JSON_MUST_IN("threads", JSON_LIST, 1, s->cores, &threads),
        JSON_MUST_IN("time_s", JSON_LIST, s->cores, s->cores, &time),
        JSON_MUST_IN("energy_j", JSON_LIST, s->cores, s->cores, &energy),
        {0}};
    double *seconds = &s->cost[index * CONCURRENCY_TARGETS * s->cores];
    double *edp = seconds + s->cores, joules;
    struct concurrency_thread *thread = &s->thread[index * s->cores];

    if (json_reader_members(reader, value, members) < 0 ||
        name_program(reader, s, program, &s->program_of[index]) < 0 ||
        read_threads(reader, s, threads, thread) < 0)
        return -1;
    for (size_t i = 0; i < s->cores; i++) {
        if (json_reader_element(reader, time, "time_s", i, JSON_POSITIVE, &seconds[i]) < 0 ||
            json_reader_element(reader, energy, "energy_j", i, JSON_POSITIVE, &joules) < 0)
            return -1;
        edp[i] = joules * seconds[i];
    }
    s->sample[index] = (struct train_sample){thread, {seconds, edp}};
    return 0;
}

static int read_samples(struct samples *s, const struct arguments *arguments,
                        struct json_reader *reader, const json_t *input)
{
    const json_t *list;
    const struct json_member members[] = {
        JSON_KNOWN("machine"),
        JSON_MUST_IN("samples", JSON_LIST, TRAIN_LEAST, MOST_SAMPLES, &list),
        {0}};

    if (json_reader_members(reader, input, members) < 0)
        return fail(EXIT_REFUSED, "%s", reader->err->text);
    if (!(s->machine = load_machine(arguments, reader, input)))
        return EXIT_REFUSED;
    s->cores = machine_all_cpus(s->machine->machine);
    s->count = json_array_size(list);
    s->program_of = calloc(s->count, sizeof(*s->program_of));
    s->sample = calloc(s->count, sizeof(*s->sample));
    s->thread = calloc(s->count * s->cores, sizeof(*s->thread));
    s->cost = calloc(s->count * CONCURRENCY_TARGETS * s->cores, sizeof(double));
    if (!s->program_of || !s->sample || !s->thread || !s->cost)
        return fail(EXIT_REFUSED, "out of memory");
    if (json_reader_each(reader, list, "samples", read_sample, s) < 0)
        return fail(EXIT_REFUSED, "%s", reader->err->text);
    return s->programs > 1 ? EXIT_DONE
                           : fail(EXIT_REFUSED, "%s: samples: are of one program only, none can be "
                                  "left out", reader->file);
}

/* ---- how good they are ------------------------------------------------------------- */

/* Of one predictor on programs that it was not trained with. */
struct quality {
    double samples;
    double points, error[CONCURRENCY_TARGETS], much[CONCURRENCY_TARGETS];
    double gain[OBJECTIVES];
};

static void quality_add(struct quality *sum, const struct quality *q)
{
    sum->samples += q->samples;
    sum->points += q->points;
    for (size_t t = 0; t < CONCURRENCY_TARGETS; t++) {
        sum->error[t] += q->error[t];
        sum->much[t] += q->much[t];
    }
    for (size_t o = 0; o < OBJECTIVES; o++)
        sum->gain[o] += q->gain[o];
}

/* Room for the judgement of a model. */
struct judge {
    const struct samples *samples;
    const struct concurrency_model *model;
    struct concurrency_curve *curve;
};

static void judge_errors(struct judge *j, const struct train_sample *sample,
                         enum concurrency_kind kind, struct quality *q)
{
    size_t cores = j->samples->cores;

    concurrency_predict(j->model, kind, sample->thread, j->curve);
    for (size_t i = 0; i + 1 < cores; i++) {
        q->points++;
        for (size_t t = 0; t < CONCURRENCY_TARGETS; t++) {
            double error = 100 * fabs(j->curve->cost[t][i] * sample->cost[t][cores - 1] /
                                          sample->cost[t][i] - 1);
            q->error[t] += error;
            q->much[t] += error > MUCH;
        }
    }
}

/* What is gained on SAMPLE by the number of cores that the curve says is best, unless that is
 * measured to be worse than all of them: it is then given up. */
static double judge_gain(const struct judge *j, const struct train_sample *sample,
                         enum concurrency_objective objective)
{
    size_t cores = j->samples->cores, best = concurrency_choose(j->curve, objective, 1, cores, 0);
    const struct concurrency_curve truth = {
        cores, {(double *)sample->cost[0], (double *)sample->cost[1]}, NULL};
    double usual = concurrency_cost(&truth, objective, cores);
    double kept = fmin(usual, concurrency_cost(&truth, objective, best));

    return objective == OBJECTIVE_ENERGY ? usual / kept - 1 : 1 - kept / usual;
}

static enum model_status train_without(const struct samples *s, size_t program,
                                       const struct train_options *options,
                                       struct concurrency_model *model)
{
    const struct train_sample **some = calloc(s->count, sizeof(const struct train_sample *));
    size_t count = 0;

    for (size_t i = 0; some && i < s->count; i++)
        if (s->program_of[i] != program)
            some[count++] = &s->sample[i];
    enum model_status status =
        some ? train_model(some, count, options, model) : MODEL_ENOMEM;
    free(some);
    return status;
}

/* Train without PROGRAM, and judge by it. */
static enum model_status leave_out(const struct samples *s, size_t program,
                                   const struct train_options *options,
                                   struct quality quality[CONCURRENCY_ANN + 1])
{
    struct concurrency_model *model = concurrency_model_new(s->machine->machine);
    struct judge j = {s, model, model ? concurrency_curve_new(model) : NULL};
    enum model_status status =
        model && j.curve ? train_without(s, program, options, model) : MODEL_ENOMEM;

    for (size_t i = 0; status == MODEL_OK && i < s->count; i++)
        for (enum concurrency_kind k = CONCURRENCY_LINEAR;
             s->program_of[i] == program && k <= CONCURRENCY_ANN; k++) {
            quality[k].samples++;
            judge_errors(&j, &s->sample[i], k, &quality[k]);
            for (enum concurrency_objective o = 0; o < OBJECTIVES; o++)
                quality[k].gain[o] += judge_gain(&j, &s->sample[i], o);
        }
    concurrency_curve_free(j.curve);
    concurrency_model_free(model);
    return status;
}

/* ---- the command ------------------------------------------------------------------- */

static json_t *quality_row(const char *program, const char *predictor, const struct quality *q)
{
    return json_pack(
        "{s:s, s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "program", program, "predictor",
        predictor, "samples", (json_int_t)q->samples, "time_error", q->error[0] / q->points,
        "time_over_5", 100 * q->much[0] / q->points, "edp_error", q->error[1] / q->points,
        "edp_over_5", 100 * q->much[1] / q->points, "time_gain",
        100 * q->gain[OBJECTIVE_TIME] / q->samples, "edp_gain",
        100 * q->gain[OBJECTIVE_EDP] / q->samples, "flops_per_watt_gain",
        100 * q->gain[OBJECTIVE_ENERGY] / q->samples);
}

/* Rows for each program left out and for all; the exit status. */
static int validate(const struct samples *s, const struct train_options *options, const char *file,
                    json_t *rows)
{
    static const char *const names[] = {"", "linear", "network"};
    struct quality all[CONCURRENCY_ANN + 1] = {{0}};

    progress("train", 0, s->programs);
    for (size_t p = 0; p < s->programs; p++) {
        struct quality q[CONCURRENCY_ANN + 1] = {{0}};
        enum model_status status = leave_out(s, p, options, q);
        if (status == MODEL_ENODATA)
            return fail(EXIT_REFUSED, "%s: samples: fewer than %d without %s", file,
                        TRAIN_LEAST, s->program[p]);
        if (status != MODEL_OK)
            return fail_model(s->program[p], status);
        for (size_t k = CONCURRENCY_LINEAR; k <= CONCURRENCY_ANN; k++) {
            json_array_append_new(rows, quality_row(s->program[p], names[k], &q[k]));
            quality_add(&all[k], &q[k]);
        }
        progress("train", p + 1, s->programs);
    }
    for (size_t k = CONCURRENCY_LINEAR; k <= CONCURRENCY_ANN; k++)
        json_array_append_new(rows, quality_row("all", names[k], &all[k]));
    return EXIT_DONE;
}

static int train_and_show(const struct arguments *arguments, const struct samples *s,
                          const char *file)
{
    static const char *const columns[] = {"program", "predictor", "samples", "time_error",
                                          "time_over_5", "edp_error", "edp_over_5", "time_gain",
                                          "edp_gain", "flops_per_watt_gain", NULL};
    const struct train_options options = {arguments->seed, arguments->rounds};
    struct concurrency_model *model = concurrency_model_new(s->machine->machine);
    json_t *rows = json_array();
    int rc = validate(s, &options, file, rows);
    enum model_status status =
        !model ? MODEL_ENOMEM
               : rc == EXIT_DONE ? train_without(s, s->programs, &options, model) : MODEL_OK;

    if (rc == EXIT_DONE && status != MODEL_OK)
        rc = fail_model(file, status);
    if (rc == EXIT_DONE && arguments->table)
        output_table(rows, columns);
    else if (rc == EXIT_DONE) {
        json_t *result = concurrency_json_write(
            model, s->machine,
            json_pack("{s:I, s:I, s:I, s:O}", "samples", (json_int_t)s->count, "seed",
                      (json_int_t)options.seed, "rounds", (json_int_t)options.rounds,
                      "left_out", rows));
        output_json(result);
        json_decref(result);
    }
    json_decref(rows);
    concurrency_model_free(model);
    return rc;
}

int command_train(const struct arguments *arguments)
{
    struct errtext err = {""};
    struct json_reader reader;
    struct samples s = {0};
    json_t *input = load_input(arguments, &reader, &err);

    if (!input)
        return EXIT_REFUSED;
    int rc = read_samples(&s, arguments, &reader, input);
    if (rc == EXIT_DONE)
        rc = train_and_show(arguments, &s, reader.file);
    samples_release(&s);
    json_decref(input);
    return rc;
}

#else

int command_train(const struct arguments *arguments)
{
    (void)arguments;
    return fail(EXIT_REFUSED, "train: built without GSL");
}
#endif
