/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Strict reading of JSON that people write. */

#ifndef COSCHED_JSON_READER_H
#define COSCHED_JSON_READER_H

/* Concept
 *
 * A description written by hand deserves errors that name the place.  A reader knows the file as
 * the user typed it and the path ("links[2]"), and each refusal is one line:
 *
 *     box.json: links[2].service_us: -3 is not a positive number
 *
 * Unknown members are refused, because a mistyped optional one would silently change the result;
 * so are duplicates.  Syntax errors come with a line number.
 *
 * All functions return 0, or -1 with errno EINVAL and the error text set.  Values are borrowed
 * from the document.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/errtext.h"

#define JSON_READER_PATH 96
#define JSON_READER_BYTES (4 << 20) /* nothing sensible is larger */

struct json_reader {
    const char *file;    /* as typed; a name such as "standard input" */
    struct errtext *err; /* may be NULL */
    char path[JSON_READER_PATH];
};

/* What a number may be; the further ones are for struct json_member. */
enum json_range {
    JSON_POSITIVE,     /* > 0 */
    JSON_NOT_NEGATIVE, /* >= 0 */
    JSON_SHARE,        /* 0..1 */
    JSON_ANY,          /* finite */
    JSON_COUNT,        /* size_t, low..high */
    JSON_TEXT,         /* const char *, not empty, borrowed */
    JSON_CHARS,        /* char[high], as JSON_TEXT */
    JSON_LIST,         /* const json_t *, an array of low..high elements */
    JSON_FLAG,         /* bool */
    JSON_OTHER,        /* nothing: it is read elsewhere */
};

/* A member of an object and where it goes; that stays as it is where the member
 * is absent. */
struct json_member {
    const char *key; /* NULL ends a list */
    enum json_range kind;
    bool optional;
    void *to;
    size_t low, high;
};

#define JSON_MUST(key, kind, to) {key, kind, false, to, 0, 0}
#define JSON_MAY(key, kind, to) {key, kind, true, to, 0, 0}
#define JSON_MUST_IN(key, kind, low, high, to) {key, kind, false, to, low, high}
#define JSON_MAY_IN(key, kind, low, high, to) {key, kind, true, to, low, high}
#define JSON_MUST_CHARS(key, to) {key, JSON_CHARS, false, to, 0, sizeof(to)}
#define JSON_MAY_CHARS(key, to) {key, JSON_CHARS, true, to, 0, sizeof(to)}
#define JSON_KNOWN(key) {key, JSON_OTHER, true, NULL, 0, 0}

/* Give members the names that they have since 0.2.0, wherever they stand in
 * ROOT: files that 0.1 wrote have "sections", "cpu_nodes", "mem_nodes" and so
 * on.  A member whose new name is there, too, stays as it is. */
void json_rename_old(json_t *root);

/* Parse SIZE bytes at TEXT; old names become new ones.  A new reference, or NULL. */
json_t *json_reader_parse(struct json_reader *reader, const char *text,
                          size_t size);

/* Read FILE; "-" is standard input.  The text, which the caller frees, with SIZE bytes and no
 * end, or NULL with errno as from open(2) and read(2), or EFBIG beyond JSON_READER_BYTES.  Sets
 * reader->file. */
char *json_reader_text(struct json_reader *reader, const char *file, size_t *size);

/* The same parsed.  A new reference, or NULL with errno as above, or EINVAL. */
json_t *json_reader_load(struct json_reader *reader, const char *file);

/* Refuse member KEY (NULL: the value at the path itself). */
__attribute__((format(printf, 3, 4))) int
json_reader_fail(struct json_reader *reader, const char *key,
                 const char *format, ...);

/* Go into member KEY of the present object, or its element INDEX if KEY is an
 * array; "" for the value at the path itself.  The result is for json_reader_leave(). */
size_t json_reader_enter(struct json_reader *reader, const char *key);
size_t json_reader_enter_element(struct json_reader *reader, const char *key,
                                 size_t index);
void json_reader_leave(struct json_reader *reader, size_t mark);

/* VALUE must be an object of MEMBERS only, which are read in their order. */
int json_reader_members(struct json_reader *reader, const json_t *value,
                        const struct json_member *members);

/* Call EACH for each object of LIST, which is member KEY, until it returns other
 * than 0, which is returned. */
int json_reader_each(struct json_reader *reader, const json_t *list,
                     const char *key,
                     int (*each)(struct json_reader *reader, const json_t *value,
                                 size_t index, void *arg),
                     void *arg);

/* Member KEY of OBJECT must be a number in RANGE.  *VALUE stays as it is where
 * the member is absent, which is an error unless OPTIONAL. */
int json_reader_number(struct json_reader *reader, const json_t *object,
                       const char *key, bool optional, enum json_range range,
                       double *value);

/* The same for a whole number LOW..HIGH. */
int json_reader_count(struct json_reader *reader, const json_t *object,
                      const char *key, bool optional, size_t low, size_t high,
                      size_t *value);

/* The same for a string that is not empty; *VALUE is borrowed. */
int json_reader_string(struct json_reader *reader, const json_t *object,
                       const char *key, bool optional, const char **value);

/* Member KEY must be an array of LOW..HIGH elements; *VALUE as above. */
int json_reader_array(struct json_reader *reader, const json_t *object,
                      const char *key, bool optional, size_t low, size_t high,
                      const json_t **value);

/* Element INDEX of ARRAY, which is member KEY, must be a number in RANGE. */
int json_reader_element(struct json_reader *reader, const json_t *array,
                        const char *key, size_t index, enum json_range range,
                        double *value);

/* SIZE bytes of TEXT, a new reference, or NULL.  jansson, short of memory, may leave out characters
 * of a string and say nothing, and json_unpack() then fails as if a member were missing: */
json_t *json_reader_line(const char *text, size_t size);

/* Was jansson refused memory since the last line was read?  Then what it said means nothing. */
bool json_reader_refused(void);

#endif /* COSCHED_JSON_READER_H */
