/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A struct's fields, named once in a table. */

#ifndef COSCHED_FIELDS_H
#define COSCHED_FIELDS_H

/* Concept
 *
 * What a struct holds is written as JSON, read back and hashed in several
 * places.  Here a table names each field once, with the places where it counts:
 *
 *     static const struct field fields[] = {
 *         FIELD(struct job, weight, "weight", IN_STATE | FIELD_OPTIONAL),
 *         ...
 *         {0}};
 *
 * The compiler tells the type.  protocol/json_fields.h writes and reads by such a
 * table; fields_hash() below needs no JSON.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"

enum field_type {
    FIELD_BOOL,   /* bool */
    FIELD_INT,    /* int */
    FIELD_U32,    /* uint32_t, or an enum */
    FIELD_U64,    /* uint64_t, size_t; JSON: up to 2^63-1 */
    FIELD_REAL,   /* double; not finite: left out of JSON */
    FIELD_TEXT,   /* char[] with its zero */
    FIELD_STRING, /* const char *, not the struct's; NULL: left out of JSON */
    FIELD_CPUS,   /* else: struct cosched_cpuset; JSON: "0-3,8" */
};

/* JSON may lack it: the field then stays as it is. */
#define FIELD_OPTIONAL (1u << 31)

struct field {
    const char *key; /* of JSON; NULL ends a table */
    size_t offset, size;
    enum field_type type;
    unsigned where; /* bits of the table's owner, and FIELD_OPTIONAL */
    const char *const *words; /* of an enum: JSON has words[value]; else NULL */
};

#define FIELD_TYPE_OF(value)                                                   \
    _Generic((value),                                                          \
        bool: FIELD_BOOL,                                                      \
        int: FIELD_INT,                                                        \
        unsigned: FIELD_U32,                                                   \
        uint64_t: FIELD_U64,                                                   \
        double: FIELD_REAL,                                                    \
        char *: FIELD_TEXT,                                                    \
        const char *: FIELD_STRING,                                            \
        default: FIELD_CPUS)

/* Entry of a table: MEMBER of TYPE, called KEY, counts in WHERE. */
#define FIELD(type, member, key, where)                                        \
    {key, offsetof(type, member), sizeof(((type *)0)->member),                 \
     FIELD_TYPE_OF(((type *)0)->member), where, NULL}

/* The same for an enum that JSON names by WORDS, which NULL ends. */
#define FIELD_ENUM(type, member, key, where, words)                            \
    {key, offsetof(type, member), sizeof(((type *)0)->member), FIELD_U32,      \
     where, words}

/* The field in OBJECT. */
static inline const void *field_of(const struct field *field,
                                   const void *object)
{
    return (const char *)object + field->offset;
}

/* Add to *H those of FIELDS that count in one of the places of WHERE. */
static inline void fields_hash(uint64_t *h, const struct field *fields,
                               const void *object, unsigned where)
{
    for (const struct field *f = fields; f->key; f++) {
        const void *value = field_of(f, object);
        size_t size = f->size;
        if (!(f->where & where))
            continue;
        if (f->type == FIELD_STRING) {
            value = *(const char *const *)value;
            size = value ? strlen(value) : 0;
            hash_word(h, value != NULL);
        } else if (f->type == FIELD_TEXT) {
            size = strnlen(value, size);
        }
        hash_bytes(h, size ? value : "", size);
    }
}

#endif /* COSCHED_FIELDS_H */
