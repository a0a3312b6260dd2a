/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Event sets: names, LIKWID's strings, files, and the one for a processor. */

#include "node_agent/counters/events.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_reader.h"

#define FORMAT "coschedule-events/1"
#define HIGHEST 63 /* number for "#" */

static const struct {
    const char *name;
    const char *unit;
} metrics[EVENTS_METRICS] = {
    [EVENTS_CYCLES] = {"cycles", "cycles"},
    [EVENTS_STALLED] = {"stalled", "cycles"},
    [EVENTS_INSTRUCTIONS] = {"instructions", "instructions"},
    [EVENTS_LLC_ACCESSES] = {"llc_accesses", "requests"},
    [EVENTS_READ_MISSES] = {"read_misses", "requests"},
    [EVENTS_LOCAL_MISSES] = {"local_misses", "requests"},
    [EVENTS_REMOTE_MISSES] = {"remote_misses", "requests"},
    [EVENTS_READS] = {"reads", "requests"},
    [EVENTS_WRITES] = {"writes", "requests"},
    [EVENTS_PREFETCHES] = {"prefetches", "requests"},
    [EVENTS_ENERGY] = {"energy", "J"},
};

const char *events_metric_name(enum events_metric metric)
{
    return metrics[metric].name;
}

const char *events_metric_unit(enum events_metric metric)
{
    return metrics[metric].unit;
}

static const char *variable_name(const void *arg, size_t index)
{
    const struct events *e = arg;

    return e->variable[index].name;
}

struct formula_names events_names(const struct events *events)
{
    return (struct formula_names){
        .count = events->variables + 2,
        .name = variable_name,
        .arg = events,
    };
}

size_t events_string(const struct events *events, size_t set, char *text,
                     size_t size)
{
    const struct events_set *s = &events->set[set];
    size_t used = 0;

    if (size)
        *text = '\0';
    for (size_t i = 0; i < s->count; i++) {
        const struct events_event *e = &s->event[i];
        int n = snprintf(used < size ? text + used : NULL,
                         used < size ? size - used : 0, "%s%s:%s%s%s",
                         i ? "," : "", e->event, e->counter,
                         *e->options ? ":" : "", e->options);
        used += (size_t)n;
    }
    return used;
}

void events_free(struct events *events)
{
    int saved = errno;

    if (!events)
        return;
    for (size_t m = 0; m < EVENTS_METRICS; m++) {
        struct events_formula *f = &events->metric[m];
        formula_free(f->formula);
        for (size_t n = 0; n < EVENTS_PARTS; n++)
            for (size_t i = 0; i < EVENTS_PARTS; i++)
                formula_free(f->parts[n][i]);
    }
    free(events->set);
    free(events);
    errno = saved;
}

/* ---- reading a file ------------------------------------------------------- */

struct loader {
    struct json_reader reader;
    struct events *events;
};

/* What LIKWID and formulas take for a name, with "#" where HASH. */
static bool is_name(const char *s, bool hash)
{
    if (!isalpha((unsigned char)*s))
        return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_' && (*s != '#' || !hash))
            return false;
    return true;
}

/* The value TEXT of member KEY must be a name, or empty where OPTIONAL. */
static int check_name(struct loader *l, const char *key, const char *text,
                      bool optional)
{
    return (optional && !*text) || is_name(text, true)
               ? 0
               : json_reader_fail(&l->reader, key, "\"%s\" is not a name",
                                  text);
}

static int read_match(struct json_reader *reader, const json_t *object, size_t index,
                      void *arg)
{
    struct events *e = ((struct loader *)arg)->events;
    struct events_match *m = &e->match[e->matches];
    const json_t *models;
    size_t family = 0;
    double model = 0;
    const struct json_member members[] = {
        JSON_MUST_CHARS("vendor", m->vendor),
        JSON_MUST_IN("family", JSON_COUNT, 0, 0xffff, &family),
        JSON_MUST_IN("models", JSON_LIST, 1, EVENTS_MODELS, &models),
        JSON_MAY_CHARS("brand", m->brand),
        {0}};

    (void)index;
    if (json_reader_members(reader, object, members) < 0)
        return -1;
    m->family = (unsigned)family;
    m->models = json_array_size(models);
    for (size_t i = 0; i < m->models; i++) {
        if (json_reader_element(reader, models, "models", i,
                                JSON_NOT_NEGATIVE, &model) < 0)
            return -1;
        if (model > 0xffff)
            return json_reader_fail(reader, "models", "[%zu]: %g is more than 65535", i, model);
        m->model[i] = (unsigned)model;
    }
    e->matches++;
    return 0;
}

