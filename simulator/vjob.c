/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A simulated job: a process, and the runtime library in it. */

#include "simulator/vjob.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model/workload.h"
#include "node_agent/core/allotment.h"
#include "node_agent/core/report.h"
#include "node_agent/core/thread_map.h"
#include "protocol/cpulist.h"
#include "protocol/tasks_per_cpu.h"
#include "simulator/virtual_host.h"

/* Work of less than a nanosecond is rounding. */
#define DONE_S 1e-9

static bool malleable(const struct vjob *v)
{
    return v->what->malleable && !v->stock;
}

/* Cores that it finds when it starts: so many threads a stock runtime makes. */
static size_t started_on(const struct vjob *v)
{
    size_t most = v->what->max_cores;

    return most != SCENARIO_ALL && most < v->node->cores ? most
                                                         : v->node->cores;
}

bool vjob_init(struct vjob *v, struct vjob_node *node,
               const struct scenario_job *what, uint32_t id, bool stock)
{
    size_t memories = topology_machine(node->topology)->numa_nodes;

    *v = (struct vjob){.node = node,
                       .what = what,
                       .id = id,
                       .stock = stock,
                       .cpu = -1,
                       .apply_ns = VIRTUAL_NEVER};
    v->arrival_ns = VIRTUAL_BEGIN_NS + (uint64_t)(what->arrival_s * 1e9);
    v->tracked = (struct tracked){.pid = (pid_t)(VJOB_PID + id), .start = 1};
    v->mask = *topology_cpus(node->topology);
    v->team = what->threads != SCENARIO_ALL ? what->threads
              : malleable(v) ? node->cores * cosched_tasks_per_cpu(node->cores)
                             : started_on(v);
    v->even = calloc(3 * memories, sizeof(double));
    if (!v->even || !vpages_init(&v->pages, memories, what->memory_gib))
        return false;
    v->interleaves = malleable(v) && what->numa_node == SCENARIO_NO_NODE &&
                     machine_interleaves(topology_machine(node->topology));
    v->touched = v->even + memories;
    v->local = v->touched + memories;
    for (size_t m = 0; m < memories; m++)
        v->even[m] = 1 / (double)memories;
    return true;
}

void vjob_set_ults(struct vjob *v, size_t ults)
{
    if (ults && malleable(v) && v->what->threads == SCENARIO_ALL)
        v->team = v->node->cores * ults;
}

void vjob_release(struct vjob *v)
{
    vjob_detach(v);
    free(v->even);
    vpages_release(&v->pages);
    v->even = NULL;
}

struct vjob *vjob_of(struct tracked *tracked)
{
    return (struct vjob *)((char *)tracked - offsetof(struct vjob, tracked));
}

/* ---- the runtime's report ----------------------------------------------- */

static uint64_t object_id(const char *object)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (; *object; object++)
        h = (h ^ (unsigned char)*object) * UINT64_C(0x100000001b3);
    return h;
}

/* The entry of the table for the present region, made if need be. */
static uint32_t find_entry(struct vjob *v)
{
    struct cosched_report *r = v->report;
    uint64_t id = object_id(v->region->object);
    uint32_t i = 0;

    while (i < r->regions_used && (r->regions[i].object_id != id ||
                                    r->regions[i].offset != v->region->offset))
        i++;
    if (i >= COSCHED_REGION_OVERFLOW) {
        r->regions_used = COSCHED_MAX_REGIONS;
        return COSCHED_REGION_OVERFLOW;
    }
    if (i == r->regions_used) {
        r->regions[i].object_id = id;
        r->regions[i].offset = v->region->offset;
        r->regions_used++;
    }
    return i;
}

static void report_begin(struct vjob *v, uint64_t now_ns)
{
    struct cosched_report *r = v->report;

    if (!r)
        return;
    if (!v->region || v->region->kind == REGION_SERIAL) {
        r->region = COSCHED_REGION_SERIAL;
        r->workers = 1;
        return;
    }
    v->entry = find_entry(v);
    r->regions[v->entry].entries++;
    r->region_begin_ns = now_ns;
    r->team = (uint32_t)v->team;
    r->region = v->entry;
}

static void report_end(struct vjob *v, uint64_t now_ns)
{
    if (!v->report || v->region->kind == REGION_SERIAL)
        return;
    struct cosched_region *s = &v->report->regions[v->entry];
    s->time_ns += now_ns - v->begin_ns;
}

/* Steps of SIZE that were taken on the way from BEFORE to NOW, which are parts
 * of the region's work. */
static uint64_t steps_between(double before_s, double now_s, double size_s)
{
    return (uint64_t)(floor(now_s / size_s + 1e-9) -
                      floor(before_s / size_s + 1e-9));
}

