/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedmodel ks: Kolmogorov-Smirnov tests. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_writer.h"
#include "coschedmodel/output.h"
#include "model/analysis/kstest.h"

#define MAX_ITEMS 1000000
#define BINS 10       /* categories, as in thesis A.1.2 */
#define SHOWN 20      /* in a histogram where there are none */
#define MOST_SHOWN 60 /* where there are more */

/* The numbers of LIST, which is member KEY: at least LEAST, with JSON_NOT_NEGATIVE
 * whole ones.  NULL with the text set. */
static double *read_numbers(struct json_reader *reader, const json_t *list,
                            const char *key, size_t least,
                            enum json_range range, size_t *count)
{
    int rc = 0;

    *count = json_array_size(list);
    if (!json_is_array(list) || *count < least || *count > MAX_ITEMS)
        rc = json_reader_fail(reader, key, "has %zu elements, must have %zu to "
                              "%d", *count, least, MAX_ITEMS);
    double *values = calloc(*count + 1, sizeof(*values));
    if (!values)
        rc = errtext_set(reader->err, ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < *count; i++) {
        rc = json_reader_element(reader, list, key, i, range, &values[i]);
        if (rc == 0 && range == JSON_NOT_NEGATIVE &&
            values[i] != floor(values[i]))
            rc = json_reader_fail(reader, key, "[%zu]: %g is not a whole number",
                                  i, values[i]);
    }
    if (rc == 0)
        return values;
    free(values);
    return NULL;
}

/* ---- one test ------------------------------------------------------------ */

static int show(const struct arguments *arguments, const struct kstest *test)
{
    static const char *const columns[] = {"d", "critical", "p", "passed", NULL};
    json_t *row = json_pack("{s:f, s:f, s:f, s:b}", "d", test->d, "critical",
                            test->critical, "p", test->p, "passed",
                            test->passed);
    int rc = output_show_row(row, columns, arguments);

    json_decref(row);
    return rc;
}

/* {"a": [...], "b": [...]} */
static int two(const struct arguments *arguments, struct json_reader *reader,
               const json_t *input, double alpha)
{
    struct kstest test;
    size_t a_count, b_count;
    double *a = read_numbers(reader, json_object_get(input, "a"), "a", 1,
                             JSON_ANY, &a_count);
    double *b = a ? read_numbers(reader, json_object_get(input, "b"), "b", 1,
                                 JSON_ANY, &b_count)
                  : NULL;
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

/* {"counts": [...]} */
static int poisson(const struct arguments *arguments,
                   struct json_reader *reader, const json_t *input,
                   double alpha)
{
    struct kstest test;
    size_t count, bins = arguments->bins == NO_BINS ? 0 : arguments->bins;
    double *counts = NULL;

    if (json_reader_count(reader, input, "bins", true, 1, MOST_BINS, &bins) == 0)
        counts = read_numbers(reader, json_object_get(input, "counts"),
                              "counts", 2, JSON_NOT_NEGATIVE, &count);
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

/* ---- the regions of a recording, from coschedctl requests ---------------- */

struct judgement {
    const struct arguments *arguments;
    struct json_reader *reader;
    double alpha;
    size_t bins;
    json_t *regions; /* the results */
};

/* Parts of COUNTS in each category, and of the Poisson distribution of MEAN. */
static json_t *histogram(const double *counts, size_t count, double mean,
                         size_t bins)
{
    double least = INFINITY, greatest = 0, before = 0;
    double measured[MOST_SHOWN] = {0}, expected[MOST_SHOWN];

    bins = !bins ? SHOWN : bins < MOST_SHOWN ? bins : MOST_SHOWN;
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, counts[i]);
        greatest = fmax(greatest, counts[i]);
    }
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (counts[i] > kstest_bin_end(least, greatest, bins, k))
            k++;
        measured[k] += 1 / (double)count;
    }
    for (size_t k = 0; k < bins; k++) {
        /* As the test: what is below the first category is in it. */
        double cdf = kstest_poisson_cdf(
            kstest_bin_end(least, greatest, bins, k), mean);
        expected[k] = cdf - before;
        before = cdf;
    }
    return json_pack("{s:f, s:f, s:o, s:o}", "low", least, "width",
                     (greatest - least) / (double)bins, "measured",
                     json_writer_numbers(measured, bins), "expected",
                     json_writer_numbers(expected, bins));
}

/* What is to say of COUNTS: samples, mean, and the test where one was above 0.
 * NULL when out of memory. */
