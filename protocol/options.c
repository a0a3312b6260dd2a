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

/* "a, b, c": all policies (SIZE bytes of TEXT). */
static const char *policy_names(char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (const char *const *p = options_policies; *p && used < size; p++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 used ? ", " : "", *p);
    return text;
}

/* "a, b, c": the keys of TABLE. */
const char *option_names(const struct option *table, char *text,
                             size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (; table->key && used < size; table++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 used ? ", " : "", table->key);
    return text;
}

static bool policy_known(const char *name)
{
    for (const char *const *p = options_policies; *p; p++)
        if (strcmp(*p, name) == 0)
            return true;
    return false;
}

static int set_policy(char *field, const char *prefix, const char *key,
                      const char *value, struct errtext *err)
{
    char names[NAMES_MAX];

    if (!policy_known(value))
        return errtext_set(err, EINVAL, "%s%s=%.60s: unknown policy, one of %s",
                           prefix, key, value,
                           policy_names(names, sizeof(names)));
    snprintf(field, OPTIONS_POLICY_MAX, "%s", value);
    return 0;
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

static int set_named(char *field, const struct option *option,
                     const char *prefix, const char *value,
                     struct errtext *err)
{
    if (strlen(value) >= OPTIONS_TEXT_MAX)
        return errtext_set(err, EINVAL, "%s%s=%.60s...: longer than %d bytes",
                           prefix, option->key, value, OPTIONS_TEXT_MAX - 1);
    if (!named_values(value))
        return errtext_set(err, EINVAL,
                           "%s%s=%.60s: not NAME:VALUE;NAME:VALUE", prefix,
                           option->key, value);
    snprintf(field, OPTIONS_TEXT_MAX, "%s", value);
    return 0;
}

static int set_count(int *field, const struct option *option,
                     const char *prefix, const char *value,
                     struct errtext *err)
{
    char *end;
    unsigned long number = strtoul(value, &end, 10);

    if (!isdigit((unsigned char)value[0]) || *end || strlen(value) > 9 ||
        number < option->low || number > option->high)
        return errtext_set(err, EINVAL, "%s%s=%.60s: not a number from %" PRIu64
                           " to %" PRIu64, prefix, option->key, value,
                           option->low, option->high);
    *field = (int)number;
    return 0;
}

static int set_number(double *field, const struct option *option,
                      const char *prefix, const char *value,
                      struct errtext *err)
{
    size_t whole = strspn(value, "0123456789");
    size_t point = value[whole] == '.';
    size_t length = whole + point + strspn(value + whole + point, "0123456789");
    double number = length && length < 10 ? strtod(value, NULL) : -1;

    if (!whole || value[length] || number * 10 < (double)option->low ||
        number * 10 > (double)option->high)
        return errtext_set(err, EINVAL,
                           "%s%s=%.60s: not a number from %.1f to %.0f", prefix,
                           option->key, value, (double)option->low / 10,
                           (double)option->high / 10);
    *field = number;
    return 0;
}

static int set_switch(int *field, const struct option *option,
                      const char *prefix, const char *value,
                      struct errtext *err)
{
    if (strcmp(value, "yes") == 0 || strcmp(value, "1") == 0)
        *field = 1;
    else if (strcmp(value, "no") == 0 || strcmp(value, "0") == 0)
        *field = -1;
    else
        return errtext_set(err, EINVAL, "%s%s=%.60s: neither yes nor no",
                           prefix, option->key, value);
    return 0;
}

static int set_word(int *field, const struct option *option, const char *prefix,
                    const char *value, struct errtext *err)
{
    size_t length = strlen(value);
    int number = 0;

    for (const char *w = option->words; *w; number++) {
        size_t n = strcspn(w, "|");
        if (n == length && strncmp(w, value, n) == 0) {
            *field = number;
            return 0;
        }
        w += n + (w[n] == '|');
    }
    return errtext_set(err, EINVAL, "%s%s=%.60s: not one of %s", prefix,
                       option->key, value, option->words);
}

static int set_name(char *field, const struct option *option,
                    const char *prefix, const char *value, struct errtext *err)
{
    size_t length = strlen(value);

    for (size_t i = 0; i < length; i++)
        if (!isgraph((unsigned char)value[i]))
            length = 0;
    if (length == 0 || length >= OPTIONS_TEXT_MAX)
        return errtext_set(err, EINVAL,
                           "%s%s=%.60s: empty, longer than %d bytes, or not "
                           "printable", prefix, option->key, value,
                           OPTIONS_TEXT_MAX - 1);
    memcpy(field, value, length + 1);
    return 0;
}

static int set_duration(uint64_t *field, const struct option *option,
                        const char *prefix, const char *value,
                        struct errtext *err)
{
    uint64_t ns;

    if (duration_parse(value, &ns) < 0)
        return errtext_set(err, EINVAL, "%s%s=%.60s: not a duration like 50ms "
                           "(ns, us, ms, s, m, h)", prefix, option->key, value);
    if (ns < option->low || ns > option->high)
        return errtext_set(err, EINVAL, "%s%s=%.60s: not from %" PRIu64
                           "ms to %" PRIu64 "ms", prefix, option->key, value,
                           option->low / MS, option->high / MS);
    *field = ns;
    return 0;
}

/* Set OPTION in the structure at BASE to VALUE as typed after PREFIX. */
int option_set(void *base, const struct option *option, const char *prefix,
               const char *value, struct errtext *err)
{
    void *field = (char *)base + option->offset;

    switch (option->type) {
    case OPTION_POLICY:
        return set_policy(field, prefix, option->key, value, err);
    case OPTION_NAMED:
        return set_named(field, option, prefix, value, err);
    case OPTION_COUNT:
        return set_count(field, option, prefix, value, err);
    case OPTION_NUMBER:
        return set_number(field, option, prefix, value, err);
    case OPTION_SWITCH:
        return set_switch(field, option, prefix, value, err);
    case OPTION_WORD:
        return set_word(field, option, prefix, value, err);
    case OPTION_NAME:
        return set_name(field, option, prefix, value, err);
    case OPTION_DURATION:
        return set_duration(field, option, prefix, value, err);
    }
    return errtext_set(err, EINVAL, "%s: bad table", option->key);
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
                           policy_names(policies, sizeof(policies)),
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

void job_options_help(FILE *out)
{
    option_help(out, job_table, "");
}
