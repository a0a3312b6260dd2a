/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the jobs are doing: from report pages to regions and measurements. */

#include "node_agent/core/job_log.h"
#include "node_agent/core/observer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "model/cputime.h"
#include "node_agent/core/colocation_watch.h"
#include "node_agent/core/enforcer.h"
#include "node_agent/core/journal.h"
#include "node_agent/core/mapper.h"
#include "common/log.h"
#include "node_agent/core/process.h"
#include "node_agent/core/stall_watch.h"
#include "node_agent/core/standing.h"
#include "protocol/cpulist.h"

/* Shorter intervals than this measure the clock, not the job. */
#define MIN_INTERVAL_NS (2 * UINT64_C(1000000))

struct observer {
    struct counters *counters;
    const struct topology *topology;
    struct recorder *recorder;
    struct mapper *mapper;
    struct stall_watch *stalls;
    struct colocation_watch *colocation;
    bool pages; /* that are interleaved follow their cores */
    const struct concurrency_model *model; /* NULL: there is none */
    uint64_t last_ns;
    uint64_t assigned; /* hash of what the counters were told */
    struct observer_reading *look;  /* [room] */
    struct attribute_job *share; /* [room] likewise */
    size_t room;
};

struct observer *observer_new(struct counters *counters,
                              const struct topology *topology,
                              struct recorder *recorder)
{
    struct observer *o = calloc(1, sizeof(*o));

    if (!o)
        return NULL;
    o->mapper = mapper_new(topology_machine(topology)->numa_nodes);
    o->stalls = stall_watch_new(topology_machine(topology));
    o->colocation = colocation_watch_new(topology_machine(topology));
    if (!o->mapper || !o->stalls || !o->colocation) {
        observer_free(o);
        return NULL;
    }
    o->counters = counters;
    o->topology = topology;
    o->recorder = recorder;
    return o;
}

void observer_move_pages(struct observer *o, bool pages)
{
    o->pages = pages;
}

void observer_use(struct observer *o, struct counters *counters)
{
    o->counters = counters;
    o->assigned = 0;
}

void observer_predict(struct observer *o, const struct concurrency_model *model)
{
    o->model = model;
}

void observer_free(struct observer *o)
{
    if (!o)
        return;
    free(o->look);
    free(o->share);
    mapper_free(o->mapper);
    stall_watch_free(o->stalls);
    colocation_watch_free(o->colocation);
    free(o);
}

/* True when JOB, of which nothing is attached, seems to use a single core: as
 * soon as it does while it is not held, else once it has for as long as it may
 * take to attach.  Who is held to one core, or stopped, can not show more. */
static bool uses_one_core(const struct observer *o, struct job *job,
                          uint64_t settle_ns, uint64_t now_ns)
{
    uint64_t since_ns;
    bool wide = enforcer_use(job, &since_ns) > STRETCH_ONE_CORE || job->stretch.several;
    bool pinned = job->doing == JOB_PINNED || job->stretch.lends;
    struct cosched_cpuset may = job->cpus;

    cpuset_or(&may, &job->lent);
    if (wide || (pinned && (job->parked || job->suspended ||
                            topology_count_cores(o->topology, &may) < 2)))
        job->wide_ns = now_ns;
    if (!pinned)
        return !wide;
    return now_ns - job->wide_ns >= settle_ns && since_ns >= job->wide_ns;
}

/* Who lends goes on running on lent CPUs: that disturbs others more than one CPU gives them, so
 * who has no more than that to lend, or will have, or has not been decided about since the agent
 * began, stays pinned. */
#define LENDS_LEAST 3

static bool may_lend(const struct job *job)
{
    return job->stretch.lends ||
           (job->doing == JOB_PINNED && cpuset_count(&job->cpus) >= LENDS_LEAST &&
            cpuset_count(&job->target) >= LENDS_LEAST);
}

/* JOB, which is PINNED or not, has wanted one core since SINCE_NS, or wants more (0).  True when
 * others have its cores. */
static bool pinned_lends(struct job *job, bool pinned, uint64_t since_ns, uint64_t now_ns)
{
    if (!pinned || !may_lend(job))
        since_ns = 0;
    if (!stretch_note(job, since_ns, now_ns))
        return false;
    if (job->doing == JOB_PINNED)
        job->lent = job->cpus;
    return true;
}

