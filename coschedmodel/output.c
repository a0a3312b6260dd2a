/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Results as JSON and as a table. */

#include "coschedmodel/output.h"

#include <stdio.h>

/* Text of a scalar. */
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

void output_table(const json_t *rows, const char *const *columns)
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

void output_json(const json_t *result)
{
    /* 12 digits: what the model agrees on between compilers. */
    json_dumpf(result, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
    putchar('\n');
}

int output_show(const struct output *output, const struct arguments *arguments)
{
    const json_t *rows = json_object_get(output->result, output->rows);

    if (output->chart)
        json_object_set_new(output->result, "chart", json_string(output->chart));
    if (arguments->table)
        output_table(rows, output->columns);
    else
        output_json(output->result);
    json_decref(output->result);
    return EXIT_DONE;
}

int output_show_row(json_t *row, const char *const *columns,
                    const struct arguments *arguments)
{
    struct output output = {.rows = "rows", .columns = columns};

    output.result = arguments->table ? json_pack("{s:[O]}", "rows", row) : json_incref(row);
    return output_show(&output, arguments);
}
