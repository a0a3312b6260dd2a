/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fit the papers' programs to their published scalings on a machine. */

/* Usage: fit_workloads PROGRAMS FIT-MACHINE MACHINE CORE-SPEED MISSES
 *
 * PROGRAMS (programs.json) says of each region which part of the program's
 * standalone time it takes and how much faster it is on all LLC domains of
 * FIT-MACHINE than on one.  The request rate that makes it so in the model
 * (closed network, data as the region places it) is found by bisection.
 * Printed is a library of programs (simulator/scenario.h) for MACHINE, whose
 * cores compute CORE-SPEED times as fast as FIT-MACHINE's and miss MISSES times
 * as often per instruction; works are such that each program takes its
 * standalone time on all of MACHINE's cores. */

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/hierarchy.h"
#include "model/machine.h"
#include "model/io/machine_json.h"

#define MAX_RATE 2000.0 /* requests per us that no core reaches */

__attribute__((noreturn, format(printf, 1, 2))) static void
die(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fputs("fit_workloads: ", stderr);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

/* A region as programs.json has it. */
struct region {
    const json_t *json;
    bool serial, first_touch;
    double part, speedup, rate, write, prefetch, llc, imbalance, sync;
};

static double number(const json_t *object, const char *key, double fallback)
{
    const json_t *value = json_object_get(object, key);

    return value ? json_number_value(value) : fallback;
}

static bool is(const json_t *object, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value && strcmp(value, text) == 0;
}

static struct region take(const json_t *json)
{
    return (struct region){
        .json = json,
        .serial = is(json, "kind", "serial"),
        .first_touch = is(json, "placement", "first-touch"),
        .part = number(json, "part", 0),
        .speedup = number(json, "speedup", 0),
        .rate = number(json, "rate_per_us", 0),
        .write = number(json, "write_share", 0),
        .prefetch = number(json, "prefetch_share", 0),
        .llc = number(json, "llc_per_request", 1),
        .imbalance = number(json, "imbalance", 0),
        .sync = number(json, "sync_share", 0),
    };
}

/* Part of its time in which a core computes on the first NODES LLC domains (0:
 * one core of the first). */
static double share(const struct machine *m, const struct region *s,
                    double rate, size_t nodes)
{
    size_t places = m->llc_domains * m->numa_nodes;
    size_t *cores = calloc(m->llc_domains, sizeof(*cores));
    struct loop_requests *requests = calloc(places, sizeof(*requests));
    double *misses = calloc(places, sizeof(*misses));
    double *stall = calloc(m->llc_domains, sizeof(*stall));
    double read = 1 - s->write - s->prefetch, mean = 0, all = 0;

    if (!cores || !requests || !misses || !stall)
        die("out of memory");
    cores[0] = 1;
    for (size_t i = 0; i < nodes; i++)
        cores[i] = machine_node_cpus(m, i);
    for (size_t i = 0; i < m->llc_domains; i++)
        for (size_t j = 0; cores[i] && j < m->numa_nodes; j++) {
            double part = s->first_touch ? j == (size_t)m->local_node[0]
                                         : 1.0 / (double)m->numa_nodes;
            requests[i * m->numa_nodes + j] = (struct loop_requests){
                rate * part * read, rate * part * s->write,
                rate * part * s->prefetch};
            misses[i * m->numa_nodes + j] = rate * part * read;
        }
    struct hierarchy_input input = {.machine = m, .method = HIERARCHY_CLOSED,
                                    .cores = cores, .rate = requests,
                                    .misses = misses};
    struct hierarchy_result result = {.stall = stall};
    if (hierarchy_solve(&input, &result) != MODEL_OK)
        die("%s: the model has no solution at %g requests per us",
            json_string_value(json_object_get(s->json, "name")), rate);
    for (size_t i = 0; i < m->llc_domains; i++) {
        mean += (double)cores[i] / (1 + stall[i]);
        all += (double)cores[i];
    }
    free(cores), free(requests), free(misses), free(stall);
    return mean / all;
}

/* Cores' worth of computing on NODES LLC domains. */
static double speed(const struct machine *m, const struct region *s,
                    double rate, size_t nodes)
{
    double cores = 0;

    if (s->serial || nodes == 0)
        return share(m, s, rate, 0);
    for (size_t i = 0; i < nodes; i++)
        cores += (double)machine_node_cpus(m, i);
    return cores * share(m, s, rate, nodes) / (1 + s->imbalance) *
           (1 - s->sync * (double)nodes / (double)m->llc_domains);
}

/* The rate of REGION on FIT that gives its speedup from one LLC domain to
 * all. */
static double fit_rate(const struct machine *fit, const struct region *s)
{
    double low = 0, high = MAX_RATE;

    if (s->speedup <= 0)
        return s->rate;
    for (int i = 0; i < 30; i++) {
        double middle = (low + high) / 2;
        double got = speed(fit, s, middle, fit->llc_domains) /
                     speed(fit, s, middle, 1);
        if (got > s->speedup)
            low = middle;
        else
            high = middle;
    }
    if (high >= MAX_RATE * 0.99)
        die("%s: no rate gives a speedup of %g",
            json_string_value(json_object_get(s->json, "name")), s->speedup);
    return low;
}

/* To four digits: more would pretend. */
static json_t *rounded(double value)
{
    char text[32];

    snprintf(text, sizeof(text), "%.4g", value);
    return json_real(strtod(text, NULL));
}

struct context {
    const struct machine *fit, *machine;
    double factor;  /* of the rates on the machine */
    double alone_s; /* of a program on all cores */
};

static json_t *fit_region(const struct context *c, const json_t *json,
                           double repeat)
{
    static const char *const kept[] = {"name", "kind", "placement", "llc_loss",
                                       "llc_power", "imbalance", "sync_share", "barriers",
                                       "source"};
    struct region s = take(json);
    double rate = fit_rate(c->fit, &s) * c->factor;
    double alone = speed(c->machine, &s, rate, c->machine->llc_domains);
    json_t *out = json_object();

    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        if (json_object_get(json, kept[i]))
            json_object_set(out, kept[i], json_object_get(json, kept[i]));
    json_object_set_new(out, "work_s",
                        rounded(s.part * c->alone_s * alone / repeat));
    json_object_set_new(out, "read_per_us",
                        rounded(rate * (1 - s.write - s.prefetch)));
    json_object_set_new(out, "write_per_us", rounded(rate * s.write));
    json_object_set_new(out, "prefetch_per_us", rounded(rate * s.prefetch));
    json_object_set_new(out, "llc_per_us", rounded(rate * s.llc));
    fprintf(stderr, "  %-28s rate %8.3f  1 node %6.2f  all %6.2f  x%.2f\n",
            json_string_value(json_object_get(json, "name")), rate,
            speed(c->machine, &s, rate, 1), alone,
            alone / speed(c->machine, &s, rate, 1));
    return out;
}

static json_t *fit_program(const struct context *c, const json_t *program)
{
    json_t *out = json_deep_copy(program), *phases = json_array();
    json_t *phase, *region;
    size_t i, j;

    fprintf(stderr, "%s\n",
            json_string_value(json_object_get(program, "name")));
    json_array_foreach(json_object_get(program, "phases"), i, phase) {
        double repeat = number(phase, "repeat", 1);
        json_t *list = json_array();
        json_array_foreach(json_object_get(phase, "regions"), j, region)
            json_array_append_new(list, fit_region(c, region, repeat));
        json_array_append_new(phases, json_pack("{s:i, s:o}", "repeat",
                                                (int)repeat, "regions",
                                                list));
    }
    json_object_set_new(out, "phases", phases);
    return out;
}

/* One region or scalar a line. */
static void print(const json_t *value, int depth)
{
    bool flat = !json_is_array(value) &&
                !(json_is_object(value) &&
                  (json_object_get(value, "regions") ||
                   json_object_get(value, "phases") ||
                   json_object_get(value, "programs")));
    bool first = true;
    const char *key;
    json_t *member;
    size_t i;

    if (flat) {
        json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        return;
    }
    if (json_is_array(value)) {
        fputs("[", stdout);
        json_array_foreach((json_t *)value, i, member) {
            printf("%s\n%*s", i ? "," : "", depth, "");
            print(member, depth + 1);
        }
        fputs("]", stdout);
        return;
    }
    fputs("{", stdout);
    json_object_foreach((json_t *)value, key, member) {
        if (!first)
            printf(",\n%*s", depth, "");
        first = false;
        printf("\"%s\": ", key);
        print(member, depth + 1);
    }
    fputs("}", stdout);
}

static struct machine_description *load_machine(const char *file)
{
    struct errtext err;
    struct machine_description *description = machine_json_load(file, &err);

    if (!description)
        die("%s", err.text);
    return description;
}

int main(int argc, char **argv)
{
    json_error_t error;
    json_t *spec, *program, *programs = json_array();
    size_t i;

    if (argc != 6)
        die("usage: fit_workloads PROGRAMS FIT-MACHINE MACHINE CORE-SPEED "
            "MISSES");
    spec = json_load_file(argv[1], 0, &error);
    if (!spec)
        die("%s:%d: %s", argv[1], error.line, error.text);
    struct machine_description *fit = load_machine(argv[2]);
    struct machine_description *machine = load_machine(argv[3]);
    struct context c = {.fit = fit->machine, .machine = machine->machine,
                        .factor = atof(argv[4]) * atof(argv[5]),
                        .alone_s = number(spec, "alone_s", 40)};

    json_array_foreach(json_object_get(spec, "programs"), i, program)
        json_array_append_new(programs, fit_program(&c, program));
    json_t *library = json_pack(
        "{s:s+, s:s+++++++++, s:o}", "name", "The papers' programs on ",
        machine->name, "source", json_string_value(json_object_get(spec,
                                                                   "source")),
        ". Made by fit_workloads: rates from scalings on ", fit->name,
        "; cores compute ", argv[4], " times as fast as there and miss ",
        argv[5], " times as often", ". Standalone times: ",
        json_string_value(json_object_get(spec, "alone_source")), "programs",
        programs);
    if (!library)
        die("out of memory");
    print(library, 1);
    putchar('\n');
    json_decref(library);
    json_decref(spec);
    machine_description_free(fit);
    machine_description_free(machine);
    return ferror(stdout) || fflush(stdout) != 0;
}