/* Most jobs that attach do so in this part of the time that they may take. */
#define SOON_PART 4

/* A job without attached processes is serial while it may still attach, and as long as it uses
 * one core: a script, or a program that reads its input.  Else it is pinned, which counts as
 * parallel but in its serial stretches. */
static void classify_unattached(const struct observer *o, struct job *job,
                                const struct node_options *options,
                                uint64_t now_ns)
{
    bool unpinned = job->unpinned;

    if (!job->unattached_since_ns)
        job->unattached_since_ns = now_ns;
    uint64_t unattached_ns = now_ns - job->unattached_since_ns;
    bool may_attach = unattached_ns < options->attach_ns;
    uint64_t since_ns = stretch_look(job, now_ns);
    job->unpinned = uses_one_core(o, job, options->attach_ns, now_ns);
    bool pinned = !may_attach && !job->unpinned;
    job->held |= pinned;
    pinned &= !pinned_lends(job, pinned, since_ns, now_ns);
    job->doing = pinned ? JOB_PINNED : may_attach ? JOB_STARTING : JOB_SERIAL;
    job->soon = unattached_ns < options->attach_ns / SOON_PART;
    job->unsettled |= job->unpinned != unpinned;
    /* Counters need no reports: what it does as a whole is one region. */
    job->region = pinned && job->counted && counters_points(o->counters) == 1
                       ? region_folded(&job->regions)
                       : NULL;
}

/* Mostly it is the one of the epoch before. */
static bool is_region(const struct region *s,
                       const struct cosched_region *named)
{
    return s && !s->folded && s->object_id == named->object_id &&
           s->offset == named->offset;
}

/* Threads of JOB's team, each of which gets an equal part of the region's work: of static loops.
 * 0 where iterations are handed out to those who come for them, and where not one team does all. */
static size_t equal_parts(const struct job *job)
{
    const struct process *p = job->processes;
    const struct region *r = job->region;

    if (!p || p->next || p->bad || !r)
        return 0;
    return process_hands_out(p, r->folded, r->object_id, r->offset) ? 0 : p->team;
}

/* Since when all processes of JOB, some of which are good, have been serial; 0: one is not. */
static uint64_t serial_since(const struct job *job)
{
    uint64_t since_ns = 0;

    for (const struct process *p = job->processes; p; p = p->next) {
        if (p->bad)
            continue;
        if (!p->serial)
            return 0;
        if (p->serial_since_ns > since_ns)
            since_ns = p->serial_since_ns;
    }
    return since_ns;
}

/* Parallel as soon as one process is; serial once all have been for long. */
static void classify_attached(struct job *job,
                              const struct node_options *options,
                              uint64_t now_ns)
{
    const struct cosched_region *named = NULL;
    uint64_t since_ns = serial_since(job);

    /* What was counted while nobody knew what it did is not its short ones. */
    if (job->doing == JOB_PINNED && job->regions.folded)
        region_forget(job->regions.folded);
    job->doing = job_kind(job) == REGION_PARALLEL ? JOB_MALLEABLE : JOB_SERIAL;
    job->unpinned = false;
    job->unattached_since_ns = job->wide_ns = 0;
    for (struct process *p = job->processes; p && !named; p = p->next)
        named = process_long_region(p, now_ns, options->min_region_ns);
    job->pauses = since_ns != 0;
    if (stretch_note(job, since_ns, now_ns)) {
        job->doing = JOB_SERIAL;
        job->region = NULL;
    } else if (!since_ns) {
        job->doing = JOB_MALLEABLE;
        if (!named)
            job->region = region_folded(&job->regions);
        else if (!is_region(job->region, named))
            job->region = region_find(&job->regions, named->object_id,
                                        named->offset);
    }
    /* Else it is in a serial stretch that is short so far: nothing changes. */
    job->threads = equal_parts(job);
}

static bool any_good_process(const struct job *job)
{
    for (const struct process *p = job->processes; p; p = p->next)
        if (!p->bad)
            return true;
    return false;
}

/* What JOB would be found to do now: as it does, or something else.  Who was serial when that was
 * last decided has one core until the next decision, which may rest. */
