/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The thread-node table of a job or a region, and on which CPUs its threads are because of it. */

#include "node_agent/core/thread_map.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/cpulist.h"

#define NO_NODE SIZE_MAX

struct row {
    uint64_t key; /* the thread's id, or what of its stack's address is the same in all frames */
    struct sample_thread thread;
    size_t home; /* NUMA node, or NO_NODE */
};

struct thread_map {
    size_t nodes;
    enum thread_rows of;
    struct row *row; /* [rows] by key */
    double *requests; /* [rows * nodes] */
    size_t rows, room;
    size_t homes;    /* rows that have one */
    size_t version;
    double known;    /* requests of all so far, */
    double known_then; /* when the map was made; 0: there is none */
    enum mapping_rule rule; /* of the map */
    struct cosched_cpuset cpus; /* likewise */
    struct cosched_cpuset *node_cpus; /* [nodes] of CPUS */
};

struct thread_map *thread_map_new(size_t nodes, enum thread_rows rows)
{
    struct thread_map *map = calloc(1, sizeof(*map));

    if (map && !(map->node_cpus = calloc(nodes, sizeof(*map->node_cpus)))) {
        free(map);
        return NULL;
    }
    if (map) {
        map->nodes = nodes;
        map->of = rows;
    }
    return map;
}

void thread_map_free(struct thread_map *map)
{
    if (!map)
        return;
    free(map->row);
    free(map->requests);
    free(map->node_cpus);
    free(map);
}

/* ---- the table ---------------------------------------------------------- */

