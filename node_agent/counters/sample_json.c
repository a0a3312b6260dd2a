/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Samples as JSON, for recordings and reports. */

#include "node_agent/counters/sample_json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_writer.h"

#define CPU_VALUES (sizeof(struct sample_cpu) / sizeof(double))
#define MEMORY_VALUES (sizeof(struct sample_memory) / sizeof(double))
#define GROUP_VALUES (sizeof(struct sample_group) / sizeof(double))

/* ---- writing ------------------------------------------------------------ */

static bool any_known(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            return true;
    return false;
}

static json_t *rows(const double *values, size_t count, size_t width)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(array,
                              json_writer_numbers(values + i * width, width));
    return array;
}

static void write_cpus(const struct sample *s, json_t *object)
{
    json_t *cpus = json_object();
    char name[24];

    for (size_t c = 0; c < s->cpus; c++) {
        const double *values = &s->cpu[c].cycles;
        snprintf(name, sizeof(name), "%zu", c);
        if (any_known(values, CPU_VALUES))
            json_object_set_new(cpus, name,
                                json_writer_numbers(values, CPU_VALUES));
    }
    if (json_object_size(cpus))
        json_object_set(object, "cpu", cpus);
    json_decref(cpus);
}

static void write_groups(const struct sample *s, json_t *object)
{
    json_t *groups = json_object();
    char name[24];

    for (size_t g = 0; g < s->groups; g++) {
        snprintf(name, sizeof(name), "%u", s->group_job[g]);
        json_object_set_new(groups, name,
                            rows(&s->group[g * s->llc_domains].local,
                                 s->llc_domains, GROUP_VALUES));
    }
    if (json_object_size(groups))
        json_object_set(object, "groups", groups);
    json_decref(groups);
}

/* [[PID, TID, STACK, REQUESTS...], ...] */
static void write_threads(const struct sample *s, json_t *object)
{
    json_t *threads = json_array();

    for (size_t i = 0; i < s->threads; i++) {
        json_t *row = json_pack("[i, i, I]", (int)s->thread[i].pid, (int)s->thread[i].tid,
                                (json_int_t)s->thread[i].stack);
        for (size_t m = 0; m < s->numa_nodes; m++)
            json_array_append_new(row, json_real(s->thread_requests[i * s->numa_nodes + m]));
        json_array_append_new(threads, row);
    }
    if (s->threads)
        json_object_set(object, "threads", threads);
    json_decref(threads);
}

json_t *sample_json_write(const struct sample *s)
{
    json_t *object = json_pack("{s:I, s:f}", "ns", (json_int_t)s->time_ns,
                               "coverage", s->coverage);
    size_t pairs = s->llc_domains * s->numa_nodes;
    const double *memory = &s->memory[0].reads, *traffic = &s->traffic[0].reads;

    write_cpus(s, object);
    if (any_known(memory, s->numa_nodes * MEMORY_VALUES))
        json_object_set_new(object, "memory",
                            rows(memory, s->numa_nodes, MEMORY_VALUES));
    if (any_known(traffic, pairs * MEMORY_VALUES)) {
        json_t *table = json_array();
        for (size_t n = 0; n < s->llc_domains; n++)
            json_array_append_new(
                table, rows(traffic + n * s->numa_nodes * MEMORY_VALUES,
                            s->numa_nodes, MEMORY_VALUES));
        json_object_set_new(object, "traffic", table);
    }
    if (any_known(s->energy_j, s->packages))
        json_object_set_new(object, "energy",
                            json_writer_numbers(s->energy_j, s->packages));
    write_groups(s, object);
    write_threads(s, object);
    return object;
}

/* ---- reading ------------------------------------------------------------ */

static int bad(struct errtext *err, const char *member)
{
    return errtext_set(err, EINVAL, "%s: does not fit this machine", member);
}

static int read_row(const json_t *array, double *values, size_t count)
{
    if (!json_is_array(array) || json_array_size(array) != count)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const json_t *v = json_array_get(array, i);
        if (!json_is_null(v) && !json_is_number(v))
            return -1;
        values[i] = json_is_null(v) ? NAN : json_number_value(v);
        /* Nothing that is counted is negative, nor huge beyond all counters. */
        if (values[i] < 0 || values[i] > 0x1p64)
            return -1;
    }
    return 0;
}

static int read_rows(const json_t *array, double *values, size_t count,
                     size_t width)
{
    if (!json_is_array(array) || json_array_size(array) != count)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (read_row(json_array_get(array, i), values + i * width, width) < 0)
            return -1;
    return 0;
}

/* The number that NAME is, below LIMIT; LIMIT when it is none. */
static size_t index_of(const char *name, size_t limit)
{
    char *end;
    unsigned long n = strtoul(name, &end, 10);

    return end == name || *end || n >= limit ? limit : n;
}

