/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How soon the jobs of a scenario can be done on the simulated node, however its cores are
 * divided over time: a lower bound of the makespan. */

/* A way to go on (covering.h) is a layout: a parallel or serial region, or nothing, for each job,
 * and cores for it.  Its speeds are the simulated node's own (vnode_rates.c).  The bound is that
 * of whoever knows everything, moves cores for nothing, and has the regions of a job come in any
 * order and in pieces; so it is below what can be reached.  Not covered: jobs that share a core,
 * and layouts that are not looked at, which are all but
 *   - the grid: parts of PARTS of the cores that are not for serial regions, on LLC domains one
 *     after the other, in groups of 2, 4, ..., or spread over all, each job first once, with what
 *     a pinned job touched first on any NUMA node;
 *   - what a climb finds from the best of these for CLIMBS combinations of regions, by TRIES
 *     moves of cores (also to nobody), domains or memory each time, until it finds no more than
 *     CLIMBED.
 */

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "model/io/machine_json.h"
#include "protocol/cpulist.h"
#include "simulator/covering.h"
#include "simulator/vnode_private.h"

#define JOBS COVERING_ENTRIES
#define PARTS 12
#define DIVISIONS (PARTS * PARTS / 2) /* of PARTS into up to JOBS, at most */
#define CLIMBS 30
#define TRIES 500
#define CLIMBED 1.001
#define ROUNDS 10

struct layout {
    size_t row[JOBS]; /* the region that each job is in, or COVERING_NONE */
    struct cosched_cpuset cpus[JOBS];
    size_t touched[JOBS]; /* the NUMA node that it touched first */
};

/* Of regions, one or none for each job. */
struct combination {
    size_t row[JOBS];
    size_t first, count; /* its ways of the grid in the covering */
};

struct search {
    struct vnode node;
    struct vnode_config config;
    size_t jobs, cores, domains, memories, groupings;
    int cpu[COSCHED_MAX_CPUS]; /* [cores] */
    int *order;                /* [groupings * cores] in which a layout takes them */
    size_t rows;               /* kinds of regions: those of job 0, then of job 1, ... */
    size_t first[JOBS + 1];    /* rows of each job, and their end */
    const struct scenario_region **region; /* [rows] */
    double *work, *price;                  /* [rows] */
    struct combination *combination;
    size_t combinations;
    struct covering *covering;
    struct random random;
};

const char cli_program[] = "bound";

static void __attribute__((format(printf, 1, 2), noreturn)) die(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("bound: ", stderr);
    vfprintf(stderr, format, arguments);
    putc('\n', stderr);
    exit(1);
}

static void *need(void *memory)
{
    if (!memory)
        die("out of memory");
    return memory;
}

/* ---- what is to be done ------------------------------------------------- */

/* Is a core as fast in A as in B? */
static bool alike(const struct scenario_region *a, const struct scenario_region *b)
{
    return scenario_asks_alike(a, b) && !a->thread_nodes &&
           (a->kind == REGION_SERIAL ||
            (a->work_s == b->work_s && a->barriers == b->barriers &&
             a->imbalance == b->imbalance && a->sync_share == b->sync_share));
}

static void collect(struct search *s, const struct scenario *scenario)
{
    size_t most = 0;

    for (size_t j = 0; j < s->jobs; j++)
        most += scenario->job[j].regions;
    s->region = need(calloc(most, sizeof(*s->region)));
    s->work = need(calloc(2 * most, sizeof(*s->work)));
    s->price = s->work + most;
    for (size_t j = 0; j < s->jobs; j++) {
        const struct scenario_job *job = &scenario->job[j];
        s->first[j] = s->rows;
        for (size_t step = 0; step < scenario_steps(job); step++) {
            const struct scenario_region *region = scenario_step(job, step);
            size_t r = s->first[j];
            while (r < s->rows && !alike(s->region[r], region))
                r++;
            if (r == s->rows)
                s->region[s->rows++] = region;
            s->work[r] += region->work_s;
        }
    }
    s->first[s->jobs] = s->rows;
}

