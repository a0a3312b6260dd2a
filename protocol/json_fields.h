/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* JSON objects from and to structs, by tables of their fields. */

#ifndef COSCHED_JSON_FIELDS_H
#define COSCHED_JSON_FIELDS_H

#include <jansson.h>

#include "common/fields.h"

/* Those of FIELDS that count in one of the places of WHERE: a new object, or
 * NULL when out of memory. */
json_t *json_fields_write(const struct field *fields, const void *object,
                          unsigned where);

/* Read them from JSON into OBJECT; members that the table does not name are
 * skipped.  A FIELD_STRING is borrowed from JSON.  0, or -1 with errno EINVAL and
 * in *BAD (may be NULL) the key that is absent, of another type or out of the
 * field's range; OBJECT may then be half read. */
int json_fields_read(const struct field *fields, void *object,
                     const json_t *json, unsigned where, const char **bad);

#endif /* COSCHED_JSON_FIELDS_H */
