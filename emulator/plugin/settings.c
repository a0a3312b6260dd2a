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

#define WORDS     (EMULATED_NODES + 4) /* of the longest line */
#define LINE      4096
#define NO_DOMAIN UINT8_MAX

struct reader {
    struct settings *settings;
    const char *path;
    unsigned line;
    char *error;
    size_t size;
    unsigned words; /* of the line, its name not counted */
    char *word[WORDS];
};

__attribute__((format(printf, 2, 3))) static int fail(struct reader *r,
                                                      const char *format, ...)
{
    va_list args;
    int used = r->line
                   ? snprintf(r->error, r->size, "%s:%u: ", r->path, r->line)
                   : snprintf(r->error, r->size, "%s: ", r->path);

    va_start(args, format);
    if (used >= 0 && (size_t)used < r->size)
        vsnprintf(r->error + used, r->size - (size_t)used, format, args);
    va_end(args);
    return -1;
}

static int whole(struct reader *r, const char *word, uint64_t least,
                 uint64_t most, uint64_t *to)
{
    char *end;

    errno = 0;
    *to = strtoull(word, &end, 10);
    if (errno || *end || !isdigit((unsigned char)*word) || *to < least ||
        *to > most)
        return fail(r, "%s: not a number from %llu to %llu", word,
                    (unsigned long long)least, (unsigned long long)most);
    return 0;
}

static int real(struct reader *r, const char *word, double least, double *to)
{
    char *end;

    *to = strtod(word, &end);
    if (*end || end == word || !(*to >= least && *to <= 1e6))
        return fail(r, "%s: not a number from %g to 1e6", word, least);
    return 0;
}

/* A service time: a picosecond at least. */
static int service(struct reader *r, const char *word, double *to)
{
    return real(r, word, 1e-6, to);
}

static int read_node(struct reader *r)
{
    struct settings *s = r->settings;
    struct node_settings *n = &s->node[s->nodes];

    if (s->nodes == EMULATED_NODES)
        return fail(r, "more than %d NUMA nodes", EMULATED_NODES);
    s->nodes++;
    return whole(r, r->word[0], 1, 1 << 24, &n->mib) ||
                   real(r, r->word[1], 0, &n->latency_ns) ||
                   service(r, r->word[2], &n->read_us) ||
                   service(r, r->word[3], &n->write_us)
               ? -1
               : 0;
}

static int read_link(struct reader *r)
{
    struct settings *s = r->settings;
    struct link_settings *l = &s->link[s->links];

    if (s->links == EMULATED_LINKS)
        return fail(r, "more than %d links", EMULATED_LINKS);
    s->links++;
    return real(r, r->word[0], 0, &l->latency_ns) ||
                   service(r, r->word[1], &l->read_us) ||
                   service(r, r->word[2], &l->write_us)
               ? -1
               : 0;
}

/* FIRST-LAST of a list of CPUs. */
static int give_cpus(struct reader *r, char *range)
{
    struct settings *s = r->settings;
    char *dash = strchr(range, '-');
    uint64_t first, last;

    if (dash)
        *dash++ = '\0';
    if (whole(r, range, 0, EMULATED_CPUS - 1, &first) < 0 ||
        whole(r, dash ? dash : range, first, EMULATED_CPUS - 1, &last) < 0)
        return -1;
    for (uint64_t c = first; c <= last; c++) {
        if (s->cpu_domain[c] != NO_DOMAIN)
            return fail(r, "CPU %llu is in two LLC domains",
                        (unsigned long long)c);
        s->cpu_domain[c] = (uint8_t)(s->domains - 1);
        if (c >= s->cpus)
            s->cpus = (unsigned)c + 1;
    }
    return 0;
}

static int read_domain(struct reader *r)
{
    struct settings *s = r->settings;
    uint64_t node;
    char *save, *range;

    if (s->domains == EMULATED_CPUS)
        return fail(r, "more than %d LLC domains", EMULATED_CPUS);
    if (whole(r, r->word[1], 0, EMULATED_NODES - 1, &node) < 0)
        return -1;
    s->domain[s->domains++].node = (unsigned)node;
    for (range = strtok_r(r->word[0], ",", &save); range;
         range = strtok_r(NULL, ",", &save))
        if (give_cpus(r, range) < 0)
            return -1;
    return 0;
}

static int read_route(struct reader *r)
{
    struct settings *s = r->settings;
    uint64_t domain, node, link;

    if (!s->domains || !s->nodes || !s->links)
        return fail(r, "a route before what it joins");
    if (whole(r, r->word[0], 0, s->domains - 1, &domain) < 0 ||
        whole(r, r->word[1], 0, s->nodes - 1, &node) < 0)
        return -1;
    struct domain_settings *d = &s->domain[domain];
    if (d->route_length[node])
        return fail(r, "a second route from LLC domain %s to NUMA node %s",
                    r->word[0], r->word[1]);
    for (unsigned i = 2; i < r->words; i++) {
        if (whole(r, r->word[i], 0, s->links - 1, &link) < 0)
            return -1;
        d->route[node][d->route_length[node]++] = (uint8_t)link;
    }
    return 0;
}

