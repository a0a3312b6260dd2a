/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Results as JSON and as a table. */

#ifndef COSCHED_MODEL_OUTPUT_H
#define COSCHED_MODEL_OUTPUT_H

#include <jansson.h>

#include "coschedmodel/command.h"

/* Concept
 *
 * A result is a JSON object with one array of rows, which are flat objects.
 * JSON output is the object, a table is the rows.
 */

struct output {
    json_t *result;             /* released when it was shown */
    const char *rows;           /* its member with the rows */
    const char *const *columns; /* members in the table; NULL ends */
    const char *chart; /* what coschedplot makes of it (charts.py), or NULL */
};

/* Print OUTPUT to standard output.  Returns the exit status. */
int output_show(const struct output *output, const struct arguments *arguments);

/* Print the members COLUMNS of ROWS as a table. */
void output_table(const json_t *rows, const char *const *columns);

/* Print RESULT as JSON. */
void output_json(const json_t *result);

/* The same for a result that is one row, ROW.  JSON
 * output is the row itself.  ROW stays the caller's. */
int output_show_row(json_t *row, const char *const *columns,
                    const struct arguments *arguments);

#endif /* COSCHED_MODEL_OUTPUT_H */