/* PATTERN with NUMBER for each "#" (as it is where NUMBER is negative) into
 * TEXT; false when it does not fit. */
static bool expand(const char *pattern, int number, char *text, size_t size)
{
    size_t used = 0;

    for (; *pattern; pattern++) {
        int n = *pattern == '#' && number >= 0
                    ? snprintf(text + used, size - used, "%d", number)
                    : snprintf(text + used, size - used, "%c", *pattern);
        used += (size_t)n;
        if (used >= size)
            return false;
    }
    text[used] = '\0';
    return true;
}

/* The event of another set that is the same on the same counter, or NULL. */
static const struct events_event *same_event(const struct events *e,
                                             const struct events_event *event)
{
    for (size_t s = 0; s < e->sets; s++)
        for (size_t i = 0; i < e->set[s].count; i++) {
            const struct events_event *other = &e->set[s].event[i];
            if (!strcmp(other->counter, event->counter) &&
                !strcmp(other->event, event->event) &&
                !strcmp(other->options, event->options))
                return other;
        }
    return NULL;
}

static int find_variable(struct loader *l, struct events_event *event,
                         const char *name, bool optional)
{
    struct events *e = l->events;
    const struct events_event *same = same_event(e, event);
    size_t v = 0;

    while (v < e->variables && strcmp(e->variable[v].name, name) != 0)
        v++;
    if (v < e->variables && (!same || same->variable != v))
        return json_reader_fail(&l->reader, NULL,
                                "%s is another event's already; name this one "
                                "with \"as\"", name);
    if (!strcmp(name, "time") || !strcmp(name, "nodes"))
        return json_reader_fail(&l->reader, NULL, "%s is not a counter", name);
    if (v == EVENTS_VARIABLES)
        return json_reader_fail(&l->reader, NULL, "more than %d counters",
                                EVENTS_VARIABLES);
    if (v == e->variables) {
        snprintf(e->variable[v].name, sizeof(e->variable[v].name), "%s", name);
        e->variable[v].optional = optional;
        e->variables++;
    }
    event->variable = v;
    return 0;
}

/* One event of the set; those with "#" for one NUMBER. */
static int add_event(struct loader *l, struct events_set *set,
                     const struct events_event *pattern, const char *as,
                     bool optional, int number)
{
    struct events_event event = {.variable = 0};
    char name[sizeof(l->events->variable[0].name)];

    if (!expand(pattern->counter, number, event.counter,
                sizeof(event.counter)) ||
        !expand(pattern->event, number, event.event, sizeof(event.event)) ||
        !expand(*as ? as : pattern->counter, number, name, sizeof(name)))
        return json_reader_fail(&l->reader, NULL, "a name is too long");
    snprintf(event.options, sizeof(event.options), "%s", pattern->options);
    if (set->count == EVENTS_SET_EVENTS)
        return json_reader_fail(&l->reader, NULL,
                                "more than %d events in the set",
                                EVENTS_SET_EVENTS);
    for (size_t i = 0; i < set->count; i++)
        if (!strcmp(set->event[i].counter, event.counter))
            return json_reader_fail(&l->reader, NULL,
                                    "%s is used twice in the set",
                                    event.counter);
    if (find_variable(l, &event, name, optional) < 0)
        return -1;
    set->event[set->count++] = event;
    return 0;
}

