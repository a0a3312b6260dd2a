/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* JSON objects from and to structs, by tables of their fields. */

#include "protocol/json_fields.h"

#include <errno.h>
#include <limits.h>
#include <math.h>

#include "protocol/cpulist.h"

/* Whether FIELD has a value that JSON can hold. */
static bool present(const struct field *f, const void *value)
{
    return f->type == FIELD_REAL     ? isfinite(*(const double *)value)
           : f->type == FIELD_STRING ? *(const char *const *)value != NULL
                                     : true;
}

static json_t *write_field(const struct field *f, const void *value)
{
    char list[4096];

    switch (f->type) {
    case FIELD_BOOL:
        return json_boolean(*(const bool *)value);
    case FIELD_INT:
        return json_integer(*(const int *)value);
    case FIELD_U32:
        return f->words ? json_string(f->words[*(const uint32_t *)value])
                        : json_integer(*(const uint32_t *)value);
    case FIELD_U64:
        return json_integer((json_int_t)*(const uint64_t *)value);
    case FIELD_REAL:
        return json_real(*(const double *)value);
    case FIELD_TEXT:
        return json_string(value);
    case FIELD_STRING:
        return json_string(*(const char *const *)value);
    case FIELD_CPUS:
        return json_string(cpulist_format(value, list, sizeof(list)));
    }
    return NULL;
}

json_t *json_fields_write(const struct field *fields, const void *object,
                          unsigned where)
{
    json_t *json = json_object();

    for (const struct field *f = fields; f->key; f++)
        if ((f->where & where) && present(f, field_of(f, object)) &&
            json_object_set_new(json, f->key,
                                write_field(f, field_of(f, object))) < 0) {
            json_decref(json);
            return NULL;
        }
    return json;
}

static bool read_integer(const json_t *json, json_int_t low, json_int_t high,
                         json_int_t *value)
{
    *value = json_integer_value(json);
    return json_is_integer(json) && *value >= low && *value <= high;
}

static bool read_word(const struct field *f, const char *text, uint32_t *value)
{
    for (uint32_t i = 0; text && f->words[i]; i++)
        if (!strcmp(text, f->words[i])) {
            *value = i;
            return true;
        }
    return false;
}

static bool read_field(const struct field *f, const json_t *json, void *value)
{
    const char *text = json_string_value(json);
    json_int_t n;

    switch (f->type) {
    case FIELD_BOOL:
        *(bool *)value = json_is_true(json);
        return json_is_boolean(json);
    case FIELD_INT:
        if (!read_integer(json, INT_MIN, INT_MAX, &n))
            return false;
        *(int *)value = (int)n;
        return true;
    case FIELD_U32:
        if (f->words)
            return read_word(f, text, value);
        if (!read_integer(json, 0, UINT32_MAX, &n))
            return false;
        *(uint32_t *)value = (uint32_t)n;
        return true;
    case FIELD_U64:
        if (!read_integer(json, 0, INT64_MAX, &n))
            return false;
        *(uint64_t *)value = (uint64_t)n;
        return true;
    case FIELD_REAL:
        *(double *)value = json_number_value(json);
        return json_is_number(json);
    case FIELD_TEXT:
        if (!text || strlen(text) >= f->size)
            return false;
        memcpy(value, text, strlen(text) + 1);
        return true;
    case FIELD_STRING:
        *(const char **)value = text;
        return text != NULL;
    case FIELD_CPUS:
        return text && cpulist_parse(text, value, NULL) == 0;
    }
    return false;
}

int json_fields_read(const struct field *fields, void *object,
                     const json_t *json, unsigned where, const char **bad)
{
    for (const struct field *f = fields; f->key; f++) {
        const json_t *member = json_object_get(json, f->key);
        if (!(f->where & where) || (!member && f->where & FIELD_OPTIONAL))
            continue;
        if (!read_field(f, member, (char *)object + f->offset)) {
            if (bad)
                *bad = f->key;
            errno = EINVAL;
            return -1;
        }
    }
    return 0;
}
