/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Loop profiles as files. */

#include "model/io/loop_json.h"

#include <string.h>

#define MAX_CORES 65536 /* of an LLC domain */

static int read_cores(struct json_reader *reader, const json_t *object,
                      struct loop *loop)
{
    const json_t *list;
    double number;
    int rc = json_reader_array(reader, object, "cores", false, loop->llc_domains,
                               loop->llc_domains, &list);

    for (size_t i = 0; rc == 0 && i < loop->llc_domains; i++) {
        rc = json_reader_element(reader, list, "cores", i, JSON_NOT_NEGATIVE,
                                 &number);
        if (rc == 0 && (!json_is_integer(json_array_get(list, i)) ||
                        number > MAX_CORES))
            rc = json_reader_fail(reader, "cores", "[%zu]: %g is not a whole "
                                  "number up to %d", i, number, MAX_CORES);
        if (rc == 0)
            loop->cores[i] = (size_t)number;
    }
    return rc;
}

/* Member KEY: one number for each LLC domain. */
static int read_vector(struct json_reader *reader, const json_t *object,
                       const char *key, const struct loop *loop, double *out)
{
    const json_t *list = NULL;
    int rc = json_reader_array(reader, object, key, true, loop->llc_domains,
                               loop->llc_domains, &list);

    for (size_t i = 0; list && rc == 0 && i < loop->llc_domains; i++)
        rc = json_reader_element(reader, list, key, i, JSON_NOT_NEGATIVE,
                                 &out[i]);
    return rc;
}

/* One element of a table, VALUE, into row-major place AT. */
typedef int (*element_f)(struct json_reader *reader, const json_t *row,
                         size_t column, struct loop *loop, size_t at);

static int read_requests(struct json_reader *reader, const json_t *row,
                         size_t column, struct loop *loop, size_t at)
{
    struct loop_requests *r = &loop->requests[at];
    const struct json_member members[] = {
        JSON_MUST("read", JSON_NOT_NEGATIVE, &r->read),
        JSON_MAY("write", JSON_NOT_NEGATIVE, &r->write),
        JSON_MAY("prefetch", JSON_NOT_NEGATIVE, &r->prefetch),
        {0}};

    return json_reader_members(reader, json_array_get(row, column), members);
}

static int read_misses(struct json_reader *reader, const json_t *row,
                       size_t column, struct loop *loop, size_t at)
{
    double *out = &loop->read_misses[at];
    const json_t *value = json_array_get(row, column);

    if (!json_is_number(value) || !(json_number_value(value) >= 0))
        return json_reader_fail(reader, NULL, "is not a number from 0");
    *out = json_number_value(value);
    return 0;
}

/* Row NODE of table KEY. */
static int read_row(struct json_reader *reader, const json_t *row, size_t node,
                    struct loop *loop, element_f element)
{
    size_t size = json_array_size(row);
    int rc = 0;

    if (json_is_null(row) && loop->cores[node] == 0)
        return 0;
    if (!json_is_array(row) || size != loop->numa_nodes)
        return json_reader_fail(reader, NULL, "must be an array of %zu, one "
                                "for each NUMA node", loop->numa_nodes);
    for (size_t j = 0; rc == 0 && j < loop->numa_nodes; j++) {
        size_t mark = strlen(reader->path);
        snprintf(reader->path + mark, sizeof(reader->path) - mark, "[%zu]", j);
        rc = element(reader, row, j, loop, node * loop->numa_nodes + j);
        if (rc == 0)
            json_reader_leave(reader, mark);
    }
    return rc;
}

static int read_table(struct json_reader *reader, const json_t *object,
                      const char *key, bool optional, struct loop *loop,
                      element_f element)
{
    const json_t *table = NULL;
    int rc = json_reader_array(reader, object, key, optional, loop->llc_domains,
                               loop->llc_domains, &table);

    for (size_t i = 0; table && rc == 0 && i < loop->llc_domains; i++) {
        size_t mark = json_reader_enter_element(reader, key, i);
        rc = read_row(reader, json_array_get(table, i), i, loop, element);
        json_reader_leave(reader, mark);
    }
    return rc;
}

/* Say which field loop_check() does not like. */
static int refuse(struct json_reader *reader, const struct loop_problem *why)
{
    const char *name = loop_field_name(why->field), *text = "is out of range";
    char place[96];

    if (why->field == LOOP_READ_MISSES)
        text = "more misses than requests";
    else if (why->field == LOOP_CORES)
        text = "no cores, or requests where there are none";
    switch (loop_field_indices(why->field)) {
    case 0:
        snprintf(place, sizeof(place), "%s", name);
        break;
    case 1:
        snprintf(place, sizeof(place), "%s[%zu]", name, why->llc_domain);
        break;
    default:
        snprintf(place, sizeof(place), "%s[%zu][%zu]", name, why->llc_domain,
                 why->numa_node);
    }
    return json_reader_fail(reader, place, "%s", text);
}

static int read_all(struct json_reader *reader, const json_t *value,
                    struct loop *loop)
{
    const struct json_member members[] = {
        JSON_MUST("total_us", JSON_POSITIVE, &loop->total_us),
        JSON_MAY("work", JSON_POSITIVE, &loop->work),
        JSON_MAY("sync_share", JSON_SHARE, &loop->sync_share),
        JSON_KNOWN("cores"),
        JSON_KNOWN("requests"),
        JSON_KNOWN("read_misses"),
        JSON_KNOWN("llc_accesses"),
        JSON_KNOWN("useful_cycles"),
        JSON_KNOWN("stalled_cycles"),
        {0}};
    struct loop_problem problem;

    if (json_reader_members(reader, value, members) < 0 ||
        read_cores(reader, value, loop) < 0 ||
        read_table(reader, value, "requests", false, loop, read_requests) < 0)
        return -1;
    for (size_t r = 0; r < loop->llc_domains * loop->numa_nodes; r++)
        loop->read_misses[r] = loop->requests[r].read;
    if (read_table(reader, value, "read_misses", true, loop, read_misses) < 0 ||
        read_vector(reader, value, "llc_accesses", loop, loop->llc_accesses) <
            0 ||
        read_vector(reader, value, "useful_cycles", loop,
                    loop->useful_cycles) < 0 ||
        read_vector(reader, value, "stalled_cycles", loop,
                    loop->stalled_cycles) < 0)
        return -1;
    return loop_check(loop, &problem) == MODEL_OK ? 0
                                                  : refuse(reader, &problem);
}

struct loop *loop_json_read(struct json_reader *reader, const json_t *value,
                            size_t llc_domains, size_t numa_nodes)
{
    struct loop *loop = loop_new(llc_domains, numa_nodes);

    if (!loop)
        errtext_set(reader->err, ENOMEM, "%s: out of memory", reader->file);
    else if (read_all(reader, value, loop) == 0)
        return loop;
    int saved = errno;
    loop_free(loop);
    errno = saved;
    return NULL;
}
