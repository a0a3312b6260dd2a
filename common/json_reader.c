/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Strict reading of JSON that people write. */

#include "common/json_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void json_rename_old(json_t *root)
{
    static const char *const names[][2] = {
        {"section", "region"},        {"sections", "regions"},
        {"cpu_node", "llc_domain"},   {"cpu_nodes", "llc_domains"},
        {"memory_node", "numa_node"}, {"mem_nodes", "numa_nodes"},
        {"rigid", "pinned"},          {"min_section_ns", "min_region_ns"}};
    json_t *value;
    const char *key;
    size_t index;

    json_array_foreach(root, index, value)
        json_rename_old(value);
    json_object_foreach(root, key, value)
        json_rename_old(value);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if ((value = json_object_get(root, names[i][0])) &&
            !json_object_get(root, names[i][1])) {
            json_object_set(root, names[i][1], value);
            json_object_del(root, names[i][0]);
        }
}

json_t *json_reader_parse(struct json_reader *reader, const char *text,
                          size_t size)
{
    json_error_t error;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);

    reader->path[0] = '\0';
    if (!root)
        errtext_set(reader->err, EINVAL, "%s:%d: %s", reader->file,
                    error.line > 0 ? error.line : 1, error.text);
    json_rename_old(root);
    return root;
}

/* Read all of descriptor FD into *TEXT, which the caller frees. */
static int slurp(struct json_reader *reader, int fd, char **text, size_t *size)
{
    size_t room = 0;
    ssize_t got;

    do {
        if (*size == room) {
            room = room ? room * 2 : 65536;
            char *larger = realloc(*text, room);
            if (!larger)
                return errtext_set(reader->err, ENOMEM, "out of memory");
            *text = larger;
        }
        got = read(fd, *text + *size, room - *size);
        if (got < 0)
            return errtext_set(reader->err, errno, "%s: %s", reader->file,
                               strerror(errno));
        *size += (size_t)got;
        if (*size > JSON_READER_BYTES)
            return errtext_set(reader->err, EFBIG, "%s: more than %d bytes",
                               reader->file, JSON_READER_BYTES);
    } while (got > 0);
    return 0;
}

char *json_reader_text(struct json_reader *reader, const char *file, size_t *size)
{
    bool standard = strcmp(file, "-") == 0;
    char *text = NULL;

    *size = 0;
    reader->file = standard ? "standard input" : file;
    int fd = standard ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        errtext_set(reader->err, errno, "%s: %s", file, strerror(errno));
        return NULL;
    }
    int rc = slurp(reader, fd, &text, size);
    int saved = errno;
    if (!standard)
        close(fd);
    if (rc < 0) {
        free(text);
        errno = saved;
        return NULL;
    }
    return text;
}

json_t *json_reader_load(struct json_reader *reader, const char *file)
{
    size_t size;
    char *text = json_reader_text(reader, file, &size);
    json_t *root = text ? json_reader_parse(reader, text, size) : NULL;
    int saved = errno;

    free(text);
    errno = saved;
    return root;
}

int json_reader_fail(struct json_reader *reader, const char *key,
                     const char *format, ...)
{
    const char *dot = key && reader->path[0] ? "." : "";
    char text[160];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (!key && !reader->path[0])
        return errtext_set(reader->err, EINVAL, "%s: %s", reader->file, text);
    return errtext_set(reader->err, EINVAL, "%s: %s%s%.40s: %s", reader->file,
                       reader->path, dot, key ? key : "", text);
}

size_t json_reader_enter(struct json_reader *reader, const char *key)
{
    size_t mark = strlen(reader->path);

    snprintf(reader->path + mark, sizeof(reader->path) - mark, "%s%s",
             mark && *key ? "." : "", key);
    return mark;
}

size_t json_reader_enter_element(struct json_reader *reader, const char *key,
                                 size_t index)
{
    size_t mark = json_reader_enter(reader, key), end = strlen(reader->path);

    snprintf(reader->path + end, sizeof(reader->path) - end, "[%zu]", index);
    return mark;
}

void json_reader_leave(struct json_reader *reader, size_t mark)
{
    reader->path[mark] = '\0';
}

/* Text of a scalar VALUE for a message. */
static const char *shown(const json_t *value, char *out, size_t size)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT |
                                       JSON_REAL_PRECISION(9));

    snprintf(out, size, "%.40s", text ? text : "value");
    free(text);
    return out;
}

/* The present member KEY, or NULL; *RC tells whether that is an error. */
static const json_t *member(struct json_reader *reader, const json_t *object,
                            const char *key, bool optional, int *rc)
{
    const json_t *value = json_object_get(object, key);

    *rc = value || optional ? 0 : json_reader_fail(reader, key, "is missing");
    return value;
}

static int number_in(struct json_reader *reader, const json_t *value,
                     const char *key, enum json_range range, double *out)
{
    static const char *const names[] = {
        [JSON_POSITIVE] = "a positive number",
        [JSON_NOT_NEGATIVE] = "a number from 0",
        [JSON_SHARE] = "a number from 0 to 1",
        [JSON_ANY] = "a number",
    };
    double number = json_number_value(value);
    char text[48];

    if (json_is_number(value) && isfinite(number) &&
        (range == JSON_ANY || number > 0 ||
         (number == 0 && range != JSON_POSITIVE)) &&
        (range != JSON_SHARE || number <= 1)) {
        *out = number;
        return 0;
    }
    return json_reader_fail(reader, key, "%s is not %s",
                            shown(value, text, sizeof(text)), names[range]);
}

