/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A mix of jobs on a machine, as the utilisation command reads it. */

#include <stdlib.h>
#include <string.h>

#include "coschedmodel/mix.h"

size_t mix_cpus(const struct mix *mix)
{
    const struct machine *m = mix->description->machine;
    size_t cpus = 0;

    for (size_t i = 0; i < m->llc_domains; i++)
        cpus += machine_node_cpus(m, i);
    return cpus;
}

/* Cores of LLC domain NODE that no job has. */
static size_t unused(const struct mix *mix, size_t node)
{
    size_t all = machine_node_cpus(mix->description->machine, node);

    for (size_t j = 0; j < mix->jobs; j++)
        all -= mix->cores[node * mix->jobs + j];
    return all;
}

size_t mix_pack(struct mix *mix, size_t job, size_t count)
{
    size_t llc_domains = mix->description->machine->llc_domains, got = 0;

    for (size_t i = 0; i < llc_domains; i++)
        mix->cores[i * mix->jobs + job] = 0;
    for (size_t i = 0; i < llc_domains && got < count; i++) {
        size_t take = unused(mix, i);
        if (take > count - got)
            take = count - got;
        mix->cores[i * mix->jobs + job] = take;
        got += take;
    }
    return got;
}

/* "rates": one object for each NUMA node. */
static int read_rate(struct json_reader *reader, const json_t *value, size_t m,
                     void *arg)
{
    struct workload_rate *rate = &((struct workload *)arg)->rate[m];
    double read = -1;
    const struct json_member members[] = {
        JSON_MUST("mrr_per_us", JSON_NOT_NEGATIVE, &rate->mrr_per_us),
        JSON_MAY("read_per_us", JSON_NOT_NEGATIVE, &read),
        {0}};

    if (json_reader_members(reader, value, members) < 0)
        return -1;
    rate->read_per_us = read < 0 ? rate->mrr_per_us : read;
    return rate->read_per_us <= rate->mrr_per_us
               ? 0
               : json_reader_fail(reader, "read_per_us",
                                  "%g is more than mrr_per_us", read);
}

static int read_rates(struct json_reader *reader, const json_t *object,
                      struct workload *profile)
{
    const json_t *list;

    if (json_reader_array(reader, object, "rates", false, profile->numa_nodes,
                          profile->numa_nodes, &list) < 0)
        return -1;
    return json_reader_each(reader, list, "rates", read_rate, profile);
}

static int read_profile(struct json_reader *reader, const json_t *object,
                        struct mix *mix, size_t job)
{
    const struct machine *m = mix->description->machine;
    double rho = 0;

    if (json_object_get(object, "rho")) {
        if (json_object_get(object, "rates"))
            return json_reader_fail(reader, "rho", "stands instead of rates");
        if (json_reader_number(reader, object, "rho", false, JSON_NOT_NEGATIVE,
                               &rho) < 0)
            return -1;
        mix->profile[job] = workload_new_rho(m->numa_nodes, rho,
                                             m->controller_service_us[0]);
    } else {
        mix->profile[job] = workload_new(m->numa_nodes);
    }
    if (!mix->profile[job])
        return errtext_set(reader->err, ENOMEM, "out of memory");
    if (!json_object_get(object, "rho") &&
        read_rates(reader, object, mix->profile[job]) < 0)
        return -1;
    if (json_reader_number(reader, object, "locality", true, JSON_SHARE,
                           &mix->profile[job]->locality) < 0)
        return -1;
    return json_reader_number(reader, object, "sync_share", true, JSON_SHARE,
                              &mix->profile[job]->sync_share);
}

/* "cores": how many, or how many of each LLC domain. */
static int read_cores(struct json_reader *reader, const json_t *object,
                      struct mix *mix, size_t job)
{
    size_t llc_domains = mix->description->machine->llc_domains, count = 0;
    const json_t *list = json_object_get(object, "cores");
    double number;

