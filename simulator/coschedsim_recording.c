/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From a recording of a node to a scenario: what the jobs did, and asked of
 * memory, without the times. */

/* What the agent learned of a region while it recorded is learned again from
 * the recording, so that the region asks of memory what the agent thought it
 * asks.  Its work is the time of its cores less what they were stalled, as
 * counted, and less what they spun for, or else as the region's effective load
 * says, which has both where it was fitted to work.  Its barriers are those that
 * the runtime reported: without them no thread would wait under time sharing for
 * one that has lost its core. */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/locality.h"
#include "model/station.h"
#include "node_agent/recording/journal_replay.h"
#include "node_agent/recording/recording.h"
#include "node_agent/recording/journal_machine.h"
#include "node_agent/core/observer.h"
#include "protocol/cpulist.h"
#include "common/json_reader.h"
#include "simulator/coschedsim.h"

#define MOST_REGIONS 250 /* of a job's program; more are put together */
#define MOST_SYNC 0.95 /* of a region's time; less than 1 */
#define UNEVEN 1.5 /* times the mean: the data lies on that NUMA node */

/* Time that a job spent in one region, or in a serial one. */
struct stretch {
    uint64_t object_id, offset;
    bool parallel, known; /* known: a region of its own */
    double core_s;
    double weighted_s;  /* core_s, each by the cores that there were */
    double counted_s;   /* of core_s: in which stalls were counted, */
    double computing_s; /* and they computed */
    double misses;      /* of reads in that time; 0: not counted */
    double idle_s;      /* of core_s: workers spun, as at barriers */
    double barriers;    /* completed by the team */
};

/* What a region asks of memory per us of computing. */
struct demand {
    double reads, others, llc;
};

struct recorded_job {
    uint32_t id;
    double arrival_s;
    bool cooperative; /* it reported work */
    size_t min_cores, max_cores; /* 0: none was wished */
    struct stretch *stretch;
    size_t stretches;
};

struct reader {
    struct recorded_job job[SCENARIO_MAX_JOBS];
    size_t jobs;
    size_t cores; /* of the machine */
    double time_s;
    double writes, prefetches; /* of all jobs, at the controllers */
    const char *trouble; /* or NULL */
    json_t *scenario;
};

/* ---- intervals ---------------------------------------------------------- */

static struct recorded_job *job_of(struct reader *r, uint32_t id)
{
    for (size_t j = 0; j < r->jobs; j++)
        if (r->job[j].id == id)
            return &r->job[j];
    if (r->jobs == SCENARIO_MAX_JOBS) {
        r->trouble = "has too many jobs";
        return NULL;
    }
    r->job[r->jobs] = (struct recorded_job){.id = id, .arrival_s = r->time_s};
    return &r->job[r->jobs++];
}

static void add(struct stretch *to, const struct stretch *more)
{
    to->core_s += more->core_s;
    to->weighted_s += more->weighted_s;
    to->counted_s += more->counted_s;
    to->computing_s += more->computing_s;
    to->misses += more->misses;
    to->idle_s += more->idle_s;
    to->barriers += more->barriers;
}

/* Add NEXT to what JOB did, to its last stretch if it is of the same. */
static bool append(struct recorded_job *job, const struct stretch *next)
{
    struct stretch *last =
        job->stretches ? &job->stretch[job->stretches - 1] : NULL;

    if (last && last->parallel == next->parallel &&
        (!next->known ||
         (last->known && last->object_id == next->object_id &&
          last->offset == next->offset))) {
        add(last, next);
        return true;
    }
    if (!(job->stretches & (job->stretches - 1))) {
        size_t room = job->stretches ? 2 * job->stretches : 1;
        void *grown = realloc(job->stretch, room * sizeof(*job->stretch));
        if (!grown)
            return false;
        job->stretch = grown;
    }
    job->stretch[job->stretches++] = *next;
    return true;
}

/* What was counted on CPUS while NEXT's time passed, if anything was.  Who spins
 * computes, as counters see it. */
