/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl top: how the user wants to see it. */

#include "node_agent/coschedctl/top/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is not known comes last. */
static double value(const struct top_job *job, enum top_sort sort)
{
    double v = sort == TOP_BY_CORES        ? (double)job->cores
               : sort == TOP_BY_EFFICIENCY ? job->efficiency
               : sort == TOP_BY_SPEED      ? job->predicted
                                           : job->memory;

    return isnan(v) ? -1 : v;
}

/* Does A come before B? */
static bool before(const struct top_view *v, const struct top_job *a, const struct top_job *b)
{
    double x = 0, y = 0;

    if (v->reverse) {
        const struct top_job *swap = a;
        a = b;
        b = swap;
    }
    if (v->sort == TOP_BY_NAME)
        x = -strcmp(a->name, b->name);
    else if (v->sort != TOP_BY_JOB) {
        x = value(a, v->sort);
        y = value(b, v->sort);
    }
    return x > y || (!(x < y) && a->id < b->id);
}

size_t *top_view_order(const struct top_view *v, const struct top_state *s)
{
    size_t *order = calloc(s->jobs + 1, sizeof(*order));

    /* By insertion: what was sorted a second ago nearly is. */
    for (size_t i = 0; order && i < s->jobs; i++) {
        size_t at = i;
        for (; at && before(v, &s->job[i], &s->job[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}

/* Select the job BY rows further down; the first one when none is. */
static void move(struct top_view *v, const struct top_state *s, long by)
{
    size_t *order = top_view_order(v, s);
    long at = -1;

    if (!order || !s->jobs) {
        free(order);
        return;
    }
    for (size_t i = 0; i < s->jobs; i++)
        if (s->job[order[i]].id == v->selected)
            at = (long)i;
    at = at < 0 ? 0 : at + by;
    if (at >= (long)s->jobs)
        at = (long)s->jobs - 1;
    v->selected = s->job[order[at < 0 ? 0 : at]].id;
    free(order);
}

void top_view_key(struct top_view *v, const struct top_state *s, int key, size_t page)
{
    bool help = v->help;

    v->help = false; /* any key ends it */
    switch (key) {
    case 'q':
    case 'Q':
    case 3: /* control-C */
        v->quit = true;
        break;
    case 27: /* escape */
        v->quit = !help && !v->selected;
        v->selected = help ? v->selected : 0;
        break;
    case 'h':
    case '?':
    case TOP_HELP:
        v->help = !help;
        break;
    case 's':
        v->sort = (v->sort + 1) % TOP_SORTS;
        break;
    case 'S':
        v->sort = (v->sort + TOP_SORTS - 1) % TOP_SORTS;
        break;
    case 'r':
        v->reverse = !v->reverse;
        break;
    case 'p':
    case ' ':
        v->paused = !v->paused;
        break;
    case 'k':
    case TOP_UP:
        move(v, s, -1);
        break;
    case 'j':
    case TOP_DOWN:
        move(v, s, 1);
        break;
    case TOP_PAGE_UP:
        move(v, s, -(long)page);
        break;
    case TOP_PAGE_DOWN:
        move(v, s, (long)page);
        break;
    case TOP_HOME:
        move(v, s, -(long)s->jobs);
        break;
    case TOP_END:
        move(v, s, (long)s->jobs);
        break;
    default:
        v->help = help;
    }
}
