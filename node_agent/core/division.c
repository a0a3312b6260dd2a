/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A job's CPUs, divided among its processes. */

#include "node_agent/core/division.h"

#include "protocol/cpulist.h"

void division_quotas(size_t count, const uint32_t *team, size_t parts,
                     size_t *quota)
{
    size_t left = count - parts;

    for (size_t i = 0; i < parts; i++)
        quota[i] = 1;
    /* One each in turn, to those first that can use it. */
    for (int all = 0; all < 2 && left; all++)
        for (bool given = true; given && left;) {
            given = false;
            for (size_t i = 0; i < parts && left; i++)
                if (all || !team[i] || quota[i] < team[i]) {
                    quota[i]++;
                    left--;
                    given = true;
                }
        }
}

/* The cores of CPUS by LLC domain; returns their number. */
static size_t order_cores(const struct topology *topology,
                          const struct cosched_cpuset *cpus, int *core)
{
    const int *node = topology_llc_domains(topology);
    size_t nodes = topology_machine(topology)->llc_domains, count = 0;
    struct cosched_cpuset cores;

    topology_cores(topology, cpus, &cores);
    for (size_t n = 0; n < nodes; n++)
        for (int c = -1; (c = cpuset_next(&cores, c)) >= 0;)
            if (node[c] == (int)n)
                core[count++] = c;
    return count;
}

/* Those CPUs of CPUS that are of the COUNT cores from CORE on. */
static void part_of(const struct topology *topology,
                    const struct cosched_cpuset *cpus, const int *core,
                    size_t count, struct cosched_cpuset *part)
{
    struct cosched_cpuset cores = {{0}};

    for (size_t i = 0; i < count; i++)
        cpuset_add(&cores, core[i]);
    topology_expand(topology, &cores, part);
    cpuset_and(part, cpus);
}

static bool busy(const struct process *p, uint64_t now_ns)
{
    return !p->bad && process_serial_ns(p, now_ns) < DIVISION_IDLE_NS;
}

/* Give the busy processes of JOB, as many as COUNT, their parts of CORES. */
static void divide(const struct topology *topology, struct job *job,
                   size_t count, const int *core, size_t cores,
                   uint64_t now_ns)
{
    uint32_t team[COSCHED_MAX_CPUS];
    size_t quota[COSCHED_MAX_CPUS], end = cores, i = count;

    /* The list begins with who came last. */
    for (const struct process *p = job->processes; p; p = p->next)
        if (count <= cores && busy(p, now_ns))
            team[--i] = p->team;
    if (count <= cores)
        division_quotas(cores, team, count, quota);
    i = count;
    for (struct process *p = job->processes; p; p = p->next) {
        if (!busy(p, now_ns))
            continue;
        i--;
        if (count > cores) {
            part_of(topology, &job->cpus, &core[i * cores / count], 1,
                    &p->part);
        } else {
            end -= quota[i];
            part_of(topology, &job->cpus, &core[end], quota[i], &p->part);
        }
    }
}

void division_make(const struct topology *topology, struct job *job,
                   uint64_t now_ns)
{
    int core[COSCHED_MAX_CPUS];
    size_t count = 0, cores;

    for (struct process *p = job->processes; p; p = p->next) {
        p->part = job->cpus;
        count += busy(p, now_ns);
    }
    if (count < 2)
        return;
    cores = order_cores(topology, &job->cpus, core);
    if (cores)
        divide(topology, job, count, core, cores, now_ns);
}