    if (!json_is_array(list)) {
        if (json_reader_count(reader, object, "cores", false, 0, mix_cpus(mix),
                              &count) < 0)
            return -1;
        if (mix_pack(mix, job, count) < count)
            return json_reader_fail(reader, "cores",
                                    "there are not %zu cores left", count);
        return 0;
    }
    if (json_reader_array(reader, object, "cores", false, llc_domains, llc_domains,
                          &list) < 0)
        return -1;
    for (size_t i = 0; i < llc_domains; i++) {
        if (json_reader_element(reader, list, "cores", i, JSON_NOT_NEGATIVE,
                                &number) < 0)
            return -1;
        if (!json_is_integer(json_array_get(list, i)) ||
            number > (double)unused(mix, i))
            return json_reader_fail(reader, "cores", "[%zu]: %g is not a whole "
                                    "number up to the %zu cores left", i,
                                    number, unused(mix, i));
        mix->cores[i * mix->jobs + job] = (size_t)number;
    }
    return 0;
}

static int read_job(struct json_reader *reader, const json_t *object,
                    size_t job, void *arg)
{
    struct mix *mix = arg;
    const struct json_member members[] = {
        JSON_MUST("name", JSON_TEXT, &mix->name[job]),
        JSON_MAY("weight", JSON_POSITIVE, &mix->weight[job]),
        JSON_MAY("work", JSON_POSITIVE, &mix->work[job]),
        JSON_KNOWN("rho"),
        JSON_KNOWN("rates"),
        JSON_KNOWN("sync_share"),
        JSON_KNOWN("locality"),
        JSON_KNOWN("cores"),
        {0}};

    mix->name[job] = "";
    mix->weight[job] = 1;
    if (json_reader_members(reader, object, members) < 0 ||
        read_profile(reader, object, mix, job) < 0)
        return -1;
    if (mix->sweep && json_object_get(object, "cores"))
        return json_reader_fail(reader, "cores", "--sweep tries all of them");
    return mix->sweep ? 0 : read_cores(reader, object, mix, job);
}

int mix_read(struct mix *mix, const struct arguments *arguments,
             struct json_reader *reader, const json_t *input)
{
    const json_t *list;
    const struct json_member members[] = {
        JSON_MUST_IN("jobs", JSON_LIST, arguments->sweep ? 2 : 1,
                     arguments->sweep ? 2 : MVA_MAX_CLASSES, &list),
        JSON_KNOWN("machine"),
        JSON_KNOWN("method"),
        {0}};

    *mix = (struct mix){.sweep = arguments->sweep};
    if (json_reader_members(reader, input, members) < 0)
        return fail(EXIT_REFUSED, "%s", reader->err->text);
    int status =
        method_choose(arguments, reader, input, &mix->method, &mix->closed);
    if (status != EXIT_DONE)
        return status;
    if (mix->closed && arguments->sweep)
        return fail(EXIT_USAGE, "--sweep: not with method closed");
    mix->description = load_machine(arguments, reader, input);
    if (!mix->description)
        return EXIT_REFUSED;
    mix->jobs = json_array_size(list);
    mix->name = calloc(mix->jobs, sizeof(*mix->name));
    mix->profile = calloc(mix->jobs, sizeof(*mix->profile));
    mix->weight = calloc(mix->jobs, sizeof(*mix->weight));
    mix->work = calloc(mix->jobs, sizeof(*mix->work));
    mix->cores = calloc(mix->description->machine->llc_domains * mix->jobs,
                        sizeof(*mix->cores));
    if (!mix->name || !mix->profile || !mix->weight || !mix->work ||
        !mix->cores)
        return fail(EXIT_REFUSED, "out of memory");
    return json_reader_each(reader, list, "jobs", read_job, mix) < 0
               ? fail(EXIT_REFUSED, "%s", reader->err->text)
               : EXIT_DONE;
}

void mix_release(struct mix *mix)
{
    for (size_t j = 0; mix->profile && j < mix->jobs; j++)
        workload_free(mix->profile[j]);
    free(mix->cores);
    free(mix->work);
    free(mix->weight);
    free(mix->profile);
    free(mix->name);
    machine_description_free(mix->description);
}
