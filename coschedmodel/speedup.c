/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedmodel speedup: LoopPerf-S, -T and Best-F from profiles. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/progress.h"
#include "coschedmodel/output.h"
#include "model/analysis/loopperf.h"
#include "model/io/loop_json.h"

#define MAX_LOOPS 1024

/* Where the prediction of one loop comes from and goes to. */
struct prediction {
    struct machine_description *description;
    enum hierarchy_method method;
    const char *name;
    const double *measured; /* [count], or NULL */
    json_t *rows;
    bool trial; /* of service times with which a run may make no sense: */
    bool senseless;
};

/* The curve of the loop learnt from PROFILE[1] or PROFILE[2]. */
static enum model_status predict(struct prediction *p,
                                 struct loop *const profile[2])
{
    const struct machine *machine = p->description->machine;
    const struct loopperf_input input = {
        .machine = machine, .method = p->method, .first = profile[0],
        .second = profile[1],
    };
    struct loopperf *learnt = NULL;
    double *speedup = calloc(machine->llc_domains, sizeof(*speedup));
    enum model_status status =
        speedup ? loopperf_learn(&input, &learnt) : MODEL_ENOMEM;

    if (status == MODEL_OK)
        status = loopperf_curve(learnt, machine->llc_domains, speedup);
    for (size_t i = 0; status == MODEL_OK && i < machine->llc_domains; i++) {
        json_t *row = json_pack("{s:s, s:I, s:f}", "loop", p->name,
                                "llc_domains", (json_int_t)(i + 1), "speedup",
                                speedup[i]);
        if (p->measured) {
            json_object_set_new(row, "measured", json_real(p->measured[i]));
            json_object_set_new(row, "error_percent",
                                json_real(100 * (speedup[i] / p->measured[i] -
                                                 1)));
        }
        json_array_append_new(p->rows, row);
    }
    loopperf_free(learnt);
    free(speedup);
    if (p->trial && (status == MODEL_ENODATA || status == MODEL_ENOCONV)) {
        p->senseless = true;
        return MODEL_OK;
    }
    return status;
}

/* Predict from PROFILES, an array of one or two; the exit status. */
static int from_profiles(struct json_reader *reader, struct prediction *p,
                         const json_t *profiles)
{
    const struct machine *m = p->description->machine;
    struct loop *profile[2] = {NULL, NULL};
    enum model_status status = MODEL_OK;
    int rc = EXIT_DONE;

    for (size_t i = 0; rc == EXIT_DONE && i < json_array_size(profiles); i++) {
        size_t mark = json_reader_enter_element(reader, "profiles", i);
        profile[i] = loop_json_read(reader, json_array_get(profiles, i),
                                    m->llc_domains, m->numa_nodes);
        if (!profile[i])
            rc = fail(EXIT_REFUSED, "%s", reader->err->text);
        json_reader_leave(reader, mark);
    }
    if (rc == EXIT_DONE)
        status = predict(p, profile);
    if (status == MODEL_ENODATA)
        rc = fail(EXIT_REFUSED, "%s: %s.profiles[0]: the machine is too slow for what the run "
                  "did in its time, if a core waits for one request at a time (3.11); with "
                  "\"useful_cycles\" and \"stalled_cycles\" it need not",
                  reader->file, reader->path);
    else if (status == MODEL_EINVAL && profile[1] &&
             loop_active_nodes(profile[0]) == loop_active_nodes(profile[1]))
        rc = fail(EXIT_REFUSED, "%s: %s.profiles[1]: is on as many LLC domains "
                  "as profiles[0]", reader->file, reader->path);
    else if (status != MODEL_OK)
        rc = fail_model(p->name, status);
    loop_free(profile[0]);
    loop_free(profile[1]);
    return rc;
}