static enum observer_glance glance_at(struct job *job, uint64_t now_ns)
{
    for (struct process *p = job->processes; p; p = p->next)
        process_glance(p, now_ns);
    bool attached = any_good_process(job);
    if (job->doing != JOB_SERIAL && job->doing != (attached ? JOB_MALLEABLE : JOB_PINNED))
        return OBSERVER_NOTHING;
    bool serial = job->serial || job->doing == JOB_SERIAL;
    uint64_t since_ns = attached ? serial_since(job) : stretch_look(job, now_ns);
    if (serial) {
        bool several = job->unpinned ? job->stretch.several : !since_ns;
        return several ? OBSERVER_PARALLEL : OBSERVER_NOTHING;
    }
    return (attached || may_lend(job)) && stretch_due(job, since_ns, now_ns) ? OBSERVER_SERIAL
                                                                             : OBSERVER_NOTHING;
}

enum observer_glance observer_glance(struct job_table *jobs, uint64_t now_ns)
{
    enum observer_glance found = OBSERVER_NOTHING;

    for (struct job *j = jobs->first; j; j = j->next) {
        if (!job_live(j) || j->parked || j->suspended)
            continue;
        enum observer_glance one = glance_at(j, now_ns);
        if (one > found)
            found = one;
    }
    return found;
}

static void observe_job(const struct observer *o, struct job *job,
                        const struct node_options *options, uint64_t now_ns)
{
    struct record_totals totals = job->ended;

    job->interleaved = false;
    if (!o->pages)
        job->near_share = 0;
    for (struct process *p = job->processes; p; p = p->next) {
        struct errtext err;
        if (process_observe(p, now_ns, &err) < 0)
            job_log(job, LOG_WARNING, "%s; the process is pinned by affinity from now on",
                    err.text);
        process_add_totals(p, &totals);
        job->interleaved |= p->view->interleaved;
    }
    growth_look(job, now_ns);
    if (any_good_process(job))
        classify_attached(job, options, now_ns);
    else
        classify_unattached(o, job, options, now_ns);
    record_set_totals(&job->record, &totals);
    history_check(&job->history, &job->record);
    job->expected_s = history_expected(&job->history, &job->record);
}

/* *AHEAD is how fast the jobs before JOB in the table are, all together; JOB is added to it. */
static void add_to_record(struct observer *o, const struct job_table *jobs, struct job *job,
                          uint64_t elapsed_ns, uint64_t now_ns, double *ahead)
{
    double seconds = (double)elapsed_ns * 1e-9, speed = standing_speed(job, o->topology);
    uint64_t since_ns;
    const struct region *region = job->region;
    struct record_time time = {
        .ns = elapsed_ns,
        .cores = topology_count_cores(o->topology, &job->cpus),
        .reports = job->cooperative && job->doing != JOB_PINNED,
        .parallel = job->doing == JOB_MALLEABLE,
        .alone = true,
        .rho = region && region->profile ? region->fit.rho : NAN,
    };

    for (const struct job *other = jobs->first; other; other = other->next)
        if (other != job && job_live(other)) {
            record_add_partner(&job->record, other->id);
            time.alone = false;
        }
    /* They are in the order of their announcement: those before it came first. */
    job->record.ahead_s += seconds * *ahead;
    *ahead += job_live(job) ? speed : 0;
    job->done_s += seconds * speed;
    job->record.done_s = job->done_s;
    record_add_time(&job->record, &time);
    job->record.cpu_s += seconds * enforcer_use(job, &since_ns);
    for (struct process *p = job->processes; p; p = p->next)
        job->record.cpu_s += process_take_cpu(p, now_ns);
    record_bound_work(&job->record);
}

static bool make_room(struct observer *o, size_t count)
{
    if (count <= o->room)
        return true;
    struct observer_reading *look = realloc(o->look, count * sizeof(*look));
    if (!look)
        return false;
    o->look = look;
    struct attribute_job *share = realloc(o->share, count * sizeof(*share));
    if (!share)
        return false;
    o->share = share;
    o->room = count;
    return true;
}

/* JOB had its CPUs for the whole interval, and if BEFORE is its region now,
 * did work in that one alone, unless it PAUSED at one end: a serial stretch, even
 * a short one, says nothing of a region.  Of the short ones it is a part. */