static int read_cpus(json_t *object, struct sample *s, struct errtext *err)
{
    const char *name;
    json_t *value;

    if (object && !json_is_object(object))
        return bad(err, "cpu");
    json_object_foreach(object, name, value) {
        size_t c = index_of(name, s->cpus);
        if (c == s->cpus || read_row(value, &s->cpu[c].cycles, CPU_VALUES) < 0)
            return bad(err, "cpu");
    }
    return 0;
}

static int read_groups(json_t *object, struct sample *s, struct errtext *err)
{
    size_t count = json_object_size(object), g = 0;
    uint32_t ids[count + 1];
    const char *name;
    json_t *value;

    if (object && (!json_is_object(object) || count > 4096))
        return bad(err, "groups");
    json_object_foreach(object, name, value) {
        size_t id = index_of(name, UINT32_MAX);
        if (id == UINT32_MAX)
            return bad(err, "groups");
        ids[g++] = (uint32_t)id;
    }
    if (sample_set_groups(s, ids, count) < 0)
        return errtext_set(err, ENOMEM, "groups: out of memory");
    g = 0;
    json_object_foreach(object, name, value)
        if (read_rows(value, &s->group[g++ * s->llc_domains].local, s->llc_domains,
                      GROUP_VALUES) < 0)
            return bad(err, "groups");
    return 0;
}

/* Recordings of before have no stacks. */
static int read_thread(const json_t *array, struct sample *s, double *row)
{
    size_t ids = json_array_size(array) == 2 + s->numa_nodes ? 2 : 3, width = ids + s->numa_nodes;

    if (read_row(array, row, width) < 0)
        return -1;
    for (size_t k = 0; k < width; k++)
        if (!isfinite(row[k]) || (k < 2 && (row[k] < 1 || row[k] > INT32_MAX)))
            return -1;
    uint64_t stack = 0;
    if (ids == 3 && !json_is_integer(json_array_get(array, 2)))
        return -1;
    if (ids == 3)
        stack = (uint64_t)json_integer_value(json_array_get(array, 2));
    size_t at =
        sample_add_thread(s, &(struct sample_thread){(pid_t)row[0], (pid_t)row[1], stack});
    if (at < SAMPLE_THREADS)
        memcpy(s->thread_requests + at * s->numa_nodes, row + ids,
               s->numa_nodes * sizeof(*s->thread_requests));
    return at < SAMPLE_THREADS ? 0 : 1;
}

static int read_threads(const json_t *array, struct sample *s, struct errtext *err)
{
    double row[3 + s->numa_nodes];

    if (array && (!json_is_array(array) || json_array_size(array) > SAMPLE_THREADS))
        return bad(err, "threads");
    for (size_t i = 0; i < json_array_size(array); i++) {
        int rc = read_thread(json_array_get(array, i), s, row);
        if (rc < 0)
            return bad(err, "threads");
        if (rc > 0)
            return errtext_set(err, ENOMEM, "threads: out of memory");
    }
    return 0;
}

int sample_json_read(const json_t *object, struct sample *s,
                     struct errtext *err)
{
    json_t *ns = json_object_get(object, "ns");
    json_t *coverage = json_object_get(object, "coverage");
    json_t *memory = json_object_get(object, "memory");
    json_t *traffic = json_object_get(object, "traffic");
    json_t *energy = json_object_get(object, "energy");

    sample_clear(s);
    if (!json_is_integer(ns) || json_integer_value(ns) < 0)
        return bad(err, "ns");
    s->time_ns = (uint64_t)json_integer_value(ns);
    s->coverage = json_is_number(coverage) ? json_number_value(coverage) : 1;
    if (memory && read_rows(memory, &s->memory[0].reads, s->numa_nodes,
                            MEMORY_VALUES) < 0)
        return bad(err, "memory");
    if (traffic && (!json_is_array(traffic) ||
                    json_array_size(traffic) != s->llc_domains))
        return bad(err, "traffic");
    for (size_t n = 0; traffic && n < s->llc_domains; n++)
        if (read_rows(json_array_get(traffic, n),
                      &s->traffic[n * s->numa_nodes].reads, s->numa_nodes,
                      MEMORY_VALUES) < 0)
            return bad(err, "traffic");
    if (energy && read_row(energy, s->energy_j, s->packages) < 0)
        return bad(err, "energy");
    if (read_cpus(json_object_get(object, "cpu"), s, err) < 0)
        return -1;
    if (read_threads(json_object_get(object, "threads"), s, err) < 0)
        return -1;
    return read_groups(json_object_get(object, "groups"), s, err);
}