/* An event of the last set. */
static int read_event(struct json_reader *reader, const json_t *object, size_t index,
                      void *arg)
{
    struct loader *l = arg;
    struct events_set *set = &l->events->set[l->events->sets - 1];
    struct events_event pattern = {.variable = 0};
    char as[sizeof(pattern.counter)] = "";
    size_t first = 0, last = 0;
    bool optional = false;
    const struct json_member members[] = {
        JSON_MUST_CHARS("counter", pattern.counter),
        JSON_MUST_CHARS("event", pattern.event),
        JSON_MAY_CHARS("as", as),
        JSON_MAY_CHARS("options", pattern.options),
        JSON_MAY("optional", JSON_FLAG, &optional),
        JSON_KNOWN("first"),
        JSON_KNOWN("last"),
        {0}};

    (void)index;
    if (json_reader_members(reader, object, members) < 0 ||
        check_name(l, "counter", pattern.counter, false) < 0 ||
        check_name(l, "event", pattern.event, false) < 0 ||
        check_name(l, "as", as, true) < 0)
        return -1;
    /* It becomes part of a list that LIKWID takes apart. */
    if (strspn(pattern.options,
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
               "0123456789_=:") != strlen(pattern.options))
        return json_reader_fail(reader, "options",
                                "\"%s\" is not LIKWID's NAME=VALUE:...",
                                pattern.options);
    bool many = strchr(pattern.counter, '#') != NULL;
    if (!many && (json_object_get(object, "first") ||
                  json_object_get(object, "last") ||
                  strchr(pattern.event, '#') || strchr(as, '#')))
        return json_reader_fail(reader, "counter", "\"%s\" has no \"#\"",
                                pattern.counter);
    if (many &&
        (json_reader_count(reader, object, "first", true, 0, HIGHEST,
                           &first) < 0 ||
         json_reader_count(reader, object, "last", false, first, HIGHEST,
                           &last) < 0))
        return -1;
    for (size_t n = first; n <= last; n++)
        if (add_event(l, set, &pattern, as, optional, (int)n) < 0)
            return -1;
    return 0;
}

static int read_set(struct json_reader *reader, const json_t *list, size_t index,
                    void *arg)
{
    ((struct loader *)arg)->events->sets = index + 1;
    if (!json_is_array(list) || !json_array_size(list))
        return json_reader_fail(reader, NULL, "must be a list of events");
    return json_reader_each(reader, list, "", read_event, arg);
}

/* Parse TEXT, which is member KEY. */
static int parse(struct loader *l, const char *key, const char *text,
                 struct formula **formula)
{
    struct formula_names names = events_names(l->events);
    struct errtext why = {""};

    *formula = formula_parse(text, &names, &why);
    if (!*formula)
        return json_reader_fail(&l->reader, key, "%s", why.text);
    return 0;
}

/* "parts": {"2": ["...", "..."]} */
static int read_parts(struct loader *l, const json_t *metric,
                      struct events_formula *f)
{
    const json_t *parts = json_object_get(metric, "parts");
    const char *key;
    json_t *list;
    int rc = 0;

    if (!parts)
        return 0;
    if (!json_is_object(parts))
        return json_reader_fail(&l->reader, "parts", "must be an object");
    size_t mark = json_reader_enter(&l->reader, "parts");
    json_object_foreach((json_t *)parts, key, list) {
        size_t n = (size_t)(key[0] - '0');
        if (key[1] || n < 2 || n > EVENTS_PARTS)
            rc = json_reader_fail(&l->reader, key,
                                  "is not a number of NUMA nodes 2..%d",
                                  EVENTS_PARTS);
        else if (!json_is_array(list) || json_array_size(list) != n)
            rc = json_reader_fail(&l->reader, key,
                                  "must be a list of %zu formulas", n);
        for (size_t i = 0; rc == 0 && i < n; i++) {
            const char *text = json_string_value(json_array_get(list, i));
            rc = text ? parse(l, key, text, &f->parts[n - 1][i])
                      : json_reader_fail(&l->reader, key,
                                         "must be a list of %zu formulas", n);
        }
        if (rc < 0)
            break;
    }
    json_reader_leave(&l->reader, mark);
    return rc;
}

static int read_per(struct loader *l, const json_t *object,
                    enum events_metric metric, enum events_per *per)
{
    static const char *const names[] = {"cpu", "llc_domain", "package"};
    const char *text;