static void count_in(struct stretch *next, const struct sample *sample,
                     const struct cosched_cpuset *cpus)
{
    double cycles = 0, stalled = 0, misses = 0;

    for (int c = -1; (c = cpuset_next(cpus, c)) >= 0;) {
        if ((size_t)c >= sample->cpus)
            continue;
        cycles += sample->cpu[c].cycles;
        stalled += sample->cpu[c].stalled;
        misses += sample->cpu[c].read_misses;
    }
    if (!(cycles > 0) || !(stalled <= cycles))
        return;
    next->counted_s = next->core_s;
    next->computing_s = fmax(0, next->core_s * (1 - stalled / cycles) - next->idle_s);
    next->misses = misses > 0 ? misses : 0;
}

/* Also a region of which nobody knows the name, when it belongs to an
 * OpenMP program that follows. */
static bool reported(const struct observer_reading *look)
{
    double work = 0;

    for (size_t u = 0; u < COUNTERS_UNITS; u++)
        work += look->work[u];
    return work > 0;
}

static void on_sample(void *arg, const struct sample *sample,
                      const struct observer_reading *readings, size_t count)
{
    struct reader *r = arg;
    double dt = (double)sample->time_ns * 1e-9;

    for (size_t i = 0; i < count && !r->trouble; i++) {
        const struct observer_reading *look = &readings[i];
        const struct region *s = look->region;
        struct recorded_job *job = job_of(r, look->job->id);
        bool parallel = s || job_kind(look->job) != REGION_SERIAL;
        double cores = parallel ? (double)look->dop : 1;
        if (!job || !look->dop)
            continue;
        struct stretch next = {.parallel = parallel,
                               .known = s,
                               .object_id = s ? s->object_id : 0,
                               .offset = s ? s->offset : 0,
                               .core_s = cores * dt,
                               .weighted_s = cores * cores * dt};
        if (s) {
            next.idle_s = fmin(look->idle_ns * 1e-9, next.core_s);
            next.barriers = look->work[COUNTERS_BARRIERS];
        }
        if (parallel)
            count_in(&next, sample, &look->job->cpus);
        job->cooperative |= reported(look);
        if (look->job->options.min_cores > 0)
            job->min_cores = (size_t)look->job->options.min_cores;
        if (look->job->options.max_cores > 0)
            job->max_cores = (size_t)look->job->options.max_cores;
        if (!append(job, &next))
            r->trouble = "does not fit into memory";
    }
    for (size_t m = 0; m < sample->numa_nodes; m++) {
        r->writes += fmax(0, sample->memory[m].writes);
        r->prefetches += fmax(0, sample->memory[m].prefetches);
    }
    r->time_s += dt;
}

/* ---- the scenario ------------------------------------------------------- */

static const struct region *find_region(const struct job_table *jobs,
                                          uint32_t id,
                                          const struct stretch *stretch)
{
    struct job *job = job_find((struct job_table *)jobs, id);

    for (const struct region *s = job ? job->regions.first : NULL; s;
         s = s->next)
        if (stretch->known && s->profile &&
            s->object_id == stretch->object_id && s->offset == stretch->offset)
            return s;
    return NULL;
}

/* Part of STRETCH's time in which its cores spun. */
static double idle_share(const struct stretch *t)
{
    return t->idle_s / t->core_s;
}

/* The effective load of S was fitted to the work that it reported on several numbers of cores: what
 * its cores waited for is in it. */
static bool waits_in_load(const struct stretch *t, const struct region *s)
{
    return !(t->counted_s > 0) && s && s->fit.from == FIT_OF_WORK && s->fit.rho > 0;
}

/* Work of STRETCH, a job's core-seconds without its stalls and without what it
 * spun for, which counts as computing. */
static double work_of(const struct stretch *t, const struct region *s)
{
    double cores = t->weighted_s / t->core_s; /* of the mean core */
    double share = waits_in_load(t, s) ? 1 : 1 - idle_share(t);
    struct station station;

    if (t->counted_s > 0)
        share = t->computing_s / t->counted_s;
    else if (s && s->fit.rho > 0 &&
             station_solve((size_t)lround(cores), s->fit.rho, 1, &station) ==
                 MODEL_OK)
        share /= 1 + s->fit.rho * station.response;
    return t->core_s * share;
}

