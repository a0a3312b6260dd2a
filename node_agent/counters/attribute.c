/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which job did what: from a sample of the machine to loop profiles. */

#include "node_agent/counters/attribute.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "protocol/cpulist.h"

/* By what shared counts are divided, best first. */
enum divisor { BY_MISSES, BY_GROUPS, BY_CYCLES, BY_CPUS };

struct work {
    const struct counters_setup *setup;
    const struct sample *sample;
    struct attribute_job *jobs;
    size_t count;
    size_t nodes, memories, pairs;
    int *owner;     /* [cpus] job, -1: nobody's */
    double *weight; /* [count * pairs] of each job, and, */
    double *all;    /* [pairs], of everything on the node */
    enum divisor divisor;
};

/* ---- where misses go ---------------------------------------------------- */

/* Reads of memory node M as far as they tell where NODE's misses go. */
static double reads_to(const struct work *w, size_t node, size_t m)
{
    double row = w->sample->traffic[node * w->memories + m].reads;
    double reads = isnan(row) ? w->sample->memory[m].reads : row;

    return reads > 0 ? reads : 0;
}

/* Add AMOUNT of NODE to TO[memories], leaving out memory node EXCEPT (-1:
 * none), as the memories were read; else to OTHERWISE (-1: evenly). */
static void spread(const struct work *w, size_t node, double amount, int except,
                   int otherwise, double *to)
{
    double sum = 0;

    for (size_t m = 0; m < w->memories; m++)
        if ((int)m != except)
            sum += reads_to(w, node, m);
    for (size_t m = 0; m < w->memories; m++) {
        if ((int)m == except)
            continue;
        if (sum > 0)
            to[m] += amount * reads_to(w, node, m) / sum;
        else if (otherwise < 0)
            to[m] += amount / (double)(w->memories - (except >= 0));
        else if ((int)m == otherwise)
            to[m] += amount;
    }
}

/* Add the misses of one CPU to TO[memories]. */
static void add_misses(const struct work *w, size_t node,
                       const struct sample_cpu *cpu, double *to)
{
    int home = w->setup->machine->home[node];
    bool split = !isnan(cpu->local_misses) || !isnan(cpu->remote_misses);

    if (!split || w->memories == 1) {
        double misses = isnan(cpu->read_misses)
                            ? sample_add(cpu->local_misses, cpu->remote_misses)
                            : cpu->read_misses;
        if (misses > 0)
            spread(w, node, misses, -1, home, to);
        return;
    }
    double local = cpu->local_misses, remote = cpu->remote_misses;
    if (isnan(local))
        local = fmax(0, cpu->read_misses - remote);
    if (isnan(remote))
        remote = fmax(0, cpu->read_misses - local);
    if (local > 0)
        to[home] += local;
    if (remote > 0)
        spread(w, node, remote, home, -1, to);
}

/* ---- weights ------------------------------------------------------------ */

static bool has_misses(const struct sample_cpu *cpu)
{
    return !isnan(cpu->read_misses) ||
           !isnan(sample_add(cpu->local_misses, cpu->remote_misses));
}

/* What every CPU of the jobs has. */
static enum divisor find_divisor(const struct work *w)
{
    bool misses = true, cycles = true, any = false;

    for (size_t c = 0; c < w->sample->cpus; c++) {
        if (w->owner[c] < 0)
            continue;
        any = true;
        misses &= has_misses(&w->sample->cpu[c]);
        cycles &= !isnan(w->sample->cpu[c].cycles);
    }
    if (any && misses)
        return BY_MISSES;
    for (size_t i = 0; i < w->sample->groups * w->nodes; i++)
        if (!isnan(w->sample->group[i].total))
            return BY_GROUPS;
    return any && cycles ? BY_CYCLES : BY_CPUS;
}

static void weigh_cpus(struct work *w)
{
    for (size_t c = 0; c < w->sample->cpus; c++) {
        int n = w->setup->cpu_node[c], j = w->owner[c];
        const struct sample_cpu *cpu = &w->sample->cpu[c];
        if (n < 0)
            continue;
        double row[w->memories];
        for (size_t m = 0; m < w->memories; m++)
            row[m] = 0;
        if (w->divisor == BY_MISSES)
            add_misses(w, (size_t)n, cpu, row);
        else if (w->divisor == BY_CYCLES)
            row[w->setup->machine->home[n]] = isnan(cpu->cycles) ? 0
                                                                 : cpu->cycles;
        else if (j >= 0)
            row[w->setup->machine->home[n]] = 1;
        for (size_t m = 0; m < w->memories; m++) {
            w->all[(size_t)n * w->memories + m] += row[m];
            if (j >= 0)
                w->weight[(size_t)j * w->pairs + (size_t)n * w->memories + m] +=
                    row[m];
        }
    }
}

