/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the agent writes into a recording. */

#include "config.h"

#include "node_agent/core/journal.h"

#include <string.h>
#include <sys/utsname.h>

#include "common/clock.h"
#include "common/json_writer.h"
#include "common/log.h"
#include "node_agent/counters/sample_json.h"
#include "node_agent/recording/journal_machine.h"
#include "node_agent/core/observer.h"
#include "node_agent/core/plan_fields.h"
#include "node_agent/recording/recording.h"
#include "protocol/cpulist.h"
#include "protocol/json_fields.h"

static json_t *cpus_json(const struct cosched_cpuset *cpus)
{
    char list[4096];

    return json_string(cpulist_format(cpus, list, sizeof(list)));
}

/* ---- the first line ----------------------------------------------------- */

static json_t *metrics_json(const struct counters *counters)
{
    struct counters_ability ability[COUNTERS_METRICS];
    json_t *array = json_array();

    counters_describe(counters, ability);
    for (size_t m = 0; m < COUNTERS_METRICS; m++)
        if (ability[m].can)
            json_array_append_new(array,
                                  json_string(counters_metric_name(m)));
    return array;
}

static json_t *begin_json(const struct topology *topology,
                          const struct counters *counters,
                          const struct node_options *options)
{
    const struct counters_setup *setup = counters_setup(counters);
    struct utsname kernel = {.release = ""};
    json_t *machine = journal_machine_write(topology_machine(topology));

    uname(&kernel);
    json_object_set_new(machine, "packages",
                        json_integer((json_int_t)setup->packages));
    return json_pack(
        "{s:s, s:f, s:s, s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:{s:s, s:I, s:I, "
        "s:I}}",
        "program", "coschedd " PACKAGE_VERSION, "time",
        (double)clock_wall_ns() * 1e-9, "host", kernel.nodename, "kernel",
        kernel.release, "cpu_model", setup->cpu_model ? setup->cpu_model : "",
        "counters", counters_names(counters), "calibrated",
        (int)setup->calibrated, "metrics", metrics_json(counters), "cpus",
        cpus_json(topology_cpus(topology)), "machine", machine, "options",
        "policy", options->policy, "epoch_ns", (json_int_t)options->epoch_ns,
        "profile_ns", (json_int_t)options->profile_ns, "min_region_ns",
        (json_int_t)options->min_region_ns);
}

int journal_start(struct recorder *recorder, const char *dir,
                  const struct topology *topology,
                  const struct counters *counters,
                  const struct node_options *options, struct job_table *jobs,
                  struct errtext *err)
{
    json_t *begin = begin_json(topology, counters, options);

    if (!begin)
        return errtext_set(err, ENOMEM, "recording: out of memory");
    if (recorder_start(recorder, dir, begin, err) < 0)
        return -1;
    FILE *file = recorder_create(recorder, RECORDING_TOPOLOGY, err);
    if (!file || topology_export(topology, file, err) < 0) {
        recorder_stop(recorder);
        return -1;
    }
    for (struct job *j = jobs->first; j; j = j->next) {
        region_list_clear(&j->regions);
        j->region = NULL;
    }
    return 0;
}

bool journal_active(const struct recorder *recorder)
{
    return recorder_active(recorder);
}

/* ---- what happens ------------------------------------------------------- */

static void write_line(struct recorder *recorder, const char *type,
                       json_t *line)
{
    struct errtext err;

    if (!line)
        log_error("recording: out of memory");
    else if (recorder_write(recorder, type, line, &err) < 0)
        log_error("%s", err.text);
}

/* What WHERE tells of JOB, and its REGION. */
static json_t *job_json(const struct job *job, const struct region *region,
                        unsigned where)
{
    json_t *object = json_fields_write(plan_job_fields, job, where);
    char name[REGION_NAME_MAX];

    json_object_set_new(object, "region",
                        region ? json_string(region_name(region, name))
                               : json_null());
    return object;
}

void journal_sample(struct recorder *recorder, const struct sample *sample,
                    const struct observer_reading *readings, size_t count,
                    const struct node_options *options)
{
    if (!recorder_active(recorder))
        return;
    json_t *line = sample_json_write(sample), *jobs = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct observer_reading *reading = &readings[i];
        json_t *job = job_json(reading->job, reading->region, PLAN_SAMPLED);
        json_object_set_new(job, "cores",
                            json_integer((json_int_t)reading->dop));
        json_object_set_new(job, "work",
                            json_writer_numbers(reading->work, COUNTERS_UNITS));
        if (reading->idle_ns > 0)
            json_object_set_new(job, "idle_ns", json_real(reading->idle_ns));
        json_array_append_new(jobs, job);
    }
    json_object_set_new(line, "jobs", jobs);
    json_object_set_new(line, "profile_ns",
                        json_integer((json_int_t)options->profile_ns));
    write_line(recorder, "sample", line);
}

void journal_decision(struct recorder *recorder, const struct plan_input *input,
                      const struct plan *plan, const char *trigger)
{
    if (!recorder_active(recorder))
        return;
    json_t *jobs = json_array();
    for (size_t i = 0; i < input->count; i++) {
        const struct job *j = input->jobs[i];
        json_t *job = job_json(j, j->region, PLAN_WRITTEN);
        json_t *share = json_fields_write(plan_share_fields, &plan->share[i],
                                          PLAN_WRITTEN);
        json_object_update(job, share);
        json_decref(share);
        json_array_append_new(jobs, job);
    }
    json_t *line = json_pack("{s:f, s:s, s:s, s:s, s:o}", "time",
                             (double)clock_wall_ns() * 1e-9, "trigger",
                             trigger, "policy", plan->policy->name, "reason",
                             plan->reason, "jobs", jobs);
    json_t *from = json_fields_write(plan_input_fields, input, PLAN_WRITTEN);
    json_object_update(line, from);
    json_decref(from);
    write_line(recorder, "decision", line);
}
