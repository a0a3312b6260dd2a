/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Complete --coschedule by the environment and the site's defaults. */

#include "protocol/job_defaults.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "protocol/options.h"

#define PREFIX "COSCHED_"

const char *job_variable(const char *key, char name[JOB_VARIABLE_MAX])
{
    int used = snprintf(name, JOB_VARIABLE_MAX, PREFIX "%s", key);

    for (char *p = name + strlen(PREFIX); used > 0 && *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return name;
}

/* Add the LENGTH bytes of ENTRY to the list RESULT. */
static bool add(char *result, size_t size, const char *entry, size_t length)
{
    size_t used = strlen(result);

    if (used + 1 + length + 1 > size)
        return false;
    if (used && result[used - 1] != ',')
        result[used++] = ',';
    memcpy(result + used, entry, length);
    result[used + length] = '\0';
    return true;
}

/* Check KEY=VALUE; what is wrong is told of the variable NAME. */
static int check(const char *key, const char *value, const char *name,
                 char *entry, size_t size, struct errtext *err)
{
    struct job_options options;
    struct errtext why = {""};

    if ((size_t)snprintf(entry, size, "%s=%s", key, value) >= size ||
        strchr(value, ','))
        return errtext_set(err, EINVAL, "%s=%.60s: not one value of %s", name,
                           value, key);
    if (job_options_parse(&options, entry, &why) == 0)
        return 0;
    /* The parser's text begins with the entry, "ults=70: not ...". */
    const char *rest = strchr(why.text, '=');
    return errtext_set(err, EINVAL, "%s%s", name, rest ? rest : why.text);
}

int job_defaults_environment(job_lookup *lookup, char *result, size_t size,
                             struct errtext *err)
{
    char name[JOB_VARIABLE_MAX], entry[128];
    const char *key, *value;

    result[0] = '\0';
    for (size_t i = 0; (key = job_options_key(i)); i++) {
        value = lookup(job_variable(key, name));
        if (!value || !*value || strcmp(value, "auto") == 0)
            continue;
        int rc = check(key, value, name, entry, sizeof(entry), err);
        if (rc == 0 && !add(result, size, entry, strlen(entry)))
            rc = errtext_set(err, EINVAL, "%s: too many defaults", name);
        if (rc < 0) {
            result[0] = '\0';
            return rc;
        }
    }
    return 0;
}

/* Length of the key of ENTRY, an entry of LENGTH bytes; *KEY is its name: a
 * bare word is a policy. */
static size_t key_of(const char *entry, size_t length, const char **key)
{
    const char *equals = memchr(entry, '=', length);

    *key = equals ? entry : "policy";
    return equals ? (size_t)(equals - entry) : strlen(*key);
}

/* Does the list TEXT give what ENTRY gives? */
static bool gives(const char *text, const char *entry, size_t length)
{
    const char *wanted, *key;
    size_t size = key_of(entry, length, &wanted);

    while (*text) {
        size_t end = strcspn(text, ",");
        if (key_of(text, end, &key) == size && memcmp(key, wanted, size) == 0)
            return true;
        text += end + (text[end] == ',');
    }
    return false;
}

static const char *plain(const char *text)
{
    return text && strcmp(text, "(null)") != 0 ? text : "";
}

int job_defaults_complete(const char *text, const char *defaults, char *result,
                          size_t size, struct errtext *err)
{
    struct job_options options;
    const char *rest = plain(defaults);
    bool fits = true;
    int rc = 0;

    text = plain(text);
    result[0] = '\0';
    if (!add(result, size, text, strlen(text)))
        return errtext_set(err, EINVAL, "%.60s...: longer than %zu bytes", text,
                           size - 1);
    while (*rest && fits) {
        size_t length = strcspn(rest, ",");
        if (length && !gives(text, rest, length))
            fits = add(result, size, rest, length);
        rest += length + (rest[length] == ',');
    }
    if (!fits)
        rc = errtext_set(err, EINVAL, "%.60s...: longer than %zu bytes", result,
                         size - 1);
    else
        rc = job_options_parse(&options, result, err);
    if (rc < 0)
        snprintf(result, size, "%s", text);
    return rc;
}
