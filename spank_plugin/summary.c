/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Remote context: the line that ends a job's output, if the user wants it. */

#include <stdio.h>
#include <string.h>

#include "node_agent/client.h"
#include "protocol/options.h"
#include "spank_plugin/plugin.h"

#define TIMEOUT_MS 200

/* Step number of batch scripts, SLURM_BATCH_SCRIPT in newer headers. */
#define BATCH_STEP UINT32_C(0xfffffffb)

/* By the option, or else by the environment that the job began with. */
static bool asked(spank_t spank)
{
    struct job_options options;
    char value[8];

    if (job_options_parse(&options, plugin.value, NULL) == 0 && options.report)
        return options.report > 0;
    return spank_getenv(spank, "COSCHED_REPORT", value, sizeof(value)) ==
               ESPANK_SUCCESS &&
           (strcmp(value, "1") == 0 || strcmp(value, "yes") == 0);
}

static bool wanted(spank_t spank)
{
    uint32_t step = 0;

    return spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
           step == BATCH_STEP && plugin_is_ours(spank) && asked(spank);
}

/* "alone" or "with jobs 17, 18" into TEXT. */
static void format_partners(const json_t *job, char *text, size_t size)
{
    json_t *partners = json_object_get(job, "partners"), *id;
    size_t i, used = 0;

    snprintf(text, size, "alone");
    json_array_foreach(partners, i, id) {
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s %lld",
                                     i ? "," : "with job",
                                     (long long)json_integer_value(id));
    }
}

void plugin_summary(spank_t spank)
{
    struct message_request request = {.op = MESSAGE_STATUS};
    struct client *client = NULL;
    struct errtext err;
    json_t *reply = NULL;
    char socket[108], partners[256];
    int rc = -1;

    if (!wanted(spank) ||
        spank_get_item(spank, S_JOB_ID, &request.job) != ESPANK_SUCCESS)
        return;
    if (client_socket_path(plugin.socket, socket, sizeof(socket), &err) == 0)
        client = client_open(socket, TIMEOUT_MS, &err);
    if (client)
        rc = client_call(client, &request, &reply, NULL, 0, NULL, &err);
    const json_t *job = json_array_get(json_object_get(reply, "jobs"), 0);
    if (rc < 0) {
        slurm_spank_log("coschedule: job %u: no summary: %s", request.job,
                        err.text);
    } else if (job) {
        format_partners(job, partners, sizeof(partners));
        slurm_spank_log(
            "coschedule: job %u: %.1f s on %.2f cores (mean), %s; "
            "coschedreport %u tells more",
            request.job, json_number_value(json_object_get(job, "live_s")),
            json_number_value(json_object_get(job, "mean_cores")), partners,
            request.job);
    }
    json_decref(reply);
    client_close(client);
}
