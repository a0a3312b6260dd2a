/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the jobs are doing: from report pages to sections and measurements. */

#include "node_agent/observer.h"

#include <stdlib.h>
#include <string.h>

#include "node_agent/log.h"
#include "node_agent/process.h"
#include "protocol/cpulist.h"

/* Shorter intervals than this measure the clock, not the job. */
#define MIN_INTERVAL_NS (2 * UINT64_C(1000000))

struct observer {
    struct counters *counters;
    const struct topology *topology;
    uint64_t last_ns;
    struct counters_job *sample; /* [room] */
    size_t room;
};

struct observer *observer_new(struct counters *counters,
                              const struct topology *topology)
{
    struct observer *o = calloc(1, sizeof(*o));

    if (o) {
        o->counters = counters;
        o->topology = topology;
    }
    return o;
}

void observer_free(struct observer *o)
{
    if (!o)
        return;
    free(o->sample);
    free(o);
}

/* A job without attached processes: serial while it may still attach, then
 * rigid, which counts as parallel because nobody knows. */
static void classify_unattached(struct job *job,
                                const struct node_options *options,
                                uint64_t now_ns)
{
    if (!job->unattached_since_ns)
        job->unattached_since_ns = now_ns;
    job->rigid = now_ns - job->unattached_since_ns >= options->attach_ns;
    job->kind = job->rigid ? SECTION_PARALLEL : SECTION_SERIAL;
    job->section = NULL;
}

/* Parallel as soon as one process is; serial once all have been for long. */
static void classify_attached(struct job *job,
                              const struct node_options *options,
                              uint64_t now_ns)
{
    const struct cosched_section *named = NULL;
    bool parallel = false, all_serial = true;

    job->rigid = false;
    job->unattached_since_ns = 0;
    for (struct process *p = job->processes; p; p = p->next) {
        if (p->bad)
            continue;
        if (process_serial_ns(p, now_ns) < options->min_section_ns ||
            !p->serial)
            all_serial = false;
        if (!p->serial)
            parallel = true;
        if (!named)
            named = process_long_section(p, now_ns, options->min_section_ns);
    }
    if (all_serial) {
        job->kind = SECTION_SERIAL;
        job->section = NULL;
    } else if (parallel) {
        job->kind = SECTION_PARALLEL;
        job->section = named ? section_find(&job->sections, named->object_id,
                                            named->offset)
                             : section_folded(&job->sections);
    }
    /* Else it is in a serial stretch that is short so far: nothing changes. */
}

static bool any_good_process(const struct job *job)
{
    for (const struct process *p = job->processes; p; p = p->next)
        if (!p->bad)
            return true;
    return false;
}

static void observe_job(struct job *job, const struct node_options *options,
                        uint64_t now_ns)
{
    size_t sections = job->sections_ended;

    for (struct process *p = job->processes; p; p = p->next) {
        struct errtext err;
        if (process_observe(p, now_ns, &err) < 0)
            log_warn("job %u: %s; the process is held by affinity from now on",
                     job->id, err.text);
        sections += p->view->used;
    }
    if (any_good_process(job))
        classify_attached(job, options, now_ns);
    else
        classify_unattached(job, options, now_ns);
    /* After a restart the count begins again with the reports. */
    if (sections > job->record.sections)
        job->record.sections = sections;
}

static void add_to_record(struct observer *o, const struct job_table *jobs,
                          struct job *job, uint64_t elapsed_ns)
{
    size_t cores = topology_count_cores(o->topology, &job->cpus);

    record_add_time(&job->record, elapsed_ns, cores);
    if (job->kind == SECTION_PARALLEL && !job->rigid)
        job->record.parallel_s += (double)elapsed_ns * 1e-9;
    for (const struct job *other = jobs->first; other; other = other->next)
        if (other != job && job_live(other))
            record_add_partner(&job->record, other->id);
}

/* The work of JOB since the last look, in the section it was in before. */
static void fill_sample(const struct observer *o, const struct job *job,
                        struct section *section, struct counters_job *sample)
{
    memset(sample, 0, sizeof(*sample));
    sample->id = job->id;
    sample->cpus = job->cpus;
    sample->dop = topology_count_cores(o->topology, &job->cpus);
    sample->measure = &section->measure;
    for (const struct process *p = job->processes; p; p = p->next)
        process_add_work(p, section->folded, section->object_id,
                         section->offset, sample->work);
}

static bool make_room(struct observer *o, size_t count)
{
    if (count <= o->room)
        return true;
    struct counters_job *bigger = realloc(o->sample, count * sizeof(*bigger));
    if (!bigger)
        return false;
    o->sample = bigger;
    o->room = count;
    return true;
}

static void advance_sections(struct observer *o, struct job_table *jobs,
                             const struct node_options *options)
{
    for (struct job *j = jobs->first; j; j = j->next) {
        struct section *s = j->section;
        if (!s || !section_advance(s, o->counters, options->profile_ns))
            continue;
        if (s->profile)
            log_info("job %u: section %016llx+%llx%s known: effective rho %.3f",
                     j->id, (unsigned long long)s->object_id,
                     (unsigned long long)s->offset,
                     s->folded ? " (short ones)" : "", s->rho);
    }
}

void observer_update(struct observer *o, struct job_table *jobs,
                     const struct node_options *options, uint64_t now_ns)
{
    uint64_t elapsed_ns = o->last_ns ? now_ns - o->last_ns : 0;
    size_t samples = 0;
    bool room = make_room(o, jobs->count);

    for (struct job *j = jobs->first; j; j = j->next) {
        struct section *before = j->section;
        if (!j->live_since_ns)
            continue;
        add_to_record(o, jobs, j,
                      j->live_since_ns > o->last_ns && o->last_ns
                          ? now_ns - j->live_since_ns
                          : elapsed_ns);
        if (!job_live(j)) /* ends with this look */
            continue;
        observe_job(j, options, now_ns);
        if (room && before && before == j->section && !j->parked &&
            !cpuset_empty(&j->cpus) && j->changed_ns <= o->last_ns &&
            elapsed_ns >= MIN_INTERVAL_NS)
            fill_sample(o, j, before, &o->sample[samples++]);
    }
    o->last_ns = now_ns;
    if (samples &&
        counters_sample(o->counters, o->sample, samples, elapsed_ns, NULL) == 0)
        advance_sections(o, jobs, options);
}
