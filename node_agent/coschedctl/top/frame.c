/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl top: a screen full of characters. */

#include "node_agent/coschedctl/top/frame.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/coschedctl/top/paint.h"

#define NODE_LABEL 9 /* "N12  62% " */
#define DETAILS    4 /* lines below the table */
#define LEAST_ROWS 8
#define LEAST_COLUMNS 24

static const char *const sort_names[TOP_SORTS] = {"job", "cores", "efficiency", "speed", "memory",
                                                  "name"};

/* ---- the node --------------------------------------------------------------- */

static void draw_header(struct painter *p, const struct top_state *s, const struct top_view *v)
{
    double busy = 0;

    paint(p, 0, 0, "coschedule  %s  %zu cores, %zu jobs  %s%s", s->node, s->cores,
          s->jobs + s->omitted, s->policy, v->paused ? "  PAUSED" : "");
    paint_right(p, 0, s->when);
    paint_line(p, 0, true, 0);
    if (v->message || *s->drained) {
        paint(p, 1, 0, "%s", v->message ? v->message : s->drained);
        paint_line(p, 1, true, 1);
        return;
    }
    for (size_t i = 0; s->controller && i < s->nodes; i++)
        busy = fmax(busy, s->controller[i]);
    if (isnan(s->computing))
        paint(p, 1, 0, "by the model: not known yet; counters %s", s->counters);
    else
        paint(p, 1, 0, "by the model: %.1f cores compute, busiest memory %.0f %%; counters %s",
              s->computing, 100 * busy, s->counters);
}

/* Who has core CPU: *OTHERS when several do. */
static const struct top_job *holder(const struct top_state *s, int cpu, bool *others)
{
    const struct top_job *found = NULL;

    *others = false;
    for (size_t i = 0; i < s->jobs; i++) {
        if (!cpuset_has(&s->job[i].cpus, cpu))
            continue;
        *others = found != NULL;
        found = found ? found : &s->job[i];
    }
    return found;
}

static char letter(const struct top_job *job)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return job->slot < sizeof(letters) - 1 ? letters[job->slot] : '*';
}

static uint8_t colour(const struct top_job *job)
{
    return (uint8_t)(job->slot % TOP_COLOURS + 1);
}

static void draw_core(struct painter *p, const struct top_state *s, const struct top_view *v,
                      size_t row, size_t column, int cpu)
{
    bool others;
    const struct top_job *job = holder(s, cpu, &others);
    char text[2] = {job ? others ? '+' : letter(job) : '.', '\0'};
    struct top_cell *cell = paint(p, row, column, "%s", text);

    if (!cell || !job)
        return;
    cell->job = job->id;
    cell->colour = others ? 0 : colour(job);
    cell->reverse = !others;
    cell->bold = v->selected == job->id;
}

/* Columns that NUMA node NODE takes. */
static size_t node_width(const struct top_state *s, size_t node)
{
    size_t width = NODE_LABEL + 2;

    for (size_t i = 0; i < s->domains; i++)
        if (s->domain[i].node == node)
            width += (size_t)cpuset_count(&s->domain[i].cores) + 1;
    return width;
}

/* Draw NUMA node NODE from ROW and COLUMN on, wrapped at the right margin; the last row. */
static size_t draw_node(struct painter *p, const struct top_state *s, const struct top_view *v,
                        size_t node, size_t row, size_t column)
{
    const char *bar = v->utf8 ? "\xe2\x94\x82" : "|";
    size_t at = column + NODE_LABEL;

    paint(p, row, column, "N%-3zu", node);
    if (s->controller && !isnan(s->controller[node]))
        paint(p, row, column + 4, "%3.0f%%", 100 * fmin(1, s->controller[node]));
    for (size_t i = 0; i < s->domains; i++) {
        if (s->domain[i].node != node)
            continue;
        paint(p, row, at++, "%s", bar);
        for (int cpu = -1; (cpu = cpuset_next(&s->domain[i].cores, cpu)) >= 0; at++) {
            if (at + 1 >= p->frame->columns) {
                at = column + NODE_LABEL + 1;
                row++;
            }
            draw_core(p, s, v, row, at, cpu);
        }
    }
    paint(p, row, at, "%s", bar);
    return row;
}

/* Draw all nodes from ROW on, as many beside each other as fit, in rows before LAST.  The row
 * behind them. */
static size_t draw_cores(struct painter *p, const struct top_state *s, const struct top_view *v,
                         size_t row, size_t last)
{
    size_t width = 1, shown = 0, most = row;

    for (size_t i = 0; i < s->nodes; i++)
        if (node_width(s, i) > width)
            width = node_width(s, i);
    size_t beside = p->frame->columns / width ? p->frame->columns / width : 1;
    p->clip = last;
    for (size_t i = 0; i < s->nodes && row < last; i++, shown++) {
        size_t end = draw_node(p, s, v, i, row, i % beside * width);
        most = end + 1 > most ? end + 1 : most;
        if (i % beside == beside - 1)
            row = most;
    }
    p->clip = p->frame->rows;
    if (most > last || shown < s->nodes) {
        most = last;
        paint(p, last - 1, 0, "more cores than fit: a larger window shows all");
        paint_line(p, last - 1, false, 0);
    }
    return most;
}

