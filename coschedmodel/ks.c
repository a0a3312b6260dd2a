/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedmodel ks: Kolmogorov-Smirnov tests. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "coschedmodel/report.h"
#include "model/analysis/kstest.h"

#define MAX_ITEMS 1000000

/* Member KEY: at least LEAST numbers.  NULL with the text set. */
static double *read_list(struct json_reader *reader, const json_t *input,
                         const char *key, size_t least, enum json_range range,
                         size_t *count)
{
    const json_t *list;
    double *values;
    int rc = 0;

    if (json_reader_array(reader, input, key, false, least, MAX_ITEMS, &list) <
        0)
        return NULL;
    *count = json_array_size(list);
    values = calloc(*count, sizeof(*values));
    if (!values)
        errtext_set(reader->err, ENOMEM, "out of memory");
    for (size_t i = 0; values && rc == 0 && i < *count; i++)
        rc = json_reader_element(reader, list, key, i, range, &values[i]);
    for (size_t i = 0; values && rc == 0 && range == JSON_NOT_NEGATIVE &&
                       i < *count; i++)
        if (values[i] != floor(values[i]))
            rc = json_reader_fail(reader, key, "[%zu]: %g is not a whole number",
                                  i, values[i]);
    if (rc == 0)
        return values;
    free(values);
    return NULL;
}

static int show(const struct arguments *arguments, const struct kstest *test)
{
    static const char *const columns[] = {"d", "critical", "p", "passed", NULL};
    json_t *row = json_pack("{s:f, s:f, s:f, s:b}", "d", test->d, "critical",
                            test->critical, "p", test->p, "passed",
                            test->passed);
    int rc = report_show_row(row, columns, arguments);

    json_decref(row);
    return rc;
}

static int two(const struct arguments *arguments, struct json_reader *reader,
               const json_t *input, double alpha)
{
    struct kstest test;
    size_t a_count, b_count;
    double *a = read_list(reader, input, "a", 1, JSON_ANY, &a_count);
    double *b = a ? read_list(reader, input, "b", 1, JSON_ANY, &b_count) : NULL;
    int rc;

    if (!b) {
        rc = fail(EXIT_REFUSED, "%s", reader->err->text);
    } else {
        enum model_status status =
            kstest_two(a, a_count, b, b_count, alpha, &test);
        rc = status == MODEL_OK ? show(arguments, &test)
                                : fail_model(reader->file, status);
    }
    free(a);
    free(b);
    return rc;
}

static int poisson(const struct arguments *arguments,
                   struct json_reader *reader, const json_t *input,
                   double alpha)
{
    struct kstest test;
    size_t count, bins = 0;
    double *counts = NULL;

    if (json_reader_count(reader, input, "bins", true, 1, 10000, &bins) == 0)
        counts = read_list(reader, input, "counts", 2, JSON_NOT_NEGATIVE,
                           &count);
    if (!counts)
        return fail(EXIT_REFUSED, "%s", reader->err->text);
    enum model_status status =
        kstest_poisson(counts, count, bins, alpha, &test);
    free(counts);
    if (status == MODEL_ENODATA)
        return fail(EXIT_REFUSED, "%s: counts: all are 0", reader->file);
    return status == MODEL_OK ? show(arguments, &test)
                              : fail_model(reader->file, status);
}

int command_ks(const struct arguments *arguments)
{
    static const char *const for_two[] = {"a", "b", "alpha", NULL};
    static const char *const for_one[] = {"counts", "bins", "alpha", NULL};
    struct errtext err = {""};
    struct json_reader reader;
    double alpha = 0.05;
    json_t *input = load_input(arguments, &reader, &err);
    int rc;

    if (!input)
        return EXIT_REFUSED;
    bool one = json_object_get(input, "counts") != NULL;
    if (json_reader_object(&reader, input, one ? for_one : for_two) < 0 ||
        json_reader_number(&reader, input, "alpha", true, JSON_SHARE, &alpha) <
            0)
        rc = fail(EXIT_REFUSED, "%s", err.text);
    else if (alpha == 0 || alpha == 1)
        rc = fail(EXIT_REFUSED, "%s: alpha: must be between 0 and 1",
                  reader.file);
    else
        rc = one ? poisson(arguments, &reader, input, alpha)
                 : two(arguments, &reader, input, alpha);
    json_decref(input);
    return rc;
}
