/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedmodel fit: rho or service times from measurements. */

#include "config.h"

#include <stdlib.h>

#include "coschedmodel/output.h"

#ifdef HAVE_GSL
#include "model/analysis/fit.h"

#define MAX_ITEMS 100000

static int read_sample(struct json_reader *reader, const json_t *value,
                       size_t i, void *samples)
{
    struct station_sample *sample = (struct station_sample *)samples + i;
    const struct json_member members[] = {
        JSON_MUST_IN("cores", JSON_COUNT, 1, STATION_MOST_CORES, &sample->cores),
        JSON_MUST("throughput", JSON_POSITIVE, &sample->throughput),
        JSON_MAY("weight", JSON_POSITIVE, &sample->weight),
        {0}};

    sample->weight = 1;
    return json_reader_members(reader, value, members);
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
    int rc = output_show_row(row, columns, arguments);
    json_decref(row);
    return rc;
}

/* {"samples": [...], "confidence": 0.95, "noise": 0}. */
static int rho(const struct arguments *arguments, struct json_reader *reader,
               const json_t *input)
{
    struct fit_rho_input fit = {.confidence = 0.95};
    const json_t *list;
    const struct json_member members[] = {
        JSON_MUST_IN("samples", JSON_LIST, 1, MAX_ITEMS, &list),
        JSON_MAY("confidence", JSON_SHARE, &fit.confidence),
        JSON_MAY("noise", JSON_NOT_NEGATIVE, &fit.noise),
        {0}};

    if (json_reader_members(reader, input, members) < 0)
        return fail(EXIT_REFUSED, "%s", reader->err->text);
    if (fit.confidence == 0 || fit.confidence == 1)
        return fail(EXIT_REFUSED, "%s: confidence: must be between 0 and 1",
                    reader->file);
    struct station_sample *samples =
        calloc(json_array_size(list), sizeof(*samples));
    fit.samples = samples;
    fit.count = json_array_size(list);
    int rc = !samples ? fail(EXIT_REFUSED, "out of memory")
             : json_reader_each(reader, list, "samples", read_sample, samples) <
                     0
                 ? fail(EXIT_REFUSED, "%s", reader->err->text)
                 : solve_rho(arguments, reader, &fit);
    free(samples);
    return rc;
}

static int read_run(struct json_reader *reader, const json_t *value, size_t i,
                    void *runs)
{
    struct fit_run *run = (struct fit_run *)runs + i;
    const struct json_member members[] = {
        JSON_MAY("reads", JSON_NOT_NEGATIVE, &run->reads),
        JSON_MAY("writes", JSON_NOT_NEGATIVE, &run->writes),
        JSON_MAY("prefetches", JSON_NOT_NEGATIVE, &run->prefetches),
        JSON_MUST("busy_us", JSON_POSITIVE, &run->busy_us),
        JSON_MAY("weight", JSON_POSITIVE, &run->weight),
        {0}};

    *run = (struct fit_run){.weight = 1};
    if (json_reader_members(reader, value, members) < 0)
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
    int rc = output_show_row(row, columns, arguments);
    json_decref(row);
    return rc;
}

/* {"runs": [...]}. */
static int service(const struct arguments *arguments,
                   struct json_reader *reader, const json_t *input)
{
    const json_t *list;
    const struct json_member members[] = {
        JSON_MUST_IN("runs", JSON_LIST, 1, MAX_ITEMS, &list), {0}};

    if (json_reader_members(reader, input, members) < 0)
        return fail(EXIT_REFUSED, "%s", reader->err->text);
    size_t count = json_array_size(list);
    struct fit_run *runs = calloc(count, sizeof(*runs));
    if (!runs)
        return fail(EXIT_REFUSED, "out of memory");
    int rc = json_reader_each(reader, list, "runs", read_run, runs);
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
