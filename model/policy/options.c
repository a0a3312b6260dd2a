/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Options of the policies: the common ones, defaults, parsing. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/policy.h"

static const struct policy_option common[POLICY_OWN] = {
    [POLICY_HYSTERESIS] = {"hysteresis",
                           "predicted gain below which the division stays; 0: none",
                           0.02, 0, 1, NULL},
    [POLICY_COST] = {"cost", "what jobs want least of", 0, 0, 2, "time|energy|edp"},
    [POLICY_POWER] = {"power", "watts that the node may draw by prediction; 0: any", 0, 0, 1e6,
                      NULL},
    [POLICY_CONCURRENCY] = {"concurrency", "cores that are of use, by a trained predictor", 0, 0,
                            2, "off|linear|ann"},
    [POLICY_MAPPING] = {"mapping", "pinned threads to the NUMA nodes of their data", 0, 0, 2,
                        "none|locality|critical"},
};

size_t policy_option_count(const struct policy *policy)
{
    size_t count = POLICY_OWN;

    if (policy->options)
        while (policy->options[count - POLICY_OWN].name)
            count++;
    return count;
}

const struct policy_option *policy_option(const struct policy *policy,
                                          size_t index)
{
    return index < POLICY_OWN ? &common[index]
                              : &policy->options[index - POLICY_OWN];
}

void policy_options_init(const struct policy *policy, double *values)
{
    size_t count = policy_option_count(policy);

    for (size_t i = 0; i < POLICY_OPTIONS_MAX; i++)
        values[i] = i < count ? policy_option(policy, i)->initial : 0;
}

/* The number of the word of LENGTH bytes at TEXT in "a|b|c", or -1. */
static int find_word(const char *words, const char *text, size_t length)
{
    for (int n = 0;; n++) {
        size_t size = strcspn(words, "|");
        if (size == length && strncmp(words, text, size) == 0)
            return n;
        words += size;
        if (!*words++)
            return -1;
    }
}

/* The value of LENGTH bytes at TEXT for OPTION, or NAN. */
static double parse_value(const struct policy_option *option, const char *text,
                          size_t length)
{
    char number[32], *end;

    if (option->words) {
        int word = find_word(option->words, text, length);
        return word < 0 ? NAN : (double)word;
    }
    /* Only decimal numbers reach strtod, which takes much more. */
    size_t sign = length && *text == '-';
    if (length == sign || length >= sizeof(number) ||
        strspn(text + sign, "0123456789.") < length - sign)
        return NAN;
    memcpy(number, text, length);
    number[length] = '\0';
    double value = strtod(number, &end);
    return *end || value < option->low || value > option->high ? NAN : value;
}

/* Apply one entry of LENGTH bytes. */
static bool parse_entry(const struct policy *policy, const char *entry,
                        size_t length, double *values)
{
    const char *colon = memchr(entry, ':', length);
    size_t name = colon ? (size_t)(colon - entry) : length;

    for (size_t i = 0; colon && i < policy_option_count(policy); i++) {
        const struct policy_option *option = policy_option(policy, i);
        if (strlen(option->name) != name ||
            strncmp(option->name, entry, name) != 0)
            continue;
        double value = parse_value(option, colon + 1, length - name - 1);
        if (isnan(value))
            return false;
        values[i] = value;
        return true;
    }
    return false;
}

enum model_status policy_options_parse(const struct policy *policy,
                                       const char *text, double *values,
                                       const char **bad)
{
    double result[POLICY_OPTIONS_MAX];

    memcpy(result, values, sizeof(result));
    while (*text) {
        size_t length = strcspn(text, ";");
        if (!parse_entry(policy, text, length, result)) {
            *bad = text;
            return MODEL_EINVAL;
        }
        text += length + (text[length] == ';');
    }
    memcpy(values, result, sizeof(result));
    return MODEL_OK;
}