/* ---- the jobs --------------------------------------------------------------- */

/* Columns of the table.  Those with the highest `keep` are left out first. */
static const struct column {
    const char *title;
    size_t width;
    int keep;
    bool left;
} columns[] = {
    {"JOB", 8, 0, false},  {"NAME", 10, 4, true},  {"USER", 8, 9, true},   {"STATE", 9, 8, true},
    {"CORES", 5, 1, false}, {"SHR%", 4, 6, false},  {"EFF%", 4, 3, false},  {"MEM%", 4, 5, false},
    {"PRED", 4, 6, false},  {"MEAS", 4, 7, false},  {"LIMIT", 7, 2, true},  {"REGION", 14, 1, true},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* How many of the column's kinds are shown: the highest `keep` for which all fit WIDTH. */
static int choose_columns(size_t width)
{
    for (int keep = 9; keep > 1; keep--) {
        size_t sum = 2;
        for (size_t i = 0; i < COLUMNS; i++)
            if (columns[i].keep <= keep)
                sum += columns[i].width + 1;
        if (sum <= width + 1)
            return keep;
    }
    return 1;
}

static void percent(char *to, size_t size, double part)
{
    if (isnan(part))
        snprintf(to, size, "-");
    else
        snprintf(to, size, "%.0f", 100 * part);
}

static void speed(char *to, size_t size, double part)
{
    if (isnan(part))
        snprintf(to, size, "-");
    else
        snprintf(to, size, "%.2f", part);
}

/* What stands in column I of JOB. */
static void cell_text(const struct top_state *s, const struct top_job *job, size_t i, char *to,
                      size_t size)
{
    const char *const texts[COLUMNS] = {[1] = job->name, [2] = job->user, [3] = job->state,
                                        [10] = *job->limit ? job->limit : "-",
                                        [11] = *job->region ? job->region : "-"};

    if (texts[i])
        snprintf(to, size, "%s", texts[i]);
    else if (i == 0)
        snprintf(to, size, "%u", job->id);
    else if (i == 4)
        snprintf(to, size, "%zu", job->cores);
    else if (i == 5)
        percent(to, size, s->cores ? (double)job->cores / (double)s->cores : NAN);
    else if (i <= 7)
        percent(to, size, i == 6 ? job->efficiency : job->memory);
    else
        speed(to, size, i == 8 ? job->predicted : job->measured);
}

/* A line of the table: of JOB, or its head for NULL. */
static void draw_row(struct painter *p, const struct top_state *s, const struct top_job *job,
                     size_t row, int keep)
{
    size_t at = 2;

    for (size_t i = 0; i < COLUMNS; i++) {
        const struct column *c = &columns[i];
        char text[128];
        bool last = i == COLUMNS - 1;
        if (c->keep > keep)
            continue;
        if (job)
            cell_text(s, job, i, text, sizeof(text));
        else
            snprintf(text, sizeof(text), "%s", c->title);
        if (last)
            paint(p, row, at, "%s", text);
        else
            paint_cut(p, row, at, c->width, c->left, text);
        at += c->width + 1;
    }
}

static void draw_job(struct painter *p, const struct top_state *s, const struct top_view *v,
                     const struct top_job *job, size_t row, int keep)
{
    char text[2] = {letter(job), '\0'};

    draw_row(p, s, job, row, keep);
    struct top_cell *cell = paint(p, row, 0, "%s", text);
    if (v->selected == job->id)
        paint_line(p, row, true, 0);
    if (cell) {
        cell->colour = colour(job);
        cell->reverse = true;
    }
    paint_job(p, row, job->id);
}

/* Draw the table from ROW on, ROOM lines with its head. */
static void draw_table(struct painter *p, const struct top_state *s, struct top_view *v, size_t row,
                       size_t room)
{
    size_t *order = top_view_order(v, s);
    size_t page = room - 1;
    int keep = choose_columns(p->frame->columns);

    draw_row(p, s, NULL, row, keep);
    paint_line(p, row, false, 0);
    p->frame->page = page ? page : 1;
    for (size_t i = 0; order && i < s->jobs; i++)
        if (s->job[order[i]].id == v->selected) {
            v->first = i < v->first ? i : v->first;
            v->first = page && i >= v->first + page ? i - page + 1 : v->first;
        }
    if (v->first + page > s->jobs)
        v->first = s->jobs > page ? s->jobs - page : 0;
    for (size_t i = 0; order && i < page && v->first + i < s->jobs; i++)
        draw_job(p, s, v, &s->job[order[v->first + i]], row + 1 + i, keep);
    if (!s->jobs)
        paint(p, row + 1, 2, "no job on this node");
    free(order);
}

/* ---- below ------------------------------------------------------------------ */

static void draw_selected(struct painter *p, const struct top_job *job, size_t row)
{
    char rho[24] = "", predicted[16], measured[16];

    if (!isnan(job->rho))
        snprintf(rho, sizeof(rho), ", rho %.2f", job->rho);
    speed(predicted, sizeof(predicted), job->predicted);
    speed(measured, sizeof(measured), job->measured);
    paint(p, row, 0, "job %u %s of %s, %s: %s%s%s%s%s", job->id, job->name, job->user, job->state,
          *job->region ? job->region : "no parallel region", *job->known ? " (" : "", job->known,
          rho, *job->known ? ")" : "");
    paint(p, row + 1, 0, "%zu cores, %.1f on average in %.0f s; speed %s predicted, %s measured; "
          "%u processes, %u decisions, weight %.3g",
          job->cores, job->mean_cores, job->live_s, predicted, measured, job->attached,
          job->decisions, job->weight);
}

static void draw_below(struct painter *p, const struct top_state *s, const struct top_view *v,
                       size_t row)
{
    const struct top_job *job = top_state_job(s, v->selected);

    if (job)
        draw_selected(p, job, row);
    else if (v->selected)
        paint(p, row, 0, "job %u has ended", v->selected);
    if (*s->reason)
        paint_wrapped(p, row + (job ? 2 : v->selected ? 1 : 0), p->frame->rows - 1, s->reason);
}

static void draw_footer(struct painter *p, const struct top_view *v)
{
    paint(p, p->frame->rows - 1, 0, "q quit  h help  p %s  s sort: %s%s  %s job",
          v->paused ? "go on" : "pause", sort_names[v->sort], v->reverse ? ", reversed" : "",
          v->utf8 ? "\xe2\x86\x91\xe2\x86\x93" : "up/down");
    paint_line(p, p->frame->rows - 1, true, 0);
}

static void draw_help(struct painter *p)
{
    static const char *const lines[] = {
        "up, down, click  pick a job; escape: none",
        "s, S, r          sort by the next, the last; reversed",
        "p, space         pause", "h, ?             this help", "q                quit", "",
        "Cores: the letter of the job that has it, + several, . none;",
        "  N0 62%: NUMA node, utilisation of its memory; | caches",
        "EFF%   computing of its cores, the rest is waiting",
        "MEM%   utilisation of memory that it causes by itself",
        "PRED, MEAS  speed relative to that alone, predicted and measured",
        "LIMIT  what keeps it from being faster: compute, memory,",
        "       barrier, serial, turn (others have theirs)",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        paint(p, 2 + i, 1, "%s", lines[i]);
}

struct top_frame *top_frame_new(const struct top_state *s, struct top_view *v, size_t rows,
                                size_t columns_)
{
    struct top_frame *f = calloc(1, sizeof(*f));

    if (!f || !(f->cell = calloc(rows * columns_ + 1, sizeof(*f->cell)))) {
        free(f);
        return NULL;
    }
    *f = (struct top_frame){.rows = rows, .columns = columns_, .page = 1, .cell = f->cell};
    struct painter p = {f, rows, v->utf8};
    for (size_t i = 0; i < rows * columns_; i++)
        strcpy(f->cell[i].text, " ");
    if (rows < LEAST_ROWS || columns_ < LEAST_COLUMNS) {
        paint(&p, 0, 0, "too small: %d x %d", LEAST_COLUMNS, LEAST_ROWS);
        return f;
    }
    draw_header(&p, s, v);
    draw_footer(&p, v);
    if (v->help) {
        p.clip = rows - 1;
        draw_help(&p);
        return f;
    }
    size_t details = rows >= 16 ? DETAILS : rows >= 12 ? 2 : 0;
    size_t row = draw_cores(&p, s, v, 2, rows - details - 4);
    draw_table(&p, s, v, row, rows - details - 1 - row);
    if (details) {
        p.clip = rows - 1;
        draw_below(&p, s, v, rows - details - 1);
    }
    return f;
}

char *top_frame_text(const struct top_frame *f)
{
    char *text = malloc(f->rows * (f->columns * 4 + 1) + 1), *at = text;

    for (size_t r = 0; text && r < f->rows; r++) {
        char *end = at;
        for (size_t c = 0; c < f->columns; c++) {
            const char *one = f->cell[r * f->columns + c].text;
            at = stpcpy(at, one);
            end = strcmp(one, " ") ? at : end;
        }
        at = end;
        *at++ = '\n';
    }
    if (text)
        *at = '\0';
    return text;
}

void top_frame_free(struct top_frame *f)
{
    if (f)
        free(f->cell);
    free(f);
}
