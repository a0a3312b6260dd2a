/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Several loops at a time: how well the model predicts each one's speed. */

#include "tests/validate/mixes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/analysis/closed.h"
#include "simulator/random.h"

const char *const mix_method_names[MIX_METHODS] = {
    [MIX_LINEARIZER] = "multi-class MVA (Linearizer)",
    [MIX_SCHWEITZER] = "multi-class MVA (Schweitzer)",
    [MIX_HIERARCHY] = "stations one by one, multi-class",
    [MIX_AVERAGE] = "stations one by one, average MRR (papers)",
};

size_t mixes_alone(const struct world *worlds, struct mix *mix)
{
    size_t count = 0;

    for (size_t w = 0; w < WORLDS; w++)
        for (size_t d = 0; d < worlds[w].steps; d++)
            for (size_t l = 0; l < LOOPS; l++) {
                struct mix *m = &mix[count];
                size_t all = worlds[w].dop[worlds[w].steps - 1];

                *m = (struct mix){.world = w, .jobs = 1, .loop = {l}};
                m->rates[0] = loop_rates(&loops[l], worlds[w].dop[d], all);
                world_cores(&worlds[w], worlds[w].dop[d], m->cores);
                m->seed = 1000 + count++;
            }
    return count;
}

/* Cut TOTAL into PARTS pieces of at least one each. */
static void cut(struct random *random, size_t total, size_t parts,
                size_t *piece)
{
    for (size_t p = 0; p < parts; p++)
        piece[p] = 1;
    for (size_t i = parts; i < total; i++)
        piece[random_index(random, (uint32_t)parts)]++;
}

static void place(const struct world *world, struct random *random,
                  bool whole_nodes, struct mix *m)
{
    const struct machine *machine = world->machine;
    size_t piece[TRUTH_JOBS], job = 0, left = 0;

    if (whole_nodes && machine->llc_domains >= m->jobs) {
        cut(random, machine->llc_domains, m->jobs, piece);
        for (size_t i = 0; i < machine->llc_domains; i++) {
            if (left == 0)
                left = piece[job++];
            m->cores[i * m->jobs + job - 1] = machine_node_cpus(machine, i);
            left--;
        }
        return;
    }
    cut(random, machine_node_cpus(machine, 0), m->jobs, piece);
    for (size_t i = 0; i < machine->llc_domains; i++)
        memcpy(&m->cores[i * m->jobs], piece, m->jobs * sizeof(*piece));
}

/* Degree of parallelism of job J, as its rates depend on it. */
static size_t degree(const struct world *world, const struct mix *m, size_t j)
{
    size_t nodes = 0;

    for (size_t i = 0; i < world->machine->llc_domains; i++)
        nodes += m->cores[i * m->jobs + j] > 0;
    return world->machine->llc_domains == 1 ? m->cores[j] : nodes;
}

void mixes_random(const struct world *worlds, struct mix *mix)
{
    struct random random;

    random_seed(&random, 2018);
    for (size_t i = 0; i < WORLDS * MIXES; i++) {
        struct mix *m = &mix[i];
        const struct world *world = &worlds[i / MIXES];

        *m = (struct mix){.world = i / MIXES, .jobs = 2 + i % 3, .seed = i};
        place(world, &random, i / 3 % 2 == 0, m);
        for (size_t j = 0; j < m->jobs; j++) {
            m->loop[j] = random_index(&random, LOOPS);
            m->rates[j] = loop_rates(&loops[m->loop[j]], degree(world, m, j),
                                     world->dop[world->steps - 1]);
        }
    }
}

/* The model knows one mean service time per station: that of all requests. */
static double mean_factor(const struct mix *m, size_t llc_domains)
{
    double sum = 0, weighted = 0;

    for (size_t i = 0; i < llc_domains * m->jobs; i++) {
        const struct loop_rates *r = &m->rates[i % m->jobs];
        double cores = (double)m->cores[i];

        sum += cores * (r->read_per_us + r->write_per_us + r->prefetch_per_us);
        weighted += cores * (r->read_per_us + WORLD_WRITE * r->write_per_us +
                             WORLD_PREFETCH * r->prefetch_per_us);
    }
    return weighted / sum;
}

/* Ask all methods about MIX on MACHINE. */
static enum model_status predict(const struct machine *machine,
                                 const struct system_input *in, struct mix *m)
{
    double used[128];
    enum model_status status = MODEL_OK;

    for (size_t k = 0; k < MIX_METHODS && status == MODEL_OK; k++) {
        struct system_input input = *in;
        struct system_result system = {0};
        struct closed_result closed = {m->predicted[k], used, NULL};

        if (k == MIX_LINEARIZER || k == MIX_SCHWEITZER) {
            status = closed_solve(k == MIX_LINEARIZER ? NETWORK_LINEARIZER
                                                      : NETWORK_SCHWEITZER,
                                  in, &closed);
            for (size_t j = 0; j < m->jobs; j++)
                system.utilisation += m->predicted[k][j] /
                                      (double)machine_node_cpus(machine, 0);
            for (size_t c = 0; c < machine->numa_nodes; c++)
                system.utilisation += used[c];
        } else {
            input.method = k == MIX_AVERAGE ? MVA_AVERAGE : MVA_AUTOMATIC;
            status = system_solve(&input, &system, m->predicted[k]);
        }
        m->utilisation[k] = system.utilisation;
    }
    return status;
}

