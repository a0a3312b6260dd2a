/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Event sets: names, LIKWID's strings, and the file for a processor. */

#include "node_agent/counters/events.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
