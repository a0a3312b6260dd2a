/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Maps threads and tasks to NUMA nodes (mapper.h). */

#include "node_agent/core/mapper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/core/enforcer.h"
#include "node_agent/core/process.h"
#include "node_agent/core/task_maps.h"
#include "protocol/cpulist.h"

/* A job whose threads are the agent's to move. */
static bool is_mapped(const struct job *job)
{
    return job_live(job) && job->doing == JOB_PINNED && !job->unpinned && !job->processes;
}

struct waiting {
    struct sample_thread thread;
    unsigned tries;
};

struct mapper {
    size_t nodes;
    unsigned samples;
    struct waiting row[MAPPER_ROWS]; /* [rows] */
    double *requests;                /* [MAPPER_ROWS * nodes] */
    size_t rows;
    struct number_map by_key; /* sample_thread_key() -> its row */
};

struct mapper *mapper_new(size_t nodes)
{
    struct mapper *m = calloc(1, sizeof(*m));

    if (m && !(m->requests = calloc(MAPPER_ROWS * nodes, sizeof(*m->requests)))) {
        free(m);
        return NULL;
    }
    if (m)
        m->nodes = nodes;
    return m;
}

void mapper_free(struct mapper *m)
{
    if (!m)
        return;
    number_map_clear(&m->by_key);
    free(m->requests);
    free(m);
}

/* Add REQUESTS of THREAD to the tables of its process, if that has attached to JOB. */
static void add_task(const struct mapper *m, struct job *job, const struct sample_thread *thread,
                     const double *requests)
{
    struct process *p = job->processes;

    for (size_t i = 0; i < MAPPER_PROCESSES && p && p->pid != thread->pid; i++)
        p = p->next;
    if (p && p->pid == thread->pid && (p->maps || (p->maps = task_maps_new(m->nodes))))
        task_maps_add(p->maps, process_region(p), thread, requests);
}

/* Add REQUESTS of THREAD to its job's table.  False: nobody owns it. */
static bool add(const struct mapper *m, struct job_table *jobs, const struct sample_thread *thread,
                const double *requests)
{
    for (struct job *j = jobs->first; j; j = j->next) {
        if (!number_map_find(&j->tracked_by_pid, (uint64_t)thread->pid))
            continue;
        if (j->processes)
            add_task(m, j, thread, requests);
        else if (j->map || (j->map = thread_map_new(m->nodes, ROWS_OF_THREADS)))
            thread_map_add(j->map, thread, requests);
        return true;
    }
    return false;
}

static void wait_for_owner(struct mapper *m, const struct sample_thread *thread,
                           const double *requests)
{
    struct waiting *row = number_map_find(&m->by_key, sample_thread_key(thread));

    if (!row) {
        if (m->rows == MAPPER_ROWS ||
            number_map_put(&m->by_key, sample_thread_key(thread), &m->row[m->rows]) < 0)
            return;
        row = &m->row[m->rows++];
        *row = (struct waiting){.thread = *thread};
        memset(m->requests + (size_t)(row - m->row) * m->nodes, 0, m->nodes * sizeof(double));
    }
    for (size_t k = 0; k < m->nodes; k++)
        m->requests[(size_t)(row - m->row) * m->nodes + k] += requests[k];
}

/* Look again for those that wait. */
static void retry(struct mapper *m, struct job_table *jobs)
{
    size_t kept = 0;

    number_map_clear(&m->by_key);
    for (size_t i = 0; i < m->rows; i++) {
        struct waiting row = m->row[i];
        const double *requests = m->requests + i * m->nodes;
        if (add(m, jobs, &row.thread, requests) || ++row.tries == MAPPER_RETRIES ||
            number_map_put(&m->by_key, sample_thread_key(&row.thread), &m->row[kept]) < 0)
            continue;
        m->row[kept] = row;
        memmove(m->requests + kept++ * m->nodes, requests, m->nodes * sizeof(double));
    }
    m->rows = kept;
}

void mapper_learn(struct mapper *m, struct job_table *jobs, const struct sample *sample)
{
    for (size_t i = 0; i < sample->threads; i++) {
        const double *requests = sample->thread_requests + i * m->nodes;
        if (!add(m, jobs, &sample->thread[i], requests))
            wait_for_owner(m, &sample->thread[i], requests);
    }
    if (++m->samples % MAPPER_PAUSE == 0 && m->rows)
        retry(m, jobs);
}

/* Why threads are where they are. */
struct telling {
    const char *policy;
    struct decisions *decisions;
    uint64_t wall_ns;
};

