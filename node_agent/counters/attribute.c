/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which job did what: from a sample of the machine to loop profiles. */

#include "node_agent/counters/attribute.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/cpulist.h"

/* By what shared counts are divided, best first. */
enum divisor { BY_MISSES, BY_GROUPS, BY_CYCLES, BY_CPUS };

/* What a job weighs on an LLC domain and a NUMA node is, until the requests are
 * shared out by it, in its loop's read_misses: no table is as large as all jobs
 * times all pairs of nodes. */
struct work {
    const struct counters_setup *setup;
    const struct sample *sample;
    struct attribute_job *jobs;
    size_t count;
    size_t nodes, memories, pairs;
    double *all;    /* [pairs] weight of everything on the node */
    double *column; /* [memories] sums of that over the LLC domains */
    int *owner;     /* [cpus] job, -1: nobody's */
    enum divisor divisor;
};

/* ---- where misses go ---------------------------------------------------- */

/* Reads of NUMA node M as far as they tell where NODE's misses go. */
static double reads_to(const struct work *w, size_t node, size_t m)
{
    double row = w->sample->traffic[node * w->memories + m].reads;
    double reads = isnan(row) ? w->sample->memory[m].reads : row;

    return reads > 0 ? reads : 0;
}

/* Add AMOUNT of NODE to TO[memories], leaving out NUMA node EXCEPT (-1:
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

/* What CPUs weigh, by what is known of where it goes. */
struct weighed {
    double whole;  /* somewhere */
    double local;  /* to the LLC domain's home */
    double remote; /* elsewhere */
};

static void add_misses(const struct work *w, const struct sample_cpu *cpu,
                       struct weighed *sum)
{
    bool split = !isnan(cpu->local_misses) || !isnan(cpu->remote_misses);

    if (!split || w->memories == 1) {
        double misses = isnan(cpu->read_misses)
                            ? sample_add(cpu->local_misses, cpu->remote_misses)
                            : cpu->read_misses;
        sum->whole += misses > 0 ? misses : 0;
        return;
    }
    double local = cpu->local_misses, remote = cpu->remote_misses;
    if (isnan(local))
        local = fmax(0, cpu->read_misses - remote);
    if (isnan(remote))
        remote = fmax(0, cpu->read_misses - local);
    sum->local += local > 0 ? local : 0;
    sum->remote += remote > 0 ? remote : 0;
}

/* Add ROW[memories] of NODE to all, and to the job LOOP is of, if not NULL. */
static void add_row(struct work *w, size_t node, const double *row,
                    struct loop *loop)
{
    size_t at = node * w->memories;

