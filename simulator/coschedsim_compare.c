/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedsim compare and sweep: many runs side by side. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/options.h"
#include "simulator/coschedsim.h"
#include "simulator/picture.h"

#define BAR 40

/* What compare and sweep collect. */
struct table {
    json_t *all; /* outcomes with "ntt" */
    const char *scenario;
    double native_s; /* makespan under native, of this scenario */
    struct picture_bar *bars;
    size_t count, room;
    const char *key, *value; /* of sweep */
};

static int add_bar(struct table *t, const char *label, double value)
{
    if (t->count == t->room) {
        size_t room = t->room ? 2 * t->room : 32;
        void *grown = realloc(t->bars, room * sizeof(*t->bars));
        if (!grown)
            return fail(EXIT_REFUSED, "out of memory");
        t->bars = grown;
        t->room = room;
    }
    struct picture_bar *bar = &t->bars[t->count++];
    snprintf(bar->label, sizeof(bar->label), "%s", label);
    bar->value = value;
    return EXIT_DONE;
}

static int native_makespan(struct world *w, const struct scenario *scenario,
                           struct table *t)
{
    struct outcome o;
    int status = world_simulate(w, scenario, "native", "", &o);

    if (status == EXIT_DONE)
        t->native_s = o.result->makespan_s;
    outcome_release(&o);
    return status;
}

static void print_row(const struct table *t, const struct outcome *o,
                      const char *what, double ntt)
{
    char bar[BAR + 1];
    int length = (int)lround(fmin(1.5, ntt) / 1.5 * BAR);

    memset(bar, '#', sizeof(bar) - 1);
    bar[length] = '\0';
    printf("  %-24s %9.2f %6.3f %6.3f %5.0f %5.0f %6zu %6zu  %s\n", what,
           o->result->makespan_s, ntt, o->hmean, 100 * o->result->core_util,
           100 * o->result->compute_util, o->result->decisions,
           o->result->moved_cpus, bar);
    (void)t;
}

static void print_head(const struct scenario *scenario, const char *what)
{
    printf("%s\n  %-24s %9s %6s %6s %5s %5s %6s %6s\n", scenario->name, what,
           "makespan", "NTT", "Hmean", "busy%", "comp%", "decis.", "moved");
}

static int one(struct world *w, const struct scenario *scenario,
               const char *policy, bool fresh, void *arg)
{
    const struct arguments *a = w->arguments;
    struct table *t = arg;
    char options[128] = "", what[128];
    struct outcome o;
    int status = EXIT_DONE;

    if (fresh && (status = native_makespan(w, scenario, t)) != EXIT_DONE)
        return status;
    if (fresh && !a->json && (!t->scenario || strcmp(t->scenario, scenario->name)))
        print_head(scenario, t->key ? "policy and value" : "policy");
    t->scenario = scenario->name;
    if (t->key && strcmp(t->key, "seed") && strcmp(t->key, "noise"))
        snprintf(options, sizeof(options), "cosched_%s=%s", t->key, t->value);
    status = world_simulate(w, scenario, policy, options, &o);
    if (status == EXIT_DONE) {
        double ntt = o.result->makespan_s / t->native_s;
        char label[sizeof(what) + 64];
        if (t->key)
            snprintf(what, sizeof(what), "%s %s=%s", policy, t->key, t->value);
        else
            snprintf(what, sizeof(what), "%s", policy);
        snprintf(label, sizeof(label), "%.30s %s", scenario->name, what);
        json_t *json = outcome_json(&o, false);
        if (json) {
            json_object_set_new(json, "ntt", json_real(ntt));
            if (t->key)
                json_object_set_new(json, t->key, json_string(t->value));
            json_array_append_new(t->all, json);
        }
        if (!a->json)
            print_row(t, &o, what, ntt);
        status = add_bar(t, label, ntt);
    }
    outcome_release(&o);
    return status;
}

static int finish(struct table *t, const struct arguments *a, int status,
                  const char *title)
{
    struct errtext err = {""};

    if (status == EXIT_DONE && a->plot &&
        picture_bars(t->bars, t->count, title,
                     "makespan over native time sharing (NTT)", a->plot,
                     &err) < 0)
        status = fail(EXIT_REFUSED, "%s", err.text);
    if (status == EXIT_DONE && a->json)
        status = print_json(json_incref(t->all));
    json_decref(t->all);
    free(t->bars);
    return status;
}

int command_compare(const struct arguments *a)
{
    struct world w;
    struct table t = {.all = json_array()};
    char every[1024] = "native";
    int status = world_open(&w, a);

    for (size_t i = 0; options_policies[i]; i++) {
        size_t used = strlen(every);
        if (strcmp(options_policies[i], "native"))
            snprintf(every + used, sizeof(every) - used, ",%s",
                     options_policies[i]);
    }
    if (status == EXIT_DONE)
        status = world_each(&w, a->policy ? a->policy : every, one, &t);
    status = finish(&t, a, status, "policies compared");
    world_close(&w);
    return status;
}

/* One value of the sweep, for all scenarios and policies. */
static int sweep_value(struct world *w, struct arguments *a, struct table *t)
{
    char *end;

    if (!strcmp(t->key, "seed"))
        a->seed = strtoull(t->value, &end, 10);
    else if (!strcmp(t->key, "noise"))
        a->noise = strtod(t->value, &end);
    else
        end = "";
    if (*end || !*t->value)
        return fail(EXIT_USAGE, "--vary %s: %s is not a number", a->vary,
                    t->value);
    return world_each(w, a->policy ? a->policy : "nupoco", one, t);
}

int command_sweep(const struct arguments *arguments)
{
    struct arguments a = *arguments;
    struct world w;
    struct table t = {.all = json_array()};
    char text[512];
    int status = world_open(&w, &a);

    if (status == EXIT_DONE && !a.vary)
        status = fail(EXIT_USAGE, "sweep: needs --vary KEY=VALUE,...");
    if (status == EXIT_DONE) {
        snprintf(text, sizeof(text), "%s", a.vary);
        char *values = strchr(text, '=');
        if (!values || values == text || !values[1] ||
            strlen(a.vary) >= sizeof(text)) {
            status = fail(EXIT_USAGE, "--vary %s: is not KEY=VALUE,...", a.vary);
        } else {
            *values++ = '\0';
            t.key = text;
            char *rest = values;
            while (status == EXIT_DONE && (t.value = strsep(&rest, ",")))
                status = sweep_value(&w, &a, &t);
        }
    }
    status = finish(&t, &a, status, "a parameter varied");
    world_close(&w);
    return status;
}
