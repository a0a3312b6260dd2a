/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Deciding again what was decided in a recording. */

#include "node_agent/recording/journal_replay.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/recording/journal_machine.h"
#include "node_agent/core/observer.h"
#include "node_agent/core/plan_fields.h"
#include "node_agent/core/stall_watch.h"
#include "node_agent/counters/sample_json.h"
#include "node_agent/recording/recording.h"
#include "protocol/cpulist.h"
#include "protocol/json_fields.h"

#define MAX_JOBS JOB_LIMIT

struct replay {
    struct recording *recording;
    struct topology *topology;
    struct planner *planner;
    struct stall_watch *stalls;
    struct cosched_cpuset cpus;
    struct counters_setup setup;
    struct counters *counters;
    struct sample *sample;
    struct job_table jobs;
    const char *policy; /* instead of the recorded ones, or NULL */
    bool all;
    FILE *out;
    struct journal_result *result;
    const struct journal_walk *walk; /* or NULL: decide again */
};

/* ---- the machine -------------------------------------------------------- */

static int load_machine(struct replay *r, const char *dir, struct errtext *err)
{
    const json_t *begin = recording_begin(r->recording);
    const json_t *object = json_object_get(begin, "machine");
    const char *cpus = json_string_value(json_object_get(begin, "cpus"));
    char path[PATH_MAX];
    struct errtext why;

    snprintf(path, sizeof(path), "%s/" RECORDING_TOPOLOGY, dir);
    if (!cpus || cpulist_parse(cpus, &r->cpus, NULL) < 0)
        return recording_refuse(r->recording, err, "cpus: not a list of CPUs");
    /* hwloc would take this machine where it cannot read the file. */
    if (access(path, R_OK) < 0)
        return errtext_set(err, errno, "%.150s: %s", path, strerror(errno));
    unsetenv("HWLOC_SYNTHETIC");
    if (setenv("HWLOC_XMLFILE", path, 1) < 0 ||
        !(r->topology = topology_new(&r->cpus, &why)))
        return errtext_set(err, errno, "%.80s: %.100s", path, why.text);
    struct machine *machine = journal_machine_read(object, &why);
    if (!machine || topology_set_machine(r->topology, machine, &why) < 0) {
        machine_free(machine);
        return recording_refuse(r->recording, err, "%.100s", why.text);
    }
    return 0;
}

static int open_counters(struct replay *r, struct errtext *err)
{
    const json_t *begin = recording_begin(r->recording);

    counters_setup_init(&r->setup, topology_machine(r->topology),
                        topology_cpus(r->topology));
    r->setup.llc_domain = topology_llc_domains(r->topology);
    r->setup.package = topology_packages(r->topology, &r->setup.packages);
    r->setup.calibrated = json_is_true(json_object_get(begin, "calibrated"));
    /* For its profiles; what was counted comes from the lines. */
    r->counters = counters_open("progress", &r->setup, NULL, 0, err);
    r->sample = sample_new(r->setup.machine->cpus, r->setup.machine->llc_domains,
                           r->setup.machine->numa_nodes, r->setup.packages);
    r->stalls = stall_watch_new(r->setup.machine);
    if (r->counters && (!r->sample || !r->stalls))
        errtext_set(err, ENOMEM, "replay: out of memory");
    return r->counters && r->sample && r->stalls ? 0 : -1;
}

/* ---- lines -------------------------------------------------------------- */

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value ? value : "";
}

static uint64_t number(const json_t *object, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(object, key));

    return n > 0 ? (uint64_t)n : 0;
}

/* The job of ENTRY, with its region and what WHERE tells of it. */
static struct job *read_job(struct replay *r, const json_t *entry,
                            unsigned where, struct errtext *err)
{
    uint64_t id = number(entry, "job");
    const char *region = text(entry, "region"), *bad = "job";
    unsigned long long object_id, offset;
    struct job *job = job_find(&r->jobs, (uint32_t)id);
    uint32_t before = job ? job->restarts : 0;

    if (!id || id > UINT32_MAX ||
        (!job && !(job = job_add(&r->jobs, (uint32_t)id))) ||
        json_fields_read(plan_job_fields, job, entry, where, &bad) < 0) {
        recording_refuse(r->recording, err, "job %llu: %s: absent or not valid",
                         (unsigned long long)id, bad);
        return NULL;
    }
    if (job->restarts != before)
        region_list_clear(&job->regions);
    job->region = NULL;
    if (!strcmp(region, "short"))
        job->region = region_folded(&job->regions);
    else if (sscanf(region, "%16llx+%16llx", &object_id, &offset) == 2)
        job->region = region_find(&job->regions, object_id, offset);
    return job;
}