static void add_look(struct observer *o, size_t i, struct job *job,
                     struct region *before, bool paused)
{
    struct observer_reading *look = &o->look[i];

    *look = (struct observer_reading){
        .job = job,
        .region = before == job->region && !job->shared &&
                           !(before && !before->folded &&
                             (paused || job->pauses))
                       ? before
                       : NULL,
        .dop = topology_count_cores(o->topology, &job->cpus)};
    o->share[i] = (struct attribute_job){.id = job->id, .cpus = job->cpus};
    for (const struct process *p = job->processes; p && look->region;
         p = p->next)
        process_add_work(p, before->folded, before->object_id, before->offset,
                         look->work, &look->idle_ns);
}

/* A power law of misses that differs by less from the usual one is not worth a word. */
#define TOLD_POWER 0.05

static void advance_region(const struct counters *counters,
                            const struct observer_reading *look,
                            uint64_t profile_ns)
{
    struct region *s = look->region;

    if (!region_advance(s, &look->job->regions, counters, profile_ns) || !s->profile)
        return;
    char local[32] = "", sync[32] = "", power[64] = "";
    if (s->profile->locality >= 0)
        snprintf(local, sizeof(local), ", locality %.2f", s->profile->locality);
    if (s->profile->sync_share > 0)
        snprintf(sync, sizeof(sync), ", sync share %.2f", s->profile->sync_share);
    if (s->profile->llc_cores > 0 &&
        fabs(s->profile->llc_power - CACHE_POWER_USUAL) > TOLD_POWER)
        snprintf(power, sizeof(power), ", misses as (cores of an LLC / %.1f)^%.2f",
                 s->profile->llc_cores, s->profile->llc_power);
    job_log(look->job, LOG_INFO,
            "region %016llx+%llx%s known from %s: effective rho %.3f (%.3f to %.3f)%s%s%s%s",
            (unsigned long long)s->object_id, (unsigned long long)s->offset,
            s->folded ? " (short ones)" : "",
            s->fit.from == FIT_OF_REQUESTS ? "counters" : "work", s->fit.rho, s->fit.low,
            s->fit.high, s->fit.compute_bound ? ", compute-bound" : "", local, sync, power);
}

/* Add LOOP to what was counted of its job. */
static void add_counted(struct policy_counted *sum, const struct machine *machine,
                        const struct loop *loop)
{
    struct cputime time;

    if (cputime_measured(loop, &time) != MODEL_OK)
        return;
    sum->us += loop->total_us;
    sum->computing_us += time.cpu_us * (double)loop_cores(loop);
    for (size_t m = 0; m < loop->numa_nodes; m++) {
        struct loop_requests r = loop_requests_to(loop, m);
        sum->serving_us +=
            (r.read + r.write + r.prefetch) * machine->controller_service_us[m];
    }
}

/* What SAMPLE says of LOOK's job, which had SHARE of it. */
static void learn_one(const struct counters *counters, const struct sample *sample,
                      const struct observer_reading *look, const struct attribute_job *share,
                      uint64_t profile_ns)
{
    struct job *job = look->job;
    struct region *region = look->region;

    job->counted = share->loop != NULL;
    if (share->energy_j > 0)
        job->record.energy_j += share->energy_j;
    if (job->regions.cache_left_ns)
        region_list_probed_cache(&job->regions, sample->time_ns);
    if (!region)
        return;
    if (region_measure(region, look->dop, sample->time_ns, look->work, job->profiling))
        log_debug("job %u: region %016llx+%llx behaves otherwise than before on %zu cores",
                  job->id, (unsigned long long)region->object_id,
                  (unsigned long long)region->offset, look->dop);
    if (share->loop) {
        measure_idle(share->loop, look->idle_ns * 1e-3 / cpuset_count(&share->cpus),
                     workload_rounds(job->threads, look->dop));
        add_counted(&job->regions.counted, counters_setup(counters)->machine, share->loop);
        measure_add_loop(&region->measure, look->dop, share->loop);
    }
    advance_region(counters, look, profile_ns);
}

const struct workload *observer_profile(const struct observer_reading *reading,
                                        const struct attribute_job *share,
                                        const struct workload *compute)
{
    if (!share->loop)
        return NULL;
    if (reading->dop < 2)
        return compute;
    return reading->region ? reading->region->profile : NULL;
}