static json_t *judge(const struct judgement *j, const double *counts,
                     size_t count)
{
    double sum = 0, squares = 0;
    struct kstest test;

    for (size_t i = 0; i < count; i++)
        sum += counts[i];
    double mean = count ? sum / (double)count : 0;
    json_t *node = json_pack("{s:I, s:f}", "samples", (json_int_t)count, "mean",
                             mean);
    if (!(mean > 0) || count < 2)
        return node;
    for (size_t i = 0; i < count; i++)
        squares += pow(counts[i] - mean, 2);
    if (kstest_poisson(counts, count, j->bins, j->alpha, &test) != MODEL_OK) {
        json_decref(node);
        return NULL;
    }
    json_t *more = json_pack(
        "{s:f, s:f, s:f, s:f, s:b, s:o}", "dispersion",
        squares / (double)(count - 1) / mean, "d", test.d, "critical",
        test.critical, "p", test.p, "poisson", (int)test.passed, "histogram",
        histogram(counts, count, mean, j->bins));
    json_object_update(node, more);
    json_decref(more);
    return node;
}

/* The thesis judges a region by its mean over the NUMA nodes. */
static void over_nodes(json_t *region, const json_t *nodes)
{
    double sum = 0, logs = 0, limits = 0, count = 0;
    json_t *node;
    size_t n;

    json_array_foreach((json_t *)nodes, n, node) {
        double d = json_number_value(json_object_get(node, "d"));
        if (!json_object_get(node, "d"))
            continue;
        sum += d;
        logs += log(d);
        limits += json_number_value(json_object_get(node, "critical"));
        count++;
    }
    if (count == 0)
        return;
    json_t *more = json_pack("{s:f, s:f, s:f, s:b}", "d_mean", sum / count,
                             "d_geomean", exp(logs / count), "critical_mean",
                             limits / count, "poisson", sum <= limits);
    json_object_update(region, more);
    json_decref(more);
}

/* Judge the region that OBJECT describes; keep it unless it has too few
 * intervals. */
static int one_region(struct json_reader *reader, const json_t *object,
                      size_t index, void *arg)
{
    const struct judgement *j = arg;
    const char *name;
    const json_t *lists;
    json_t *nodes = json_array();
    size_t most = 0;
    const struct json_member members[] = {
        JSON_MUST("region", JSON_TEXT, &name),
        JSON_MUST_IN("counts", JSON_LIST, 1, MAX_ITEMS, &lists),
        JSON_KNOWN("coverage"),
        JSON_KNOWN("memory"),
        JSON_KNOWN("interval_us"),
        {0}};
    int rc = json_reader_members(reader, object, members);

    (void)index;
    for (size_t n = 0; rc == 0 && n < json_array_size(lists); n++) {
        size_t count;
        char key[32];
        snprintf(key, sizeof(key), "counts[%zu]", n);
        double *counts = read_numbers(reader, json_array_get(lists, n), key,
                                      0, JSON_NOT_NEGATIVE, &count);
        json_t *node = counts ? judge(j, counts, count) : NULL;
        if (counts && !node)
            errtext_set(reader->err, ENOMEM, "out of memory");
        free(counts);
        most = count > most ? count : most;
        if (node && json_is_true(json_object_get(object, "memory")))
            json_object_set_new(node, "memory", json_integer((json_int_t)n));
        rc = node ? json_array_append_new(nodes, node) : -1;
    }
    if (rc == 0 && most >= j->arguments->least) {
        json_t *region = json_copy((json_t *)object);
        json_object_del(region, "counts");
        json_object_del(region, "memory");
        json_object_set(region, "nodes", nodes);
        over_nodes(region, nodes);
        json_array_append_new(j->regions, region);
    }
    json_decref(nodes);
    return rc;
}

static void print_region(const json_t *region)
{
    const json_t *value = json_object_get(region, "interval_us");
    double coverage = json_number_value(json_object_get(region, "coverage"));

    printf("%s", json_string_value(json_object_get(region, "region")));
    if (value)
        printf(", per %g us", json_number_value(value));
    if (coverage > 0 && coverage < 1)
        printf(", partly extrapolated: counted for %.0f %% of the time",
               coverage * 100);
    putchar('\n');
}