static int on_sample(struct replay *r, const json_t *line, struct errtext *err)
{
    const json_t *jobs = json_object_get(line, "jobs");
    size_t count = json_array_size(jobs);
    struct errtext why;

    if (count > MAX_JOBS)
        return recording_refuse(r->recording, err, "jobs: too many");
    if (sample_json_read(line, r->sample, &why) < 0)
        return recording_refuse(r->recording, err, "%.100s", why.text);
    struct observer_reading *readings = calloc(count + 1, sizeof(*readings));
    struct attribute_job *shares = calloc(count + 1, sizeof(*shares));
    int rc = readings && shares ? 0
                             : errtext_set(err, ENOMEM, "replay: no memory");
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const json_t *entry = json_array_get(jobs, i);
        const json_t *work = json_object_get(entry, "work");
        struct job *job = read_job(r, entry, PLAN_SAMPLED, err);
        if (!job) {
            rc = -1;
            break;
        }
        readings[i] = (struct observer_reading){.job = job,
                                          .region = job->region,
                                          .idle_ns = json_number_value(
                                              json_object_get(entry, "idle_ns")),
                                          .dop = number(entry, "cores")};
        shares[i] = (struct attribute_job){.id = job->id, .cpus = job->cpus};
        for (size_t u = 0; u < COUNTERS_UNITS; u++)
            readings[i].work[u] = json_number_value(json_array_get(work, u));
    }
    if (rc == 0)
        observer_learn(r->counters, r->stalls, NULL, r->sample, readings, shares, count,
                       number(line, "profile_ns"));
    if (rc == 0 && r->walk)
        r->walk->sample(r->walk->arg, r->sample, readings, count);
    r->result->samples += rc == 0;
    free(readings);
    free(shares);
    return rc;
}

/* ---- decisions ---------------------------------------------------------- */

/* The jobs of a decision as they were before it, and what they got. */
static int read_jobs(struct replay *r, const json_t *entries,
                     struct job **jobs, struct plan_share *got,
                     struct errtext *err)
{
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *e = json_array_get(entries, i);
        const char *bad = "options";
        struct job *job = jobs[i] = read_job(r, e, PLAN_WRITTEN, err);
        if (!job)
            return -1;
        if (job_options_parse(&job->options, job->options_text, NULL) < 0 ||
            json_fields_read(plan_share_fields, &got[i], e, PLAN_WRITTEN,
                             &bad) < 0)
            return recording_refuse(r->recording, err,
                                    "job %u: %s: absent or not valid", job->id,
                                    bad);
    }
    return 0;
}

static bool same(const struct plan_share *a, const struct plan_share *b,
                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!cpuset_equal(&a[i].cpus, &b[i].cpus) ||
            a[i].parked != b[i].parked || a[i].profile_dop != b[i].profile_dop)
            return false;
    return true;
}

static void print_decision(const struct replay *r, const json_t *line,
                           struct job *const *jobs,
                           const struct plan_share *then,
                           const struct plan_share *now, size_t count,
                           const char *reason, bool different)
{
    char before[4096], after[4096];

    if (!r->out || !(different || r->all))
        return;
    fprintf(r->out, "%zu %s: %s\n", r->result->decisions,
            different ? "differs" : "same", text(line, "trigger"));
    for (size_t i = 0; i < count; i++) {
        bool changed = !same(&then[i], &now[i], 1);
        cpulist_format(&then[i].cpus, before, sizeof(before));
        cpulist_format(&now[i].cpus, after, sizeof(after));
        fprintf(r->out, "  job %u: CPUs %s%s%s\n", jobs[i]->id,
                *before ? before : "none", changed ? ", now " : "",
                changed ? (*after ? after : "none") : "");
    }
    if (different)
        fprintf(r->out, "  then: %s\n", text(line, "reason"));
    fprintf(r->out, "  now: %s\n", reason);
}

