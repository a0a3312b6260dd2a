/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters from a recording (recording.h), at the speed of the clock. */

#include <stdlib.h>
#include <string.h>

#include "node_agent/counters/counters.h"
#include "node_agent/recording/recording.h"
#include "node_agent/counters/sample_json.h"

struct replay {
    struct recording *recording;
    struct sample *line;  /* last one read */
    uint64_t left_ns;     /* of its interval, not yet given out */
    bool over, told;
    bool can[COUNTERS_METRICS];
};

static void replay_close(void *state)
{
    struct replay *r = state;

    if (!r)
        return;
    recording_close(r->recording);
    sample_free(r->line);
    free(r);
}

/* The recorded machine must have the sizes of the present one. */
static int check_sizes(const struct replay *r,
                       const struct counters_setup *setup, struct errtext *err)
{
    const struct {
        const char *key;
        size_t here;
    } size[] = {
        {"cpus", setup->machine->cpus},
        {"llc_domains", setup->machine->llc_domains},
        {"numa_nodes", setup->machine->numa_nodes},
        {"packages", setup->packages},
    };
    const json_t *machine =
        json_object_get(recording_begin(r->recording), "machine");

    for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
        json_int_t there =
            json_integer_value(json_object_get(machine, size[i].key));
        if (there != (json_int_t)size[i].here)
            return errtext_set(err, EINVAL,
                               "replay: %s is of a machine with %d %s, this "
                               "one has %zu",
                               setup->argument, (int)there, size[i].key,
                               size[i].here);
    }
    return 0;
}

static void read_metrics(struct replay *r)
{
    const json_t *metrics =
        json_object_get(recording_begin(r->recording), "metrics");

    for (size_t m = 0; m < COUNTERS_METRICS; m++)
        for (size_t i = 0; i < json_array_size(metrics); i++) {
            const char *name = json_string_value(json_array_get(metrics, i));
            r->can[m] |= name && !strcmp(name, counters_metric_name(m));
        }
}

/* Who wants threads mapped is not to wait for what never comes. */
static int check_threads(const struct replay *r, const struct counters_setup *setup,
                         struct errtext *err)
{
    if (!setup->threads || r->can[COUNTERS_THREADS])
        return 0;
    return errtext_set(err, EINVAL, "replay: %.120s: metrics: \"threads\" is missing, which the "
                                    "policy option mapping needs", setup->argument);
}

static int replay_open(const struct counters_setup *setup, void **state,
                       struct errtext *err)
{
    struct replay *r = calloc(1, sizeof(*r));
    struct errtext why;

    if (!*setup->argument) {
        free(r);
        return errtext_set(err, EINVAL, "replay: needs a directory "
                                        "(replay:DIR)");
    }
    if (!r || !(r->line = sample_new(setup->machine->cpus,
                                     setup->machine->llc_domains,
                                     setup->machine->numa_nodes,
                                     setup->packages))) {
        replay_close(r);
        return errtext_set(err, ENOMEM, "replay: out of memory");
    }
    r->recording = recording_open(setup->argument, &why);
    int rc = r->recording ? check_sizes(r, setup, err)
                          : errtext_set(err, errno, "replay: %.170s", why.text);
    if (rc == 0) {
        read_metrics(r);
        rc = check_threads(r, setup, err);
    }
    if (rc < 0) {
        int saved = errno;
        replay_close(r);
        errno = saved;
        return -1;
    }
    *state = r;
    return 0;
}

/* Add PART of COUNT values. */
static void add_values(void *to, const void *more, double part, size_t count)
{
    double *v = to;
    const double *m = more;

    for (size_t i = 0; i < count; i++)
        v[i] = sample_add(v[i], part * m[i]);
}

/* The row of THREAD in S, most probably number GUESS; a new one where it has none. */
static size_t row_of(struct sample *s, const struct sample_thread *thread, size_t guess)
{
    for (size_t n = 0; n < s->threads; n++) {
        size_t at = (guess + n) % s->threads;
        if (s->thread[at].pid == thread->pid &&
            sample_thread_key(&s->thread[at]) == sample_thread_key(thread))
            return at;
    }
    return sample_add_thread(s, thread);
}

