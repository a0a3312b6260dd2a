/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What several writers of JSON need beyond jansson. */

#ifndef COSCHED_JSON_WRITER_H
#define COSCHED_JSON_WRITER_H

#include <jansson.h>

/* VALUES[COUNT] as an array, null for what is not finite: JSON has no numbers
 * for that.  A new reference, or NULL when out of memory. */
json_t *json_writer_numbers(const double *values, size_t count);

#endif /* COSCHED_JSON_WRITER_H */
