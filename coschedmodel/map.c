/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedmodel map: threads to NUMA nodes. */

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_writer.h"
#include "coschedmodel/output.h"
#include "model/mapping.h"

#define MOST_THREADS 10000
#define MOST_NODES 1024
#define MOST_CORES 100000
#define FACTOR 1.5 /* of the papers */

/* What the command reads, and what comes of it. */
struct map {
    struct mapping_input input;
    struct mapping_result result;
    struct mapping_scratch *scratch;
    struct machine_description *machine; /* or NULL */
    const char *rule;
    double *requests, *factor;
    size_t *cores, *round_of; /* [nodes], [threads] */
    json_t *rounds;
};

static void map_release(struct map *m)
{
    machine_description_free(m->machine);
    mapping_scratch_free(m->scratch);
    free(m->requests);
    free(m->factor);
    free(m->cores);
    free(m->round_of);
    free(m->result.node);
    free(m->result.critical);
    json_decref(m->rounds);
}

/* ---- input ----------------------------------------------------------------- */

/* The numbers of a line up to END, or NULL with the text set. */
static json_t *read_line(struct json_reader *reader, size_t number, const char *at,
                         const char *end)
{
    json_t *row = json_array();

    for (;;) {
        char word[64], *rest;
        size_t length = 0;
        while (at < end && (isspace((unsigned char)*at) || *at == ','))
            at++;
        if (at == end || *at == '#')
            return row;
        while (at + length < end && !isspace((unsigned char)at[length]) && at[length] != ',')
            length++;
        snprintf(word, sizeof(word), "%.*s", (int)(length < 63 ? length : 63), at);
        double value = strtod(word, &rest);
        if (*rest || length > 63) {
            errtext_set(reader->err, EINVAL, "%s:%zu: %s is not a number", reader->file, number,
                        word);
            json_decref(row);
            return NULL;
        }
        json_t *element = json_real(value);
        if (!element || json_array_append_new(row, element) < 0) {
            errtext_set(reader->err, EINVAL, "%s:%zu: %s is not a finite number", reader->file,
                        number, word);
            json_decref(row);
            return NULL;
        }
        at += length;
    }
}

/* A table as text, a line for each thread, as the object that JSON would be. */
static json_t *read_lines(struct json_reader *reader, const char *text, size_t size)
{
    const char *end = text + size;
    json_t *rows = json_array();

    for (size_t number = 1; text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop ? stop : end;
        json_t *row = read_line(reader, number, text, stop);
        if (!row) {
            json_decref(rows);
            return NULL;
        }
        if (json_array_size(row))
            json_array_append_new(rows, row);
        else
            json_decref(row);
        text = stop < end ? stop + 1 : end;
    }
    return json_pack("{s:o}", "requests", rows);
}

static json_t *load_table(const struct arguments *arguments, struct json_reader *reader,
                          struct errtext *err)
{
    size_t size, first = 0;
    json_t *root = NULL;

    *reader = (struct json_reader){.err = err};
    char *text = json_reader_text(reader, arguments->file, &size);
    if (text) {
        while (first < size && isspace((unsigned char)text[first]))
            first++;
        root = first < size && text[first] == '{' ? json_reader_parse(reader, text, size)
                                                  : read_lines(reader, text, size);
    }
    free(text);
    if (!root)
        fail(EXIT_REFUSED, "%s", err->text);
    return root;
}

static int read_row(struct json_reader *reader, struct map *m, const json_t *row, size_t thread)
{
    size_t nodes = m->input.nodes;
    char key[40];
    double sum = 0;
    int rc = 0;

    snprintf(key, sizeof(key), "requests[%zu]", thread);
    if (!json_is_array(row) || json_array_size(row) != nodes)
        return json_reader_fail(reader, key, "has %zu elements, the first thread has %zu",
                                json_array_size(row), nodes);
    for (size_t j = 0; rc == 0 && j < nodes; j++) {
        double *value = &m->requests[thread * nodes + j];
        rc = json_reader_element(reader, row, key, j, JSON_NOT_NEGATIVE, value);
        sum += *value;
    }
    if (rc == 0 && !(sum > 0))
        rc = json_reader_fail(reader, key, "is all zeros: where its thread runs makes no "
                              "difference, so leave it out");
    return rc;
}