/* All but that in which nobody does anything. */
static void combine(struct search *s)
{
    size_t all = 1;

    for (size_t j = 0; j < s->jobs; j++)
        all *= s->first[j + 1] - s->first[j] + 1;
    s->combinations = all - 1;
    s->combination = need(calloc(all, sizeof(*s->combination)));
    for (size_t i = 1; i < all; i++) {
        struct combination *c = &s->combination[i - 1];
        size_t rest = i;
        for (size_t j = 0; j < JOBS; j++)
            c->row[j] = COVERING_NONE;
        for (size_t j = 0; j < s->jobs; j++) {
            size_t own = s->first[j + 1] - s->first[j] + 1;
            if (rest % own)
                c->row[j] = s->first[j] + rest % own - 1;
            rest /= own;
        }
    }
}

/* ---- the node ----------------------------------------------------------- */

static void open_node(struct search *s, const struct machine *machine,
                      const struct scenario *scenario)
{
    struct vnode *n = &s->node;
    struct errtext err;

    vnode_config_init(&s->config, machine, scenario);
    n->config = &s->config;
    if (!(n->topology = topology_of_machine((struct machine *)machine, &err)))
        die("%s", err.text);
    n->node.topology = n->topology;
    for (int c = -1; (c = cpuset_next(topology_cpus(n->topology), c)) >= 0;)
        s->cpu[s->cores++] = c;
    n->node.cores = s->cores;
    n->params = timeshare_params(s->config.wait, s->cores);
    n->job = need(calloc(scenario->jobs, sizeof(*n->job)));
    n->node.job = n->job;
    for (size_t j = 0; j < scenario->jobs; j++) {
        if (!vjob_init(&n->job[j], &n->node, &scenario->job[j], (uint32_t)j + 1, false))
            need(NULL);
        n->node.jobs = ++n->jobs;
    }
    if (vnode_rates_init(n) < 0)
        need(NULL);
    s->jobs = scenario->jobs;
    s->domains = machine->llc_domains;
    s->memories = machine->numa_nodes;
}

static void close_node(struct search *s)
{
    vnode_rates_free(&s->node);
    for (size_t j = 0; j < s->jobs; j++)
        vjob_release(&s->node.job[j]);
    free(s->node.job);
    topology_free(s->node.topology);
}

/* SPEED[JOBS] in LAYOUT; what this earns. */
static double measure(struct search *s, const struct layout *layout, double *speed)
{
    struct errtext err;
    double sum = 0;

    for (size_t j = 0; j < s->jobs; j++) {
        struct vjob *v = &s->node.job[j];
        bool runs = layout->row[j] != COVERING_NONE;
        v->region = runs ? s->region[layout->row[j]] : NULL;
        v->mask = layout->cpus[j];
        v->cpu = cpuset_next(&v->mask, -1);
        memset(v->touched, 0, s->memories * sizeof(*v->touched));
        v->touched[layout->touched[j]] = 1;
    }
    if (vnode_rates_update(&s->node, &err) < 0)
        die("%s", err.text);
    for (size_t j = 0; j < JOBS; j++) {
        speed[j] = j < s->jobs ? s->node.job[j].speed : 0;
        if (layout->row[j] != COVERING_NONE)
            sum += s->price[layout->row[j]] * speed[j];
    }
    return sum;
}

static void add(struct search *s, const struct layout *layout)
{
    double speed[JOBS];

    measure(s, layout, speed);
    if (!covering_add(s->covering, layout->row, speed))
        need(NULL);
}

/* ---- the grid ----------------------------------------------------------- */

static bool is_parallel(const struct search *s, size_t row)
{
    return row != COVERING_NONE && s->region[row]->kind != REGION_SERIAL;
}

static bool is_touched(const struct search *s, size_t job, size_t row)
{
    return is_parallel(s, row) && s->region[row]->placement == SCENARIO_FIRST_TOUCH &&
           !s->node.job[job].interleaves;
}

/* The ways to divide PARTS among COUNT, at least one for each; their number. */
static size_t divide(size_t count, size_t division[DIVISIONS][JOBS])
{
    size_t n = 0;

    for (size_t a = 1; a <= PARTS; a++)
        for (size_t b = count > 1; b <= (count > 1 ? PARTS - a : 0); b++) {
            size_t rest = PARTS - a - b;
            if ((count > 2) != (rest > 0))
                continue;
            division[n][0] = a;
            division[n][1] = b;
            division[n++][2] = rest;
        }
    return n;
}