/* "measured": speedups on 1, 2, ... LLC domains, into VALUES. */
static int read_measured(struct json_reader *reader, const json_t *object,
                         struct prediction *p, double *values)
{
    size_t count = p->description->machine->llc_domains;
    const json_t *list = NULL;
    int rc = json_reader_array(reader, object, "measured", true, count, count,
                               &list);

    for (size_t i = 0; list && rc == 0 && i < count; i++)
        rc = json_reader_element(reader, list, "measured", i, JSON_POSITIVE,
                                 &values[i]);
    p->measured = list ? values : NULL;
    return rc;
}

static int one_loop(struct json_reader *reader, struct prediction *p,
                    const json_t *object)
{
    double measured[MACHINE_JSON_MAX_NODES];
    const json_t *profiles;
    const struct json_member members[] = {
        JSON_MUST("name", JSON_TEXT, &p->name),
        JSON_MUST_IN("profiles", JSON_LIST, 1, 2, &profiles),
        JSON_KNOWN("measured"),
        {0}};

    if (json_reader_members(reader, object, members) < 0 ||
        read_measured(reader, object, p, measured) < 0)
        return fail(EXIT_REFUSED, "%s", reader->err->text);
    return from_profiles(reader, p, profiles);
}

static int method_of(const struct arguments *arguments,
                     enum hierarchy_method *method)
{
    const char *name = arguments->method;

    *method = HIERARCHY_CLOSED;
    if (!name || strcmp(name, "closed") == 0)
        return EXIT_DONE;
    *method = HIERARCHY_STATIONS;
    if (strcmp(name, "stations") == 0)
        return EXIT_DONE;
    return fail(EXIT_USAGE, "--method=%s: unknown method, one of stations, "
                "closed", name);
}

/* Mean absolute percentage error (3.16) of ROWS beyond the first LLC domain, which
 * is right by definition; NaN where nothing was measured. */
static double mape(const json_t *rows)
{
    double sum = 0, count = 0;
    json_t *row;
    size_t i;

    json_array_foreach((json_t *)rows, i, row) {
        const json_t *error = json_object_get(row, "error_percent");
        if (!error ||
            json_integer_value(json_object_get(row, "llc_domains")) == 1)
            continue;
        sum += fabs(json_number_value(error));
        count++;
    }
    return sum / count;
}

/* Error (3.16) and coefficient of determination of each loop that was measured. */
static json_t *by_loop(const struct prediction *p)
{
    size_t count = p->description->machine->llc_domains;
    json_t *loops = json_array();

    for (size_t i = 0; i + count <= json_array_size(p->rows); i += count) {
        double mean = 0, rest = 0, spread = 0, error = 0;
        const json_t *row = json_array_get(p->rows, i);
        if (!json_object_get(row, "measured"))
            continue;
        for (size_t k = i; k < i + count; k++)
            mean += json_number_value(json_object_get(json_array_get(p->rows, k),
                                                      "measured")) / (double)count;
        for (size_t k = i; k < i + count; k++) {
            const json_t *point = json_array_get(p->rows, k);
            double measured = json_number_value(json_object_get(point, "measured"));
            double speedup = json_number_value(json_object_get(point, "speedup"));
            rest += (measured - speedup) * (measured - speedup);
            spread += (measured - mean) * (measured - mean);
            error += k > i ? 100 * fabs(speedup / measured - 1) / (double)(count - 1) : 0;
        }
        json_t *loop = json_pack("{s:O, s:f}", "loop", json_object_get(row, "loop"),
                                 "mape_percent", error);
        if (spread > 0)
            json_object_set_new(loop, "r2", json_real(1 - rest / spread));
        json_array_append_new(loops, loop);
    }
    return loops;
}

