/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedsim samples: regions alone on 1, 2, ... cores, to train predictors with. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "simulator/coschedsim.h"
#include "simulator/random.h"
#include "simulator/virtual_memory.h"

/* Cycles per us: of the signature only, times are not affected. */
#define CLOCK 2500.0

/* The same regions with more or fewer requests: other problem sizes. */
static const double request_factors[] = {0.02, 0.2, 0.5, 1, 1.5};

/* Where data lie: on this NUMA node, or */
#define EVENLY (-1)
#define AT_THREADS (-2)

struct samples {
    const struct machine *machine;
    struct virtual_memory *memory;
    struct random random;
    double noise;
    size_t cores;
    double *count, *data;   /* [llc_domains], [numa_nodes] */
    struct virtual_rates out;
    json_t *list;
};

static void samples_release(struct samples *s)
{
    virtual_memory_free(s->memory);
    free(s->count);
    free(s->data);
    free(s->out.speed);
    free(s->out.requests);
    free(s->out.read_part);
    free(s->out.utilisation);
    json_decref(s->list);
}

static int samples_init(struct samples *s, const struct world *world)
{
    const struct machine *m = world->machine->machine;
    const struct arguments *a = world->arguments;

    *s = (struct samples){.machine = m, .noise = a->noise, .cores = machine_all_cpus(m)};
    random_seed(&s->random, a->seed);
    s->memory = virtual_memory_new(m, (enum network_method)a->network, 1);
    s->count = calloc(m->llc_domains, sizeof(double));
    s->data = calloc(m->numa_nodes, sizeof(double));
    s->out.speed = calloc(m->llc_domains, sizeof(double));
    s->out.requests = calloc(m->llc_domains * m->numa_nodes, sizeof(double));
    s->out.read_part = calloc(1, sizeof(double));
    s->out.utilisation = calloc(m->numa_nodes + m->links, sizeof(double));
    s->list = json_array();
    return s->memory && s->count && s->data && s->out.speed && s->out.requests &&
                   s->out.read_part && s->out.utilisation && s->list
               ? EXIT_DONE
               : fail(EXIT_REFUSED, "out of memory");
}

/* THREADS threads one by one over the LLC domains that have a core free, as the kernel does. */
static void spread(struct samples *s, size_t threads)
{
    const struct machine *m = s->machine;

    memset(s->count, 0, m->llc_domains * sizeof(double));
    for (size_t i = 0; threads > 0; i = (i + 1) % m->llc_domains)
        if (s->count[i] < (double)machine_node_cpus(m, i)) {
            s->count[i]++;
            threads--;
        }
}

static enum model_status solve(struct samples *s, const struct scenario_region *region, int where,
                               size_t threads)
{
    const struct machine *m = s->machine;
    const struct virtual_load load = {.region = region, .cores = s->count,
                                      .data = where == AT_THREADS ? NULL : s->data};

    spread(s, threads);
    for (size_t j = 0; j < m->numa_nodes; j++)
        s->data[j] = where == EVENLY ? 1 / (double)m->numa_nodes : (int)j == where;
    return virtual_memory_solve(s->memory, &load, 1, &s->out);
}

/* Part of its time in which a core on LLC domain I computes. */
static double share(const struct samples *s, size_t i)
{
    return fmin(1, s->out.speed[i] / s->count[i]);
}

/* Time and energy above the idle node's on so many THREADS, as solved; a static schedule. */
static void measure(const struct samples *s, const struct scenario_region *region, size_t threads,
                    double *seconds, double *joules)
{
    const struct machine *m = s->machine;
    const struct machine_power *p = &m->power;
    double each = region->work_s / (double)threads, slowest = 1, requests = 0, domains = 0;
    double sync = region->sync_share * (double)threads / (double)s->cores;

    for (size_t i = 0; i < m->llc_domains; i++) {
        if (!(s->count[i] > 0))
            continue;
        domains++;
        slowest = fmin(slowest, share(s, i));
        for (size_t j = 0; j < m->numa_nodes; j++)
            requests += 1e6 * each * s->count[i] * s->out.requests[i * m->numa_nodes + j];
    }
    *seconds = each / slowest * (1 + (threads > 1 ? region->imbalance : 0)) / (1 - sync);
    *joules = *seconds * (domains * p->domain_w + (double)threads * p->stalled_w) +
              region->work_s * (p->core_w - p->stalled_w) + 1e-9 * p->request_nj * requests;
}

/* A factor around 1; four standard errors at most. */
static double noise(struct samples *s)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += random_uniform(&s->random);
    return fmax(0.01, 1 + s->noise * fmax(-4, fmin(4, sum)));
}

/* Instructions and branch misses per cycle of computing: no number of this is published, so each
 * region has its own, by its name. */
static double own_rate(const char *program, const char *region, const char *what, double low,
                       double high)
{
    uint64_t hash = HASH_START;

    hash_bytes(&hash, program, strlen(program));
    hash_bytes(&hash, region, strlen(region));
    hash_bytes(&hash, what, strlen(what));
    return low + (high - low) * (double)(hash >> 11) * 0x1p-53;
}

