/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Results as JSON, as a table, and as a chart. */

#ifndef COSCHED_MODEL_REPORT_H
#define COSCHED_MODEL_REPORT_H

#include <jansson.h>

#include "coschedmodel/command.h"

/* Concept
 *
 * A result is a JSON object with one array of rows, which are flat objects.
 * JSON output is the object, a table is the rows, and a chart draws some
 * members of the rows (y) over another (x), a curve for each value of a third
 * (group).
 */

struct report {
    json_t *result;             /* stays the caller's */
    const char *rows;           /* its member with the rows */
    const char *const *columns; /* members in the table; NULL ends */
    const char *title;          /* of the chart */
    const char *x, *x_label;    /* x: NULL if there is nothing to draw */
    const char *y_label;
    const char *const *y; /* members to draw; NULL ends */
    const char *group;    /* or NULL */
};

/* Print REPORT to standard output, and draw where ARGUMENTS say so.  Returns
 * the exit status, the reason of a failure already printed. */
int report_show(const struct report *report, const struct arguments *arguments);

/* The same for a result that is one row, ROW, with nothing to draw: JSON output
 * is the row itself.  ROW stays the caller's. */
int report_show_row(json_t *row, const char *const *columns,
                    const struct arguments *arguments);

#endif /* COSCHED_MODEL_REPORT_H */