/* Number of the first row whose key is not below KEY. */
static size_t find(const struct thread_map *map, uint64_t key)
{
    size_t low = 0, high = map->rows;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (map->row[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has(const struct thread_map *map, size_t i, uint64_t key)
{
    return i < map->rows && map->row[i].key == key;
}

/* The key of THREAD, which may be that of a row that MAP has: a stack's frames may begin on either
 * side of what a key has in common.  0: it has none. */
static uint64_t key_of(const struct thread_map *map, const struct sample_thread *thread)
{
    uint64_t key = thread->stack >> SAMPLE_STACK_SHIFT;

    if (map->of == ROWS_OF_THREADS)
        return (uint64_t)thread->tid;
    if (!key || has(map, find(map, key), key))
        return key;
    if (has(map, find(map, key + 1), key + 1))
        return key + 1;
    return has(map, find(map, key - 1), key - 1) ? key - 1 : key;
}

static bool make_room(struct thread_map *map)
{
    size_t room = map->room ? 2 * map->room : 16;

    if (map->rows < map->room)
        return true;
    if (map->rows == THREAD_ROWS)
        return false;
    struct row *row = realloc(map->row, room * sizeof(*row));
    if (!row)
        return false;
    map->row = row;
    double *requests = realloc(map->requests, room * map->nodes * sizeof(*requests));
    if (!requests)
        return false;
    map->requests = requests;
    map->room = room;
    return true;
}

static double *requests_of(const struct thread_map *map, size_t i)
{
    return map->requests + i * map->nodes;
}

static double sum_of(const struct thread_map *map, size_t i)
{
    double sum = 0;

    for (size_t j = 0; j < map->nodes; j++)
        sum += requests_of(map, i)[j];
    return sum;
}

void thread_map_add(struct thread_map *map, const struct sample_thread *thread,
                    const double *requests)
{
    uint64_t key = key_of(map, thread);
    size_t i = find(map, key), width = map->nodes * sizeof(*requests);

    if (!key)
        return;
    if (!has(map, i, key)) {
        if (!make_room(map))
            return;
        memmove(map->row + i + 1, map->row + i, (map->rows - i) * sizeof(*map->row));
        memmove(requests_of(map, i + 1), requests_of(map, i), (map->rows - i) * width);
        memset(requests_of(map, i), 0, width);
        map->row[i] = (struct row){key, *thread, NO_NODE};
        map->rows++;
    }
    for (size_t j = 0; j < map->nodes; j++) {
        requests_of(map, i)[j] += requests[j];
        map->known += requests[j];
    }
}

static void forget_dead(struct thread_map *map, bool (*lives)(const struct sample_thread *thread))
{
    size_t kept = 0;

    for (size_t i = 0; lives && i < map->rows; i++) {
        if (!lives(&map->row[i].thread)) {
            map->homes -= map->row[i].home != NO_NODE;
            continue;
        }
        map->row[kept] = map->row[i];
        memmove(requests_of(map, kept++), requests_of(map, i),
                map->nodes * sizeof(*map->requests));
    }
    map->rows = lives ? kept : map->rows;
}

/* ---- the map ------------------------------------------------------------ */

bool thread_map_due(const struct thread_map *map, enum mapping_rule rule,
                    const struct cosched_cpuset *cpus)
{
    return map->known >= 2 * THREAD_KNOWN &&
           (!map->known_then || map->known >= 2 * map->known_then || map->rule != rule ||
            !cpuset_equal(&map->cpus, cpus));
}

bool thread_map_holds(const struct thread_map *map)
{
    return map && map->homes;
}

size_t thread_map_version(const struct thread_map *map)
{
    return map ? map->version : 0;
}

bool thread_map_drop(struct thread_map *map)
{
    bool held = thread_map_holds(map);

    for (size_t i = 0; held && i < map->rows; i++)
        map->row[i].home = NO_NODE;
    if (held) {
        map->homes = 0;
        map->version++;
    }
    return held;
}

/* The threads that are mapped, and what comes of it. */
struct making {
    struct thread_map *map;
    size_t threads;
    size_t of[THREAD_ROWS]; /* their rows */
    size_t cores[COSCHED_MAX_CPUS];
    double *requests, *factor, *critical;
    size_t *node; /* [threads] */
    struct mapping_scratch *scratch;
    json_t *rounds;
};

static void making_release(struct making *m)
{
    free(m->requests);
    free(m->factor);
    free(m->critical);
    free(m->node);
    mapping_scratch_free(m->scratch);
}

/* The threads of which enough is known, with their rows one after the other. */
static bool collect(struct making *m, const struct topology *topology)
{
    struct thread_map *map = m->map;
    size_t nodes = map->nodes;

    for (size_t i = 0; i < map->rows; i++)
        if (sum_of(map, i) >= THREAD_KNOWN)
            m->of[m->threads++] = i;
    if (m->threads < 2)
        return true;
    m->requests = calloc(m->threads * nodes, sizeof(*m->requests));
    m->factor = calloc(nodes * nodes, sizeof(*m->factor));
    m->critical = calloc(nodes, sizeof(*m->critical));
    m->node = calloc(m->threads, sizeof(*m->node));
    m->scratch = mapping_scratch_new(m->threads, nodes);
    if (!m->requests || !m->factor || !m->critical || !m->node || !m->scratch)
        return false;
    for (size_t n = 0; n < m->threads; n++)
        memcpy(m->requests + n * nodes, requests_of(map, m->of[n]), nodes * sizeof(double));
    mapping_factor_machine(topology_machine(topology), m->factor);
    return true;
}

/* Which of the map's CPUs each node has, and for how many threads. */
static void divide_cpus(struct making *m, const struct topology *topology)
{
    struct thread_map *map = m->map;
    const struct machine *machine = topology_machine(topology);
    const int *llc_domain = topology_llc_domains(topology);
    size_t all = 0;

    memset(map->node_cpus, 0, map->nodes * sizeof(*map->node_cpus));
    for (int c = -1; (c = cpuset_next(&map->cpus, c)) >= 0;)
        if ((size_t)c < machine->cpus && llc_domain[c] >= 0)
            cpuset_add(&map->node_cpus[machine->local_node[llc_domain[c]]], c);
    for (size_t j = 0; j < map->nodes; j++)
        all += m->cores[j] = topology_count_cores(topology, &map->node_cpus[j]);
    for (size_t j = 0; all && j < map->nodes; j++)
        m->cores[j] *= (m->threads + all - 1) / all;
}

/* Stacks have no names for people: they are numbered by address. */
static int name_of(const struct making *m, const struct mapping_candidate *candidate)
{
    size_t row = m->of[candidate->thread];

    return m->map->of == ROWS_OF_STACKS ? (int)row : (int)m->map->row[row].thread.tid;
}

static void on_round(void *arg, const struct mapping_candidate *candidates, size_t count,
                     size_t chosen)
{
    struct making *m = arg;
    json_t *list = json_array();

    if (json_array_size(m->rounds) == THREAD_ROUNDS) {
        json_decref(list);
        return;
    }
    for (size_t n = 0; n < count; n++)
        json_array_append_new(
            list, json_pack("{s:i, s:I, s:f}", "thread", name_of(m, &candidates[n]), "node",
                            (json_int_t)candidates[n].node, "cost", candidates[n].cost));
    json_array_append_new(m->rounds,
                          json_pack("{s:i, s:I, s:o}", "thread", name_of(m, &candidates[chosen]),
                                    "node", (json_int_t)candidates[chosen].node, "candidates",
                                    list));
}

/* Take what was made, and say what it is worth. */
static void take(struct making *m, struct thread_map_made *made)
{
    double local = 0, before = 0, all = 0, had = 0;

    for (size_t n = 0; n < m->threads; n++) {
        size_t home = m->map->row[m->of[n]].home;
        const double *v = m->requests + n * m->map->nodes;
        for (size_t j = 0; j < m->map->nodes; j++) {
            all += v[j];
            had += home != NO_NODE ? v[j] : 0;
        }
        before += home != NO_NODE ? v[home] : 0;
        local += v[m->node[n]];
    }
    thread_map_drop(m->map);
    for (size_t n = 0; n < m->threads; n++)
        m->map->row[m->of[n]].home = m->node[n];
    made->threads = m->map->homes = m->threads;
    m->map->version++;
    made->local = local / all;
    made->before = had > 0 ? before / had : NAN;
}

int thread_map_make(struct thread_map *map, enum mapping_rule rule, const struct topology *topology,
                    const struct cosched_cpuset *cpus,
                    bool (*lives)(const struct sample_thread *thread),
                    struct thread_map_made *made)
{
    struct making m = {.map = map};
    int rc = -1;

    *made = (struct thread_map_made){.local = NAN, .before = NAN};
    forget_dead(map, lives);
    map->known_then = map->known;
    map->rule = rule;
    map->cpus = *cpus;
    if (collect(&m, topology) && (made->rounds = m.rounds = json_array())) {
        struct mapping_input input = {m.threads, map->nodes, m.requests, m.cores, m.factor,
                                      MAPPING_CLOSENESS};
        struct mapping_result result = {
            .node = m.node, .critical = m.critical, .round = on_round, .arg = &m};
        divide_cpus(&m, topology);
        if (m.threads > 1 && mapping_make(rule, &input, m.scratch, &result) == MODEL_OK)
            take(&m, made);
        rc = 0;
    }
    making_release(&m);
    if (!made->threads)
        thread_map_drop(map);
    if (rc < 0)
        errno = ENOMEM;
    return rc;
}

const struct cosched_cpuset *thread_map_home(const struct thread_map *map, pid_t tid,
                                             const struct cosched_cpuset *cpus,
                                             struct cosched_cpuset *room)
{
    size_t i = map ? find(map, (uint64_t)tid) : 0;

    if (!map || !has(map, i, (uint64_t)tid) || map->row[i].home == NO_NODE)
        return cpus;
    *room = map->node_cpus[map->row[i].home];
    cpuset_and(room, cpus);
    return cpuset_empty(room) ? cpus : room;
}

size_t thread_map_homes(const struct thread_map *map, const struct topology *topology,
                        uint16_t region, struct cosched_home *home, size_t room)
{
    const int *llc_domain = topology_llc_domains(topology);
    int last[map->nodes]; /* CPU of each node that was given to a stack */
    size_t count = 0;

    for (size_t j = 0; j < map->nodes; j++)
        last[j] = -1;
    for (size_t i = 0; i < map->rows && count < room; i++) {
        size_t j = map->row[i].home;
        if (j == NO_NODE)
            continue;
        last[j] = cpuset_next(&map->node_cpus[j], last[j]);
        if (last[j] < 0)
            last[j] = cpuset_next(&map->node_cpus[j], -1);
        if (last[j] >= 0)
            home[count++] = (struct cosched_home){
                .stack = map->row[i].thread.stack,
                .region = region,
                .domain = (uint16_t)llc_domain[last[j]],
            };
    }
    return count;
}
