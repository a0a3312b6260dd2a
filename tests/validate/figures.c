/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The curves of NuPoCo figures 4 and 5. */

#include "tests/validate/figures.h"

#include "model/station.h"
#include "tests/validate/truth.h"
#include "tests/support/uniform_machine.h"

#define CORES 16
#define MRR 0.01
#define SERVICE 50.0

/* Simulated speed (cores' worth) of B on CORES cores, and the controller's
 * utilisation. */
static bool simulate(size_t cores, double *speed, double *utilisation)
{
    static const struct truth_variant variant = {"", MEMSYS_EXPONENTIAL,
                                                 TRUTH_WINDOW, false};
    struct world world = {.machine = machine_new_uniform(1, CORES, 1)};
    struct loop_rates rates = {.read_per_us = MRR};
    struct memsys_result result;

    if (!world.machine)
        return false;
    world.machine->controller_service_us[0] = SERVICE;
    enum model_status status =
        truth_run(&world, &rates, 1, &cores, &variant, cores, &result);
    if (status == MODEL_OK) {
        *speed = result.jobs[0].speed.mean;
        *utilisation = result.controller[0].utilisation.mean;
        memsys_release(&result);
    }
    machine_free(world.machine);
    return status == MODEL_OK;
}

static bool figure4(FILE *file, bool first)
{
    double alone = 0;

    for (size_t n = 1; n <= CORES; n++) {
        struct station s;
        double speed, used;

        if (station_solve(n, MRR, 1 / SERVICE, &s) != MODEL_OK ||
            !simulate(n, &speed, &used))
            return false;
        if (n == 1)
            alone = speed;
        double cpu = s.throughput / MRR / (double)n; /* eq. 4.5 */
        fprintf(file,
                "%s\n  {\"table\": \"figure4\", \"cores\": %zu, "
                "\"speedup\": %.4f, \"mct\": %.4f, \"cpu\": %.4f, "
                "\"system\": %.4f, \"sim_speedup\": %.4f, \"sim_mct\": %.4f, "
                "\"sim_cpu\": %.4f}",
                first ? "" : ",", n, station_speedup(n, MRR * SERVICE),
                s.utilisation, cpu,
                cpu * (double)n / CORES + s.utilisation, /* eq. 4.6 */
                speed / alone, used, speed / (double)n);
        first = false;
    }
    return true;
}

/* Time until both are done when A has CORES - B cores: A is as fast as its
 * cores are many, B has its speedup. */
static void figure5(FILE *file, double work_a, double work_b)
{
    double rho = MRR * SERVICE;

    for (size_t b = 1; b < CORES; b++) {
        double speed_a = (double)(CORES - b);
        double speed_b = station_speedup(b, rho);
        double end_a = work_a / speed_a, end_b = work_b / speed_b;
        double fixed = end_a > end_b ? end_a : end_b;
        double freed = end_a > end_b
                           ? end_b + (work_a - end_b * speed_a) / CORES
                           : end_a + (work_b - end_a * speed_b) /
                                         station_speedup(CORES, rho);
        fprintf(file,
                ",\n  {\"table\": \"figure5\", \"a\": %g, \"b\": %g, "
                "\"cores_b\": %zu, \"end_a\": %.4f, \"end_b\": %.4f, "
                "\"fixed\": %.4f, \"freed\": %.4f, \"batch\": %.4f}",
                work_a, work_b, b, end_a, end_b, fixed, freed,
                work_a / CORES + work_b / station_speedup(CORES, rho));
    }
}

bool figures_write(FILE *file, bool first)
{
    if (!figure4(file, first))
        return false;
    figure5(file, 100, 100);
    figure5(file, 400, 100);
    figure5(file, 800, 100);
    return true;
}
