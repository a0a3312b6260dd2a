/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* In which line of a JSON file a value is. */

#include "simulator/json_line.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
    const char *at, *end;
    size_t line;
};

static void step(struct cursor *c)
{
    c->line += *c->at == '\n';
    c->at++;
}

/* To the next byte that means something. */
static void skip_space(struct cursor *c)
{
    while (c->at < c->end && isspace((unsigned char)*c->at))
        step(c);
}

/* Past the string whose opening quote is here. */
static void skip_string(struct cursor *c)
{
    for (c->at++; c->at < c->end && *c->at != '"'; c->at++)
        if (*c->at == '\\' && c->at + 1 < c->end)
            c->at++;
    if (c->at < c->end)
        c->at++;
}

/* Past the value that is here, up to the comma or bracket that follows. */
static void skip_value(struct cursor *c)
{
    size_t depth = 0;

    while (c->at < c->end) {
        char byte = *c->at;
        if (byte == '"') {
            skip_string(c);
            continue;
        }
        if (depth == 0 && (byte == ',' || byte == ']' || byte == '}'))
            return;
        depth += byte == '[' || byte == '{';
        depth -= byte == ']' || byte == '}';
        step(c);
    }
}

/* Past the comma; false where there is none. */
static bool next(struct cursor *c)
{
    skip_space(c);
    if (c->at >= c->end || *c->at != ',')
        return false;
    step(c);
    return true;
}

/* Go to element INDEX of the array that is here. */
static bool enter_element(struct cursor *c, size_t index)
{
    bool more = true;

    step(c);
    for (size_t i = 0; more && i < index; i++) {
        skip_value(c);
        more = next(c);
    }
    skip_space(c);
    return more && c->at < c->end && *c->at != ']';
}

/* Go to the member of the object that is here whose name *PATH begins with, and
 * past the name in *PATH. */
static bool enter_member(struct cursor *c, const char **path)
{
    step(c);
    do {
        skip_space(c);
        struct cursor key = *c;
        if (c->at >= c->end || *c->at != '"')
            return false;
        skip_string(c);
        size_t length = (size_t)(c->at - key.at) - 2;
        const char *rest = *path + length;
        if (strncmp(*path, key.at + 1, length) == 0 &&
            (*rest == '\0' || *rest == '.' || *rest == '[')) {
            *path = rest;
            *c = (struct cursor){c->at, c->end, key.line};
            return true;
        }
        skip_space(c);
        step(c); /* the colon */
        skip_value(c);
    } while (next(c));
    return false;
}

size_t json_line_find(const char *text, size_t size, const char *path)
{
    struct cursor c = {text, text + size, 1};
    size_t line;

    skip_space(&c);
    line = c.line;
    while (*path && c.at < c.end) {
        if (*c.at == ':') {
            /* After a member's name: on to its value. */
            step(&c);
            skip_space(&c);
            continue;
        }
        if (*path == '[' && *c.at == '[') {
            if (!enter_element(&c, strtoul(path + 1, NULL, 10)))
                break;
            path = strchr(path, ']') ? strchr(path, ']') + 1 : "";
        } else if (*c.at == '{') {
            path += *path == '.';
            if (!enter_member(&c, &path))
                break;
        } else {
            break;
        }
        line = c.line;
        skip_space(&c);
    }
    return line;
}

/* Up to SIZE bytes of FILE. */
static size_t read_again(const char *file, char *text, size_t size)
{
    FILE *stream = fopen(file, "re");
    size_t got = stream ? fread(text, 1, size, stream) : 0;

    if (stream)
        fclose(stream);
    return got;
}

void json_line_add(struct errtext *err, const char *file)
{
    enum { MOST = 4 << 20 }; /* as json_reader_load() */
    size_t length = strlen(file);
    char path[sizeof(err->text)];
    char *text, *colon;

    if (strncmp(err->text, file, length) != 0 ||
        strncmp(err->text + length, ": ", 2) != 0)
        return;
    snprintf(path, sizeof(path), "%s", err->text + length + 2);
    colon = strstr(path, ": ");
    if (colon)
        *colon = '\0';
    else
        path[0] = '\0'; /* of the file as a whole */
    text = malloc(MOST);
    size_t size = text ? read_again(file, text, MOST) : 0;
    if (size > 0) {
        char rest[sizeof(err->text)];
        snprintf(rest, sizeof(rest), "%s", err->text + length);
        errtext_set(err, errno, "%s:%zu%s", file,
                    json_line_find(text, size, path), rest);
    }
    free(text);
}