/* The NUMA node on which most of what S asks lies, or -1: it is spread. */
static int memory_of(const struct region *s)
{
    double sum = 0, most = 0;
    int where = -1;

    for (size_t m = 0; s && m < s->profile->numa_nodes; m++) {
        double rate = s->profile->rate[m].mrr_per_us;
        sum += rate;
        if (rate > most) {
            most = rate;
            where = (int)m;
        }
    }
    return s && s->profile->numa_nodes > 1 &&
                   most * (double)s->profile->numa_nodes > UNEVEN * sum
               ? where
               : -1;
}

/* What the agent made of S, with the reads of stretch T where they were counted:
 * its own unit is CPU time as the model has it, which is not what counts. */
static struct demand demand_of(const struct stretch *t, const struct region *s)
{
    struct demand d = {0, 0, 0};

    for (size_t m = 0; s && m < s->profile->numa_nodes; m++) {
        d.reads += s->profile->rate[m].read_per_us;
        d.others +=
            s->profile->rate[m].mrr_per_us - s->profile->rate[m].read_per_us;
        d.llc = s->profile->llc_per_us;
    }
    if (t->misses > 0 && t->computing_s > 0 && d.reads > 0) {
        double times = t->misses / (t->computing_s * 1e6) / d.reads;
        d = (struct demand){d.reads * times, d.others * times, d.llc * times};
    }
    d.llc = fmax(d.llc, d.reads + d.others);
    return d;
}

/* What a team of T's program waits for: barriers, and its share of time on all
 * CORES of the machine, as scenarios have it, unless the load of S has that. */
static void add_waiting(json_t *json, const struct stretch *t, const struct region *s, size_t cores)
{
    double share = waits_in_load(t, s) ? 0 : t->idle_s * (double)cores / t->weighted_s;

    if (t->barriers >= 1)
        json_object_set_new(json, "barriers", json_integer(llround(t->barriers)));
    if (share > 0)
        json_object_set_new(json, "sync_share", json_real(fmin(share, MOST_SYNC)));
}

static const char *placement_of(const struct region *s)
{
    if (s && s->profile->locality > LOCALITY_HIGH)
        return "local";
    return memory_of(s) < 0 ? "interleaved" : "first-touch";
}

/* WRITES: part of what does not stall. */
static json_t *region_json(const struct stretch *t, const struct region *s,
                            double writes, size_t cores)
{
    struct demand d = demand_of(t, s);
    char object[24];

    snprintf(object, sizeof(object), "%016llx",
             (unsigned long long)t->object_id);
    json_t *json = json_pack("{s:s, s:s, s:f}", "name",
                             t->parallel ? "parallel" : "serial", "kind",
                             t->parallel ? "parallel" : "serial", "work_s",
                             work_of(t, s));
    if (t->known) {
        json_object_set_new(json, "object", json_string(object));
        json_object_set_new(json, "offset", json_integer((json_int_t)t->offset));
    }
    if (d.reads + d.others > 0) {
        json_object_set_new(json, "read_per_us", json_real(d.reads));
        json_object_set_new(json, "write_per_us", json_real(d.others * writes));
        json_object_set_new(json, "prefetch_per_us",
                            json_real(d.others * (1 - writes)));
        json_object_set_new(json, "llc_per_us", json_real(d.llc));
        json_object_set_new(json, "placement", json_string(placement_of(s)));
    }
    if (t->parallel)
        add_waiting(json, t, s, cores);
    return json;
}

/* Put TOGETHER stretches into as many as they have different regions. */
static void put_together(struct recorded_job *job, size_t together)
{
    size_t out = 0;

    for (size_t i = 0; i < job->stretches; i += together) {
        size_t first = out;
        for (size_t k = i; k < i + together && k < job->stretches; k++) {
            struct stretch next = job->stretch[k];
            size_t o = first;
            while (o < out && (job->stretch[o].parallel != next.parallel ||
                               job->stretch[o].known != next.known ||
                               job->stretch[o].object_id != next.object_id ||
                               job->stretch[o].offset != next.offset))
                o++;
            if (o == out) {
                job->stretch[out++] = next;
                continue;
            }
            add(&job->stretch[o], &next);
        }
    }
    job->stretches = out;
}