int json_reader_number(struct json_reader *reader, const json_t *object,
                       const char *key, bool optional, enum json_range range,
                       double *out)
{
    int rc;
    const json_t *value = member(reader, object, key, optional, &rc);

    return value ? number_in(reader, value, key, range, out) : rc;
}

int json_reader_element(struct json_reader *reader, const json_t *array,
                        const char *key, size_t index, enum json_range range,
                        double *out)
{
    size_t mark = json_reader_enter_element(reader, key, index);
    int rc = number_in(reader, json_array_get(array, index), NULL, range, out);

    json_reader_leave(reader, mark);
    return rc;
}

int json_reader_count(struct json_reader *reader, const json_t *object,
                      const char *key, bool optional, size_t low, size_t high,
                      size_t *out)
{
    int rc;
    const json_t *value = member(reader, object, key, optional, &rc);
    json_int_t number = json_integer_value(value);
    char text[48];

    if (!value)
        return rc;
    if (!json_is_integer(value) || number < (json_int_t)low ||
        number > (json_int_t)high)
        return json_reader_fail(reader, key,
                                "%s is not a whole number from %zu to %zu",
                                shown(value, text, sizeof(text)), low, high);
    *out = (size_t)number;
    return 0;
}

int json_reader_string(struct json_reader *reader, const json_t *object,
                       const char *key, bool optional, const char **out)
{
    int rc;
    const json_t *value = member(reader, object, key, optional, &rc);
    char text[48];

    if (!value)
        return rc;
    if (!json_is_string(value))
        return json_reader_fail(reader, key, "%s is not a string",
                                shown(value, text, sizeof(text)));
    if (json_string_length(value) == 0)
        return json_reader_fail(reader, key, "is empty");
    *out = json_string_value(value);
    return 0;
}

int json_reader_array(struct json_reader *reader, const json_t *object,
                      const char *key, bool optional, size_t low, size_t high,
                      const json_t **out)
{
    int rc;
    const json_t *value = member(reader, object, key, optional, &rc);
    size_t size = json_array_size(value);

    if (!value)
        return rc;
    if (!json_is_array(value))
        return json_reader_fail(reader, key, "must be an array");
    if (size >= low && size <= high) {
        *out = value;
        return 0;
    }
    if (low == high)
        return json_reader_fail(reader, key, "has %zu elements, must have %zu",
                                size, low);
    return json_reader_fail(reader, key,
                            "has %zu elements, must have %zu to %zu", size, low,
                            high);
}

static int read_member(struct json_reader *reader, const json_t *object,
                       const struct json_member *m)
{
    const json_t *value = json_object_get(object, m->key);
    const char *text = NULL;

    switch (m->kind) {
    case JSON_COUNT:
        return json_reader_count(reader, object, m->key, m->optional, m->low,
                                 m->high, m->to);
    case JSON_TEXT:
        return json_reader_string(reader, object, m->key, m->optional, m->to);
    case JSON_CHARS:
        if (json_reader_string(reader, object, m->key, m->optional, &text) < 0)
            return -1;
        if (text && strlen(text) >= m->high)
            return json_reader_fail(reader, m->key,
                                    "\"%.40s...\" is longer than %zu bytes",
                                    text, m->high - 1);
        if (text)
            strcpy(m->to, text);
        return 0;
    case JSON_LIST:
        return json_reader_array(reader, object, m->key, m->optional, m->low,
                                 m->high, m->to);
    case JSON_FLAG:
        if (value && !json_is_boolean(value))
            return json_reader_fail(reader, m->key, "must be true or false");
        if (value)
            *(bool *)m->to = json_is_true(value);
        return 0;
    case JSON_OTHER:
        return 0;
    default:
        return json_reader_number(reader, object, m->key, m->optional, m->kind,
                                  m->to);
    }
}

int json_reader_members(struct json_reader *reader, const json_t *value,
                        const struct json_member *members)
{
    const char *key;
    json_t *unused;
    int rc = 0;

    if (!json_is_object(value))
        return json_reader_fail(reader, NULL, "must be an object");
    json_object_foreach((json_t *)value, key, unused) {
        const struct json_member *m = members;
        while (m->key && strcmp(m->key, key) != 0)
            m++;
        if (!m->key)
            return json_reader_fail(reader, key, "unknown key");
    }
    for (; members->key && rc == 0; members++)
        rc = read_member(reader, value, members);
    return rc;
}

int json_reader_each(struct json_reader *reader, const json_t *list,
                     const char *key,
                     int (*each)(struct json_reader *reader, const json_t *value,
                                 size_t index, void *arg),
                     void *arg)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
        size_t mark = json_reader_enter_element(reader, key, i);
        rc = each(reader, json_array_get(list, i), i, arg);
        json_reader_leave(reader, mark);
    }
    return rc;
}

static _Thread_local bool refused; /* jansson was refused memory */

static void *watched_malloc(size_t size)
{
    void *memory = malloc(size);

    refused |= !memory;
    return memory;
}

json_t *json_reader_line(const char *text, size_t size)
{
    json_set_alloc_funcs(watched_malloc, free); /* what it has so far may be freed so, too */
    refused = false;
    return json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
}

bool json_reader_refused(void)
{
    return refused;
}