/* Domains one after the other, then two of them taking turns core by core, then 4, ... all. */
static void order_cpus(struct search *s)
{
    const int *domain = s->config.machine->llc_domain;
    size_t last = 1, n = 0, turn[COSCHED_MAX_CPUS], seen[COSCHED_MAX_CPUS] = {0};

    for (s->groupings = 1; last < s->domains; last *= 2)
        s->groupings++;
    s->order = need(calloc(s->groupings * s->cores, sizeof(*s->order)));
    for (size_t i = 0; i < s->cores; i++)
        turn[i] = seen[domain[s->cpu[i]]]++;
    for (size_t together = 1; together <= last; together *= 2)
        for (size_t from = 0; from < s->domains; from += together)
            for (size_t t = 0; t < s->cores; t++)
                for (size_t i = 0; i < s->cores; i++)
                    if (turn[i] == t && (size_t)domain[s->cpu[i]] / together == from / together)
                        s->order[n++] = s->cpu[i];
}

/* Layout number INDEX of C; false where there are no more.  Numbers with the same INDEX /
 * groupings differ in the grouping only. */
static bool grid(const struct search *s, const struct combination *c, size_t index,
                 struct layout *layout)
{
    size_t division[DIVISIONS][JOBS], serial = 0, parallel = 0, at = 0, taken = 0, sum = 0;

    *layout = (struct layout){.row = {0}};
    memcpy(layout->row, c->row, sizeof(layout->row));
    const int *order = &s->order[index % s->groupings * s->cores];
    index /= s->groupings;
    size_t begin = index % s->jobs;
    index /= s->jobs;
    for (size_t j = 0; j < s->jobs; j++) {
        if (is_touched(s, j, c->row[j])) {
            layout->touched[j] = index % s->memories;
            index /= s->memories;
        }
        serial += c->row[j] != COVERING_NONE && !is_parallel(s, c->row[j]);
        parallel += is_parallel(s, c->row[j]);
    }
    if (index >= (parallel ? divide(parallel, division) : 1) || serial > s->cores)
        return false;
    for (size_t i = 0, k = 0; i < s->jobs; i++) {
        size_t j = (begin + i) % s->jobs, end = at + 1;
        if (c->row[j] == COVERING_NONE)
            continue;
        if (is_parallel(s, c->row[j])) {
            sum += division[index][k++];
            end = taken + (s->cores - serial) * sum / PARTS;
        } else {
            taken++;
        }
        while (at < end)
            cpuset_add(&layout->cpus[j], order[at++]);
    }
    return true;
}

static void add_grid(struct search *s)
{
    struct layout layout;

    for (size_t i = 0; i < s->combinations; i++) {
        struct combination *c = &s->combination[i];
        c->first = covering_ways(s->covering);
        while (grid(s, c, c->count, &layout)) {
            add(s, &layout);
            c->count++;
        }
    }
}

/* ---- the climb ---------------------------------------------------------- */

/* The CPU becomes JOB's, or where that is JOBS, nobody's; whose it was. */
static size_t give(struct layout *l, int cpu, size_t job)
{
    size_t was = JOBS;

    for (size_t j = 0; j < JOBS; j++)
        if (cpuset_has(&l->cpus[j], cpu)) {
            cpuset_remove(&l->cpus[j], cpu);
            was = j;
        }
    if (job < JOBS)
        cpuset_add(&l->cpus[job], cpu);
    return was;
}

static void swap(struct layout *l, int a, int b)
{
    give(l, a, give(l, b, give(l, a, JOBS)));
}

static void swap_domains(const struct search *s, struct layout *l, int a, int b)
{
    const int *domain = s->config.machine->llc_domain;

    for (size_t i = 0, k = 0; i < s->cores; i++) {
        if (domain[s->cpu[i]] != a)
            continue;
        while (k < s->cores && domain[s->cpu[k]] != b)
            k++;
        if (k < s->cores)
            swap(l, s->cpu[i], s->cpu[k++]);
    }
}

static void move(struct search *s, struct layout *l)
{
    struct random *r = &s->random;
    uint32_t cores = (uint32_t)s->cores, jobs = (uint32_t)s->jobs, kind = random_index(r, 8);
    uint32_t domains = (uint32_t)s->domains, memories = (uint32_t)s->memories;

    if (kind < 4) {
        swap(l, s->cpu[random_index(r, cores)], s->cpu[random_index(r, cores)]);
    } else if (kind < 6) {
        size_t to = random_index(r, jobs + 1);
        give(l, s->cpu[random_index(r, cores)],
             to < jobs && l->row[to] != COVERING_NONE ? to : JOBS);
    } else if (kind < 7) {
        int a = (int)random_index(r, domains), b = (int)random_index(r, domains);
        if (a != b)
            swap_domains(s, l, a, b);
    } else {
        l->touched[random_index(r, jobs)] = random_index(r, memories);
    }
}

