/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The least time in which given work can be done, by whatever ways there are. */

#include "simulator/covering.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EARNS_MORE 1e-6 /* than 1: worth another step */
#define PIVOT_LEAST 1e-9
#define SAME_TIME 1e-9
#define STEPS_MOST 10000 /* far more than are needed; prices are good at any time */

struct way {
    size_t row[COVERING_ENTRIES];
    double speed[COVERING_ENTRIES];
};

struct covering {
    size_t rows, ways, room;
    struct way *way;
    double work[];
};

/* The simplex method's state: of as many ways as rows, the basis, the inverse of their speeds,
 * and the time spent in each.  Doing more than is asked of a row is a way that costs no time. */
struct basis {
    size_t rows;
    double *inverse; /* [rows * rows]: way by row */
    double *time;    /* [rows] */
    double *cost;    /* [rows]: 1, or 0 where more is done than is asked */
    double *change;  /* [rows] of time per unit of what enters */
};

struct covering *covering_new(size_t rows, const double *work)
{
    struct covering *c = calloc(1, sizeof(*c) + rows * sizeof(*work));

    if (c) {
        c->rows = rows;
        memcpy(c->work, work, rows * sizeof(*work));
    }
    return c;
}

void covering_free(struct covering *c)
{
    if (!c)
        return;
    free(c->way);
    free(c);
}

bool covering_add(struct covering *c, const size_t *row, const double *speed)
{
    if (c->ways == c->room) {
        size_t room = c->room ? 2 * c->room : 1024;
        struct way *grown = realloc(c->way, room * sizeof(*grown));
        if (!grown)
            return false;
        c->way = grown;
        c->room = room;
    }
    struct way *w = &c->way[c->ways++];
    memcpy(w->row, row, sizeof(w->row));
    memcpy(w->speed, speed, sizeof(w->speed));
    return true;
}

size_t covering_ways(const struct covering *c)
{
    return c->ways;
}

double covering_earns(const struct covering *c, size_t way, const double *price)
{
    const struct way *w = &c->way[way];
    double sum = 0;

    for (size_t i = 0; i < COVERING_ENTRIES; i++)
        if (w->row[i] != COVERING_NONE)
            sum += price[w->row[i]] * w->speed[i];
    return sum;
}

/* Begin with a way for each row that does nothing else: the fastest one, the rest of it unused. */
static bool begin(const struct covering *c, struct basis *b)
{
    double fastest[c->rows];

    memset(fastest, 0, sizeof(fastest));
    for (size_t k = 0; k < c->ways; k++)
        for (size_t i = 0; i < COVERING_ENTRIES; i++)
            if (c->way[k].row[i] != COVERING_NONE)
                fastest[c->way[k].row[i]] =
                    fmax(fastest[c->way[k].row[i]], c->way[k].speed[i]);
    for (size_t r = 0; r < c->rows; r++) {
        if (!(fastest[r] > 0))
            return false;
        b->inverse[r * c->rows + r] = 1 / fastest[r];
        b->time[r] = c->work[r] / fastest[r];
        b->cost[r] = 1;
    }
    return true;
}

/* Prices at which each way of the basis earns its cost. */
static void set_prices(const struct basis *b, double *price)
{
    memset(price, 0, b->rows * sizeof(*price));
    for (size_t i = 0; i < b->rows; i++)
        for (size_t r = 0; r < b->rows; r++)
            price[r] += b->cost[i] * b->inverse[i * b->rows + r];
}

/* The way that earns most, *EARNED; the first of equals. */
static size_t best_way(const struct covering *c, const double *price, double *earned)
{
    size_t best = 0;

    *earned = -INFINITY;
    for (size_t k = 0; k < c->ways; k++) {
        double earns = covering_earns(c, k, price);
        if (earns > *earned) {
            *earned = earns;
            best = k;
        }
    }
    return best;
}

/* Set b->change for a way of the speeds W, or, where it is NULL, for doing more than is asked of
 * ROW. */
static void set_change(struct basis *b, const struct way *w, size_t row)
{
    for (size_t i = 0; i < b->rows; i++) {
        const double *inverse = b->inverse + i * b->rows;
        b->change[i] = w ? 0 : -inverse[row];
        for (size_t e = 0; w && e < COVERING_ENTRIES; e++)
            if (w->row[e] != COVERING_NONE)
                b->change[i] += inverse[w->row[e]] * w->speed[e];
    }
}

/* What b->change says enters the basis at COST, for the way whose time is used up first; of
 * several, that which changes most, for the sake of precision.  False: none. */
static bool exchange(struct basis *b, double cost)
{
    size_t rows = b->rows, out = rows;
    double time = INFINITY, greatest = 0;

    for (size_t i = 0; i < rows; i++)
        if (b->change[i] > PIVOT_LEAST)
            time = fmin(time, b->time[i] / b->change[i]);
    for (size_t i = 0; i < rows; i++)
        if (b->change[i] > fmax(PIVOT_LEAST, greatest) &&
            b->time[i] / b->change[i] <= time + SAME_TIME) {
            greatest = b->change[i];
            out = i;
        }
    if (out == rows)
        return false;
    time = b->time[out] / greatest;
    double *row = b->inverse + out * rows, pivot = b->change[out];
    for (size_t r = 0; r < rows; r++)
        row[r] /= pivot;
    for (size_t i = 0; i < rows; i++) {
        if (i == out)
            continue;
        b->time[i] = fmax(0, b->time[i] - time * b->change[i]);
        for (size_t r = 0; r < rows; r++)
            b->inverse[i * rows + r] -= b->change[i] * row[r];
    }
    b->time[out] = time;
    b->cost[out] = cost;
    return true;
}

/* Until no way earns more than those of the basis, and no price is negative. */
static void climb(const struct covering *c, struct basis *b, double *price)
{
    for (size_t step = 0; step < STEPS_MOST; step++) {
        double earned;
        set_prices(b, price);
        size_t way = best_way(c, price, &earned), cheapest = 0;
        for (size_t r = 1; r < c->rows; r++)
            if (price[r] < price[cheapest])
                cheapest = r;
        bool more = earned > 1 + EARNS_MORE;
        if (!more && price[cheapest] >= -PIVOT_LEAST)
            break;
        set_change(b, more ? &c->way[way] : NULL, cheapest);
        if (!exchange(b, more))
            break;
    }
}

double covering_solve(const struct covering *c, double *price)
{
    size_t rows = c->rows;
    double *numbers = calloc(rows * (rows + 3), sizeof(*numbers));
    double earned, bound = NAN;

    if (!numbers)
        return NAN;
    struct basis b = {rows, numbers, numbers + rows * rows, numbers + rows * (rows + 1),
                      numbers + rows * (rows + 2)};
    if (!begin(c, &b)) {
        bound = INFINITY;
    } else {
        climb(c, &b, price);
        for (size_t r = 0; r < rows; r++)
            price[r] = fmax(0, price[r]);
        best_way(c, price, &earned);
        bound = 0;
        for (size_t r = 0; r < rows; r++) {
            price[r] /= earned;
            bound += price[r] * c->work[r];
        }
    }
    free(numbers);
    return bound;
}
