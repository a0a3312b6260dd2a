/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the runner tells the plugin: one file of settings. */

#include "emulator/plugin/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS      (EMULATED_NODES + 4) /* of the longest line */
#define LINE       4096
#define PICOSECOND 1e-6 /* in us: the shortest service time */
#define NO_DOMAIN  UINT8_MAX

struct reader {
    struct settings *settings;
    const char *path;
    unsigned line;
    unsigned words; /* of the line, its name not counted */
    char *word[WORDS];
    bool failed; /* the first error stays */
    char *error;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static void fail(struct reader *r, const char *format, ...)
{
    va_list args;
    char what[256], where[16] = "";

    if (r->failed)
        return;
    r->failed = true;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    if (r->line)
        snprintf(where, sizeof(where), ":%u", r->line);
    snprintf(r->error, r->size, "%s%s: %s", r->path, where, what);
}

static uint64_t whole(struct reader *r, const char *word, uint64_t least, uint64_t most)
{
    char *end;

    errno = 0;
    uint64_t value = strtoull(word, &end, 10);
    if (errno || *end || !isdigit((unsigned char)*word) || value < least || value > most) {
        fail(r, "%s: not a number from %ju to %ju", word, (uintmax_t)least, (uintmax_t)most);
        return least;
    }
    return value;
}

static double real(struct reader *r, const char *word, double least)
{
    char *end;
    double value = strtod(word, &end);

    if (*end || end == word || !(value >= least && value <= 1e6))
        fail(r, "%s: not a number from %g to 1e6", word, least);
    return value;
}

static struct station_settings station(struct reader *r, char **word)
{
    return (struct station_settings){.latency_ns = real(r, word[0], 0),
                                     .read_us = real(r, word[1], PICOSECOND),
                                     .write_us = real(r, word[2], PICOSECOND)};
}

static void read_node(struct reader *r)
{
    struct settings *s = r->settings;

    if (s->nodes == EMULATED_NODES) {
        fail(r, "more than %d NUMA nodes", EMULATED_NODES);
        return;
    }
    s->mib[s->nodes] = whole(r, r->word[0], 1, 1 << 24);
    s->node[s->nodes++] = station(r, r->word + 1);
}

static void read_link(struct reader *r)
{
    struct settings *s = r->settings;

    if (s->links == EMULATED_LINKS)
        fail(r, "more than %d links", EMULATED_LINKS);
    else
        s->link[s->links++] = station(r, r->word);
}

/* FIRST or FIRST-LAST, of the domain that came last. */
static void give_cpus(struct reader *r, char *range)
{
    struct settings *s = r->settings;
    char *dash = strchr(range, '-');

    if (dash)
        *dash++ = '\0';
    uint64_t first = whole(r, range, 0, EMULATED_CPUS - 1);
    uint64_t last = whole(r, dash ? dash : range, first, EMULATED_CPUS - 1);
    for (uint64_t c = first; c <= last; c++) {
        if (s->cpu_domain[c] != NO_DOMAIN)
            fail(r, "CPU %ju is in two LLC domains", (uintmax_t)c);
        s->cpu_domain[c] = (uint8_t)(s->domains - 1);
        if (c >= s->cpus)
            s->cpus = (unsigned)c + 1;
    }
}

static void read_domain(struct reader *r)
{
    struct settings *s = r->settings;
    char *save, *range;

    if (s->domains == EMULATED_CPUS) {
        fail(r, "more than %d LLC domains", EMULATED_CPUS);
        return;
    }
    s->domain[s->domains++].node = (unsigned)whole(r, r->word[1], 0, EMULATED_NODES - 1);
    for (range = strtok_r(r->word[0], ",", &save); range; range = strtok_r(NULL, ",", &save))
        give_cpus(r, range);
}

static void read_route(struct reader *r)
{
    struct settings *s = r->settings;

    if (!s->domains || !s->nodes || !s->links) {
        fail(r, "a route before what it joins");
        return;
    }
    struct domain_settings *d = &s->domain[whole(r, r->word[0], 0, s->domains - 1)];
    uint64_t node = whole(r, r->word[1], 0, s->nodes - 1);
    if (d->route_length[node])
        fail(r, "a second route from LLC domain %s to NUMA node %s", r->word[0], r->word[1]);
    for (unsigned i = 2; i < r->words && !r->failed; i++)
        d->route[node][d->route_length[node]++] = (uint8_t)whole(r, r->word[i], 0, s->links - 1);
}

static void read_page(struct reader *r)
{
    int length = snprintf(r->settings->page, sizeof(r->settings->page), "%s", r->word[0]);

    if ((size_t)length >= sizeof(r->settings->page))
        fail(r, "the name of the page is too long");
}

/* Lines of another kind than one whole number. */
static const struct {
    const char *name;
    unsigned words; /* at least */
    unsigned most;
    void (*read)(struct reader *r);
} facts[] = {
    {"page", 1, 1, read_page},
    {"node", 4, 4, read_node},
    {"domain", 2, 2, read_domain},
    {"link", 3, 3, read_link},
    {"route", 3, 2 + EMULATED_NODES, read_route},
};

static const struct {
    const char *name;
    uint64_t least;
    uint64_t most;
    uint64_t other; /* without such a line */
    size_t offset;  /* of a uint64_t */
} numbers[] = {
    {"mhz", 1, 100000, 200, offsetof(struct settings, mhz)},
    {"quantum_ns", 100, 100000000, 20000, offsetof(struct settings, quantum_ns)},
    {"parallel", 0, EMULATED_CPUS, 0, offsetof(struct settings, parallel)},
    {"seed", 0, UINT64_MAX, 1, offsetof(struct settings, seed)},
    {"pause_cycles", 1, 100000, 50, offsetof(struct settings, pause_cycles)},
    {"private_kib", 0, 1 << 20, 32, offsetof(struct settings, private_kib)},
    {"llc_kib", 0, 1 << 24, 2048, offsetof(struct settings, llc_kib)},
    {"sample", 1, 64, 8, offsetof(struct settings, sample)},
    {"overlap", 1, 1024, 16, offsetof(struct settings, overlap)},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t *number_at(struct settings *s, size_t offset)
{
    return (uint64_t *)((char *)s + offset);
}

static void read_line(struct reader *r, const char *name)
{
    unsigned least = 1, most = 1;
    size_t f = 0, n = 0;

    while (f < COUNT(facts) && strcmp(name, facts[f].name) != 0)
        f++;
    while (n < COUNT(numbers) && strcmp(name, numbers[n].name) != 0)
        n++;
    if (f < COUNT(facts))
        least = facts[f].words, most = facts[f].most;
    if (f == COUNT(facts) && n == COUNT(numbers))
        fail(r, "%s: unknown", name);
    else if (r->words < least || r->words > most)
        fail(r, "%s: %u words follow", name, r->words);
    else if (f < COUNT(facts))
        facts[f].read(r);
    else
        *number_at(r->settings, numbers[n].offset) = whole(r, r->word[0], numbers[n].least,
                                                           numbers[n].most);
}

static void read_lines(struct reader *r, FILE *file)
{
    char text[LINE], *save, *name, *word;

    while (!r->failed && fgets(text, sizeof(text), file)) {
        r->line++;
        r->words = 0;
        text[strcspn(text, "#\n")] = '\0';
        name = strtok_r(text, " \t", &save);
        while (name && r->words < WORDS && (word = strtok_r(NULL, " \t", &save)))
            r->word[r->words++] = word;
        if (name)
            read_line(r, name);
    }
}

static void check(struct reader *r)
{
    const struct settings *s = r->settings;

    r->line = 0;
    if (!s->nodes || !s->domains)
        fail(r, "no NUMA node, or no LLC domain");
    if (!*s->page)
        fail(r, "no page of counters");
    for (unsigned c = 0; c < s->cpus; c++)
        if (s->cpu_domain[c] == NO_DOMAIN)
            fail(r, "CPU %u is in no LLC domain", c);
    for (unsigned d = 0; d < s->domains; d++)
        if (s->domain[d].node >= s->nodes)
            fail(r, "LLC domain %u: no NUMA node %u", d, s->domain[d].node);
    if (s->sample & (s->sample - 1) || s->private_kib & (s->private_kib - 1))
        fail(r, "sample and private_kib are powers of two");
}

int settings_read(struct settings *settings, const char *path, char *error, size_t size)
{
    struct reader r = {.settings = settings, .path = path, .error = error, .size = size};
    FILE *file = fopen(path, "re");

    if (!file) {
        fail(&r, "%s", strerror(errno));
        return -1;
    }
    memset(settings, 0, sizeof(*settings));
    memset(settings->cpu_domain, NO_DOMAIN, sizeof(settings->cpu_domain));
    for (size_t i = 0; i < COUNT(numbers); i++)
        *number_at(settings, numbers[i].offset) = numbers[i].other;
    read_lines(&r, file);
    fclose(file);
    check(&r);
    return r.failed ? -1 : 0;
}

unsigned settings_node_of(const struct settings *settings, uint64_t address)
{
    const uint64_t mib = 1 << 20, high = UINT64_C(4096), low = 2048;
    uint64_t at = address / mib;
    unsigned node = 0;

    if (at >= high)
        at -= high - low;
    while (node + 1 < settings->nodes && at >= settings->mib[node])
        at -= settings->mib[node++];
    return node;
}