/* VALUE with six digits: more say nothing. */
static json_t *rounded(double value)
{
    char text[32];

    snprintf(text, sizeof(text), "%.6g", value);
    return json_real(strtod(text, NULL));
}

/* Of the cores of each LLC domain, as solved for all of them. */
static json_t *signatures(struct samples *s, double ipc, double branch)
{
    const struct machine *m = s->machine;
    json_t *threads = json_array();

    for (size_t i = 0; i < m->llc_domains; i++) {
        double local = 0, remote = 0;
        for (size_t j = 0; j < m->numa_nodes; j++)
            *((int)j == m->local_node[i] ? &local : &remote) +=
                s->out.requests[i * m->numa_nodes + j] * share(s, i) / CLOCK;
        json_array_append_new(threads, json_pack("[o, o, o, o]",
                                                 rounded(ipc * share(s, i) * noise(s)),
                                                 rounded(local * noise(s)),
                                                 rounded(remote * noise(s)),
                                                 rounded(branch * share(s, i) * noise(s))));
    }
    return threads;
}

static enum model_status add_sample(struct samples *s, const struct scenario_job *job,
                                    const struct scenario_region *region, int where)
{
    const char *program = job->program ? job->program : job->name;
    json_t *time = json_array(), *energy = json_array(), *threads = NULL;
    enum model_status status = MODEL_OK;

    for (size_t n = 1; status == MODEL_OK && n <= s->cores; n++) {
        double seconds, joules;
        if ((status = solve(s, region, where, n)) != MODEL_OK)
            break;
        measure(s, region, n, &seconds, &joules);
        double factor = noise(s);
        json_array_append_new(time, rounded(seconds * factor));
        json_array_append_new(energy, rounded(joules * factor));
        if (n == s->cores)
            threads = signatures(s, own_rate(program, region->name, "ipc", 0.6, 1.8),
                                 own_rate(program, region->name, "branch", 0.0005, 0.005));
    }
    json_array_append_new(s->list,
                          json_pack("{s:s, s:s, s:o*, s:o, s:o}", "program", program, "region",
                                    region->name, "threads", threads, "time_s", time, "energy_j",
                                    energy));
    return status;
}

/* All variants of each parallel region of JOB. */
static int add_job(struct samples *s, const struct scenario_job *job)
{
    const size_t factors = sizeof(request_factors) / sizeof(request_factors[0]);
    enum model_status status = MODEL_OK;

    for (size_t r = 0; r < job->regions; r++) {
        if (job->region[r].kind == REGION_SERIAL)
            continue;
        for (size_t f = 0; f < factors; f++) {
            struct scenario_region region = job->region[r];
            region.read_per_us *= request_factors[f];
            region.write_per_us *= request_factors[f];
            region.prefetch_per_us *= request_factors[f];
            region.llc_per_us *= fmax(1, request_factors[f]);
            for (int where = AT_THREADS;
                 status == MODEL_OK && where < (int)s->machine->numa_nodes; where++)
                status = add_sample(s, job, &region, where);
        }
    }
    return status == MODEL_OK ? EXIT_DONE
                              : fail(EXIT_REFUSED, "%s: no speeds for its regions (%d)", job->name,
                                     (int)status);
}

/* Programs are alike in all scenarios: each once. */
static bool seen_before(const struct scenario_set *set, size_t scenario, size_t job)
{
    const char *program = set->scenario[scenario].job[job].program;

    for (size_t i = 0; program && i <= scenario; i++)
        for (size_t j = 0; j < (i < scenario ? set->scenario[i].jobs : job); j++)
            if (set->scenario[i].job[j].program &&
                strcmp(set->scenario[i].job[j].program, program) == 0)
                return true;
    return false;
}

static int all_jobs(struct samples *s, const struct world *world)
{
    int rc = EXIT_DONE;

    for (size_t i = 0; i < world->set->scenarios; i++)
        for (size_t j = 0; rc == EXIT_DONE && j < world->set->scenario[i].jobs; j++)
            if (!seen_before(world->set, i, j))
                rc = add_job(s, &world->set->scenario[i].job[j]);
    return rc;
}

int command_samples(const struct arguments *arguments)
{
    struct world world;
    struct samples s = {0};
    int rc = world_open(&world, arguments);

    if (rc == EXIT_DONE && !machine_has_power(world.machine->machine))
        rc = fail(EXIT_REFUSED, "%s: power: is missing", arguments->machine);
    if (rc == EXIT_DONE)
        rc = samples_init(&s, &world);
    if (rc == EXIT_DONE)
        rc = all_jobs(&s, &world);
    if (rc == EXIT_DONE)
        rc = print_json(json_pack("{s:o, s:O}", "machine", machine_json_write(world.machine),
                                  "samples", s.list));
    samples_release(&s);
    world_close(&world);
    return rc;
}
