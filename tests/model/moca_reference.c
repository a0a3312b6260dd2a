/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* MOCA's objectives, by definition. */

#include "tests/model/moca_reference.h"

#include <math.h>
#include <stdbool.h>

#include "model/station.h"

static double sync_time(double sync, size_t cores, size_t all)
{
    return sync * (double)cores / (double)all;
}

static bool valid(const struct moca_input *in)
{
    size_t cores = 0;

    if (in->jobs < 1 || in->all_cores < 1 || in->form > MOCA_CONSISTENT)
        return false;
    for (size_t j = 0; j < in->jobs; j++)
        if (in->profile[j]->numa_nodes != in->machine->numa_nodes ||
            workload_check(in->profile[j]) != MODEL_OK)
            return false;
    for (size_t c = 0; c < in->machine->llc_domains * in->jobs; c++)
        cores += in->cores[c];
    return cores <= in->all_cores;
}

/* The controller of M: all LLC domains are customers with the mean rate of all
 * (figure 4.16). */
static enum model_status solve_controller(const struct moca_input *in, size_t m,
                                          struct station *station)
{
    double rate = 0;

    for (size_t j = 0; j < in->jobs; j++) {
        double cores = 0;
        for (size_t i = 0; i < in->machine->llc_domains; i++)
            cores += (double)in->cores[i * in->jobs + j];
        rate += cores * in->profile[j]->rate[m].mrr_per_us;
    }
    return station_solve(in->machine->llc_domains,
                         rate / (double)in->machine->llc_domains,
                         1 / in->machine->controller_service_us[m], station);
}

/* Memory time (4.12) of a core of JOB on LLC domain I. */
static double memory_time(const struct moca_input *in, size_t i, size_t job,
                          const double *response_us)
{
    double time = 0;

    for (size_t m = 0; m < in->machine->numa_nodes; m++) {
        double llc = in->profile[job]->rate[m].read_per_us;
        if (llc > 0)
            time += llc * (response_us[m] + machine_route_us(in->machine, i, m));
    }
    return time;
}

/* U(c), 4.10, of a core of JOB, which has CORES in all, on LLC domain I. */
static double core_util(const struct moca_input *in, size_t i, size_t job,
                        size_t cores, const double *response_us)
{
    double sync = sync_time(in->profile[job]->sync_share, cores,
                                 in->all_cores);
    double memory = memory_time(in, i, job, response_us);

    return in->form == MOCA_CONSISTENT ? (1 - sync) / (1 + memory)
                                       : fmax(0, 1 - sync - memory);
}

/* Cores that JOB has on all LLC domains. */
static size_t job_cores(const struct moca_input *in, size_t job)
{
    size_t cores = 0;

    for (size_t i = 0; i < in->machine->llc_domains; i++)
        cores += in->cores[i * in->jobs + job];
    return cores;
}

enum model_status moca_evaluate(const struct moca_input *in,
                                struct moca_result *result)
{
    double computing = 0, busy = 0;

    if (!valid(in))
        return MODEL_EINVAL;
    for (size_t m = 0; m < in->machine->numa_nodes; m++) {
        struct station station;
        enum model_status status = solve_controller(in, m, &station);
        if (status != MODEL_OK)
            return status;
        result->response_us[m] = station.response;
        busy += station.utilisation;
        if (result->controller_util)
            result->controller_util[m] = station.utilisation;
    }
    for (size_t j = 0; j < in->jobs; j++) {
        size_t cores = job_cores(in, j);
        for (size_t i = 0; i < in->machine->llc_domains; i++) {
            size_t here = in->cores[i * in->jobs + j];
            double util = here ? core_util(in, i, j, cores,
                                           result->response_us)
                               : 0;
            computing += (double)here * util;
            if (result->core_util)
                result->core_util[i * in->jobs + j] = util;
        }
    }
    result->cpu_util = computing / (double)in->all_cores;
    result->bw_util = busy / (double)in->machine->numa_nodes;
    return MODEL_OK;
}