static void report_work(struct vjob *v, double before_s, double now_s)
{
    if (!v->report || v->region->kind == REGION_SERIAL)
        return;
    struct cosched_region *s = &v->report->regions[v->entry];
    if (v->node->dynamic)
        s->iterations += steps_between(before_s, now_s, VJOB_GRAIN_S);
    s->ults += steps_between(before_s, now_s, v->region->work_s / (double)v->team);
    s->barriers += steps_between(
        before_s, now_s, v->region->work_s / (double)v->region->barriers);
}

/* ---- its program -------------------------------------------------------- */

static void begin_region(struct vjob *v, uint64_t now_ns)
{
    v->region = v->step < scenario_steps(v->what)
                     ? scenario_step(v->what, v->step)
                     : NULL;
    v->begin_ns = now_ns;
    v->left_s = v->region ? v->region->work_s : 0;
    report_begin(v, now_ns);
}

void vjob_start(struct vjob *v, uint64_t now_ns)
{
    begin_region(v, now_ns);
}

/* Its threads touch their data in the present region. */
static bool touches(const struct vjob *v)
{
    return v->region->placement == SCENARIO_LOCAL &&
           v->region->kind == REGION_PARALLEL && !v->local_fixed;
}

bool vjob_step(struct vjob *v, uint64_t now_ns)
{
    if (!v->region || v->left_s > DONE_S)
        return false;
    v->local_fixed |= touches(v);
    report_end(v, now_ns);
    v->step++;
    begin_region(v, now_ns);
    return true;
}

bool vjob_wants_attach(const struct vjob *v)
{
    return malleable(v) && !v->process && v->region &&
           v->region->kind == REGION_PARALLEL;
}

/* Are there pages of its own that can move? */
static bool has_interleaved(const struct vjob *v)
{
    for (size_t i = 0; i < v->what->regions; i++)
        if (v->what->region[i].placement == SCENARIO_INTERLEAVED &&
            v->what->region[i].kind == REGION_PARALLEL)
            return true;
    return false;
}

int vjob_attach(struct vjob *v, struct process *process, uint64_t now_ns,
                struct errtext *err)
{
    void *page = mmap(NULL, sizeof(*v->allotment), PROT_READ, MAP_SHARED,
                      allotment_fd(process->allotment), 0);

    if (page == MAP_FAILED)
        return errtext_set(err, errno, "job %u: allotment page: %s", v->id,
                           strerror(errno));
    v->allotment = page;
    page = mmap(NULL, sizeof(*v->report), PROT_READ | PROT_WRITE, MAP_SHARED,
                report_fd(process->report), 0);
    if (page == MAP_FAILED)
        return errtext_set(err, errno, "job %u: report page: %s", v->id,
                           strerror(errno));
    v->report = page;
    v->process = process;
    v->seen = v->allotment->generation;
    v->apply_ns = now_ns;
    v->report->version = COSCHED_LAYOUT_VERSION;
    v->report->size = sizeof(*v->report);
    v->report->pid = (uint32_t)process->pid;
    v->report->mode = COSCHED_MODE_DONOR;
    v->report->interleaved = has_interleaved(v);
    report_begin(v, now_ns);
    v->report->magic = COSCHED_REPORT_MAGIC;
    return 0;
}

void vjob_detach(struct vjob *v)
{
    if (v->allotment)
        munmap((void *)v->allotment, sizeof(*v->allotment));
    if (v->report)
        munmap(v->report, sizeof(*v->report));
    v->allotment = NULL;
    v->report = NULL;
    v->process = NULL;
    v->apply_ns = VIRTUAL_NEVER;
}

/* ---- where it runs ------------------------------------------------------ */

/* Where the kernel puts a first thread that may run anywhere: jobs one after
 * the other on one LLC domain each. */
static int first_cpu(const struct vjob *v, const struct cosched_cpuset *cpus)
{
    const struct machine *machine = topology_machine(v->node->topology);
    int node = (int)((v->id - 1) % machine->llc_domains);

    for (int c = -1; (c = cpuset_next(cpus, c)) >= 0;)
        if (machine->llc_domain[c] == node)
            return c;
    return cpuset_next(cpus, -1);
}

/* A single thread that may run anywhere. */
static bool roams(const struct vjob *v)
{
    return !v->process && v->region->kind == REGION_SERIAL;
}

/* Threads of another job may run on CPU. */
static bool taken(const struct vjob *v, int cpu)
{
    for (size_t j = 0; j < v->node->jobs; j++) {
        const struct vjob *w = &v->node->job[j];
        if (w == v || !w->region || w->stopped)
            continue;
        if (w->region->kind == REGION_SERIAL ? w->cpu == cpu
                                               : cpuset_has(&w->mask, cpu))
            return true;
    }
    return false;
}

