/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Maps the threads of pinned jobs to NUMA nodes (thread_map.h). */

#include "node_agent/core/mapper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/core/enforcer.h"
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
    struct number_map by_tid; /* thread id -> its row */
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
    number_map_clear(&m->by_tid);
    free(m->requests);
    free(m);
}

/* Add REQUESTS of THREAD to its job's table.  False: nobody owns it. */
static bool add(const struct mapper *m, struct job_table *jobs, const struct sample_thread *thread,
                const double *requests)
{
    for (struct job *j = jobs->first; j; j = j->next) {
        if (!number_map_find(&j->tracked_by_pid, (uint64_t)thread->pid))
            continue;
        if (!j->processes && (j->map || (j->map = thread_map_new(m->nodes))))
            thread_map_add(j->map, thread, requests);
        return true;
    }
    return false;
}

static void wait_for_owner(struct mapper *m, const struct sample_thread *thread,
                           const double *requests)
{
    struct waiting *row = number_map_find(&m->by_tid, (uint64_t)thread->tid);

    if (!row) {
        if (m->rows == MAPPER_ROWS ||
            number_map_put(&m->by_tid, (uint64_t)thread->tid, &m->row[m->rows]) < 0)
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

    number_map_clear(&m->by_tid);
    for (size_t i = 0; i < m->rows; i++) {
        struct waiting row = m->row[i];
        const double *requests = m->requests + i * m->nodes;
        if (add(m, jobs, &row.thread, requests) || ++row.tries == MAPPER_RETRIES ||
            number_map_put(&m->by_tid, (uint64_t)row.thread.tid, &m->row[kept]) < 0)
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

static void write_down(const struct job *job, const struct thread_map_made *made,
                       const char *policy, size_t cores, struct decisions *decisions,
                       uint64_t wall_ns)
{
    char text[DECISION_TEXT], before[64] = "";

    if (!isnan(made->before))
        snprintf(before, sizeof(before), " (%.0f %% where they were mapped before)",
                 100 * made->before);
    snprintf(text, sizeof(text), "job %u: %zu threads mapped to NUMA nodes, %.0f %% of their "
             "requests local%s", job->id, made->threads, 100 * made->local, before);
    decisions_add(decisions,
                  json_pack("{s:f, s:s, s:s, s:s, s:[{s:I, s:I}], s:O}", "time",
                            (double)wall_ns * 1e-9, "trigger", "the thread-node table", "policy",
                            policy, "text", text, "shares", "job", (json_int_t)job->id, "cores",
                            (json_int_t)cores, "rounds", made->rounds));
}

void mapper_epoch(struct job_table *jobs, enum mapper_rule rule, const char *policy,
                  const struct topology *topology, struct decisions *decisions, uint64_t wall_ns)
{
    enum mapping_rule how = rule == MAPPER_CRITICAL ? MAPPING_CRITICAL : MAPPING_LOCALITY;
    struct thread_map_made made;

    for (struct job *j = jobs->first; j; j = j->next) {
        if (!j->map)
            continue;
        if (rule == MAPPER_NONE || !is_mapped(j)) {
            j->unsettled |= thread_map_drop(j->map);
            continue;
        }
        if (cpuset_empty(&j->cpus) || !thread_map_due(j->map, how, &j->cpus))
            continue;
        if (thread_map_make(j->map, how, topology, &j->cpus, enforcer_thread_lives, &made) == 0 &&
            made.threads)
            write_down(j, &made, policy, topology_count_cores(topology, &j->cpus), decisions,
                       wall_ns);
        json_decref(made.rounds);
        j->unsettled = true;
    }
}