/* WHAT of JOB, which has CORES, was mapped. */
static void write_down(const struct telling *t, const struct job *job, const char *what,
                       const struct thread_map_made *made, size_t cores)
{
    char text[DECISION_TEXT], before[64] = "";

    if (!isnan(made->before))
        snprintf(before, sizeof(before), " (%.0f %% where they were mapped before)",
                 100 * made->before);
    snprintf(text, sizeof(text), "job %u: %zu %s mapped to NUMA nodes, %.0f %% of their "
             "requests local%s", job->id, made->threads, what, 100 * made->local, before);
    decisions_add(t->decisions,
                  json_pack("{s:f, s:s, s:s, s:s, s:[{s:I, s:I}], s:O}", "time",
                            (double)t->wall_ns * 1e-9, "trigger", "the thread-node table", "policy",
                            t->policy, "text", text, "shares", "job", (json_int_t)job->id, "cores",
                            (json_int_t)cores, "rounds", made->rounds));
}

/* ---- threads of pinned jobs ----------------------------------------------- */

static void map_threads(struct job *j, bool off, enum mapping_rule how,
                        const struct topology *topology, const struct telling *t)
{
    struct thread_map_made made;

    if (off || !is_mapped(j)) {
        j->unsettled |= thread_map_drop(j->map);
        return;
    }
    if (cpuset_empty(&j->cpus) || !thread_map_due(j->map, how, &j->cpus))
        return;
    if (thread_map_make(j->map, how, topology, &j->cpus, enforcer_thread_lives, &made) == 0 &&
        made.threads)
        write_down(t, j, "threads", &made, topology_count_cores(topology, &j->cpus));
    json_decref(made.rounds);
    j->unsettled = true;
}

/* ---- tasks of attached processes -------------------------------------------- */

static void tell_tasks(const struct telling *t, const struct process *p, size_t which,
                       const struct thread_map_made *made, size_t cores)
{
    uint16_t region = task_maps_region(p->maps, which);
    char what[80] = "tasks", name[REGION_NAME_MAX];

    if (region < p->view->used) {
        const struct cosched_region *r = &p->view->regions[region];
        region_name(&(struct region){.object_id = r->object_id, .offset = r->offset}, name);
        snprintf(what, sizeof(what), "tasks of region %s", name);
    }
    write_down(t, p->job, what, made, cores);
}

static void write_homes(struct process *p, const struct topology *topology, uint64_t now_ns)
{
    static struct cosched_home home[COSCHED_MAX_HOMES];

    allotment_write_homes(p->allotment, home, task_maps_homes(p->maps, topology, home), now_ns);
}

/* Make at most one map of P's: true when one was. */
static bool map_tasks(struct process *p, enum mapping_rule how, const struct topology *topology,
                      const struct telling *t, uint64_t now_ns)
{
    struct thread_map_made made;
    size_t which;

    if (cpuset_empty(&p->part) || !task_maps_due(p->maps, how, &p->part, &which))
        return false;
    if (task_maps_make(p->maps, which, how, topology, &p->part, &made) == 0 && made.threads)
        tell_tasks(t, p, which, &made, topology_count_cores(topology, &p->part));
    json_decref(made.rounds);
    write_homes(p, topology, now_ns);
    return true;
}

/* A few maps are made in an epoch; the others' turn comes in the next ones. */
static void map_all_tasks(struct job *j, bool off, enum mapping_rule how,
                          const struct topology *topology, const struct telling *t,
                          uint64_t now_ns)
{
    size_t made = 0;

    for (struct process *p = j->processes; p && made < MAPPER_MAPS; p = p->next) {
        if (!p->maps)
            continue;
        if (!off && !p->bad)
            made += map_tasks(p, how, topology, t, now_ns);
        else if (task_maps_drop(p->maps)) {
            write_homes(p, topology, now_ns);
            made++;
        }
    }
}

void mapper_epoch(struct job_table *jobs, enum mapper_rule rule, const char *policy,
                  const struct topology *topology, struct decisions *decisions, uint64_t wall_ns,
                  uint64_t now_ns)
{
    enum mapping_rule how = rule == MAPPER_CRITICAL ? MAPPING_CRITICAL : MAPPING_LOCALITY;
    struct telling t = {policy, decisions, wall_ns};

    for (struct job *j = jobs->first; j; j = j->next) {
        if (j->map)
            map_threads(j, rule == MAPPER_NONE, how, topology, &t);
        map_all_tasks(j, rule == MAPPER_NONE, how, topology, &t, now_ns);
    }
}
