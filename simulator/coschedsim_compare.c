/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedsim compare and sweep: many runs side by side. */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/progress.h"
#include "protocol/options.h"
#include "simulator/coschedsim.h"
#include "simulator/variation.h"

#define BAR 30
#define MOST_VALUES 256 /* on an axis */
#define TABLE_KEYS 8 /* that vary in a sweep */

struct table {
    const struct arguments *arguments;
    const char *key[TABLE_KEYS];
    size_t keys; /* 0: policies alone are compared */
    json_t *all; /* outcomes with "ntt" and the keys */
    char scenario[128]; /* of the last row */
    size_t rows;
};

/* ---- the table, as text, CSV or JSON ------------------------------------- */

static void print_text(const struct table *t, const struct outcome *o,
                       const char *policy, const char *const *value, double ntt)
{
    const struct vnode_result *r = o->result;
    char bar[BAR + 1], what[512];
    int length = (int)lround(fmin(1.5, ntt) / 1.5 * BAR);
    int width = t->keys ? 40 : 24;
    size_t used = (size_t)snprintf(what, sizeof(what), "%s", policy);

    if (strncmp(t->scenario, r->scenario->name, sizeof(t->scenario) - 1))
        printf("%s\n  %-*s %9s %9s %6s %6s %6s %5s %5s %6s %6s\n",
               r->scenario->name, width,
               t->keys ? "policy and values" : "policy", "makespan", "mean",
               "worst", "NTT", "Hmean", "busy%", "comp%", "decis.", "moved");
    memset(bar, '#', sizeof(bar) - 1);
    bar[length] = '\0';
    for (size_t k = 0; k < t->keys && used < sizeof(what); k++)
        used += (size_t)snprintf(what + used, sizeof(what) - used, " %s=%s",
                                 t->key[k], value[k]);
    printf("  %-*s %9.2f %9.2f %6.2f %6.3f %6.3f %5.0f %5.0f %6zu %6zu  %s\n",
           width, what, r->makespan_s, o->mean_s, o->worst, ntt, o->hmean,
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

static void print_csv(const struct table *t, const struct outcome *o,
                      const char *policy, const char *const *value, double ntt)
{
    const struct vnode_result *r = o->result;

    if (!t->rows) {
        printf("scenario,policy,");
        for (size_t k = 0; k < t->keys; k++)
            print_field(t->key[k]);
        puts("job_count,core_count,makespan_s,ntt,hmean,mean_turnaround_s,core_util,"
             "compute_util,decisions,moved_cpus,worst_slowdown");
    }
    print_field(r->scenario->name);
    print_field(policy);
    for (size_t k = 0; k < t->keys; k++)
        print_field(value[k]);
    printf("%zu,%zu,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%zu,%zu,%.6f\n",
           r->scenario->jobs, r->cores, r->makespan_s, ntt, o->hmean,
           o->mean_s, r->core_util, r->compute_util, r->decisions,
           r->moved_cpus, o->worst);
}

/* Add the outcome O of POLICY with VALUE[keys], whose native makespan is NATIVE_S.
 * 0, or an exit status with the reason printed. */
static int table_add(struct table *t, const struct outcome *o, const char *policy,
              const char *const *value, double native_s)
{
    double ntt = o->result->makespan_s / native_s;

    if (t->arguments->csv) {
        print_csv(t, o, policy, value, ntt);
    } else if (!t->arguments->json) {
        print_text(t, o, policy, value, ntt);
    } else {
        json_t *json = outcome_json(o, false), *varied = json_object();
        json_object_set_new(json, "policy", json_string(policy));
        json_object_set_new(json, "ntt", json_real(ntt));
        for (size_t k = 0; k < t->keys; k++)
            json_object_set_new(varied, t->key[k], json_string(value[k]));
        json_object_set_new(json, "varied", varied);
        if (json_array_append_new(t->all, json) < 0)
            return fail(EXIT_REFUSED, "out of memory");
    }
    snprintf(t->scenario, sizeof(t->scenario), "%s", o->result->scenario->name);
    t->rows++;
    return EXIT_DONE;
}

/* ---- compare and sweep ---------------------------------------------------- */

/* Each --vary KEY=V,... is an axis; scenarios are run under each policy at each point of the
 * grid.  To compare is to sweep over no axis.  A key is one of variation.h, "seed" or "noise",
 * POLICY:OPTION, or an option of slurm.conf without its prefix. */

struct axis {
    char text[1024]; /* key and values, separated by NUL */
    const char *key;
    const char *value[MOST_VALUES];
    size_t values;
    bool world; /* changes jobs or machine: native time sharing, too */
    char number[MOST_VALUES][24]; /* of a range */
};

struct sweep {
    const char *policies;
    struct arguments arguments; /* with the present seed and noise */
    struct world world;
    struct table table;
    struct axis axis[TABLE_KEYS];
    const char *value[TABLE_KEYS]; /* the present ones */
    size_t done, all;              /* scenarios */
};

/* VALUE may be a range FIRST..LAST/STEP, or FIRST..LAST*FACTOR: add its
 * numbers. */
static int add_range(struct axis *axis, const char *value)
{
    const char *dots = strstr(value, "..");
    double first, last = 0, step = 0;
    char how = 0, rest, *end;

    first = strtod(value, &end); /* which takes "8." for a number */
    if (end == value || end < dots || end > dots + 1 ||
        sscanf(dots + 2, "%lf%c%lf%c", &last, &how, &step, &rest) != 3 ||
        !(first <= last) || !isfinite(last) ||
        !(how == '/' ? step > 0 : how == '*' && step > 1 && first > 0))
        return fail(EXIT_USAGE, "--vary %s: %s is no range FIRST..LAST/STEP or "
                    "FIRST..LAST*FACTOR", axis->key, value);
    for (double x = first; x <= last * (1 + 1e-9);
         x = how == '/' ? x + step : x * step) {
        if (axis->values == MOST_VALUES)
            return fail(EXIT_USAGE, "--vary %s: more than %d values", axis->key,
                        MOST_VALUES);
        char *number = axis->number[axis->values];
        snprintf(number, sizeof(axis->number[0]), "%.10g", x);
        axis->value[axis->values++] = number;
    }
    return EXIT_DONE;
}

static int parse_axis(struct axis *axis, const char *vary)
{
    int status = EXIT_DONE;
    char *rest, *value;

    if (snprintf(axis->text, sizeof(axis->text), "%s", vary) >=
        (int)sizeof(axis->text))
        return fail(EXIT_USAGE, "--vary %.40s...: too long", vary);
    rest = strchr(axis->text, '=');
    if (!rest || rest == axis->text || !rest[1])
        return fail(EXIT_USAGE, "--vary %s: is not KEY=VALUE,...", vary);
    *rest++ = '\0';
    axis->key = axis->text;
    axis->world = variation_has(axis->key);
    while (status == EXIT_DONE && (value = strsep(&rest, ","))) {
        if (!*value)
            status = fail(EXIT_USAGE, "--vary %s: a value is missing", vary);
        else if (strstr(value, ".."))
            status = add_range(axis, value);
        else if (axis->values == MOST_VALUES)
            status = fail(EXIT_USAGE, "--vary %s: more than %d values",
                          axis->key, MOST_VALUES);
        else
            axis->value[axis->values++] = value;
    }
    return status;
}

static int set_argument(struct sweep *s, const char *key, const char *value)
{
    char *end;

    errno = 0;
    if (!strcmp(key, "seed"))
        s->arguments.seed = strtoull(value, &end, 10);
    else
        s->arguments.noise = strtod(value, &end);
    if (end == value || *end || errno || strchr(value, '-') ||
        !isfinite(s->arguments.noise))
        return fail(EXIT_USAGE, "--vary %s: %s is not a number", key, value);
    return EXIT_DONE;
}

/* The present values as SchedulerParameters, and POLICY with its options. */
static int set_options(const struct sweep *s, const char *policy, char *options,
                       size_t size, char *full, size_t full_size)
{
    size_t used = 0, length = (size_t)snprintf(full, full_size, "%s", policy);

    *options = '\0';
    for (size_t k = 0; k < s->table.keys; k++) {
        const char *key = s->table.key[k], *colon = strchr(key, ':');
        if (s->axis[k].world || !strcmp(key, "seed") || !strcmp(key, "noise"))
            continue;
        if (!colon) {
            used += (size_t)snprintf(options + used, size - used,
                                     "%scosched_%s=%s", used ? "," : "", key,
                                     s->value[k]);
        } else if (strcspn(policy, ":") == (size_t)(colon - key) &&
                   !strncmp(policy, key, (size_t)(colon - key))) {
            length += (size_t)snprintf(full + length, full_size - length,
                                       "%c%s=%s", strchr(full, ':') ? ';' : ':',
                                       colon + 1, s->value[k]);
        }
        if (used >= size || length >= full_size)
            return fail(EXIT_USAGE, "--vary %s: too many options", key);
    }
    return EXIT_DONE;
}

struct point {
    struct sweep *sweep;
    double native_s;
};

static int one(struct world *w, const struct scenario *scenario,
               const char *policy, bool fresh, void *arg)
{
    struct point *point = arg;
    struct sweep *s = point->sweep;
    char options[512], full[64];
    struct outcome o;
    int status = EXIT_DONE;

    if (fresh)
        status = world_native(w, scenario, &point->native_s);
    if (status == EXIT_DONE)
        status = set_options(s, policy, options, sizeof(options), full,
                             sizeof(full));
    if (status != EXIT_DONE)
        return status;
    status = world_simulate(w, scenario, full, options, &o);
    if (status == EXIT_DONE)
        status = table_add(&s->table, &o, policy, s->value, point->native_s);
    outcome_release(&o);
    return status;
}

/* All scenarios and policies with the present values. */
static int run_point(struct sweep *s)
{
    const struct arguments *a = &s->arguments;
    struct point point = {.sweep = s};
    struct errtext err = {""};
    int status = EXIT_DONE;

    for (size_t k = 0; k < s->table.keys && status == EXIT_DONE; k++)
        if (!strcmp(s->table.key[k], "seed") || !strcmp(s->table.key[k], "noise"))
            status = set_argument(s, s->table.key[k], s->value[k]);
    for (size_t i = 0; i < s->world.set->scenarios && status == EXIT_DONE; i++) {
        const struct scenario *base = &s->world.set->scenario[i];
        struct variation v;
        if (a->scenario && strcmp(a->scenario, base->name))
            continue;
        if (a->json || !isatty(STDOUT_FILENO))
            progress(base->name, s->done, s->all);
        s->done++;
        if (variation_init(&v, s->world.machine->machine, base, &err) < 0)
            return fail(EXIT_REFUSED, "%s", err.text);
        for (size_t k = 0; k < s->table.keys && status == EXIT_DONE; k++)
            if (s->axis[k].world && variation_set(&v, s->table.key[k],
                                                  s->value[k], &err) < 0)
                status = fail(EXIT_USAGE, "--vary %s", err.text);
        s->world.other = &v.machine;
        if (status == EXIT_DONE)
            status = world_policies(&s->world, &v.scenario, s->policies, one, &point);
        world_forget(&s->world); /* times of jobs that are gone */
        variation_release(&v);
    }
    return status;
}

/* Run all points that differ in the axes from number K on. */
static int run_axes(struct sweep *s, size_t k)
{
    int status = EXIT_DONE;

    if (k == s->table.keys)
        return run_point(s);
    for (size_t i = 0; i < s->axis[k].values && status == EXIT_DONE; i++) {
        s->value[k] = s->axis[k].value[i];
        status = run_axes(s, k + 1);
    }
    return status;
}

static int run_grid(const struct arguments *arguments, const char *policies, bool vary)
{
    struct sweep *s = calloc(1, sizeof(*s));
    int status;

    if (!s)
        return fail(EXIT_REFUSED, "out of memory");
    s->arguments = *arguments;
    s->policies = arguments->policy ? arguments->policy : policies;
    s->table = (struct table){.arguments = &s->arguments, .all = json_array()};
    status = world_open(&s->world, &s->arguments);
    if (status == EXIT_DONE && vary && !arguments->vary[0])
        status = fail(EXIT_USAGE, "sweep: needs --vary KEY=VALUE,...");
    for (size_t k = 0; status == EXIT_DONE && k < ARGUMENTS_VARY &&
                       arguments->vary[k]; k++) {
        status = parse_axis(&s->axis[k], arguments->vary[k]);
        s->table.key[k] = s->axis[k].key;
        s->table.keys++;
    }
    s->all = status == EXIT_DONE ? s->world.set->scenarios : 0;
    for (size_t k = 0; k < s->table.keys; k++)
        s->all *= s->axis[k].values;
    if (status == EXIT_DONE)
        status = run_axes(s, 0);
    progress("", s->all, s->all);
    if (status == EXIT_DONE && arguments->json)
        status = print_json(json_incref(s->table.all));
    json_decref(s->table.all);
    world_close(&s->world);
    free(s);
    return status;
}

int command_sweep(const struct arguments *arguments)
{
    return run_grid(arguments, OPTIONS_POLICY, true);
}

int command_compare(const struct arguments *arguments)
{
    char every[1024] = "native";

    for (size_t i = 0; options_policies[i]; i++)
        if (strcmp(options_policies[i], "native"))
            snprintf(every + strlen(every), sizeof(every) - strlen(every), ",%s",
                     options_policies[i]);
    return run_grid(arguments, every, false);
}
