/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* ua: irregular memory accesses on a mesh that changes; heat from a moving source. */

#include "jobs/program.h"
#include "jobs/random.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* What NPB UA asks of a machine, on a mesh that is simpler to describe: a cube of n^3 cells, of
 * which those near a heat source are split into eight.  The source moves, and the mesh follows
 * every few steps.  Cells have numbers without order in space, so that neighbours are found by a
 * list of their own for each cell.  Heat is neither lost nor made but by the source; the mesh is
 * rebuilt partly by one thread. */
enum { SPLIT = 8, STEPS_A_MESH = 10, MESHES = 20, MOST_NEIGHBOURS = 24 };

static const uint64_t seed = 314159265;
static const double epsilon = 1e-10;
static const double power = 1.0;   /* heat that the source adds in a step */

struct mesh {
    int n;             /* cells on a side before any is split */
    long blocks;       /* n^3 */
    long cells;        /* now */
    int *shuffled;     /* [blocks] the order in which cells get numbers */
    long *first;       /* [blocks] number of the block's first cell */
    bool *split;       /* [blocks] into eight */
    int (*neighbour)[MOST_NEIGHBOURS + 1]; /* [room], ends with -1 */
    double (*flow)[MOST_NEIGHBOURS];   /* heat that a degree of difference moves in a step */
    double *heat, *next, *volume;      /* [room] */
    double source[3];
};

static void block_place(const struct mesh *m, long b, int place[3])
{
    place[0] = (int)(b % m->n);
    place[1] = (int)(b / m->n % m->n);
    place[2] = (int)(b / m->n / m->n);
}

static bool is_near(const struct mesh *m, long b)
{
    double sum = 0;
    int place[3];

    block_place(m, b, place);
    for (int d = 0; d < 3; d++)
        sum += pow((place[d] + 0.5) / m->n - m->source[d], 2);
    return sum < 0.2 * 0.2;
}

/* ---- the mesh ---------------------------------------------------------------------- */

/* Numbers for the cells of all blocks: serial, since each depends on those before. */
static void number_cells(struct mesh *m)
{
    m->cells = 0;
    for (long i = 0; i < m->blocks; i++) {
        long b = m->shuffled[i];

        m->first[b] = m->cells;
        m->cells += m->split[b] ? SPLIT : 1;
    }
}

/* Append to the COUNT neighbours of CELL those cells of block B that lie at SIDE (0 low, 1 high) of
 * direction D and, if CELL is SMALL, opposite to its OCTANT (bits: x, y, z).  The new count. */
static int add_touching(const struct mesh *m, long b, int d, int side, int octant, bool small,
                        int count, long cell, double scale)
{
    for (int o = 0; o < (m->split[b] ? SPLIT : 1); o++) {
        bool fine = m->split[b];
        int other = ~(1 << d);

        if (fine && (o >> d & 1) != side)
            continue;
        if (fine && small && (o & other) != (octant & other))
            continue;
        /* Area by distance, in units of a large cell's side. */
        double area = fine || small ? 0.25 : 1;
        double distance = (fine ? 0.25 : 0.5) + (small ? 0.25 : 0.5);

        m->neighbour[cell][count] = (int)(m->first[b] + o);
        m->flow[cell][count++] = scale * area / distance;
    }
    return count;
}

static void connect_cell(const struct mesh *m, long b, int octant, double scale)
{
    const bool small = m->split[b];
    const long step[3] = {1, m->n, (long)m->n * m->n};
    const long cell = m->first[b] + octant;
    int place[3], count = 0;

    block_place(m, b, place);
    for (int d = 0; d < 3; d++)
        for (int side = 0; side < 2; side++) {
            int to = place[d] + (side ? 1 : -1);

            if (small && (octant >> d & 1) != side) { /* its sibling */
                m->neighbour[cell][count] = (int)(m->first[b] + (octant ^ 1 << d));
                m->flow[cell][count++] = scale * 0.25 / 0.5;
            } else if (to >= 0 && to < m->n) {
                count = add_touching(m, b + (side ? step[d] : -step[d]), d, !side, octant, small,
                                     count, cell, scale);
            }
        }
    m->neighbour[cell][count] = -1;
    m->volume[cell] = small ? 1.0 / SPLIT : 1;
}

static void connect_cells(const struct mesh *m)
{
#pragma omp parallel for schedule(dynamic, 256)
    for (long i = 0; i < m->blocks; i++) {
        long b = m->shuffled[i];

        for (int o = 0; o < (m->split[b] ? SPLIT : 1); o++)
            connect_cell(m, b, o, 0.02);
    }
}