static enum model_status model_mix(struct machine *machine, double factor,
                                   struct mix *m)
{
    struct workload *work[TRUTH_JOBS];
    struct system_input in = {machine, m->jobs,
                              (const struct workload *const *)work, NULL,
                              m->cores, MVA_AUTOMATIC};
    double share = 1 / (double)machine->numa_nodes;
    enum model_status status = MODEL_OK;

    for (size_t c = 0; c < machine->numa_nodes; c++)
        machine->controller_service_us[c] *= factor;
    for (size_t l = 0; l < machine->links; l++)
        machine->link_service_us[l] *= factor;
    for (size_t j = 0; j < m->jobs; j++) {
        const struct loop_rates *r = &m->rates[j];

        work[j] = workload_new(machine->numa_nodes);
        if (!work[j])
            status = MODEL_ENOMEM;
        for (size_t c = 0; c < machine->numa_nodes && work[j]; c++)
            work[j]->rate[c] = (struct workload_rate){
                share * (r->read_per_us + r->write_per_us + r->prefetch_per_us),
                share * r->read_per_us};
    }
    if (status == MODEL_OK)
        status = predict(machine, &in, m);
    for (size_t j = 0; j < m->jobs; j++)
        workload_free(work[j]);
    return status;
}

struct run {
    const struct world *worlds;
    const struct truth_variant *variant;
    struct mix *mix;
};

static void take_truth(struct mix *m, const struct machine *machine,
                       const struct memsys_result *r)
{
    m->events = r->events;
    for (size_t j = 0; j < m->jobs; j++) {
        m->truth[j] = r->jobs[j].speed.mean;
        m->width[j] = r->jobs[j].speed.half_width;
        m->truth_utilisation +=
            m->truth[j] / (double)machine_node_cpus(machine, 0);
    }
    for (size_t c = 0; c < machine->numa_nodes; c++) {
        m->truth_utilisation += r->controller[c].utilisation.mean;
        m->busiest = fmax(m->busiest, r->controller[c].utilisation.mean);
    }
}

static void run_mix(void *arg, size_t i)
{
    const struct run *run = arg;
    struct mix *m = &run->mix[i];
    const struct world *world = &run->worlds[m->world];
    struct world own = world_new(m->world); /* to change its service times */
    struct memsys_result result;

    m->failed = !own.machine ||
                truth_run(world, m->rates, m->jobs, m->cores, run->variant,
                          m->seed, &result) != MODEL_OK;
    if (!m->failed) {
        double factor = run->variant->by_kind
                            ? mean_factor(m, own.machine->llc_domains)
                            : 1;

        take_truth(m, world->machine, &result);
        m->failed = model_mix(own.machine, factor, m) != MODEL_OK;
        memsys_release(&result);
    }
    machine_free(own.machine);
}

void mixes_run(const char *title, const struct world *worlds,
               const struct truth_variant *variant, struct mix *mix,
               size_t count)
{
    struct run run = {worlds, variant, mix};

    truth_parallel(title, count, run_mix, &run);
}

struct mix_errors mixes_errors(const struct mix *mix, size_t count,
                               size_t world)
{
    struct mix_errors e = {0};
    double cases = 0;

    for (size_t i = 0; i < count; i++) {
        const struct mix *m = &mix[i];

        if (m->failed || (world != WORLDS && m->world != world))
            continue;
        cases++;
        for (size_t k = 0; k < MIX_METHODS; k++)
            e.utilisation[k] +=
                100 * fabs(m->utilisation[k] / m->truth_utilisation - 1);
        for (size_t j = 0; j < m->jobs; j++) {
            e.jobs++;
            e.noise += 100 * m->width[j] / m->truth[j];
            for (size_t k = 0; k < MIX_METHODS; k++) {
                double error = 100 * fabs(m->predicted[k][j] / m->truth[j] - 1);
                e.mape[k] += error;
                e.worst[k] = fmax(e.worst[k], error);
            }
        }
    }
    for (size_t k = 0; k < MIX_METHODS && e.jobs; k++) {
        e.mape[k] /= (double)e.jobs;
        e.utilisation[k] /= cases;
    }
    e.noise /= e.jobs ? (double)e.jobs : 1;
    return e;
}