static int read_requests(struct json_reader *reader, struct map *m, const json_t *rows)
{
    size_t threads = json_array_size(rows), nodes = json_array_size(json_array_get(rows, 0));
    int rc = 0;

    if (!nodes || nodes > MOST_NODES)
        return json_reader_fail(reader, "requests[0]", "must be an array of 1 to %d numbers",
                                MOST_NODES);
    if (m->machine && nodes != m->machine->machine->numa_nodes)
        return json_reader_fail(reader, "requests[0]",
                                "has %zu elements, the machine has %zu NUMA nodes", nodes,
                                m->machine->machine->numa_nodes);
    m->input.threads = threads;
    m->input.nodes = nodes;
    m->requests = calloc(threads * nodes, sizeof(*m->requests));
    m->factor = calloc(nodes * nodes, sizeof(*m->factor));
    m->cores = calloc(nodes, sizeof(*m->cores));
    m->round_of = calloc(threads, sizeof(*m->round_of));
    m->result.node = calloc(threads, sizeof(*m->result.node));
    m->result.critical = calloc(nodes, sizeof(*m->result.critical));
    m->scratch = mapping_scratch_new(threads, nodes);
    if (!m->requests || !m->factor || !m->cores || !m->round_of || !m->result.node ||
        !m->result.critical || !m->scratch)
        return errtext_set(reader->err, ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < threads; i++)
        rc = read_row(reader, m, json_array_get(rows, i), i);
    return rc;
}

/* One number for all nodes or one for each; the machine's without. */
static int read_cores(struct json_reader *reader, struct map *m, const json_t *object,
                      const struct arguments *arguments)
{
    const json_t *value = json_object_get(object, "cores");
    size_t each = arguments->cores, sum = 0;
    int rc = 0;

    if (!each && json_is_integer(value))
        rc = json_reader_count(reader, object, "cores", false, 1, MOST_CORES, &each);
    else if (!each && !value && !m->machine)
        rc = json_reader_fail(reader, "cores", "is missing, and there is neither --cores nor a "
                              "machine");
    else if (!each && value && json_array_size(value) != m->input.nodes)
        rc = json_reader_fail(reader, "cores", "must be a number or an array of %zu",
                              m->input.nodes);
    for (size_t j = 0; rc == 0 && j < m->input.nodes; j++) {
        double cores = (double)each;
        if (!each && value)
            rc = json_reader_element(reader, value, "cores", j, JSON_NOT_NEGATIVE, &cores);
        if (rc == 0 && cores != floor(cores))
            rc = json_reader_fail(reader, "cores", "[%zu]: %g is not a whole number", j, cores);
        m->cores[j] = (size_t)(cores < MOST_CORES ? cores : MOST_CORES);
    }
    for (size_t i = 0; rc == 0 && !each && !value && i < m->machine->machine->llc_domains; i++)
        m->cores[m->machine->machine->local_node[i]] +=
            machine_node_cpus(m->machine->machine, i);
    for (size_t j = 0; j < m->input.nodes; j++)
        sum += m->cores[j];
    if (rc == 0 && sum < m->input.threads)
        rc = json_reader_fail(reader, "cores", "%zu in all, fewer than the %zu threads", sum,
                              m->input.threads);
    return rc;
}

static int map_read(struct map *m, const struct arguments *arguments, struct json_reader *reader,
                    const json_t *object)
{
    double factor = FACTOR;
    const json_t *rows;
    const struct json_member members[] = {
        JSON_MUST_IN("requests", JSON_LIST, 1, MOST_THREADS, &rows),
        JSON_MAY("rule", JSON_TEXT, &m->rule),
        JSON_MAY("closeness", JSON_SHARE, &m->input.closeness),
        JSON_MAY("factor", JSON_POSITIVE, &factor),
        JSON_KNOWN("cores"),
        JSON_KNOWN("machine"),
        {0}};

    m->input.closeness = MAPPING_CLOSENESS;
    m->rule = "critical";
    if (json_reader_members(reader, object, members) < 0)
        return fail(EXIT_REFUSED, "%s", reader->err->text);
    if ((arguments->machine || json_object_get(object, "machine")) &&
        !(m->machine = load_machine(arguments, reader, object)))
        return EXIT_REFUSED;
    if (read_requests(reader, m, rows) < 0 || read_cores(reader, m, object, arguments) < 0)
        return fail(EXIT_REFUSED, "%s", reader->err->text);
    if (m->input.closeness <= 0)
        return fail(EXIT_REFUSED, "%s: closeness: must be above 0", reader->file);
    mapping_factor_uniform(m->input.nodes, factor, m->factor);
    if (m->machine && !json_object_get(object, "factor"))
        mapping_factor_machine(m->machine->machine, m->factor);
    m->input.requests = m->requests;
    m->input.factor = m->factor;
    m->input.cores = m->cores;
    return EXIT_DONE;
}

