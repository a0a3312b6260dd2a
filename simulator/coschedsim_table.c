/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Many runs side by side: as text, CSV, JSON or picture. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coschedmodel/chart.h"
#include "simulator/coschedsim_table.h"
#include "simulator/picture.h"

#define BAR 30

void table_init(struct table *t, const struct arguments *a)
{
    *t = (struct table){.arguments = a, .all = json_array()};
}

/* "POLICY KEY=VALUE ..." with the keys from number FIRST. */
static void describe(const struct table *t, const struct table_row *row,
                     size_t first, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", row->policy);

    for (size_t k = first; k < t->keys && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, " %s=%s", t->key[k],
                                 row->value[k]);
}

static void print_text(const struct table *t, const struct table_row *row,
                       const struct outcome *o)
{
    const struct vnode_result *r = o->result;
    char bar[BAR + 1], what[512];
    int length = (int)lround(fmin(1.5, row->ntt) / 1.5 * BAR);
    int width = t->keys ? 40 : 24;

    if (t->rows == 1 || strcmp(row[-1].scenario, row->scenario))
        printf("%s\n  %-*s %9s %9s %6s %6s %6s %5s %5s %6s %6s\n",
               row->scenario, width, t->keys ? "policy and values" : "policy",
               "makespan", "mean", "worst", "NTT", "Hmean", "busy%", "comp%",
               "decis.", "moved");
    memset(bar, '#', sizeof(bar) - 1);
    bar[length] = '\0';
    describe(t, row, 0, what, sizeof(what));
    printf("  %-*s %9.2f %9.2f %6.2f %6.3f %6.3f %5.0f %5.0f %6zu %6zu  %s\n",
           width, what, r->makespan_s, o->mean_s, o->worst, row->ntt, o->hmean,
           100 * r->core_util, 100 * r->compute_util, r->decisions,
           r->moved_cpus, bar);
}

/* A field as RFC 4180 has it. */
static void print_field(const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        printf("%s,", text);
        return;
    }
    putchar('"');
    for (; *text; text++)
        printf(*text == '"' ? "\"\"" : "%c", *text);
    printf("\",");
}

static void print_csv(const struct table *t, const struct table_row *row,
                      const struct outcome *o)
{
    const struct vnode_result *r = o->result;

    if (t->rows == 1) {
        printf("scenario,policy,");
        for (size_t k = 0; k < t->keys; k++)
            print_field(t->key[k]);
        puts("job_count,core_count,makespan_s,ntt,hmean,mean_turnaround_s,core_util,"
             "compute_util,decisions,moved_cpus,worst_slowdown");
    }
    print_field(row->scenario);
    print_field(row->policy);
    for (size_t k = 0; k < t->keys; k++)
        print_field(row->value[k]);
    printf("%zu,%zu,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%zu,%zu,%.6f\n",
           r->scenario->jobs, r->cores, r->makespan_s, row->ntt, o->hmean,
           o->mean_s, r->core_util, r->compute_util, r->decisions,
           r->moved_cpus, o->worst);
}

int table_add(struct table *t, const struct outcome *o, const char *policy,
              const char *const *value, double native_s)
{
    if (t->rows == t->room) {
        size_t room = t->room ? 2 * t->room : 64;
        void *grown = realloc(t->row, room * sizeof(*t->row));
        if (!grown)
            return fail(EXIT_REFUSED, "out of memory");
        t->row = grown;
        t->room = room;
    }
    struct table_row *row = &t->row[t->rows++];
    *row = (struct table_row){.ntt = o->result->makespan_s / native_s,
                              .makespan_s = o->result->makespan_s};
    snprintf(row->scenario, sizeof(row->scenario), "%s",
             o->result->scenario->name);
    snprintf(row->policy, sizeof(row->policy), "%s", policy);
    for (size_t k = 0; k < t->keys; k++)
        snprintf(row->value[k], sizeof(row->value[k]), "%s", value[k]);
    if (t->arguments->csv) {
        print_csv(t, row, o);
    } else if (!t->arguments->json) {
        print_text(t, row, o);
    } else {
        json_t *json = outcome_json(o, false);
        json_object_set_new(json, "policy", json_string(policy));
        json_object_set_new(json, "ntt", json_real(row->ntt));
        json_t *varied = json_object();
        for (size_t k = 0; k < t->keys; k++)
            json_object_set_new(varied, t->key[k], json_string(value[k]));
        json_object_set_new(json, "varied", varied);
        if (json_array_append_new(t->all, json) < 0)
            return fail(EXIT_REFUSED, "out of memory");
    }
    return EXIT_DONE;
}

