/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Results as JSON, as a table, and as a chart. */

#include "coschedmodel/report.h"

#include <stdlib.h>
#include <string.h>

#include "coschedmodel/chart.h"

#define MAX_SERIES 64

/* Text of a scalar for a table or a legend. */
static const char *cell(const json_t *value, char *out, size_t size)
{
    if (json_is_string(value))
        snprintf(out, size, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(out, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(out, size, "%.5g", json_real_value(value));
    else
        snprintf(out, size, "%s", json_is_boolean(value)
                                      ? json_is_true(value) ? "yes" : "no"
                                      : "-");
    return errtext_clean(out);
}

static void print_table(const json_t *rows, const char *const *columns)
{
    char text[64];
    json_t *row;
    size_t i;

    for (const char *const *c = columns; *c; c++)
        printf("%s%14s", c == columns ? "" : " ", *c);
    putchar('\n');
    json_array_foreach((json_t *)rows, i, row) {
        for (const char *const *c = columns; *c; c++)
            printf("%s%14s", c == columns ? "" : " ",
                   cell(json_object_get(row, *c), text, sizeof(text)));
        putchar('\n');
    }
}

/* The curve called NAME among COUNT of SERIES, or a new one; NULL if full. */
static struct chart_series *series_for(struct chart_series *series,
                                       size_t *count, const char *name,
                                       size_t room)
{
    for (size_t s = 0; s < *count; s++)
        if (strcmp(series[s].name, name) == 0)
            return &series[s];
    if (*count == MAX_SERIES)
        return NULL;
    struct chart_series *new = &series[*count];
    new->points = calloc(room, sizeof(*new->points));
    if (!new->points)
        return NULL;
    snprintf(new->name, sizeof(new->name), "%s", name);
    (*count)++;
    return new;
}

/* The point of ROW for member Y. */
static void add_point(const struct report *report, const json_t *row,
                      const char *y, struct chart_series *series,
                      size_t *count, size_t room)
{
    const json_t *value = json_object_get(row, y);
    char group[48] = "", name[128];

    if (!json_is_number(value))
        return;
    if (report->group)
        cell(json_object_get(row, report->group), group, sizeof(group));
    /* "rho 0.5", "utilisation", or both where there are several of both. */
    if (report->group && !report->y[1])
        snprintf(name, sizeof(name), "%s %s", report->group, group);
    else
        snprintf(name, sizeof(name), "%s%s%s", y, group[0] ? ", " : "", group);
    struct chart_series *to = series_for(series, count, name, room);
    if (to)
        to->points[to->count++] = (struct canvas_point){
            json_number_value(json_object_get(row, report->x)),
            json_number_value(value)};
}

static int draw(const struct report *report, const json_t *rows,
                const char *file)
{
    struct chart_series series[MAX_SERIES] = {0};
    struct chart chart = {report->title, report->x_label, report->y_label,
                          series, 0};
    struct errtext err = {""};
    json_t *row;
    size_t i;

    json_array_foreach((json_t *)rows, i, row)
        for (const char *const *y = report->y; *y; y++)
            add_point(report, row, *y, series, &chart.count,
                      json_array_size(rows));
    int rc = chart_draw(&chart, file, &err);
    for (size_t s = 0; s < chart.count; s++)
        free(series[s].points);
    return rc < 0 ? fail(EXIT_REFUSED, "%s", err.text) : EXIT_DONE;
}

int report_show(const struct report *report, const struct arguments *arguments)
{
    const json_t *rows = json_object_get(report->result, report->rows);

    if (arguments->plot) {
        if (!report->x)
            return fail(EXIT_REFUSED, "--plot=%s: nothing to draw here",
                        arguments->plot);
        int status = draw(report, rows, arguments->plot);
        if (status != EXIT_DONE)
            return status;
    }
    if (arguments->table) {
        print_table(rows, report->columns);
        return EXIT_DONE;
    }
    /* 12 digits: what the model agrees on between compilers. */
    json_dumpf(report->result, stdout,
               JSON_INDENT(1) | JSON_REAL_PRECISION(12));
    putchar('\n');
    return EXIT_DONE;
}

int report_show_row(json_t *row, const char *const *columns,
                    const struct arguments *arguments)
{
    struct report report = {.result = row, .rows = "rows", .columns = columns};

    if (arguments->table)
        report.result = json_pack("{s:[O]}", "rows", row);
    int rc = report_show(&report, arguments);
    if (arguments->table)
        json_decref(report.result);
    return rc;
}