/* An idle CPU of CPUS; -1: there is none. */
static int idle_cpu(const struct vjob *v, const struct cosched_cpuset *cpus)
{
    int cpu = -1;

    while ((cpu = cpuset_next(cpus, cpu)) >= 0 && taken(v, cpu))
        ;
    return cpu;
}

/* Where the kernel has V, which roams, beside jobs that have their CPUs to
 * themselves: where it is while nobody else is there, else on an idle core, that
 * which the agent keeps for it or that of another who roams. */
static void find_room(const struct vjob *v, struct cosched_cpuset *cpus)
{
    struct cosched_cpuset kept = *cpus;
    int cpu = cpuset_has(cpus, v->cpu) ? v->cpu : first_cpu(v, cpus);

    cpuset_and(&kept, &v->job->cpus);
    if (cpuset_empty(&kept) || cpuset_equal(&kept, cpus))
        return;
    if (cpu < 0 || taken(v, cpu))
        cpu = idle_cpu(v, &kept);
    if (cpu < 0)
        cpu = idle_cpu(v, cpus);
    if (cpu < 0) {
        *cpus = kept;
    } else {
        cpuset_zero(cpus);
        cpuset_add(cpus, cpu);
    }
}

static void settle(struct vjob *v, const struct cosched_cpuset *cpus)
{
    const struct machine *machine = topology_machine(v->node->topology);

    if (cpuset_has(cpus, v->cpu) || cpuset_empty(cpus))
        return;
    bool first = v->cpu < 0;
    v->cpu = first ? first_cpu(v, cpus) : cpuset_next(cpus, -1);
    if (!first)
        return;
    /* What it touches from now on lies here. */
    size_t memory = v->what->numa_node != SCENARIO_NO_NODE
                        ? v->what->numa_node
                        : (size_t)machine->local_node[machine->llc_domain[v->cpu]];
    v->touched[memory] = 1;
}

void vjob_cpus(struct vjob *v, struct cosched_cpuset *cpus)
{
    cpuset_zero(cpus);
    if (!v->region || v->stopped)
        return;
    *cpus = v->mask;
    if (roams(v) && v->job)
        find_room(v, cpus);
    settle(v, cpus);
}

double vjob_efficiency(const struct vjob *v, size_t cores)
{
    const struct scenario_region *s = v->region;
    size_t rounds = (v->team + cores - 1) / cores;
    double stretch = malleable(v) ? (1 + s->imbalance / (double)rounds) /
                                        workload_rounds(v->team, cores)
                                  : 1 + s->imbalance;

    if (s->kind == REGION_SERIAL)
        return 1;
    stretch /= vpages_rest(&v->pages);
    double sync = s->sync_share *
                  fmin(1, (double)cores / (double)v->node->cores);
    return (1 - sync) / fmax(1, stretch);
}

const double *vjob_data(const struct vjob *v)
{
    switch (v->region->placement) {
    case SCENARIO_FIRST_TOUCH:
        return v->interleaves ? v->even : v->touched;
    case SCENARIO_LOCAL:
        return v->local_fixed ? v->local : NULL;
    case SCENARIO_INTERLEAVED:
    default:
        return v->pages.at;
    }
}

/* ---- data of threads ---------------------------------------------------- */

bool vjob_by_thread(const struct vjob *v)
{
    return v->region && v->region->placement == SCENARIO_BY_THREAD &&
           v->region->kind == REGION_PARALLEL;
}

pid_t vjob_thread(const struct vjob *v, size_t i)
{
    return (pid_t)(VJOB_THREAD * v->tracked.pid + (int)(i % VJOB_THREAD));
}

void vjob_thread_asks(const struct vjob *v, size_t i, double times, double *part)
{
    size_t memories = topology_machine(v->node->topology)->numa_nodes;
    double even = (1 - v->region->thread_share) / (double)memories;

    for (size_t m = 0; m < memories; m++)
        part[m] += times * even;
    part[v->region->thread_node[i % v->region->thread_nodes]] += times * v->region->thread_share;
}

void vjob_asks(const struct vjob *v, const struct cosched_cpuset *cpus, double *asked)
{
    const struct machine *m = topology_machine(v->node->topology);
    size_t threads[m->llc_domains];
    int last[m->llc_domains]; /* of a home's CPUs, by its first one's domain */

    memset(threads, 0, sizeof(threads));
    memset(asked, 0, m->llc_domains * m->numa_nodes * sizeof(*asked));
    for (size_t d = 0; d < m->llc_domains; d++)
        last[d] = -1;
    for (size_t i = 0; i < v->team; i++) {
        struct cosched_cpuset room;
        const struct cosched_cpuset *home =
            thread_map_home(v->job ? v->job->map : NULL, vjob_thread(v, i), cpus, &room);
        int *at = &last[m->llc_domain[cpuset_next(home, -1)]];
        *at = cpuset_next(home, *at);
        if (*at < 0)
            *at = cpuset_next(home, -1);
        size_t d = (size_t)m->llc_domain[*at];
        threads[d]++;
        vjob_thread_asks(v, i, 1, asked + d * m->numa_nodes);
    }
    for (size_t d = 0; d < m->llc_domains; d++)
        for (size_t k = 0; k < m->numa_nodes; k++)
            asked[d * m->numa_nodes + k] =
                threads[d] ? asked[d * m->numa_nodes + k] / (double)threads[d] : v->even[k];
}

