/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* validate_model: hold the model to simulation and print its errors. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/validate/figures.h"
#include "tests/validate/mixes.h"
#include "tests/validate/speedups.h"
#include "tests/validate/truth.h"
#include "tests/validate/worlds.h"

/* Errors that the product promises, in percent. */
#define TARGET_MVA 2.0
#define TARGET_LOOPPERF_T 5.0

static const struct truth_variant variants[] = {
    {"exponential", MEMSYS_EXPONENTIAL, TRUTH_WINDOW, false},
    {"by-kind", MEMSYS_EXPONENTIAL, TRUTH_WINDOW, true},
    {"deterministic", MEMSYS_DETERMINISTIC, TRUTH_WINDOW, false},
    {"hyper-exponential", MEMSYS_HYPEREXPONENTIAL, TRUTH_WINDOW, false},
    {"window-1", MEMSYS_EXPONENTIAL, 1, false},
};

#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

struct output {
    FILE *json;
    bool first; /* no entry written yet */
    bool missed; /* a target, or a case failed */
};

static void write_errors(struct output *out, const char *set,
                         const char *variant, const char *machine,
                         const struct mix_errors *e)
{
    for (size_t k = 0; k < MIX_METHODS; k++) {
        fprintf(out->json,
                "%s\n  {\"table\": \"speed\", \"set\": \"%s\", "
                "\"memory\": \"%s\", \"machine\": \"%s\", \"method\": \"%s\", "
                "\"jobs\": %zu, \"mape\": %.3f, \"worst\": %.3f, "
                "\"utilisation_mape\": %.3f, \"noise\": %.3f}",
                out->first ? "" : ",", set, variant, machine,
                mix_method_names[k], e->jobs, e->mape[k], e->worst[k],
                e->utilisation[k], e->noise);
        out->first = false;
    }
    printf("%-7s %-18s %-18s %5zu", set, variant, machine, e->jobs);
    for (size_t k = 0; k < MIX_METHODS; k++)
        printf("  %6.2f", e->mape[k]);
    printf("   (simulation +-%.2f)\n", e->noise);
}

static void report_mixes(struct output *out, const char *set,
                         const struct truth_variant *variant,
                         const struct world *worlds, const struct mix *mix,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mix[i].failed) {
            fprintf(stderr, "validate_model: case %zu of %s failed\n", i, set);
            out->missed = true;
        }
    for (size_t w = 0; w <= WORLDS; w++) {
        struct mix_errors e = mixes_errors(mix, count, w);

        write_errors(out, set, variant->name,
                     w < WORLDS ? worlds[w].name : "all", &e);
        if (w == WORLDS && variant == &variants[0] &&
            !(e.mape[MIX_LINEARIZER] <= TARGET_MVA))
            out->missed = true;
    }
}

static void validate_speeds(struct output *out, const struct world *worlds,
                            struct mix *mix)
{
    printf("Mean error of jobs' speeds in percent, by method:\n");
    for (size_t k = 0; k < MIX_METHODS; k++)
        printf("  %zu: %s\n", k + 1, mix_method_names[k]);
    printf("%-7s %-18s %-18s %5s", "jobs", "memory", "machine", "cases");
    for (size_t k = 0; k < MIX_METHODS; k++)
        printf("  %6zu", k + 1);
    printf("\n");
    size_t count = mixes_alone(worlds, mix);
    mixes_run("each loop alone", worlds, &variants[0], mix, count);
    report_mixes(out, "alone", &variants[0], worlds, mix, count);
    for (size_t v = 0; v < VARIANTS; v++) {
        char title[64];

        snprintf(title, sizeof(title), "mixes, %s", variants[v].name);
        mixes_random(worlds, mix);
        mixes_run(title, worlds, &variants[v], mix, WORLDS * MIXES);
        report_mixes(out, "mixes", &variants[v], worlds, mix, WORLDS * MIXES);
    }
}

/* The loops as they are simulated. */
static void write_loops(struct output *out)
{
    for (size_t i = 0; i < LOOPS; i++) {
        const struct loop_traits *l = &loops[i];

        fprintf(out->json,
                "%s\n  {\"table\": \"loop\", \"loop\": \"%s.%s\", "
                "\"scaling\": %.2f, \"assumed\": %s, "
                "\"rate_per_us\": %g, \"growth\": %.2f, \"write\": %.2f, "
                "\"prefetch\": [%.2f, %.2f]}",
                out->first ? "" : ",", l->app, l->name, l->scaling,
                l->assumed ? "true" : "false", l->rate_per_us, l->growth,
                l->write, l->prefetch[0], l->prefetch[1]);
        out->first = false;
    }
}

