/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Job script context: the end of a job on this node. */

#include <stdlib.h>

#include "node_agent/client/client.h"
#include "node_agent/client/end_note.h"
#include "spank_plugin/plugin.h"

/* Runs for every job of the node, also for jobs that never had a prolog. */
void plugin_epilog(spank_t spank)
{
    struct message_request request = {.op = MESSAGE_WITHDRAW};
    struct errtext err;
    char *value = NULL;
    int rc = -1;

    if (!getenv(PLUGIN_CONTROL_SCRIPT) &&
        spank_option_getopt(spank, &plugin_option, &value) != ESPANK_SUCCESS)
        return;
    if (spank_get_item(spank, S_JOB_ID, &request.job) != ESPANK_SUCCESS)
        return;
    struct client *client = client_open(plugin.socket, plugin.timeout_ms, &err);
    if (client) {
        client_bound_in_all(client);
        client_use_munge(client, plugin.munge[0] ? plugin.munge : NULL, NULL);
        rc = client_call(client, &request, NULL, NULL, 0, NULL, &err);
        client_close(client);
    }
    if (rc == 0)
        return;
    slurm_info("cosched: withdraw job %u: %s", request.job, err.text);
    /* An agent that is dead learns of the end when it is back, one that hangs
     * or cannot ask munged does not. */
    if (end_note_leave(plugin.socket, request.job, &err) < 0 && errno != ENOENT)
        slurm_info("cosched: withdraw job %u: %s", request.job, err.text);
}
