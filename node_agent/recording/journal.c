/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the agent writes into a recording. */

#include "config.h"

#include "node_agent/core/journal.h"

#include <limits.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/clock.h"
#include "node_agent/counters/sample_json.h"
#include "node_agent/recording/journal_machine.h"
#include "common/log.h"
#include "node_agent/core/observer.h"
#include "node_agent/core/plan.h"
#include "node_agent/recording/recording.h"
#include "protocol/cpulist.h"

static json_t *cpus_json(const struct cosched_cpuset *cpus)
{
    char list[4096];

    return json_string(cpulist_format(cpus, list, sizeof(list)));
}

static json_t *region_json(const struct region *s)
{
    char name[REGION_NAME_MAX];

    return s ? json_string(region_name(s, name)) : json_null();
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
    char path[PATH_MAX];
    json_t *begin = begin_json(topology, counters, options);

    if (!begin)
        return errtext_set(err, ENOMEM, "recording: out of memory");
    if (recorder_start(recorder, dir, begin, err) < 0)
        return -1;
    snprintf(path, sizeof(path), "%s/" RECORDING_TOPOLOGY, dir);
    if (topology_export(topology, path, err) < 0) {
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

void journal_sample(struct recorder *recorder, const struct sample *sample,
                    const struct observer_reading *readings, size_t count,
                    const struct node_options *options)
{
    if (!recorder_active(recorder))
        return;
    json_t *line = sample_json_write(sample), *jobs = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct observer_reading *look = &readings[i];
        json_t *work = json_array();
        for (size_t u = 0; u < COUNTERS_UNITS; u++)
            json_array_append_new(work, json_real(look->work[u]));
        json_array_append_new(
            jobs, json_pack("{s:I, s:I, s:o, s:I, s:b, s:o, s:o}", "job",
                            (json_int_t)look->job->id, "run",
                            (json_int_t)look->job->restarts, "cpus",
                            cpus_json(&look->job->cpus), "cores",
                            (json_int_t)look->dop, "profiling",
                            (int)look->job->profiling, "region",
                            region_json(look->region), "work", work));
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
        const struct plan_share *share = &plan->share[i];
        json_array_append_new(
            jobs,
            json_pack("{s:I, s:I, s:s, s:b, s:s, s:o, s:o, s:o, s:o, s:b, s:I,"
                      " s:f, s:f, s:f, s:b}",
                      "job", (json_int_t)j->id, "run", (json_int_t)j->restarts,
                      "kind",
                      job_kind(j) == REGION_SERIAL ? "serial" : "parallel",
                      "profiling", (int)j->profiling, "options",
                      j->options_text, "region", region_json(j->region),
                      "granted", cpus_json(&j->granted), "had",
                      cpus_json(&j->cpus), "gets", cpus_json(&share->cpus),
                      "parked", (int)share->parked, "measured_at",
                      (json_int_t)share->profile_dop, "expected_s",
                      j->expected_s, "done_s", j->done_s, "weight",
                      j->weight, "pinned", j->doing == JOB_PINNED));
    }
    json_t *line = json_pack(
        "{s:f, s:s, s:s, s:s, s:s, s:I, s:I, s:f, s:i, s:s, s:o}", "time",
        (double)clock_wall_ns() * 1e-9, "trigger", trigger, "node_policy",
        input->policy, "node_policy_options",
        input->policy_options ? input->policy_options : "", "policy",
        plan->policy->name, "slice", (json_int_t)input->slice, "profile_ns",
        (json_int_t)input->budget.profile_ns, "probe", input->budget.share,
        "fairness_percent", input->fairness_percent, "reason", plan->reason, "jobs", jobs);
    if (line && input->max_jobs)
        json_object_set_new(line, "max_jobs",
                            json_integer((json_int_t)input->max_jobs));
    if (line && input->drained)
        json_object_set_new(line, "drained", json_string(input->drained));
    write_line(recorder, "decision", line);
}
