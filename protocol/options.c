/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Parse --coschedule by a table, and the values that all options share. */

#include "protocol/options.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/option_table.h"

const char *const options_policies[] = {
    "nupoco",      "greedy", "equal",       "batch", "native",
    "scalability", "amdahl", "best-simple", "corun", "moca",
    NULL};

const char *const options_enforcements[] = {"affinity", "cpuset", "auto", NULL};

#define JOB(key, type, low, high, help)                                        \
    {#key, type, offsetof(struct job_options, key), low, high, NULL, help, NULL}

static const struct option job_table[] = {
    JOB(policy, OPTION_POLICY, 0, 0,
        "allocation policy, used while all jobs of the node ask for it"),
    JOB(ults, OPTION_COUNT, 1, 64,
        "OpenMP threads per core where OMP_NUM_THREADS is unset"),
    JOB(min_cores, OPTION_COUNT, 1, 1024, "never fewer cores in a region"),
    JOB(max_cores, OPTION_COUNT, 1, 1024, "never more cores"),
    JOB(weight, OPTION_NUMBER, 1, 100,
        "importance beside the other jobs, 0.1 to 10, 1 is normal"),
    JOB(report, OPTION_SWITCH, 0, 0,
        "yes: a line about time and cores ends the batch script's output"),
    {"libgomp", OPTION_WORD, offsetof(struct job_options, libgomp), 0, 0, NULL,
     "stock: programs keep their own OpenMP library, and are pinned",
     "coop|stock"},
    {"objective", OPTION_WORD, offsetof(struct job_options, objective), 0, 0, NULL,
     "what the job wants least of", "site|time|energy|edp"},
    {"interleave", OPTION_WORD, offsetof(struct job_options, interleave), 0, 0, NULL,
     "serial: what one thread touches before the first region lies on all NUMA nodes",
     "auto|serial|off"},
    {0},
};

int duration_parse(const char *text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6},
                 {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    const char *unit = text + strspn(text, "0123456789.");
    double scale = 0;
    char *end;

    errno = EINVAL;
    /* Only digits and one point reach strtod, which takes much more. */
    if (unit == text || unit - text > 20)
        return -1;
    double value = strtod(text, &end);
    if (end < unit && *end == '.')
        return -1;
    if (*unit == '\0' && value == 0)
        scale = 1;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(unit, units[i].unit) == 0)
            scale = units[i].ns;
    if (scale == 0 || text[0] == '.')
        return -1;
    if (!(value * scale < 9e18)) {
        errno = ERANGE;
        return -1;
    }
    *ns = (uint64_t)(value * scale + 0.5);
    return 0;
}

/* Add WORD to the list "a, b, c" in TEXT[SIZE]. */
static void join(char *text, size_t size, const char *word)
{
    size_t used = strlen(text);

    snprintf(text + used, size - used, "%s%s", used ? ", " : "", word);
}

/* All policies, in TEXT (NAMES_MAX bytes). */
static const char *policy_names(char *text)
{
    text[0] = '\0';
    for (const char *const *p = options_policies; *p; p++)
        join(text, NAMES_MAX, *p);
    return text;
}

const char *option_names(const struct option *table, char *text, size_t size)
{
    text[0] = '\0';
    for (; table->key; table++)
        join(text, size, table->key);
    return text;
}

static bool policy_known(const char *name)
{
    for (const char *const *p = options_policies; *p; p++)
        if (strcmp(*p, name) == 0)
            return true;
    return false;
}

/* True when TEXT is "NAME:VALUE;NAME:VALUE" or empty. */
static bool named_values(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";

    while (*text) {
        size_t name = strspn(text, letters);
        size_t length = strcspn(text, ";");
        if (!name || text[name] != ':' || name + 1 >= length)
            return false;
        for (size_t i = name + 1; i < length; i++)
            if (!isalnum((unsigned char)text[i]) && !strchr("._-", text[i]))
                return false;
        text += length;
        if (*text && !*++text)
            return false;
    }
    return true;
}

static bool printable(const char *text)
{
    for (const char *p = text; *p; p++)
        if (!isgraph((unsigned char)*p))
            return false;
    return *text != '\0';
}

/* TEXT as a number without sign or exponent, POINTS of "." at most; -1: it is
 * none. */
static double plain_number(const char *text, size_t points)
{
    size_t whole = strspn(text, "0123456789");
    size_t point = points && text[whole] == '.';
    size_t length = whole + point + strspn(text + whole + point, "0123456789");

    return whole && !text[length] && length < 10 ? strtod(text, NULL) : -1;
}

/* The number of VALUE among "a|b|c", or -1. */
static int word_number(const char *words, const char *value)
{
    size_t length = strlen(value);

    for (int number = 0; *words; number++) {
        size_t n = strcspn(words, "|");
        if (n == length && strncmp(words, value, n) == 0)
            return number;
        words += n + (words[n] == '|');
    }
    return -1;
}

/* Fill WHY when VALUE is nothing for OPTION, whose number, if it has one, is
 * *NUMBER. */