/* ---- the picture -------------------------------------------------------- */

static int draw_bars(const struct table *t, const char *title)
{
    struct picture_bar *bar = calloc(t->rows + 1, sizeof(*bar));
    struct errtext err = {"out of memory"};
    char what[512];
    int rc = bar ? 0 : -1;

    for (size_t i = 0; bar && i < t->rows; i++) {
        describe(t, &t->row[i], 0, what, sizeof(what));
        snprintf(bar[i].label, sizeof(bar[i].label), "%.30s %.200s",
                 t->row[i].scenario, what);
        bar[i].value = t->row[i].ntt;
    }
    if (bar)
        rc = picture_bars(bar, t->rows, title,
                          "makespan over native time sharing (NTT)",
                          t->arguments->plot, &err);
    free(bar);
    return rc == 0 ? EXIT_DONE : fail(EXIT_REFUSED, "%s", err.text);
}

/* A value with its unit of time, if it has one; NAN if it is no number. */
static double value_of(const char *text)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"", 1}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1},
                 {"min", 60}};
    char *end;
    double x = strtod(text, &end);

    for (size_t i = 0; end != text && i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(end, units[i].name))
            return x * units[i].factor;
    return NAN;
}

/* Add X, Y to CURVE: of several scenarios the geometric mean (TIMES, how many
 * are in each point). */
static void add_point(struct chart_series *curve, size_t *times, double x,
                      double y)
{
    size_t i = 0;

    while (i < curve->count && curve->points[i].x < x)
        i++;
    if (i < curve->count && curve->points[i].x == x) {
        double n = (double)times[i]++;
        curve->points[i].y =
            exp((n * log(curve->points[i].y) + log(y)) / (n + 1));
        return;
    }
    memmove(&curve->points[i + 1], &curve->points[i],
            (curve->count - i) * sizeof(*curve->points));
    memmove(&times[i + 1], &times[i], (curve->count - i) * sizeof(*times));
    curve->points[i] = (struct canvas_point){x, y};
    times[i] = 1;
    curve->count++;
}

/* NTT over the first key, a curve for each policy and value of the others. */
static int draw_curves(const struct table *t, const char *title)
{
    struct chart_series *curve = calloc(t->rows, sizeof(*curve));
    struct canvas_point *points = calloc(t->rows * t->rows, sizeof(*points));
    size_t *times = calloc(t->rows * t->rows, sizeof(*times)), curves = 0;
    struct errtext err = {"out of memory"};
    int rc = -1;

    for (size_t i = 0; curve && points && times && i < t->rows; i++) {
        char name[sizeof(curve->name)];
        size_t c = 0;
        /* The curve is that of all values but the first. */
        describe(t, &t->row[i], 1, name, sizeof(name));
        while (c < curves && strcmp(curve[c].name, name))
            c++;
        if (c == curves) {
            memcpy(curve[c].name, name, sizeof(name));
            curve[c].points = &points[c * t->rows];
            curves++;
        }
        add_point(&curve[c], &times[c * t->rows], value_of(t->row[i].value[0]),
                  t->row[i].ntt);
    }
    if (curves)
        rc = chart_draw(
            &(struct chart){title, t->key[0],
                            "makespan over native time sharing (NTT)", curve,
                            curves},
            t->arguments->plot, &err);
    free(curve);
    free(points);
    free(times);
    return rc == 0 ? EXIT_DONE : fail(EXIT_REFUSED, "%s", err.text);
}

static bool numeric(const struct table *t)
{
    for (size_t i = 0; i < t->rows; i++)
        if (!isfinite(value_of(t->row[i].value[0])))
            return false;
    return t->keys > 0;
}

int table_finish(struct table *t, int status, const char *title)
{
    if (status == EXIT_DONE && t->arguments->plot && t->rows)
        status = numeric(t) ? draw_curves(t, title) : draw_bars(t, title);
    if (status == EXIT_DONE && t->arguments->json)
        status = print_json(json_incref(t->all));
    json_decref(t->all);
    free(t->row);
    *t = (struct table){.arguments = t->arguments};
    return status;
}