static int read_version(struct reader *r)
{
    uint64_t version;

    return whole(r, r->word[0], SETTINGS_VERSION, SETTINGS_VERSION, &version);
}

static int read_page(struct reader *r)
{
    if (strlen(r->word[0]) >= sizeof(r->settings->page))
        return fail(r, "the name of the page is too long");
    strcpy(r->settings->page, r->word[0]);
    return 0;
}

static int power_of_two(struct reader *r, const char *name, uint64_t value)
{
    return value & (value - 1) ? fail(r, "%s %llu: not a power of two", name,
                                      (unsigned long long)value)
                               : 0;
}

/* Lines with more than a number, by name; `most` words. */
static const struct {
    const char *name;
    unsigned words;
    unsigned most;
    int (*read)(struct reader *r);
} facts[] = {
    {"version", 1, 1, read_version},
    {"page", 1, 1, read_page},
    {"node", 4, 4, read_node},
    {"domain", 2, 2, read_domain},
    {"link", 3, 3, read_link},
    {"route", 3, 2 + EMULATED_NODES, read_route},
};

/* Lines with one whole number. */
static const struct {
    const char *name;
    uint64_t least;
    uint64_t most;
    uint64_t other; /* without such a line */
    size_t offset;  /* of a uint64_t */
} numbers[] = {
    {"mhz", 1, 100000, 200, offsetof(struct settings, mhz)},
    {"quantum_ns", 100, 100000000, 20000,
     offsetof(struct settings, quantum_ns)},
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

static int read_line(struct reader *r, const char *name)
{
    if (r->line == 1 && strcmp(name, "version") != 0)
        return fail(r, "does not begin with: version %d", SETTINGS_VERSION);
    for (size_t i = 0; i < COUNT(facts); i++)
        if (!strcmp(name, facts[i].name))
            return r->words < facts[i].words || r->words > facts[i].most
                       ? fail(r, "%s: %u words follow", name, r->words)
                       : facts[i].read(r);
    if (r->words != 1)
        return fail(r, "%s: %u words follow", name, r->words);
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (!strcmp(name, numbers[i].name))
            return whole(r, r->word[0], numbers[i].least, numbers[i].most,
                         number_at(r->settings, numbers[i].offset));
    if (!strcmp(name, "llc_ns"))
        return real(r, r->word[0], 0, &r->settings->llc_ns);
    return fail(r, "%s: unknown", name);
}

static int read_lines(struct reader *r, FILE *file)
{
    char text[LINE], *save, *name, *word;

    while (fgets(text, sizeof(text), file)) {
        r->line++;
        r->words = 0;
        text[strcspn(text, "#\n")] = '\0';
        name = strtok_r(text, " \t", &save);
        while (name && (word = strtok_r(NULL, " \t", &save))) {
            if (r->words == WORDS)
                return fail(r, "too many words");
            r->word[r->words++] = word;
        }
        if ((name || r->line == 1) && read_line(r, name ? name : "") < 0)
            return -1;
    }
    return 0;
}

static int check(struct reader *r)
{
    const struct settings *s = r->settings;

    r->line = 0;
    if (!s->nodes || !s->domains)
        return fail(r, "no NUMA node, or no LLC domain");
    if (!*s->page)
        return fail(r, "no page of counters");
    for (unsigned c = 0; c < s->cpus; c++)
        if (s->cpu_domain[c] == NO_DOMAIN)
            return fail(r, "CPU %u is in no LLC domain", c);
    for (unsigned d = 0; d < s->domains; d++)
        if (s->domain[d].node >= s->nodes)
            return fail(r, "LLC domain %u: no NUMA node %u", d,
                        s->domain[d].node);
    return power_of_two(r, "sample", s->sample) ||
                   power_of_two(r, "private_kib", s->private_kib)
               ? -1
               : 0;
}

int settings_read(struct settings *settings, const char *path, char *error,
                  size_t size)
{
    struct reader r = {
        .settings = settings, .path = path, .error = error, .size = size};
    FILE *file = fopen(path, "re");

    if (!file)
        return fail(&r, "%s", strerror(errno));
    memset(settings, 0, sizeof(*settings));
    memset(settings->cpu_domain, NO_DOMAIN, sizeof(settings->cpu_domain));
    for (size_t i = 0; i < COUNT(numbers); i++)
        *number_at(settings, numbers[i].offset) = numbers[i].other;
    int result = read_lines(&r, file);
    fclose(file);
    return result < 0 ? -1 : check(&r);
}

unsigned settings_node_of(const struct settings *settings, uint64_t address)
{
    const uint64_t mib = 1 << 20, high = UINT64_C(4096), low = 2048;
    uint64_t at = address / mib;
    unsigned node = 0;

    if (at >= high)
        at -= high - low;
    while (node + 1 < settings->nodes && at >= settings->node[node].mib)
        at -= settings->node[node++].mib;
    return node;
}
