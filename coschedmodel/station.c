/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedmodel station: one memory controller and its cores. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/progress.h"
#include "coschedmodel/output.h"
#include "model/station.h"

/* One rho on 1..CORES cores, appended to ROWS. */
static enum model_status curve(json_t *rows, double lambda, double mu,
                               size_t cores)
{
    struct station station;

    for (size_t n = 1; n <= cores; n++) {
        enum model_status status = station_solve(n, lambda, mu, &station);
        if (status != MODEL_OK)
            return status;
        json_array_append_new(
            rows, json_pack("{s:f, s:I, s:f, s:f, s:f, s:f, s:f}", "rho",
                            lambda / mu, "cores", (json_int_t)n, "utilisation",
                            station.utilisation, "response", station.response,
                            "throughput", station.throughput, "queue",
                            station.queue, "speedup",
                            station_speedup(n, lambda / mu)));
    }
    return MODEL_OK;
}

static int show(json_t *rows, const struct arguments *arguments)
{
    static const char *const columns[] = {"rho", "cores", "utilisation",
                                          "response", "throughput", "queue",
                                          "speedup", NULL};
    struct output output = {
        .result = json_pack("{s:O}", "points", rows), .rows = "points",
        .columns = columns, .chart = "station",
    };

    return output_show(&output, arguments);
}

/* "rho": R or [R...], or "lambda" and "mu"; "cores": N. */
static int one_class(const struct arguments *arguments,
                     struct json_reader *reader, const json_t *input)
{
    const json_t *rhos = json_object_get(input, "rho");
    json_t *rows = json_array();
    double lambda = 0, mu = 1;
    size_t cores = 0, count = json_is_array(rhos) ? json_array_size(rhos) : 1;
    const struct json_member members[] = {
        JSON_MUST_IN("cores", JSON_COUNT, 1, STATION_MOST_CORES, &cores),
        {"lambda", JSON_NOT_NEGATIVE, rhos != NULL, &lambda, 0, 0},
        {"mu", JSON_POSITIVE, rhos != NULL, &mu, 0, 0},
        JSON_KNOWN("rho"),
        {0}};
    int rc = json_reader_members(reader, input, members);
    enum model_status status = MODEL_OK;

    if (rc == 0 && rhos && (json_object_get(input, "lambda") ||
                            json_object_get(input, "mu")))
        rc = json_reader_fail(reader, "rho", "stands instead of lambda and mu");
    if (rc == 0 && count == 0)
        rc = json_reader_fail(reader, "rho", "is empty");
    progress("station", 0, count);
    for (size_t i = 0; rc == 0 && status == MODEL_OK && i < count; i++) {
        if (json_is_array(rhos))
            rc = json_reader_element(reader, rhos, "rho", i, JSON_NOT_NEGATIVE,
                                     &lambda);
        else if (rhos)
            rc = json_reader_number(reader, input, "rho", false,
                                    JSON_NOT_NEGATIVE, &lambda);
        if (rc == 0)
            status = curve(rows, lambda, mu, cores);
        progress("station", i + 1, count);
    }
    int result = rc < 0 ? fail(EXIT_REFUSED, "%s", reader->err->text)
                 : status != MODEL_OK ? fail_model(reader->file, status)
                                      : show(rows, arguments);
    json_decref(rows);
    return result;
}

static int read_class(struct json_reader *reader, const json_t *value,
                      size_t i, void *classes)
{
    struct mva_class *class = (struct mva_class *)classes + i;
    const struct json_member members[] = {
        JSON_MUST_IN("count", JSON_COUNT, 0, STATION_MOST_CORES, &class->count),
        JSON_MUST("lambda", JSON_NOT_NEGATIVE, &class->lambda),
        {0}};

    return json_reader_members(reader, value, members);
}