/* A new mesh around the source, with the heat of the one before. */
static void adapt(struct mesh *m)
{
    double *of_block = m->next; /* free between steps; there are at least as many cells */

#pragma omp parallel for schedule(static)
    for (long b = 0; b < m->blocks; b++) {
        double sum = 0;

        for (int o = 0; o < (m->split[b] ? SPLIT : 1); o++)
            sum += m->heat[m->first[b] + o];
        of_block[b] = sum;
        m->split[b] = is_near(m, b);
    }
    number_cells(m);
#pragma omp parallel for schedule(static)
    for (long b = 0; b < m->blocks; b++) {
        int parts = m->split[b] ? SPLIT : 1;

        for (int o = 0; o < parts; o++)
            m->heat[m->first[b] + o] = of_block[b] / parts;
    }
    connect_cells(m);
}

/* ---- the heat ---------------------------------------------------------------------- */

static void conduct(struct mesh *m)
{
    double *swap = m->next;

#pragma omp parallel for schedule(guided, 64)
    for (long i = 0; i < m->cells; i++) {
        double own = m->heat[i] / m->volume[i], sum = 0;

        for (int k = 0; m->neighbour[i][k] >= 0; k++) {
            int j = m->neighbour[i][k];

            sum += m->flow[i][k] * (m->heat[j] / m->volume[j] - own);
        }
        m->next[i] = m->heat[i] + sum;
    }
    m->next = m->heat;
    m->heat = swap;
}

static void add_source(struct mesh *m)
{
    long b = 0;

    for (int d = 2; d >= 0; d--)
        b = b * m->n + (long)(m->source[d] * m->n);
    m->heat[m->first[b]] += power;
}

static void move_source(struct mesh *m, int number)
{
    double angle = 2 * M_PI * number / MESHES;

    m->source[0] = 0.5 + 0.3 * cos(angle);
    m->source[1] = 0.5 + 0.3 * sin(angle);
    m->source[2] = 0.2 + 0.6 * number / MESHES;
}

static void compute(struct mesh *m)
{
    memset(m->split, 0, (size_t)m->blocks * sizeof(*m->split));
    number_cells(m);
    memset(m->heat, 0, (size_t)m->cells * sizeof(*m->heat));
    for (int k = 0; k < MESHES; k++) {
        move_source(m, k);
        adapt(m);
        for (int i = 0; i < STEPS_A_MESH; i++) {
            add_source(m);
            conduct(m);
        }
    }
}

/* Serial: heat is conserved, and nowhere negative. */
static void verify(struct program *p, const struct mesh *m)
{
    double sum = 0, right = power * MESHES * STEPS_A_MESH;
    long negative = 0;

    for (long i = 0; i < m->cells; i++) {
        sum += m->heat[i];
        negative += !(m->heat[i] >= 0);
    }
    if (!program_close(sum, right, epsilon))
        program_fail(p, "the heat is %.12g, not %.12g", sum, right);
    if (negative)
        program_fail(p, "%ld of %ld cells have negative heat", negative, m->cells);
}

static void make(struct program *p, struct mesh *m, int n)
{
    long blocks = (long)n * n * n;
    /* The ball of split cells has a radius of 0.2. */
    size_t room = (size_t)(blocks + blocks * (SPLIT - 1) / 10);
    uint64_t state = seed;

    *m = (struct mesh){.n = n, .blocks = blocks};
    m->shuffled = program_alloc(p, (size_t)blocks, sizeof(*m->shuffled));
    m->first = program_alloc(p, (size_t)blocks, sizeof(*m->first));
    m->split = program_alloc(p, (size_t)blocks, sizeof(*m->split));
    m->neighbour = program_alloc(p, room, sizeof(*m->neighbour));
    m->flow = program_alloc(p, room, sizeof(*m->flow));
    m->heat = program_alloc(p, room, sizeof(*m->heat));
    m->next = program_alloc(p, room, sizeof(*m->next));
    m->volume = program_alloc(p, room, sizeof(*m->volume));
    for (long i = 0; i < blocks; i++) {
        long j = (long)(random_next(&state) * (double)(i + 1));

        m->shuffled[i] = m->shuffled[j];
        m->shuffled[j] = (int)i;
    }
}

int main(int argc, char **argv)
{
    static const struct {
        char size_class;
        int n;
    } sizes[] = {{'S', 16}, {'W', 32}, {'A', 64}, {'B', 96}, {'C', 160}};
    struct program p = {
        .name = "ua",
        .summary = "Heat on a mesh that changes; irregular memory accesses.",
    };
    struct mesh m;
    int size = 0;

    if (program_parse(&p, argc, argv))
        return p.status;
    while (sizes[size].size_class != p.size_class)
        size++;
    make(&p, &m, sizes[size].n);
    p.steps = (long)MESHES * STEPS_A_MESH;
    program_start(&p);
    do {
        compute(&m);
        verify(&p, &m);
    } while (program_again(&p));
    free(m.shuffled);
    free(m.first);
    free(m.split);
    free(m.neighbour);
    free(m.flow);
    free(m.heat);
    free(m.next);
    free(m.volume);
    return program_finish(&p, omp_get_max_threads(), "steps_per_s",
                          (double)(p.steps * p.done) / p.time);
}
