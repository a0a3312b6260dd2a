/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Many runs side by side: as text, CSV or JSON. */

#include "config.h"

#include <math.h>
#include <string.h>

#include "simulator/coschedsim_table.h"

#define BAR 30

void table_init(struct table *t, const struct arguments *a)
{
    *t = (struct table){.arguments = a, .all = json_array()};
}

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

int table_add(struct table *t, const struct outcome *o, const char *policy,
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

int table_finish(struct table *t, int status)
{
    if (status == EXIT_DONE && t->arguments->json)
        status = print_json(json_incref(t->all));
    json_decref(t->all);
    return status;
}
