/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What several writers of JSON need beyond jansson. */

#ifndef COSCHED_JSON_WRITER_H
#define COSCHED_JSON_WRITER_H

#include <jansson.h>

/* VALUES[COUNT] as an array, null for what is not finite: JSON has no numbers
 * for that.  A new reference, or NULL when out of memory. */
json_t *json_writer_numbers(const double *values, size_t count);

/* JSON as text, malloc'ed; NULL when out of memory.  json_dumps() of jansson up to
 * 2.14 does not look whether an object's key found room: its text is then whole to
 * the end, and no JSON. */
char *json_writer_text(const json_t *json, size_t flags);

/* Write JSON, of which a reference is stolen, to FD as one line.  0, or -1 with errno: NULL and
 * short of memory are ENOMEM, with nothing written. */
int json_writer_line(int fd, json_t *json);

#endif /* COSCHED_JSON_WRITER_H */