static void check(const struct option *o, const char *value, double *number,
                  char *why, size_t size)
{
    char names[NAMES_MAX];
    double low = (double)o->low, high = (double)o->high;
    uint64_t ns = 0;

    why[0] = '\0';
    switch (o->type) {
    case OPTION_POLICY:
        if (!policy_known(value))
            snprintf(why, size, "unknown policy, one of %s",
                     policy_names(names));
        break;
    case OPTION_NAMED:
        if (strlen(value) >= OPTIONS_TEXT_MAX)
            snprintf(why, size, "longer than %d bytes", OPTIONS_TEXT_MAX - 1);
        else if (!named_values(value))
            snprintf(why, size, "not NAME:VALUE;NAME:VALUE");
        break;
    case OPTION_NAME:
        if (strlen(value) >= OPTIONS_TEXT_MAX || !printable(value))
            snprintf(why, size, "empty, longer than %d bytes, or not printable",
                     OPTIONS_TEXT_MAX - 1);
        break;
    case OPTION_COUNT:
        *number = plain_number(value, 0);
        if (*number < low || *number > high)
            snprintf(why, size, "not a number from %.0f to %.0f", low, high);
        break;
    case OPTION_NUMBER:
        *number = plain_number(value, 1);
        if (*number * 10 < low || *number * 10 > high)
            snprintf(why, size, "not a number from %.1f to %.0f", low / 10,
                     high / 10);
        break;
    case OPTION_SWITCH:
        *number = !strcmp(value, "yes") || !strcmp(value, "1")  ? 1
                  : !strcmp(value, "no") || !strcmp(value, "0") ? -1
                                                                : 0;
        if (*number == 0)
            snprintf(why, size, "neither yes nor no");
        break;
    case OPTION_WORD:
        *number = word_number(o->words, value);
        if (*number < 0)
            snprintf(why, size, "not one of %s", o->words);
        break;
    case OPTION_DURATION:
        if (duration_parse(value, &ns) < 0)
            snprintf(why, size, "not a duration like 50ms (ns, us, ms, s, m, h)");
        else if (ns < o->low || ns > o->high)
            snprintf(why, size, "not from %" PRIu64 "ms to %" PRIu64 "ms",
                     o->low / MS, o->high / MS);
        *number = (double)ns; /* a day has fewer than 2^53 */
        break;
    }
}

int option_set(void *base, const struct option *option, const char *prefix,
               const char *value, struct errtext *err)
{
    void *field = (char *)base + option->offset;
    double number = 0;
    char why[NAMES_MAX + 64];

    check(option, value, &number, why, sizeof(why));
    if (why[0])
        return errtext_set(err, EINVAL, "%s%s=%.60s%s: %s", prefix, option->key,
                           value, strlen(value) > 60 ? "..." : "", why);
    switch (option->type) {
    case OPTION_POLICY:
    case OPTION_NAMED:
    case OPTION_NAME:
        strcpy(field, value); /* check() has seen to its length */
        break;
    case OPTION_NUMBER:
        *(double *)field = number;
        break;
    case OPTION_DURATION:
        *(uint64_t *)field = (uint64_t)number;
        break;
    case OPTION_COUNT:
    case OPTION_SWITCH:
    case OPTION_WORD:
        *(int *)field = (int)number;
        break;
    }
    return 0;
}

const struct option *option_find(const struct option *table, const char *key)
{
    for (; table->key; table++)
        if (strcmp(table->key, key) == 0)
            return table;
    return NULL;
}

/* Copy the entry at *REST up to the next comma into ENTRY and move behind it.
 * Returns 1, 0 at the end, or -1 when it is too long. */
int option_next_entry(const char **rest, char *entry, struct errtext *err)
{
    size_t length = strcspn(*rest, ",");

    if (**rest == '\0')
        return 0;
    if (length >= ENTRY_MAX)
        return errtext_set(err, EINVAL, "%.60s...: longer than %d bytes", *rest,
                           ENTRY_MAX - 1);
    memcpy(entry, *rest, length);
    entry[length] = '\0';
    *rest += length + ((*rest)[length] == ',');
    return 1;
}

void job_options_init(struct job_options *options)
{
    memset(options, 0, sizeof(*options));
}

/* One entry of --coschedule: a policy's name or key=value. */
static int job_entry(struct job_options *options, char *entry, unsigned *seen,
                     struct errtext *err)
{
    char policies[NAMES_MAX], names[NAMES_MAX];
    char *equals = strchr(entry, '=');
    const struct option *option;

    if (equals) {
        *equals = '\0';
        option = option_find(job_table, entry);
        *equals = '=';
    } else {
        option = policy_known(entry) ? &job_table[0] : NULL;
    }
    if (!option)
        return errtext_set(err, EINVAL, "%.40s: neither a policy (%s) nor "
                           "key=value (%s)", entry,
                           policy_names(policies),
                           option_names(job_table, names, sizeof(names)));
    if (*seen & 1u << (option - job_table))
        return errtext_set(err, EINVAL, "%.40s: %s is given twice", entry,
                           option->key);
    *seen |= 1u << (option - job_table);
    return option_set(options, option, "", equals ? equals + 1 : entry, err);
}

int job_options_parse(struct job_options *options, const char *text,
                      struct errtext *err)
{
    struct job_options result;
    char entry[ENTRY_MAX];
    unsigned seen = 0;
    int more = 0;

    job_options_init(&result);
    if (!text || strcmp(text, "(null)") == 0)
        text = "";
    while ((more = option_next_entry(&text, entry, err)) > 0)
        if (job_entry(&result, entry, &seen, err) < 0)
            return -1;
    if (more < 0)
        return -1;
    if (result.max_cores && result.min_cores > result.max_cores)
        return errtext_set(err, EINVAL, "min_cores=%d: greater than "
                           "max_cores=%d", result.min_cores, result.max_cores);
    *options = result;
    return 0;
}

const char *job_options_key(size_t i)
{
    return i < sizeof(job_table) / sizeof(job_table[0]) ? job_table[i].key
                                                        : NULL;
}

void option_help(FILE *out, const struct option *table, const char *prefix)
{
    for (; table->key; table++) {
        int width = fprintf(out, "  %s%s=", prefix, table->key);
        fprintf(out, "%*s %s", 24 - width, "", table->help);
        if (table->initial && *table->initial)
            fprintf(out, " (default %s)", table->initial);
        fputc('\n', out);
    }
}