static int show(const struct arguments *arguments, const struct prediction *p)
{
    static const char *const columns[] = {"loop", "llc_domains", "speedup",
                                          "measured", "error_percent", NULL};
    const struct machine *machine = p->description->machine;
    double error = mape(p->rows);
    struct output output = {
        .result = json_pack("{s:O}", "points", p->rows), .rows = "points",
        .columns = columns, .chart = "speedup",
    };

    if (!isnan(error)) {
        json_object_set_new(output.result, "mape_percent", json_real(error));
        json_object_set_new(output.result, "loops", by_loop(p));
    }
    if (arguments->best_f)
        json_object_set_new(output.result, "controller_us",
                            json_real(machine->controller_service_us[0]));
    if (arguments->best_f && machine->links)
        json_object_set_new(output.result, "link_us", json_real(machine->link_service_us[0]));
    return output_show(&output, arguments);
}

/* All loops of INPUT into p->rows. */
static int all_loops(struct json_reader *reader, const json_t *input, struct prediction *p)
{
    const json_t *loops;
    int rc = EXIT_DONE;

    if (json_reader_array(reader, input, "loops", false, 1, MAX_LOOPS,
                          &loops) < 0)
        return fail(EXIT_REFUSED, "%s", reader->err->text);
    size_t count = json_array_size(loops);
    for (size_t i = 0; rc == EXIT_DONE && i < count; i++) {
        size_t mark = json_reader_enter_element(reader, "loops", i);
        rc = one_loop(reader, p, json_array_get(loops, i));
        json_reader_leave(reader, mark);
        if (!p->trial)
            progress("speedup", i + 1, count);
    }
    return rc;
}

/* ---- Best-F ---------------------------------------------------------------- */

struct trial {
    struct json_reader *reader;
    const json_t *input;
    struct prediction *p;
    int rc;
};

/* loopperf_error_f: the mean error. */
static double try_services(void *arg, const double us[2])
{
    struct trial *t = arg;

    loopperf_set_services(t->p->description->machine, us);
    json_array_clear(t->p->rows);
    t->p->senseless = false;
    t->rc = all_loops(t->reader, t->input, t->p);
    if (t->rc != EXIT_DONE)
        return NAN;
    double error = t->p->senseless ? INFINITY : mape(t->p->rows);
    if (isnan(error))
        t->rc = fail(EXIT_REFUSED, "%s: loops: none has \"measured\" speedups to fit",
                     t->reader->file);
    return error;
}

static int best_services(struct json_reader *reader, const json_t *input,
                         struct prediction *p)
{
    struct machine *m = p->description->machine;
    double us[2] = {m->controller_service_us[0], m->links ? m->link_service_us[0] : 0};
    struct trial trial = {reader, input, p, EXIT_DONE};

    p->trial = true;
    loopperf_best_f(try_services, &trial, m->links > 0, us);
    p->trial = false;
    loopperf_set_services(m, us);
    json_array_clear(p->rows);
    return trial.rc;
}

int command_speedup(const struct arguments *arguments)
{
    static const struct json_member known[] = {JSON_KNOWN("machine"),
                                               JSON_KNOWN("loops"), {0}};
    struct errtext err = {""};
    struct json_reader reader;
    struct machine_description *description = NULL;
    struct prediction p = {0};
    int rc = method_of(arguments, &p.method);
    json_t *input = rc == EXIT_DONE ? load_input(arguments, &reader, &err)
                                    : NULL;

    if (!input)
        return rc == EXIT_DONE ? EXIT_REFUSED : rc;
    if (json_reader_members(&reader, input, known) < 0)
        rc = fail(EXIT_REFUSED, "%s", err.text);
    else if (!(description = load_machine(arguments, &reader, input)))
        rc = EXIT_REFUSED;
    p.description = description;
    p.rows = json_array();
    if (rc == EXIT_DONE && arguments->best_f)
        rc = best_services(&reader, input, &p);
    if (rc == EXIT_DONE)
        rc = all_loops(&reader, input, &p);
    if (rc == EXIT_DONE)
        rc = show(arguments, &p);
    json_decref(p.rows);
    machine_description_free(description);
    json_decref(input);
    return rc;
}