/* The answer for several classes, a row each. */
static int show_classes(const struct arguments *arguments,
                        const struct mva_class *classes,
                        const struct mva_result *results, size_t count,
                        double mu)
{
    static const char *const columns[] = {"count", "lambda", "response",
                                          "throughput", "computing", NULL};
    struct output output = {.rows = "classes", .columns = columns};
    json_t *rows = json_array();
    double busy = 0;

    for (size_t i = 0; i < count; i++) {
        double cycle = 1 + classes[i].lambda * results[i].response;
        busy += results[i].throughput / mu;
        json_array_append_new(
            rows, json_pack("{s:I, s:f, s:f, s:f, s:f}", "count",
                            (json_int_t)classes[i].count, "lambda",
                            classes[i].lambda, "response", results[i].response,
                            "throughput", results[i].throughput, "computing",
                            (double)classes[i].count / cycle));
    }
    output.result = json_pack("{s:f, s:o}", "utilisation", fmin(1, busy),
                              "classes", rows);
    return output_show(&output, arguments);
}

/* "mu" and "classes". */
static int many_classes(const struct arguments *arguments,
                        struct json_reader *reader, const json_t *input)
{
    struct mva_class classes[MVA_MAX_CLASSES];
    struct mva_result results[MVA_MAX_CLASSES];
    enum mva_method method;
    const json_t *list;
    double mu = 1;
    const struct json_member members[] = {
        JSON_MUST("mu", JSON_POSITIVE, &mu),
        JSON_MUST_IN("classes", JSON_LIST, 1, MVA_MAX_CLASSES, &list),
        JSON_KNOWN("method"),
        {0}};

    if (json_reader_members(reader, input, members) < 0 ||
        json_reader_each(reader, list, "classes", read_class, classes) < 0)
        return fail(EXIT_REFUSED, "%s", reader->err->text);
    int rc = method_choose(arguments, reader, input, &method, NULL);
    if (rc != EXIT_DONE)
        return rc;
    size_t count = json_array_size(list);
    enum model_status status =
        mva_solve(method, classes, count, 1 / mu, results);
    if (status == MODEL_EINVAL && method == MVA_EXACT)
        return fail(EXIT_REFUSED, "%s: classes: too many states for exact, "
                    "the limit is %d", reader->file, MVA_EXACT_STATES);
    return status == MODEL_OK
               ? show_classes(arguments, classes, results, count, mu)
               : fail_model(reader->file, status);
}

/* {"rho": [...], "cores": N} of --rho and --cores; NULL with the exit status in
 * *STATUS. */
static json_t *from_options(const struct arguments *arguments, int *status)
{
    json_t *rhos = json_array();
    const char *text = arguments->rho;
    char *end;

    *status = EXIT_USAGE;
    if (!arguments->rho || !arguments->cores) {
        json_decref(rhos);
        fail(EXIT_USAGE, "station: --%s needs --%s, too",
             arguments->rho ? "rho" : "cores",
             arguments->rho ? "cores" : "rho");
        return NULL;
    }
    do {
        double rho = strtod(text, &end);
        if (end == text || (*end && *end != ',') || !(rho >= 0) ||
            !isfinite(rho)) {
            fail(EXIT_USAGE, "station: --rho=%s: not numbers from 0, separated "
                 "by commas", arguments->rho);
            json_decref(rhos);
            return NULL;
        }
        json_array_append_new(rhos, json_real(rho));
        text = end + 1;
    } while (*end);
    *status = EXIT_DONE;
    return json_pack("{s:o, s:I}", "rho", rhos, "cores",
                     (json_int_t)arguments->cores);
}

int command_station(const struct arguments *arguments)
{
    struct errtext err = {""};
    struct json_reader reader = {.file = "command line", .err = &err};
    int status = EXIT_REFUSED;
    json_t *input = arguments->rho || arguments->cores
                        ? from_options(arguments, &status)
                        : load_input(arguments, &reader, &err);

    if (!input)
        return status;
    status = json_object_get(input, "classes")
                 ? many_classes(arguments, &reader, input)
             : arguments->method
                 ? fail(EXIT_USAGE, "station: --method is for classes")
                 : one_class(arguments, &reader, input);
    json_decref(input);
    return status;
}