static void weigh_groups(struct work *w)
{
    const struct sample *s = w->sample;

    for (size_t g = 0; g < s->groups; g++) {
        size_t j = 0;
        while (j < w->count && w->jobs[j].id != s->group_job[g])
            j++;
        for (size_t n = 0; n < w->nodes; n++) {
            const struct sample_group *group = &s->group[g * w->nodes + n];
            int home = w->setup->machine->home[n];
            double row[w->memories];
            for (size_t m = 0; m < w->memories; m++)
                row[m] = 0;
            if (isnan(group->total))
                continue;
            double local = isnan(group->local) || w->memories == 1
                               ? group->total
                               : fmin(group->local, group->total);
            row[home] += local;
            if (group->total > local)
                spread(w, n, group->total - local, home, -1, row);
            for (size_t m = 0; m < w->memories; m++) {
                w->all[n * w->memories + m] += row[m];
                if (j < w->count)
                    w->weight[j * w->pairs + n * w->memories + m] += row[m];
            }
        }
    }
}

/* ---- shared counts ------------------------------------------------------ */

static bool known(const struct sample_memory *m)
{
    return !isnan(m->reads) || !isnan(m->writes) || !isnan(m->prefetches);
}

static void add_part(struct loop_requests *to, const struct sample_memory *from,
                     double part)
{
    to->read += from->reads > 0 ? from->reads * part : 0;
    to->write += from->writes > 0 ? from->writes * part : 0;
    to->prefetch += from->prefetches > 0 ? from->prefetches * part : 0;
}

static double column(const double *table, size_t nodes, size_t memories,
                     size_t m)
{
    double sum = 0;

    for (size_t n = 0; n < nodes; n++)
        sum += table[n * memories + m];
    return sum;
}

static double row_sum(const double *table, size_t memories, size_t n)
{
    double sum = 0;

    for (size_t m = 0; m < memories; m++)
        sum += table[n * memories + m];
    return sum;
}

/* The part that job J, from CPU node N, has in what `traffic` counts for the
 * pair (N, M). */
static double part_of_pair(const struct work *w, size_t j, size_t n, size_t m)
{
    const double *mine = &w->weight[j * w->pairs];
    double all = w->all[n * w->memories + m];

    if (all > 0)
        return mine[n * w->memories + m] / all;
    all = row_sum(w->all, w->memories, n);
    return all > 0 ? row_sum(mine, w->memories, n) / all : 0;
}

/* The same of what the controller of M counts.  Where nobody weighs anything
 * there (prefetches alone), as in the whole. */
static double part_of_memory(const struct work *w, size_t j, size_t n, size_t m)
{
    const double *mine = &w->weight[j * w->pairs];
    double all = column(w->all, w->nodes, w->memories, m), sum = 0;

    if (all > 0)
        return mine[n * w->memories + m] / all;
    for (size_t i = 0; i < w->pairs; i++)
        sum += w->all[i];
    return sum > 0 ? row_sum(mine, w->memories, n) / sum : 0;
}

/* Requests of job J; true when anything of memory is known. */
static bool fill_requests(const struct work *w, size_t j, struct loop *loop)
{
    bool any = w->divisor <= BY_GROUPS;

    for (size_t n = 0; n < w->nodes; n++) {
        for (size_t m = 0; loop->cores[n] && m < w->memories; m++) {
            size_t p = n * w->memories + m;
            double mine = w->weight[j * w->pairs + p];
            struct loop_requests *r = &loop->requests[p];
            if (known(&w->sample->traffic[p])) {
                add_part(r, &w->sample->traffic[p], part_of_pair(w, j, n, m));
                any = true;
            } else if (known(&w->sample->memory[m])) {
                add_part(r, &w->sample->memory[m], part_of_memory(w, j, n, m));
                any = true;
            }
            if (w->divisor <= BY_GROUPS && r->read < mine)
                r->read = mine;
            loop->read_misses[p] = w->divisor == BY_MISSES ? mine : r->read;
        }
    }
    return any;
}

/* ---- one job ------------------------------------------------------------ */

static void fill_cores(const struct work *w, const struct attribute_job *job,
                       struct loop *loop)
{
    for (int c = -1; (c = cpuset_next(&job->cpus, c)) >= 0;)
        if ((size_t)c < w->setup->machine->cpus &&
            w->setup->machine->cpu_node[c] >= 0)
            loop->cores[w->setup->machine->cpu_node[c]]++;
    /* A core of which the job has the second thread only. */
    for (int c = -1; (c = cpuset_next(&job->cpus, c)) >= 0;)
        if ((size_t)c < w->setup->machine->cpus && w->setup->cpu_node[c] >= 0 &&
            !loop->cores[w->setup->cpu_node[c]])
            loop->cores[w->setup->cpu_node[c]] = 1;
}