bool vjob_look(struct vjob *v, uint64_t now_ns)
{
    if (!v->allotment)
        return false;
    uint32_t generation = v->allotment->generation;
    if (generation != v->seen) {
        v->seen = generation;
        double delay = VJOB_WAKE_NS +
                       random_exponential(&v->node->random, VJOB_CHUNK_NS);
        if (random_uniform(&v->node->random) < VJOB_LATE_PART)
            delay += VJOB_LATE_NS;
        /* What it is about to look at anyway is the newest. */
        if (v->apply_ns == VIRTUAL_NEVER)
            v->apply_ns = now_ns + (uint64_t)delay;
    }
    if (v->apply_ns > now_ns)
        return false;
    v->apply_ns = VIRTUAL_NEVER;
    v->report->applied_ns = now_ns;
    v->report->workers = (uint32_t)cpuset_count(&v->allotment->cpus);
    v->report->applied_generation = generation;
    if (cpuset_equal(&v->mask, &v->allotment->cpus))
        return false;
    v->mask = v->allotment->cpus;
    v->changes++;
    return true;
}

/* ---- time --------------------------------------------------------------- */

uint64_t vjob_next(const struct vjob *v, uint64_t now_ns)
{
    uint64_t next_ns = v->apply_ns;

    if (v->region && v->speed > 0) {
        double ns = ceil(v->left_s / v->speed * 1e9);
        uint64_t end_ns = now_ns + (ns < 1e18 ? (uint64_t)fmax(ns, 1)
                                              : (uint64_t)1e18);
        if (end_ns < next_ns)
            next_ns = end_ns;
        if (v->pages.moving && now_ns + VJOB_PAGES_NS < next_ns)
            next_ns = now_ns + VJOB_PAGES_NS;
    }
    return next_ns;
}

/* Remember where a region's threads were while they touched its data. */
static void touch(struct vjob *v, double work_s)
{
    const struct machine *machine = topology_machine(v->node->topology);
    struct cosched_cpuset cpus;
    double fresh = work_s / v->region->work_s;

    vjob_cpus(v, &cpus);
    int count = cpuset_count(&cpus);
    for (int c = -1; (c = cpuset_next(&cpus, c)) >= 0;)
        v->local[machine->local_node[machine->llc_domain[c]]] += fresh / count;
}

/* Its cores without work spin in DT seconds; those that move pages do not. */
static void report_idle(struct vjob *v, double dt)
{
    struct cosched_cpuset cpus;

    if (!v->report || v->region->kind == REGION_SERIAL)
        return;
    vjob_cpus(v, &cpus);
    double idle = fmax(0, cpuset_count(&cpus) * vpages_rest(&v->pages) - v->busy);
    v->report->regions[v->entry].idle_ns += (uint64_t)(idle * dt * 1e9);
}

/* Its pages follow its CPUs. */
static void move_pages(struct vjob *v, double dt)
{
    const struct machine *machine = topology_machine(v->node->topology);
    double part[machine->numa_nodes];
    struct cosched_cpuset cpus;

    vjob_cpus(v, &cpus);
    int count = cpuset_count(&cpus);
    memset(part, 0, sizeof(part));
    for (int c = -1; (c = cpuset_next(&cpus, c)) >= 0;)
        part[machine->local_node[machine->llc_domain[c]]] += 1. / count;
    if (count)
        vpages_advance(&v->pages, part, (size_t)count, v->allotment->near_share, dt);
}

void vjob_advance(struct vjob *v, uint64_t from_ns, uint64_t now_ns)
{
    double dt = (double)(now_ns - from_ns) * 1e-9;

    if (!v->region || !(v->speed > 0))
        return;
    v->cpu_s += (v->busy + v->spinning) * dt;
    v->waited_s += v->waiting * dt;
    double before = v->region->work_s - v->left_s;
    double done = fmin(v->left_s, v->speed * dt);
    v->left_s -= done;
    if (v->left_s <= v->speed * DONE_S)
        v->left_s = 0;
    report_idle(v, dt);
    v->busy_s += v->busy * dt;
    v->work_s += done;
    report_work(v, before, v->region->work_s - v->left_s);
    if (touches(v))
        touch(v, done);
    if (v->report && v->report->interleaved)
        move_pages(v, dt);
}