/* From LAYOUT to one that earns more, as long as moves lead there; what it earns. */
static double climb(struct search *s, struct layout *layout)
{
    double speed[JOBS], earns = measure(s, layout, speed);

    for (size_t i = 0; i < TRIES; i++) {
        struct layout next = *layout;
        move(s, &next);
        double more = measure(s, &next, speed);
        if (more > earns) {
            earns = more;
            *layout = next;
        }
    }
    return earns;
}

/* The way of C's grid that earns most, *EARNS. */
static size_t best_of(const struct search *s, const struct combination *c, double *earns)
{
    size_t best = 0;

    *earns = 0;
    for (size_t k = 0; k < c->count; k++) {
        double e = covering_earns(s->covering, c->first + k, s->price);
        if (e > *earns) {
            *earns = e;
            best = k;
        }
    }
    return best;
}

struct rank {
    const struct combination *combination;
    size_t best;
    double earns;
};

static int by_earns(const void *a, const void *b)
{
    double x = ((const struct rank *)a)->earns, y = ((const struct rank *)b)->earns;

    return (x < y) - (x > y);
}

/* Climb from the best combinations, from the division of the best layout of each in all groupings,
 * and add what earns more than 1; the most that was earned. */
static double climb_all(struct search *s)
{
    struct rank *rank = need(calloc(s->combinations, sizeof(*rank)));
    double most = 1;

    for (size_t i = 0; i < s->combinations; i++) {
        rank[i].combination = &s->combination[i];
        rank[i].best = best_of(s, rank[i].combination, &rank[i].earns);
    }
    qsort(rank, s->combinations, sizeof(*rank), by_earns);
    for (size_t i = 0; i < s->combinations && i < CLIMBS; i++)
        for (size_t g = 0; g < s->groupings; g++) {
            struct layout layout;
            size_t index = rank[i].best - rank[i].best % s->groupings + g;
            if (!grid(s, rank[i].combination, index, &layout))
                continue;
            double earns = climb(s, &layout);
            if (earns > 1)
                add(s, &layout);
            most = fmax(most, earns);
        }
    free(rank);
    return most;
}

/* ---- all together ------------------------------------------------------- */

static json_t *bound_of(const struct machine *machine, const struct scenario *scenario)
{
    struct search *s = need(calloc(1, sizeof(*s)));
    double bound, most;

    if (scenario->jobs > JOBS)
        die("%s: %zu jobs, at most %d", scenario->name, scenario->jobs, JOBS);
    open_node(s, machine, scenario);
    order_cpus(s);
    collect(s, scenario);
    combine(s);
    random_seed(&s->random, 1);
    s->covering = need(covering_new(s->rows, s->work));
    add_grid(s);
    size_t counted = covering_ways(s->covering);
    double on_grid = bound = covering_solve(s->covering, s->price);
    for (size_t round = 1; (most = climb_all(s)) > CLIMBED && round < ROUNDS; round++)
        bound = covering_solve(s->covering, s->price);
    json_t *json = json_pack("{s:s, s:f, s:f, s:I, s:I}", "scenario", scenario->name, "bound_s",
                             bound / most, "grid_s", on_grid, "grid",
                             (json_int_t)counted, "climbed",
                             (json_int_t)(covering_ways(s->covering) - counted));
    covering_free(s->covering);
    free(s->combination);
    free(s->order);
    free(s->region);
    free(s->work);
    close_node(s);
    free(s);
    return need(json);
}

int main(int argc, char **argv)
{
    struct errtext err;
    struct machine_description *machine;
    struct scenario_set *set;

    log_open(LOG_WARNING, false);
    if (argc != 4)
        die("usage: bound MACHINE LIBRARY SCENARIOS");
    if (!(machine = machine_json_find(argv[1], &err)) ||
        !(set = scenario_load(argv[3], argv[2], &err)))
        die("%s", err.text);
    for (size_t i = 0; i < set->scenarios; i++) {
        json_t *json = bound_of(machine->machine, &set->scenario[i]);
        json_dumpf(json, stdout, JSON_REAL_PRECISION(6));
        putchar('\n');
        fflush(stdout);
        json_decref(json);
    }
    scenario_set_free(set);
    machine_description_free(machine);
    return ferror(stdout) != 0;
}