static void write_curve(struct output *out, const struct world *worlds,
                        const struct speedup_case *c)
{
    const struct world *world = &worlds[c->world];

    for (size_t s = 0; s < world->steps; s++) {
        fprintf(out->json,
                ",\n  {\"table\": \"speedup\", \"machine\": \"%s\", "
                "\"loop\": \"%s.%s\", \"nodes\": %zu, "
                "\"simulated\": %.4f",
                world->name, loops[c->loop].app, loops[c->loop].name,
                world->dop[s], c->truth[s]);
        for (size_t k = 0; k < SPEEDUP_METHODS; k++)
            if (c->known[k])
                fprintf(out->json, ", \"%s\": %.4f", speedup_method_names[k],
                        c->predicted[k][s]);
        fprintf(out->json, "}");
    }
}

static void write_looperrors(struct output *out, const char *machine,
                             const struct speedup_errors *e)
{
    printf("%-18s %5zu", machine, e->loops);
    for (size_t k = 0; k < SPEEDUP_METHODS; k++) {
        fprintf(out->json,
                ",\n  {\"table\": \"loopperf\", \"machine\": \"%s\", "
                "\"method\": \"%s\", \"loops\": %zu, "
                "\"unknown\": %zu, \"mape\": %.3f, \"worst\": %.3f, "
                "\"noise\": %.3f}",
                machine, speedup_method_names[k], e->loops, e->unknown[k],
                e->mape[k], e->worst[k], e->noise);
        printf("  %6.2f", e->mape[k]);
    }
    printf("   (simulation +-%.2f)\n", e->noise);
}

static void validate_speedups(struct output *out, const struct world *worlds,
                              struct speedup_case *cases)
{
    size_t count = speedups_run(worlds, cases);

    printf("\nMean error of loops' speedups in percent, by method:\n");
    for (size_t k = 0; k < SPEEDUP_METHODS; k++)
        printf("  %zu: %s\n", k + 1, speedup_method_names[k]);
    for (size_t i = 0; i < count; i++) {
        if (cases[i].failed) {
            fprintf(stderr, "validate_model: speedup %zu failed\n", i);
            out->missed = true;
        } else {
            write_curve(out, worlds, &cases[i]);
        }
    }
    for (size_t w = 0; w <= WORLDS; w++) {
        struct speedup_errors e = speedups_errors(worlds, cases, count, w);

        if (e.loops > 0)
            write_looperrors(out, w < WORLDS ? worlds[w].name : "all", &e);
        if (w == WORLDS && (e.unknown[SPEEDUP_CLOSED_T] > 0 ||
                            !(e.mape[SPEEDUP_CLOSED_T] <= TARGET_LOOPPERF_T)))
            out->missed = true;
    }
}

static int validate(const char *path)
{
    struct world worlds[WORLDS];
    struct output out = {.json = fopen(path, "w"), .first = true};
    struct mix *mix = calloc(MIXES_ALONE, sizeof(*mix));
    struct speedup_case *cases = calloc(SPEEDUP_CASES, sizeof(*cases));
    bool ready = mix && cases;

    if (!out.json) {
        fprintf(stderr, "validate_model: %s: cannot write\n", path);
        free(mix);
        free(cases);
        return EXIT_FAILURE;
    }
    for (size_t w = 0; w < WORLDS; w++) {
        worlds[w] = world_new(w);
        ready = ready && worlds[w].machine;
    }
    fprintf(out.json, "[");
    if (ready) {
        write_loops(&out);
        validate_speeds(&out, worlds, mix);
        validate_speedups(&out, worlds, cases);
        if (!figures_write(out.json, out.first))
            out.missed = true;
    }
    fprintf(out.json, "\n]\n");
    for (size_t w = 0; w < WORLDS; w++)
        machine_free(worlds[w].machine);
    free(mix);
    free(cases);
    if (fclose(out.json) != 0 || !ready || out.missed) {
        fprintf(stderr, "validate_model: %s\n",
                !ready       ? "out of memory"
                : out.missed ? "a target was missed"
                             : "cannot write the results");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--calibrate") == 0)
        return truth_calibrate() ? EXIT_FAILURE : EXIT_SUCCESS;
    if (argc != 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: validate_model FILE.json | --calibrate\n");
        return EXIT_FAILURE;
    }
    return validate(argv[1]);
}