    if (json_reader_string(&l->reader, object, "per", false, &text) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(text, names[i])) {
            *per = (enum events_per)i;
            if (metric >= EVENTS_READS && *per == EVENTS_PER_CPU)
                return json_reader_fail(&l->reader, "per",
                                        "\"cpu\" counts no %s",
                                        events_metric_name(metric));
            if ((metric == EVENTS_ENERGY) != (*per == EVENTS_PER_PACKAGE) &&
                (metric == EVENTS_ENERGY || metric < EVENTS_READS))
                return json_reader_fail(&l->reader, "per",
                                        "\"%s\" counts no %s", text,
                                        events_metric_name(metric));
            return 0;
        }
    return json_reader_fail(&l->reader, "per",
                            "\"%s\" is not \"cpu\", \"llc_domain\" or "
                            "\"package\"", text);
}

static int read_metric(struct loader *l, const json_t *object,
                       enum events_metric metric)
{
    struct events_formula *f = &l->events->metric[metric];
    const char *text, *unit;
    const struct json_member members[] = {
        JSON_MUST("formula", JSON_TEXT, &text),
        JSON_MUST("unit", JSON_TEXT, &unit),
        JSON_MUST_CHARS("source", f->source),
        JSON_KNOWN("per"),
        JSON_KNOWN("parts"),
        {0}};

    if (json_reader_members(&l->reader, object, members) < 0 ||
        read_per(l, object, metric, &f->per) < 0)
        return -1;
    if (strcmp(unit, events_metric_unit(metric)) != 0)
        return json_reader_fail(&l->reader, "unit",
                                "\"%s\": %s is in %s", unit,
                                events_metric_name(metric),
                                events_metric_unit(metric));
    if (json_object_get(object, "parts") &&
        (metric < EVENTS_READS || f->per != EVENTS_PER_PACKAGE ||
         metric == EVENTS_ENERGY))
        return json_reader_fail(&l->reader, "parts",
                                "only where a package counts for NUMA nodes");
    if (parse(l, "formula", text, &f->formula) < 0)
        return -1;
    return read_parts(l, object, f);
}

static int read_metrics(struct loader *l, const json_t *root)
{
    struct json_member known[EVENTS_METRICS + 1] = {{0}};
    const json_t *object = json_object_get(root, "metrics");
    int rc = 0;

    for (int m = 0; m < EVENTS_METRICS; m++)
        known[m] = (struct json_member)JSON_KNOWN(
            events_metric_name((enum events_metric)m));
    size_t mark = json_reader_enter(&l->reader, "metrics");
    rc = json_reader_members(&l->reader, object, known);
    for (int m = 0; rc == 0 && m < EVENTS_METRICS; m++) {
        const json_t *metric = json_object_get(object, known[m].key);
        if (!metric)
            continue;
        size_t inner = json_reader_enter(&l->reader, known[m].key);
        rc = read_metric(l, metric, (enum events_metric)m);
        json_reader_leave(&l->reader, inner);
    }
    if (rc == 0 && !l->events->metric[EVENTS_CYCLES].formula)
        rc = json_reader_fail(&l->reader, "cycles",
                              "is missing: all else is compared with them");
    json_reader_leave(&l->reader, mark);
    return rc;
}

static int read_root(struct loader *l, const json_t *root)
{
    struct events *e = l->events;
    const char *format;
    const json_t *list;
    const struct json_member members[] = {
        JSON_MUST("format", JSON_TEXT, &format),
        JSON_MUST_CHARS("name", e->name),
        JSON_MUST_CHARS("title", e->title),
        JSON_MUST_CHARS("likwid", e->likwid),
        JSON_KNOWN("$schema"),
        JSON_KNOWN("comment"),
        JSON_KNOWN("cpus"),
        JSON_KNOWN("sets"),
        JSON_KNOWN("metrics"),
        {0}};

    if (json_reader_members(&l->reader, root, members) < 0)
        return -1;
    if (strcmp(format, FORMAT) != 0)
        return json_reader_fail(&l->reader, "format",
                                "\"%s\" is not \"" FORMAT "\"", format);
    if (json_reader_array(&l->reader, root, "cpus", false, 1, EVENTS_MATCHES, &list) < 0 ||
        json_reader_each(&l->reader, list, "cpus", read_match, l) < 0 ||
        json_reader_array(&l->reader, root, "sets", false, 1, EVENTS_SETS, &list) < 0)
        return -1;
    if (!(e->set = calloc(json_array_size(list), sizeof(*e->set))))
        return errtext_set(l->reader.err, ENOMEM, "out of memory");
    if (json_reader_each(&l->reader, list, "sets", read_set, l) < 0)
        return -1;
    strcpy(e->variable[e->variables].name, "time");
    strcpy(e->variable[e->variables + 1].name, "nodes");
    return read_metrics(l, root);
}