/* ---- output ---------------------------------------------------------------- */

static void note_round(void *arg, const struct mapping_candidate *candidates, size_t count,
                       size_t chosen)
{
    struct map *m = arg;
    json_t *list = json_array();

    m->round_of[candidates[chosen].thread] = json_array_size(m->rounds);
    for (size_t n = 0; n < count; n++)
        json_array_append_new(list, json_pack("{s:I, s:I, s:f}", "thread",
                                              (json_int_t)candidates[n].thread, "node",
                                              (json_int_t)candidates[n].node, "cost",
                                              candidates[n].cost));
    json_array_append_new(m->rounds, json_pack("{s:I, s:o}", "chosen", (json_int_t)chosen,
                                               "candidates", list));
}

static int map_show(const struct arguments *arguments, struct map *m)
{
    static const char *const columns[] = {"thread", "node", "local_share", "round", NULL};
    struct output output = {.rows = "threads", .columns = columns};
    const size_t nodes = m->input.nodes;
    json_t *rows = json_array();
    double all = 0;

    for (size_t i = 0; i < m->input.threads; i++) {
        double sum = 0;
        for (size_t j = 0; j < nodes; j++)
            sum += m->requests[i * nodes + j];
        all += sum;
        json_t *row = json_pack("{s:I, s:I, s:f}", "thread", (json_int_t)i, "node",
                                (json_int_t)m->result.node[i], "local_share",
                                m->requests[i * nodes + m->result.node[i]] / sum);
        if (json_array_size(m->rounds))
            json_object_set_new(row, "round", json_integer((json_int_t)m->round_of[i]));
        json_array_append_new(rows, row);
    }
    if (arguments->table)
        printf("%s: %.4g of the requests are local, critical path %.6g\n", m->rule,
               m->result.local / all, m->result.critical_path);
    output.result = json_pack("{s:s, s:f, s:f, s:f, s:o, s:o, s:O}", "rule", m->rule, "local",
                              m->result.local, "local_share", m->result.local / all,
                              "critical_path", m->result.critical_path, "critical",
                              json_writer_numbers(m->result.critical, nodes), "threads", rows,
                              "rounds", m->rounds);
    return output_show(&output, arguments);
}

static int map_make(const struct arguments *arguments, struct json_reader *reader, struct map *m)
{
    enum model_status status;
    bool all = strncmp(m->rule, "best-", 5) == 0;
    const char *name = all ? m->rule + 5 : m->rule;
    enum mapping_rule rule =
        strcmp(name, "locality") == 0 ? MAPPING_LOCALITY : MAPPING_CRITICAL;

    if (rule == MAPPING_CRITICAL && strcmp(name, "critical") != 0)
        return fail(arguments->rule ? EXIT_USAGE : EXIT_REFUSED,
                    "%s%s: unknown rule, one of locality, critical, best-locality, best-critical",
                    arguments->rule ? "--rule=" : "rule: ", m->rule);
    if (all && mapping_count(&m->input) > MAPPING_MOST_MAPS)
        return fail(EXIT_REFUSED, "%s: %s: more than %g ways to place %zu threads", reader->file,
                    m->rule, MAPPING_MOST_MAPS, m->input.threads);
    m->rounds = json_array();
    m->result.round = note_round;
    m->result.arg = m;
    status = all ? mapping_optimum(rule, &m->input, m->scratch, &m->result)
                 : mapping_make(rule, &m->input, m->scratch, &m->result);
    return status == MODEL_OK ? map_show(arguments, m) : fail_model(reader->file, status);
}

int command_map(const struct arguments *arguments)
{
    struct errtext err = {""};
    struct json_reader reader;
    struct map m = {0};
    json_t *input = load_table(arguments, &reader, &err);

    if (!input)
        return EXIT_REFUSED;
    int rc = map_read(&m, arguments, &reader, input);
    if (arguments->rule)
        m.rule = arguments->rule;
    if (rc == EXIT_DONE)
        rc = map_make(arguments, &reader, &m);
    map_release(&m);
    json_decref(input);
    return rc;
}