static void fill_cycles(const struct work *w, size_t j, struct loop *loop)
{
    bool cycles[w->nodes], accesses[w->nodes];

    for (size_t n = 0; n < w->nodes; n++)
        cycles[n] = accesses[n] = true;
    for (size_t c = 0; c < w->sample->cpus; c++) {
        const struct sample_cpu *cpu = &w->sample->cpu[c];
        int n = w->setup->cpu_node[c];
        if (w->owner[c] != (int)j || n < 0)
            continue;
        if (isnan(cpu->cycles) || isnan(cpu->stalled)) {
            cycles[n] = false;
        } else {
            double stalled = fmin(fmax(0, cpu->stalled), cpu->cycles);
            loop->useful_cycles[n] += cpu->cycles - stalled;
            loop->stalled_cycles[n] += stalled;
        }
        if (isnan(cpu->llc_accesses))
            accesses[n] = false;
        else
            loop->llc_accesses[n] += cpu->llc_accesses;
    }
    for (size_t n = 0; n < w->nodes; n++) {
        if (!cycles[n])
            loop->useful_cycles[n] = loop->stalled_cycles[n] = 0;
        if (!accesses[n])
            loop->llc_accesses[n] = 0;
    }
}

static double energy_of(const struct work *w, size_t j)
{
    const struct counters_setup *setup = w->setup;
    double sum = NAN;

    for (size_t p = 0; p < w->sample->packages; p++) {
        double cycles = 0, all_cycles = 0, cpus = 0, all_cpus = 0;
        if (isnan(w->sample->energy_j[p]))
            continue;
        for (size_t c = 0; c < w->sample->cpus; c++) {
            if (setup->cpu_node[c] < 0 ||
                (setup->package ? setup->package[c] : 0) != (int)p)
                continue;
            bool mine = w->owner[c] == (int)j;
            cpus += mine;
            all_cpus += 1;
            cycles = mine ? cycles + w->sample->cpu[c].cycles : cycles;
            all_cycles += w->sample->cpu[c].cycles;
        }
        double part = all_cycles > 0 ? cycles / all_cycles
                      : all_cpus > 0 ? cpus / all_cpus
                                     : 0;
        sum = sample_add(sum, w->sample->energy_j[p] * part);
    }
    return sum;
}

static double llc_of(const struct work *w, uint32_t id)
{
    const struct sample *s = w->sample;
    double sum = NAN;

    for (size_t g = 0; g < s->groups; g++)
        for (size_t n = 0; s->group_job[g] == id && n < w->nodes; n++)
            sum = sample_add(sum, s->group[g * w->nodes + n].llc_bytes);
    return sum;
}

static int attribute_one(const struct work *w, size_t j)
{
    struct attribute_job *job = &w->jobs[j];

    job->energy_j = energy_of(w, j);
    job->llc_bytes = llc_of(w, job->id);
    job->stalls = w->divisor == BY_MISSES;
    if (cpuset_empty(&job->cpus) || !w->sample->time_ns)
        return 0;
    struct loop *loop = loop_new(w->nodes, w->memories);
    if (!loop)
        return -1;
    loop->total_us = (double)w->sample->time_ns * 1e-3;
    fill_cores(w, job, loop);
    bool any = fill_requests(w, j, loop);
    fill_cycles(w, j, loop);
    for (size_t n = 0; n < w->nodes; n++)
        any |= loop->useful_cycles[n] > 0;
    if (any && loop_check(loop, NULL) == MODEL_OK)
        job->loop = loop;
    else
        loop_free(loop);
    return 0;
}

int attribute(const struct counters_setup *setup, const struct sample *sample,
              struct attribute_job *jobs, size_t count)
{
    size_t nodes = setup->machine->cpu_nodes;
    struct work w = {.setup = setup,
                     .sample = sample,
                     .jobs = jobs,
                     .count = count,
                     .nodes = nodes,
                     .memories = setup->machine->mem_nodes};
    int rc = 0;

    w.pairs = w.nodes * w.memories;
    for (size_t j = 0; j < count; j++) {
        jobs[j].loop = NULL;
        jobs[j].energy_j = jobs[j].llc_bytes = NAN;
    }
    w.owner = malloc(sample->cpus * sizeof(*w.owner));
    w.weight = calloc((count + 1) * w.pairs, sizeof(*w.weight));
    if (!w.owner || !w.weight) {
        rc = -1;
    } else {
        w.all = w.weight + count * w.pairs;
        for (size_t c = 0; c < sample->cpus; c++) {
            w.owner[c] = -1;
            for (size_t j = 0; j < count; j++)
                if (cpuset_has(&jobs[j].cpus, (int)c))
                    w.owner[c] = (int)j;
        }
        w.divisor = find_divisor(&w);
        if (w.divisor == BY_GROUPS)
            weigh_groups(&w);
        else
            weigh_cpus(&w);
        for (size_t j = 0; rc == 0 && j < count; j++)
            rc = attribute_one(&w, j);
    }
    free(w.owner);
    free(w.weight);
    errno = rc ? ENOMEM : errno;
    return rc;
}