void observer_learn(const struct counters *counters, struct stall_watch *stalls,
                    struct colocation_watch *colocation,
                    const struct sample *sample,
                    const struct observer_reading *readings,
                    struct attribute_job *shares, size_t count,
                    uint64_t profile_ns)
{
    if (!count ||
        attribute(counters_setup(counters), sample, shares, count) < 0)
        return;
    for (size_t i = 0; i < count; i++)
        learn_one(counters, sample, &readings[i], &shares[i], profile_ns);
    if (counters_setup(counters)->calibrated)
        stall_watch_add(stalls, readings, shares, count, (double)sample->time_ns * 1e-3);
    if (counters_setup(counters)->calibrated && colocation)
        colocation_watch_add(colocation, readings, shares, count, (double)sample->time_ns * 1e-3);
    for (size_t i = 0; i < count; i++) {
        loop_free(shares[i].loop);
        shares[i].loop = NULL;
    }
}

/* Regions on all cores show what they would do on fewer. */
static void add_signatures(struct observer *o, const struct sample *sample, size_t count)
{
    for (size_t i = 0; o->model && i < count; i++) {
        struct region *r = o->look[i].region;
        if (!r || r->folded || o->look[i].dop != o->model->shape.cores)
            continue;
        if (r->useful || (r->useful = useful_new(o->model)))
            useful_add(r->useful, topology_machine(o->topology), sample);
    }
}

/* Count what happened in ELAPSED_NS to COUNT jobs. */
static void measure(struct observer *o, struct job_table *jobs,
                    const struct node_options *options, size_t count, uint64_t elapsed_ns)
{
    const struct sample *sample;
    struct errtext err = {""};

    if (counters_sample(o->counters, elapsed_ns, &sample, &err) < 0)
        log_warn("counters: %s", err.text);
    mapper_learn(o->mapper, jobs, sample);
    if (!count || elapsed_ns < MIN_INTERVAL_NS)
        return;
    add_signatures(o, sample, count);
    journal_sample(o->recorder, sample, o->look, count, options);
    observer_learn(o->counters, o->stalls, o->pages ? o->colocation : NULL, sample, o->look,
                   o->share, count, options->profile_ns);
}

/* ---- who has which CPUs ------------------------------------------------- */

/* Tell the counters who has what, if that has changed. */
static void assign(struct observer *o, const struct job_table *jobs)
{
    struct counters_job list[jobs->count ? jobs->count : 1];
    uint64_t h = HASH_START;
    size_t count = 0;
    struct errtext err = {""};

    if (!counters_follow(o->counters))
        return;
    for (const struct job *j = jobs->first; j; j = j->next) {
        if (!job_live(j))
            continue;
        list[count++] = (struct counters_job){.id = j->id, .cpus = j->cpus};
        hash_word(&h, j->id);
        hash_bytes(&h, &j->cpus, sizeof(j->cpus));
    }
    if (h != o->assigned &&
        counters_assign(o->counters, list, count, &err) < 0)
        log_warn("counters: %s", err.text);
    o->assigned = h;
}

/* ---- all together ------------------------------------------------------- */

void observer_update(struct observer *o, struct job_table *jobs,
                     const struct node_options *options, uint64_t now_ns)
{
    uint64_t elapsed_ns = o->last_ns ? now_ns - o->last_ns : 0;
    size_t count = 0;
    bool room = make_room(o, jobs->count);
    double ahead = 0;

    for (struct job *j = jobs->first; j; j = j->next) {
        struct region *before = j->region;
        bool paused = j->pauses;
        if (!j->live_since_ns)
            continue;
        add_to_record(o, jobs, j,
                      j->live_since_ns > o->last_ns && o->last_ns
                          ? now_ns - j->live_since_ns
                          : elapsed_ns,
                      now_ns, &ahead);
        if (!job_live(j)) /* ends with this look */
            continue;
        observe_job(o, j, options, now_ns);
        if (room && !j->parked && !cpuset_empty(&j->cpus) &&
            j->changed_ns <= o->last_ns)
            add_look(o, count++, j, before, paused);
    }
    o->last_ns = now_ns;
    measure(o, jobs, options, count, elapsed_ns);
    assign(o, jobs);
}
