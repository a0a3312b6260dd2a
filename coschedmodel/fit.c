/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedmodel fit: rho or service times from measurements. */

#include "config.h"

#include <stdlib.h>

#include "coschedmodel/report.h"

#ifdef HAVE_GSL
#include "model/analysis/fit.h"

#define MAX_ITEMS 100000

static int read_samples(struct json_reader *reader, const json_t *list,
                        struct station_sample *samples)
{
    static const char *const known[] = {"cores", "throughput", "weight", NULL};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
        const json_t *object = json_array_get(list, i);
        size_t mark = json_reader_enter_element(reader, "samples", i);
        samples[i].weight = 1;
        rc = json_reader_object(reader, object, known);
        if (rc == 0)
            rc = json_reader_count(reader, object, "cores", false, 1, 10000,
                                   &samples[i].cores);
        if (rc == 0)
            rc = json_reader_number(reader, object, "throughput", false,
                                    JSON_POSITIVE, &samples[i].throughput);
        if (rc == 0)
            rc = json_reader_number(reader, object, "weight", true,
                                    JSON_POSITIVE, &samples[i].weight);
        json_reader_leave(reader, mark);
    }
    return rc;
}

static int solve_rho(const struct arguments *arguments,
                     const struct json_reader *reader,
                     const struct fit_rho_input *input)
{
    static const char *const columns[] = {"rho", "low", "high", "unit_rate",
                                          "residual", NULL};
    struct fit_rho fit = {0};
    enum model_status status = fit_rho(input, &fit);

    if (status == MODEL_ENODATA && fit.high > 0)
        return fail(EXIT_REFUSED, "%s: samples: the data cannot tell rho: "
                    "anything from %.3g to %.3g explains them", reader->file,
                    fit.low, fit.high);
    if (status == MODEL_ENODATA)
        return fail(EXIT_REFUSED, "%s: samples: the data cannot tell rho: needs "
                    "two different numbers of cores, and three samples unless "
                    "the noise is given", reader->file);
    if (status != MODEL_OK)
        return fail_model(reader->file, status);
    json_t *row = json_pack("{s:f, s:f, s:f, s:f, s:f}", "rho", fit.rho, "low",
                            fit.low, "high", fit.high, "unit_rate",
                            fit.unit_rate, "residual", fit.residual);
    int rc = report_show_row(row, columns, arguments);
    json_decref(row);
    return rc;
}

/* {"samples": [...], "confidence": 0.95, "noise": 0}. */
static int rho(const struct arguments *arguments, struct json_reader *reader,
               const json_t *input)
{
    static const char *const known[] = {"samples", "confidence", "noise", NULL};
    struct fit_rho_input fit = {.confidence = 0.95};
    const json_t *list;

    if (json_reader_object(reader, input, known) < 0 ||
        json_reader_array(reader, input, "samples", false, 1, MAX_ITEMS,
                          &list) < 0 ||
        json_reader_number(reader, input, "confidence", true, JSON_SHARE,
                           &fit.confidence) < 0 ||
        json_reader_number(reader, input, "noise", true, JSON_NOT_NEGATIVE,
                           &fit.noise) < 0)
        return fail(EXIT_REFUSED, "%s", reader->err->text);
    if (fit.confidence == 0 || fit.confidence == 1)
        return fail(EXIT_REFUSED, "%s: confidence: must be between 0 and 1",
                    reader->file);
    struct station_sample *samples =
        calloc(json_array_size(list), sizeof(*samples));
    fit.samples = samples;
    fit.count = json_array_size(list);
    int rc = !samples ? fail(EXIT_REFUSED, "out of memory")
             : read_samples(reader, list, samples) < 0
                 ? fail(EXIT_REFUSED, "%s", reader->err->text)
                 : solve_rho(arguments, reader, &fit);
    free(samples);
    return rc;
}

static int read_run(struct json_reader *reader, const json_t *object,
                    struct fit_run *run)
{
    static const char *const known[] = {"reads", "writes", "prefetches",
                                        "busy_us", "weight", NULL};

    *run = (struct fit_run){.weight = 1};
    if (json_reader_object(reader, object, known) < 0 ||
        json_reader_number(reader, object, "reads", true, JSON_NOT_NEGATIVE,
                           &run->reads) < 0 ||
        json_reader_number(reader, object, "writes", true, JSON_NOT_NEGATIVE,
                           &run->writes) < 0 ||
        json_reader_number(reader, object, "prefetches", true,
                           JSON_NOT_NEGATIVE, &run->prefetches) < 0 ||
        json_reader_number(reader, object, "busy_us", false, JSON_POSITIVE,
                           &run->busy_us) < 0 ||
        json_reader_number(reader, object, "weight", true, JSON_POSITIVE,
                           &run->weight) < 0)
        return -1;
    return run->reads + run->writes + run->prefetches > 0
               ? 0
               : json_reader_fail(reader, NULL, "has no requests");
}

static int solve_service(const struct arguments *arguments,
                         const struct json_reader *reader,
                         const struct fit_run *runs, size_t count)
{
    static const char *const columns[] = {"read_us", "write_us", "prefetch_us",
                                          "residual", NULL};
    struct fit_service fit = {0};
    enum model_status status = fit_service(runs, count, &fit);

    if (status == MODEL_ENODATA)
        return fail(EXIT_REFUSED, "%s: runs: the data cannot tell the service "
                    "times: fewer runs than kinds of requests, mixes that are "
                    "alike, or a time that is not positive", reader->file);
    if (status != MODEL_OK)
        return fail_model(reader->file, status);
    json_t *row = json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "read_us", fit.service.read_us,
        "write_us", fit.service.write_us, "prefetch_us",
        fit.service.prefetch_us, "read_error_us", fit.error.read_us,
        "write_error_us", fit.error.write_us, "prefetch_error_us",
        fit.error.prefetch_us, "residual", fit.residual);
    int rc = report_show_row(row, columns, arguments);
    json_decref(row);
    return rc;
}

/* {"runs": [...]}. */
static int service(const struct arguments *arguments,
                   struct json_reader *reader, const json_t *input)
{
    static const char *const known[] = {"runs", NULL};
    const json_t *list;
    int rc = 0;

    if (json_reader_object(reader, input, known) < 0 ||
        json_reader_array(reader, input, "runs", false, 1, MAX_ITEMS, &list) <
            0)
        return fail(EXIT_REFUSED, "%s", reader->err->text);
    size_t count = json_array_size(list);
    struct fit_run *runs = calloc(count, sizeof(*runs));
    if (!runs)
        return fail(EXIT_REFUSED, "out of memory");
    for (size_t i = 0; rc == 0 && i < count; i++) {
        size_t mark = json_reader_enter_element(reader, "runs", i);
        rc = read_run(reader, json_array_get(list, i), &runs[i]);
        json_reader_leave(reader, mark);
    }
    rc = rc < 0 ? fail(EXIT_REFUSED, "%s", reader->err->text)
                : solve_service(arguments, reader, runs, count);
    free(runs);
    return rc;
}

int command_fit(const struct arguments *arguments)
{
    struct errtext err = {""};
    struct json_reader reader;
    json_t *input = load_input(arguments, &reader, &err);

    if (!input)
        return EXIT_REFUSED;
    int rc = json_object_get(input, "runs") ? service(arguments, &reader, input)
                                            : rho(arguments, &reader, input);
    json_decref(input);
    return rc;
}

#else

int command_fit(const struct arguments *arguments)
{
    (void)arguments;
    return fail(EXIT_REFUSED, "fit: built without GSL");
}
#endif