    for (size_t m = 0; m < w->memories; m++)
        w->all[at + m] += row[m];
    if (!loop || !loop->cores[node])
        return;
    for (size_t m = 0; m < w->memories; m++)
        loop->read_misses[at + m] += row[m];
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

/* Put down what neighbouring CPUs of NODE and job OWNER (-1: nobody) weigh. */
static void weigh(struct work *w, int node, int owner,
                  const struct weighed *sum)
{
    double row[w->memories];

    if (node < 0)
        return;
    int home = w->setup->machine->local_node[node];
    for (size_t m = 0; m < w->memories; m++)
        row[m] = 0;
    if (sum->whole > 0)
        spread(w, (size_t)node, sum->whole, -1, home, row);
    if (sum->local > 0)
        row[home] += sum->local;
    if (sum->remote > 0)
        spread(w, (size_t)node, sum->remote, home, -1, row);
    add_row(w, (size_t)node, row, owner < 0 ? NULL : w->jobs[owner].loop);
}

static void weigh_cpus(struct work *w)
{
    struct weighed sum = {0};
    int node = -1, owner = -1;

    for (size_t c = 0; c < w->sample->cpus; c++) {
        const struct sample_cpu *cpu = &w->sample->cpu[c];
        if (w->setup->llc_domain[c] < 0)
            continue;
        if (w->setup->llc_domain[c] != node || w->owner[c] != owner) {
            weigh(w, node, owner, &sum);
            sum = (struct weighed){0};
            node = w->setup->llc_domain[c];
            owner = w->owner[c];
        }
        if (w->divisor == BY_MISSES)
            add_misses(w, cpu, &sum);
        else if (w->divisor == BY_CYCLES)
            sum.local += isnan(cpu->cycles) ? 0 : cpu->cycles;
        else
            sum.local += owner >= 0;
    }
    weigh(w, node, owner, &sum);
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
            int home = w->setup->machine->local_node[n];
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
            add_row(w, n, row, j < w->count ? w->jobs[j].loop : NULL);
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

static double sum_of(const double *values, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

/* The part that a job that weighs MINE[memories] on LLC domain N has in what
 * `traffic` counts for the pair (N, M). */
static double part_of_pair(const struct work *w, const double *mine, size_t n,
                           size_t m)
{
    double all = w->all[n * w->memories + m];

    if (all > 0)
        return mine[m] / all;
    all = sum_of(&w->all[n * w->memories], w->memories);
    return all > 0 ? sum_of(mine, w->memories) / all : 0;
}

/* The same of what the controller of M counts.  Where nobody weighs anything
 * there (prefetches alone), as in the whole. */
static double part_of_memory(const struct work *w, const double *mine, size_t m)
{
    if (w->column[m] > 0)
        return mine[m] / w->column[m];
    double sum = sum_of(w->column, w->memories);
    return sum > 0 ? sum_of(mine, w->memories) / sum : 0;
}

/* Requests from LLC domain N; true when anything of memory is known. */
static bool fill_node(const struct work *w, size_t n, struct loop *loop)
{
    bool any = false;
    double mine[w->memories], *misses = &loop->read_misses[n * w->memories];

    memcpy(mine, misses, w->memories * sizeof(*mine));
    for (size_t m = 0; m < w->memories; m++) {
        size_t p = n * w->memories + m;
        struct loop_requests *r = &loop->requests[p];
        if (known(&w->sample->traffic[p])) {
            add_part(r, &w->sample->traffic[p], part_of_pair(w, mine, n, m));
            any = true;
        } else if (known(&w->sample->memory[m])) {
            add_part(r, &w->sample->memory[m], part_of_memory(w, mine, m));
            any = true;
        }
        if (w->divisor <= BY_GROUPS && r->read < mine[m])
            r->read = mine[m];
        misses[m] = w->divisor == BY_MISSES ? mine[m] : r->read;
    }
    return any;
}

/* Requests of a job; true when anything of memory is known. */
static bool fill_requests(const struct work *w, struct loop *loop)
{
    bool any = w->divisor <= BY_GROUPS;

    for (size_t n = 0; n < w->nodes; n++)
        if (loop->cores[n])
            any |= fill_node(w, n, loop);
    return any;
}

/* ---- one job ------------------------------------------------------------ */

static void fill_cores(const struct work *w, const struct attribute_job *job,
                       struct loop *loop)
{
    const struct machine *machine = w->setup->machine;
    bool other = false; /* a CPU that is not its core's first */

    for (int c = -1; (c = cpuset_next(&job->cpus, c)) >= 0;)
        if ((size_t)c < machine->cpus && machine->llc_domain[c] >= 0)
            loop->cores[machine->llc_domain[c]]++;
        else
            other = true;
    /* A core of which the job has the second thread only. */
    for (int c = -1; other && (c = cpuset_next(&job->cpus, c)) >= 0;)
        if ((size_t)c < machine->cpus && w->setup->llc_domain[c] >= 0 &&
            !loop->cores[w->setup->llc_domain[c]])
            loop->cores[w->setup->llc_domain[c]] = 1;
}

static void fill_cycles(const struct work *w, size_t j, struct loop *loop)
{
    bool cycles[w->nodes], accesses[w->nodes];

    memset(cycles, true, sizeof(cycles));
    memset(accesses, true, sizeof(accesses));
    for (int c = -1; (c = cpuset_next(&w->jobs[j].cpus, c)) >= 0;) {
        if ((size_t)c >= w->sample->cpus)
            break;
        const struct sample_cpu *cpu = &w->sample->cpu[c];
        int n = w->setup->llc_domain[c];
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
            if (setup->llc_domain[c] < 0 ||
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

/* A loop with the cores of each job that has any. */
static int make_loops(const struct work *w)
{
    for (size_t j = 0; j < w->count; j++) {
        struct attribute_job *job = &w->jobs[j];
        if (cpuset_empty(&job->cpus) || !w->sample->time_ns)
            continue;
        if (!(job->loop = loop_new(w->nodes, w->memories)))
            return -1;
        job->loop->total_us = (double)w->sample->time_ns * 1e-3;
        fill_cores(w, job, job->loop);
    }
    return 0;
}

static void attribute_one(const struct work *w, size_t j)
{
    struct attribute_job *job = &w->jobs[j];
    struct loop *loop = job->loop;

    job->energy_j = energy_of(w, j);
    if (!loop)
        return;
    bool any = fill_requests(w, loop);
    fill_cycles(w, j, loop);
    for (size_t n = 0; n < w->nodes; n++)
        any |= loop->useful_cycles[n] > 0;
    if (any && loop_check(loop, NULL) == MODEL_OK)
        return;
    loop_free(loop);
    job->loop = NULL;
}

static void find_owners(struct work *w)
{
    for (size_t c = 0; c < w->sample->cpus; c++)
        w->owner[c] = -1;
    for (size_t j = 0; j < w->count; j++)
        for (int c = -1; (c = cpuset_next(&w->jobs[j].cpus, c)) >= 0;)
            if ((size_t)c < w->sample->cpus)
                w->owner[c] = (int)j;
}

static void divide(struct work *w)
{
    find_owners(w);
    w->divisor = find_divisor(w);
    if (w->divisor == BY_GROUPS)
        weigh_groups(w);
    else
        weigh_cpus(w);
    for (size_t n = 0; n < w->nodes; n++)
        for (size_t m = 0; m < w->memories; m++)
            w->column[m] += w->all[n * w->memories + m];
    for (size_t j = 0; j < w->count; j++)
        attribute_one(w, j);
}

int attribute(const struct counters_setup *setup, const struct sample *sample,
              struct attribute_job *jobs, size_t count)
{
    size_t nodes = setup->machine->llc_domains;
    struct work w = {.setup = setup,
                     .sample = sample,
                     .jobs = jobs,
                     .count = count,
                     .nodes = nodes,
                     .memories = setup->machine->numa_nodes};
    int rc = -1;

    w.pairs = w.nodes * w.memories;
    for (size_t j = 0; j < count; j++) {
        jobs[j].loop = NULL;
        jobs[j].energy_j = NAN;
    }
    size_t tables = (w.pairs + w.memories) * sizeof(*w.all);
    if ((w.all = calloc(1, tables + sample->cpus * sizeof(*w.owner)))) {
        w.column = w.all + w.pairs;
        w.owner = (int *)(w.column + w.memories);
        if ((rc = make_loops(&w)) == 0)
            divide(&w);
    }
    /* What could not be finished says nothing. */
    for (size_t j = 0; rc < 0 && j < count; j++) {
        loop_free(jobs[j].loop);
        jobs[j].loop = NULL;
    }
    free(w.all);
    errno = rc ? ENOMEM : errno;
    return rc;
}