static json_t *job_json(struct recorded_job *job, const struct job_table *jobs,
                        double writes, size_t cores)
{
    json_t *regions = json_array();
    char name[32];
    int memory = -1;

    for (size_t together = 4; job->stretches > MOST_REGIONS; together *= 2)
        put_together(job, together);
    for (size_t i = 0; i < job->stretches; i++) {
        const struct region *s = find_region(jobs, job->id, &job->stretch[i]);
        if (work_of(&job->stretch[i], s) > 1e-6)
            json_array_append_new(regions, region_json(&job->stretch[i], s, writes, cores));
        memory = memory < 0 ? memory_of(s) : memory;
    }
    if (!json_array_size(regions)) {
        json_decref(regions);
        return NULL;
    }
    snprintf(name, sizeof(name), "job %u", job->id);
    json_t *json = json_pack("{s:s, s:f, s:b, s:[{s:o}]}", "name", name,
                             "arrival_s", job->arrival_s, "malleable",
                             (int)job->cooperative, "phases", "regions",
                             regions);
    if (memory >= 0)
        json_object_set_new(json, "numa_node", json_integer(memory));
    if (job->min_cores)
        json_object_set_new(json, "min_cores",
                            json_integer((json_int_t)job->min_cores));
    if (job->max_cores)
        json_object_set_new(json, "max_cores",
                            json_integer((json_int_t)job->max_cores));
    return json;
}

static void on_end(void *arg, const struct job_table *table)
{
    struct reader *r = arg;
    json_t *jobs = json_array();
    double posted = r->writes + r->prefetches;
    double writes = posted > 0 ? r->writes / posted : 1;

    for (size_t j = 0; j < r->jobs; j++) {
        json_t *job = job_json(&r->job[j], table, writes, r->cores);
        if (job)
            json_array_append_new(jobs, job);
    }
    r->scenario = json_pack("{s:s, s:o}", "name", "replay", "jobs", jobs);
}

/* ---- all ---------------------------------------------------------------- */

/* The machine that was recorded, and under which policy. */
static int open_machine(struct world *w, const char *dir, struct errtext *err)
{
    struct recording *recording = recording_open(dir, err);
    const json_t *begin = recording ? recording_begin(recording) : NULL;
    const char *policy = NULL;
    struct errtext why;

    if (!recording)
        return -1;
    w->own = journal_machine_read(json_object_get(begin, "machine"), &why);
    if (!w->own)
        recording_refuse(recording, err, "%.100s", why.text);
    if (json_unpack((json_t *)begin, "{s:{s:s}}", "options", "policy",
                    &policy) == 0)
        snprintf(w->recorded_policy, sizeof(w->recorded_policy), "%s", policy);
    w->other = w->machine ? NULL : w->own;
    int saved = errno;
    recording_close(recording);
    errno = saved;
    return w->own ? 0 : -1;
}

static int read_recording(struct world *w, const char *dir, struct errtext *err)
{
    struct reader *r = calloc(1, sizeof(*r));
    struct json_reader reader = {.file = dir, .err = err};
    struct journal_walk walk = {on_sample, on_end, r};
    int rc = -1;

    if (!r)
        return errtext_set(err, ENOMEM, "%s: out of memory", dir);
    if (open_machine(w, dir, err) == 0)
        r->cores = machine_all_cpus(w->own);
    if (r->cores && journal_read(dir, &walk, err) == 0) {
        if (!r->trouble && !json_array_size(json_object_get(r->scenario,
                                                            "jobs")))
            r->trouble = "has no job that ran";
        if (r->trouble)
            errtext_set(err, EINVAL, "%s: %s", dir, r->trouble);
        else if ((w->set = scenario_read(&reader, r->scenario, NULL)))
            rc = 0;
    }
    w->recorded_s = r->time_s;
    int saved = errno;
    json_decref(r->scenario);
    for (size_t j = 0; j < r->jobs; j++)
        free(r->job[j].stretch);
    free(r);
    errno = saved;
    return rc;
}

int world_open_recording(struct world *w, const struct arguments *a)
{
    struct errtext err = {""};

    *w = (struct world){.arguments = a};
    if (!a->file)
        return fail(EXIT_USAGE, "needs a recording");
    if ((a->machine && !(w->machine = machine_json_find(a->machine, &err))) ||
        read_recording(w, a->file, &err) < 0)
        return fail(EXIT_REFUSED, "%s", err.text);
    return EXIT_DONE;
}