struct events *events_load(const char *file, struct errtext *err)
{
    struct loader l = {.reader = {.err = err}};
    json_t *root = json_reader_load(&l.reader, file);

    if (!root)
        return NULL;
    l.events = calloc(1, sizeof(*l.events));
    if (!l.events) {
        errtext_set(err, ENOMEM, "%s: out of memory", file);
    } else if (read_root(&l, root) < 0) {
        events_free(l.events);
        l.events = NULL;
    }
    int saved = errno;
    json_decref(root);
    errno = saved;
    return l.events;
}

/* ---- the file for a processor --------------------------------------------- */

/* How well EVENTS fit CPU: 3 by model and brand, 2 by model, 1 by LIKWID's name
 * for it, 0 not at all. */
static int fitness(const struct events *e, const struct events_cpu *cpu)
{
    int best = *cpu->arch && !strcmp(e->name, cpu->arch);

    for (size_t i = 0; i < e->matches; i++) {
        const struct events_match *m = &e->match[i];
        bool model = false;
        for (size_t j = 0; j < m->models; j++)
            model = model || m->model[j] == cpu->model;
        if (!model || m->family != cpu->family ||
            strcmp(m->vendor, cpu->vendor) != 0 ||
            (*m->brand && !strstr(cpu->brand, m->brand)))
            continue;
        int fit = *m->brand ? 3 : 2;
        best = fit > best ? fit : best;
    }
    return best;
}

static int is_json(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot && !strcmp(dot, ".json") && entry->d_name[0] != '.' &&
           !strstr(entry->d_name, ".schema.");
}

/* The best of DIRECTORY's files, and how good it is. */
static struct events *search(const char *directory, struct dirent **entry,
                             int count, const struct events_cpu *cpu,
                             int *fit, struct errtext *note)
{
    struct events *best = NULL;

    *fit = 0;
    for (int i = 0; i < count; i++) {
        char path[4096];
        struct errtext why = {""};
        snprintf(path, sizeof(path), "%s/%s", directory, entry[i]->d_name);
        struct events *e = events_load(path, &why);
        int good = e ? fitness(e, cpu) : 0;
        if (!e)
            errtext_set(note, errno, "%s", why.text);
        if (good > *fit) {
            events_free(best);
            best = e;
            *fit = good;
        } else {
            events_free(e);
        }
    }
    return best;
}

struct events *events_choose(const char *directory,
                             const struct events_cpu *cpu,
                             struct errtext *note, struct errtext *err)
{
    struct dirent **entry;
    int fit;
    int count = scandir(directory, &entry, is_json, alphasort);

    if (note)
        note->text[0] = '\0';
    if (count < 0) {
        errtext_set(err, errno, "%s: %s", directory, strerror(errno));
        return NULL;
    }
    struct events *e = search(directory, entry, count, cpu, &fit, note);
    for (int i = 0; i < count; i++)
        free(entry[i]);
    free(entry);
    if (!e)
        errtext_set(err, ENOENT,
                    "no event set in %s for \"%s\" (%s family %u model %u)",
                    directory, cpu->brand, cpu->vendor, cpu->family,
                    cpu->model);
    else if (fit == 1)
        errtext_set(note, 0,
                    "\"%s\" (family %u model %u) is in no event set; using %s, "
                    "as LIKWID calls it",
                    cpu->brand, cpu->family, cpu->model, e->name);
    return e;
}