static void decide_again(struct replay *r, const json_t *line,
                         const struct plan_input *input,
                         const struct plan_share *then, struct plan_share *now)
{
    struct plan plan = {.share = now};
    struct errtext why = {""};
    int made = plan_make(r->planner, input, &plan, &why);
    bool different = made < 0 || !same(then, now, input->count);

    r->result->decisions++;
    r->result->different += different;
    print_decision(r, line, input->jobs, then, now, input->count,
                   made < 0 ? why.text : plan.reason, different);
}

static int read_input(const struct replay *r, const json_t *line,
                      struct plan_input *input, struct errtext *err)
{
    const char *bad;

    if (json_fields_read(plan_input_fields, input, line, PLAN_WRITTEN, &bad) < 0)
        return recording_refuse(r->recording, err, "%s: absent or not valid",
                                bad);
    if (r->policy) {
        input->policy = r->policy;
        input->policy_options = NULL;
    }
    return 0;
}

static int on_decision(struct replay *r, const json_t *line,
                       struct errtext *err)
{
    const json_t *entries = json_object_get(line, "jobs");
    size_t count = json_array_size(entries);

    if (!count || count > MAX_JOBS)
        return recording_refuse(r->recording, err, "jobs: none or too many");
    struct job **jobs = calloc(count, sizeof(*jobs));
    struct plan_share *then = calloc(count, sizeof(*then));
    struct plan_share *now = calloc(count, sizeof(*now));
    struct plan_input input = {.topology = r->topology,
                               .jobs = jobs,
                               .count = count,
                               .fairness_percent = POLICY_FAIRNESS_PERCENT};
    int rc = jobs && then && now
                 ? read_jobs(r, entries, jobs, then, err)
                 : errtext_set(err, ENOMEM, "replay: out of memory");
    if (rc == 0)
        rc = read_input(r, line, &input, err);
    if (rc == 0 && !r->walk)
        decide_again(r, line, &input, then, now);
    /* What was measured next was measured of the recorded shares. */
    for (size_t i = 0; rc == 0 && i < count; i++)
        plan_grant(&then[i], jobs[i], &input.budget);
    free(jobs);
    free(then);
    free(now);
    return rc;
}

/* ---- all ---------------------------------------------------------------- */

static int run(struct replay *r, struct errtext *err)
{
    const char *type;
    json_t *line;
    int rc;

    while ((rc = recording_next(r->recording, &line, &type, err)) > 0) {
        rc = 0;
        if (!strcmp(type, "sample"))
            rc = on_sample(r, line, err);
        else if (!strcmp(type, "decision"))
            rc = on_decision(r, line, err);
        json_decref(line);
        if (rc < 0)
            return -1;
    }
    return rc;
}

/* All but the topology, which serves other recordings of its machine, too. */
static void release(struct replay *r)
{
    while (r->jobs.first)
        job_remove(&r->jobs, r->jobs.first);
    sample_free(r->sample);
    counters_close(r->counters);
    stall_watch_free(r->stalls);
    planner_free(r->planner);
    recording_close(r->recording);
}

static int replay(struct replay *r, const char *dir, struct errtext *err)
{
    int rc = -1;

    r->recording = recording_open(dir, err);
    if (r->recording && load_machine(r, dir, err) == 0 &&
        open_counters(r, err) == 0)
        rc = (r->planner = planner_new(r->topology))
                 ? run(r, err)
                 : errtext_set(err, ENOMEM, "replay: out of memory");
    if (rc == 0 && r->walk)
        r->walk->end(r->walk->arg, &r->jobs);
    int saved = errno;
    release(r);
    topology_free(r->topology);
    errno = saved;
    return rc;
}

int journal_replay(const char *dir, const char *policy, bool all, FILE *out,
                   struct journal_result *result, struct errtext *err)
{
    struct replay r = {
        .policy = policy, .all = all, .out = out, .result = result};

    *result = (struct journal_result){0};
    if (policy && !policy_find(policy))
        return errtext_set(err, EINVAL, "policy %s: no such policy", policy);
    return replay(&r, dir, err);
}

int journal_read(const char *dir, const struct journal_walk *walk,
                 struct errtext *err)
{
    struct journal_result ignored = {0};
    struct replay r = {.walk = walk, .result = &ignored};

    return replay(&r, dir, err);
}