/* Add PART of the requests of MORE's threads to those of S. */
static int add_threads(struct sample *s, const struct sample *more, double part)
{
    size_t width = s->numa_nodes;

    for (size_t i = 0; i < more->threads; i++) {
        size_t at = row_of(s, &more->thread[i], i);
        if (at == SAMPLE_THREADS)
            return s->thread && s->thread_requests ? 0 : -1;
        for (size_t m = 0; m < width; m++)
            s->thread_requests[at * width + m] += part * more->thread_requests[i * width + m];
    }
    return 0;
}

/* Add PART of the interval MORE, in which all went on evenly, to SAMPLE. */
static int add(struct sample *s, const struct sample *more, double part)
{
    size_t pairs = s->llc_domains * s->numa_nodes;

    add_values(s->cpu, more->cpu, part,
               s->cpus * sizeof(*s->cpu) / sizeof(double));
    add_values(s->memory, more->memory, part,
               s->numa_nodes * sizeof(*s->memory) / sizeof(double));
    add_values(s->traffic, more->traffic, part,
               pairs * sizeof(*s->traffic) / sizeof(double));
    add_values(s->energy_j, more->energy_j, part, s->packages);
    if (add_threads(s, more, part) < 0)
        return -1;
    if (more->coverage < s->coverage)
        s->coverage = more->coverage;
    bool same = s->groups == more->groups &&
                (!s->groups || !memcmp(s->group_job, more->group_job,
                                       s->groups * sizeof(*s->group_job)));
    if (!same &&
        sample_set_groups(s, more->group_job, more->groups) < 0)
        return -1;
    for (size_t i = 0; i < s->groups * s->llc_domains; i++) {
        struct sample_group *g = &s->group[i];
        g->local = sample_add(g->local, part * more->group[i].local);
        g->total = sample_add(g->total, part * more->group[i].total);
        g->llc_bytes = more->group[i].llc_bytes;
    }
    return 0;
}

/* Read the next interval into r->line.  1, 0 at the end, or -1. */
static int next_interval(struct replay *r, struct errtext *err)
{
    struct errtext why;
    const char *type;
    json_t *line;
    int rc;

    while ((rc = recording_next(r->recording, &line, &type, err)) > 0) {
        if (!strcmp(type, "sample")) {
            rc = sample_json_read(line, r->line, &why) < 0
                     ? recording_refuse(r->recording, err, "%.100s", why.text)
                     : 1;
            json_decref(line);
            return rc;
        }
        json_decref(line);
    }
    return rc;
}

static int replay_sample(void *state, struct sample *s, struct errtext *err)
{
    struct replay *r = state;
    uint64_t wanted_ns = s->time_ns;
    int rc = 1;

    while (!r->over && wanted_ns) {
        if (!r->left_ns) {
            rc = next_interval(r, err);
            r->over = rc <= 0;
            r->left_ns = rc > 0 ? r->line->time_ns : 0;
            continue;
        }
        uint64_t now_ns = r->left_ns < wanted_ns ? r->left_ns : wanted_ns;
        if (add(s, r->line, (double)now_ns / (double)r->line->time_ns) < 0)
            return errtext_set(err, ENOMEM, "replay: out of memory");
        r->left_ns -= now_ns;
        wanted_ns -= now_ns;
    }
    if (rc < 0 || !r->over || r->told)
        return rc < 0 ? -1 : 0;
    r->told = true;
    return errtext_set(err, ENODATA, "replay: the recording is at its end");
}

static void replay_describe(const void *state, struct counters_ability *ability)
{
    const struct replay *r = state;

    for (size_t m = 0; m < COUNTERS_METRICS; m++) {
        ability[m].can = r->can[m];
        snprintf(ability[m].why, sizeof(ability[m].why), "%s",
                 r->can[m] ? "recorded" : "was not recorded");
    }
}

const struct counters_backend counters_replay = {
    .name = "replay",
    .help = "a recording of coschedctl record (replay:DIR)",
    .flags = COUNTERS_COMPLETE | COUNTERS_STILL,
    .open = replay_open,
    .sample = replay_sample,
    .describe = replay_describe,
    .close = replay_close,
};
