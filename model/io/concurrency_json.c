/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Weights of the predictors of concurrency as files. */

#include "model/io/concurrency_json.h"

#include <errno.h>

#include "common/json_writer.h"

static const char *const target_names[CONCURRENCY_TARGETS] = {"time", "edp"};

/* Member KEY of OBJECT, COUNT numbers, into VALUES. */
static int read_numbers(struct json_reader *reader, const json_t *object, const char *key,
                        enum json_range range, size_t count, double *values)
{
    const json_t *list;
    int rc = json_reader_array(reader, object, key, false, count, count, &list);

    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = json_reader_element(reader, list, key, i, range, &values[i]);
    return rc;
}

static int read_target(struct json_reader *reader, const json_t *value, size_t t,
                       struct concurrency_model *m)
{
    static const struct json_member members[] = {JSON_KNOWN("middle"), JSON_KNOWN("spread"),
                                                 JSON_KNOWN("network"), JSON_KNOWN("linear"), {0}};
    const json_t *object = json_object_get(value, target_names[t]);
    size_t cores = m->shape.cores;

    if (!object)
        return json_reader_fail(reader, target_names[t], "is missing");
    size_t mark = json_reader_enter(reader, target_names[t]);
    int rc = json_reader_members(reader, object, members);
    if (rc == 0 &&
        (read_numbers(reader, object, "middle", JSON_ANY, cores, m->middle[t]) < 0 ||
         read_numbers(reader, object, "spread", JSON_POSITIVE, cores, m->spread[t]) < 0 ||
         read_numbers(reader, object, "network", JSON_ANY, concurrency_weights(&m->shape),
                      m->weight[t]) < 0 ||
         read_numbers(reader, object, "linear", JSON_ANY, cores * (CONCURRENCY_RATES + 1),
                      m->linear[t]) < 0))
        rc = -1;
    json_reader_leave(reader, mark);
    return rc;
}

static int read_model(struct json_reader *reader, const json_t *value, struct concurrency_model *m)
{
    if (read_numbers(reader, value, "mean", JSON_ANY, CONCURRENCY_RATES, m->mean) < 0 ||
        read_numbers(reader, value, "scale", JSON_POSITIVE, CONCURRENCY_RATES, m->scale) < 0)
        return -1;
    for (size_t t = 0; t < CONCURRENCY_TARGETS; t++)
        if (read_target(reader, value, t, m) < 0)
            return -1;
    return 0;
}

/* The machine that the weights are of. */
static struct machine_description *read_own(struct json_reader *reader, const json_t *value)
{
    size_t mark = json_reader_enter(reader, "machine");
    struct machine_description *own =
        machine_json_read(reader, json_object_get(value, "machine"));

    json_reader_leave(reader, mark);
    return own;
}

struct concurrency_model *concurrency_json_read(struct json_reader *reader, const json_t *value,
                                                const struct machine *machine)
{
    static const struct json_member members[] = {
        JSON_KNOWN("machine"), JSON_KNOWN("mean"), JSON_KNOWN("scale"), JSON_KNOWN("time"),
        JSON_KNOWN("edp"), JSON_KNOWN("training"), {0}};
    struct machine_description *own = NULL;
    struct concurrency_model *m = NULL;
    int rc = json_reader_members(reader, value, members);

    if (rc == 0 && !json_object_get(value, "machine"))
        rc = json_reader_fail(reader, "machine", "is missing");
    if (rc == 0 && !(own = read_own(reader, value)))
        rc = -1;
    if (rc == 0 && !(m = concurrency_model_new(own->machine)))
        rc = errtext_set(reader->err, ENOMEM, "%s: out of memory", reader->file);
    if (rc == 0 && machine && !concurrency_model_fits(m, machine))
        rc = json_reader_fail(reader, "machine",
                              "is another one: %zu cores, %zu NUMA nodes, this machine has %zu "
                              "and %zu, or other links", m->shape.cores, m->shape.nodes,
                              machine_all_cpus(machine), machine->numa_nodes);
    if (rc == 0)
        rc = read_model(reader, value, m);
    int saved = errno;
    machine_description_free(own);
    if (rc < 0) {
        concurrency_model_free(m);
        m = NULL;
    }
    errno = saved;
    return m;
}

struct concurrency_model *concurrency_json_load(const char *file, const struct machine *machine,
                                                struct errtext *err)
{
    struct json_reader reader = {.err = err};
    json_t *root = json_reader_load(&reader, file);
    struct concurrency_model *m = root ? concurrency_json_read(&reader, root, machine) : NULL;
    int saved = errno;

    json_decref(root);
    errno = saved;
    return m;
}

static json_t *write_target(const struct concurrency_model *m, size_t t)
{
    size_t cores = m->shape.cores;

    return json_pack("{s:o, s:o, s:o, s:o}", "middle", json_writer_numbers(m->middle[t], cores),
                     "spread", json_writer_numbers(m->spread[t], cores), "network",
                     json_writer_numbers(m->weight[t], concurrency_weights(&m->shape)), "linear",
                     json_writer_numbers(m->linear[t], cores * (CONCURRENCY_RATES + 1)));
}

json_t *concurrency_json_write(const struct concurrency_model *m,
                               const struct machine_description *description, json_t *training)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "machine", machine_json_write(description),
                     "mean", json_writer_numbers(m->mean, CONCURRENCY_RATES), "scale",
                     json_writer_numbers(m->scale, CONCURRENCY_RATES), target_names[0],
                     write_target(m, 0), target_names[1], write_target(m, 1), "training", training);
}