/* REGIONS of RESULT as a table; a further row where there are several nodes. */
static void print_table(const json_t *result, const json_t *regions)
{
    static const char *const columns[] = {"memory", "samples", "mean",
                                          "dispersion", "d", "critical", "p",
                                          "poisson", NULL};
    json_t *region, *rows = json_array();
    size_t i, passed = 0;

    json_array_foreach((json_t *)regions, i, region) {
        json_t *nodes = json_object_get(region, "nodes");
        json_t *verdict = json_object_get(region, "poisson");
        passed += json_is_true(verdict);
        print_region(region);
        json_array_clear(rows);
        json_array_extend(rows, nodes);
        if (json_array_size(nodes) > 1 && verdict)
            json_array_append_new(
                rows, json_pack("{s:s, s:O, s:O, s:O}", "memory", "mean", "d",
                                json_object_get(region, "d_mean"), "critical",
                                json_object_get(region, "critical_mean"),
                                "poisson", verdict));
        output_table(rows, columns);
        putchar('\n');
    }
    json_decref(rows);
    printf("%s: %zu of %zu not rejected at the level of %g",
           json_string_value(json_object_get(result, "metric")), passed,
           json_array_size(regions),
           json_number_value(json_object_get(result, "alpha")));
    json_int_t all = json_integer_value(json_object_get(result, "intervals"));
    if (all)
        printf("; %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
               " intervals left out, not of one region",
               json_integer_value(json_object_get(result, "mixed")), all);
    putchar('\n');
}

/* {"metric": ..., "intervals": N, "mixed": N, "regions": [...]} */
static int recorded(struct judgement *j, const json_t *input)
{
    json_t *regions = j->regions = json_array();
    const json_t *list;
    const char *metric = "";
    size_t intervals = 0, mixed = 0;
    const struct json_member members[] = {
        JSON_MUST("metric", JSON_TEXT, &metric),
        JSON_MUST_IN("regions", JSON_LIST, 0, MAX_ITEMS, &list),
        JSON_MAY_IN("intervals", JSON_COUNT, 0, INT64_MAX, &intervals),
        JSON_MAY_IN("mixed", JSON_COUNT, 0, INT64_MAX, &mixed),
        {0}};
    int rc = json_reader_members(j->reader, input, members);

    if (rc == 0)
        rc = json_reader_each(j->reader, list, "regions", one_region, j);
    if (rc < 0)
        rc = fail(EXIT_REFUSED, "%s", j->reader->err->text);
    else if (!json_array_size(regions))
        rc = fail(EXIT_REFUSED, "%s: no region has %zu intervals (--least)",
                  j->reader->file, j->arguments->least);
    if (rc == EXIT_DONE) {
        json_t *result = json_pack(
            "{s:s, s:s, s:f, s:I, s:I, s:I, s:O}", "chart", "ks", "metric",
            metric, "alpha", j->alpha, "bins", (json_int_t)j->bins, "intervals",
            (json_int_t)intervals, "mixed", (json_int_t)mixed, "regions",
            regions);
        if (j->arguments->table)
            print_table(result, regions);
        else
            output_json(result);
        json_decref(result);
    }
    json_decref(regions);
    return rc;
}

int command_ks(const struct arguments *arguments)
{
    static const struct json_member members[][5] = {
        {JSON_KNOWN("a"), JSON_KNOWN("b"), JSON_KNOWN("alpha"), {0}},
        {JSON_KNOWN("counts"), JSON_KNOWN("bins"), JSON_KNOWN("alpha"), {0}},
        {{0}}, /* recorded() looks */
    };
    struct errtext err = {""};
    struct json_reader reader;
    double alpha = arguments->alpha;
    json_t *input = load_input(arguments, &reader, &err);
    int rc;

    if (!input)
        return EXIT_REFUSED;
    int form = json_object_get(input, "regions") ? 2
               : json_object_get(input, "counts") ? 1
                                                  : 0;
    struct judgement judgement = {arguments, &reader, alpha,
                                  arguments->bins == NO_BINS ? BINS
                                                             : arguments->bins,
                                  NULL};
    if ((form < 2 && json_reader_members(&reader, input, members[form]) < 0) ||
        json_reader_number(&reader, input, "alpha", true, JSON_SHARE, &alpha) <
            0)
        rc = fail(EXIT_REFUSED, "%s", err.text);
    else if (alpha == 0 || alpha == 1)
        rc = fail(EXIT_REFUSED, "%s: alpha: must be between 0 and 1",
                  reader.file);
    else
        rc = form == 2   ? recorded(&judgement, input)
             : form == 1 ? poisson(arguments, &reader, input, alpha)
                         : two(arguments, &reader, input, alpha);
    json_decref(input);
    return rc;
}
