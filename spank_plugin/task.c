/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Remote context: a task of a co-scheduled job, just before it starts. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/client.h"
#include "protocol/options.h"
#include "spank_plugin/plugin.h"

/* The longest that a task may wait for an agent that does not answer. */
#define TIMEOUT_MS 200

/* Set in the job's environment when the warning is out, to the job's id. */
#define WARNED "COSCHED_WARNED"

/* Copy the job's environment variable NAME; "" when unset or too long. */
static const char *job_getenv(spank_t spank, const char *name, char *buffer,
                              size_t size)
{
    if (spank_getenv(spank, name, buffer, (int)size) != ESPANK_SUCCESS)
        buffer[0] = '\0';
    return buffer;
}

/* Was the option given?  With --export=NONE the option's callback is not
 * called here, but the job control variable arrives. */
static bool requested(spank_t spank)
{
    char value[MESSAGE_OPTIONS_MAX];
    struct job_options options;

    if (plugin.requested)
        return true;
    if (spank_getenv(spank, PLUGIN_CONTROL_JOB, value, sizeof(value)) !=
        ESPANK_SUCCESS)
        return false;
    if (job_options_parse(&options, value, NULL) == 0 &&
        strcmp(value, "(null)") != 0)
        strcpy(plugin.value, value);
    return true;
}

/* Fill the announcement from what Slurm says of the job. */
static void describe(spank_t spank, struct message_request *request)
{
    char restarts[16];
    char *cores = NULL;
    uint32_t job = 0;
    uid_t uid = 0;
    uint64_t memory_mb = 0;

    memset(request, 0, sizeof(*request));
    request->op = MESSAGE_ANNOUNCE;
    spank_get_item(spank, S_JOB_ID, &job);
    spank_get_item(spank, S_JOB_UID, &uid);
    if (spank_get_item(spank, S_JOB_ALLOC_MEM, &memory_mb) == ESPANK_SUCCESS)
        request->memory_mb = memory_mb;
    if (spank_get_item(spank, S_JOB_ALLOC_CORES, &cores) == ESPANK_SUCCESS &&
        cores && strlen(cores) < sizeof(request->cores))
        strcpy(request->cores, cores);
    request->job = job;
    request->uid = uid;
    request->restarts = (uint32_t)atoi(
        job_getenv(spank, "SLURM_RESTART_COUNT", restarts, sizeof(restarts)));
    job_getenv(spank, "SLURM_JOB_NAME", request->name, sizeof(request->name));
    strcpy(request->options, plugin.value);
}

/* Announce the job and this process as a task of it. */
static int admit(spank_t spank, const char *socket, struct errtext *err)
{
    static struct message_request request; /* too large for some stacks */
    struct client *client = client_open(socket, TIMEOUT_MS, err);
    uint32_t step = 0;
    int rc;

    if (!client)
        return -1;
    client_use_munge(client, plugin.munge[0] ? plugin.munge : NULL, NULL);
    describe(spank, &request);
    rc = client_call(client, &request, NULL, NULL, 0, NULL, err);
    if (rc == 0) {
        spank_get_item(spank, S_JOB_STEPID, &step);
        request.op = MESSAGE_TASK;
        request.step = step;
        request.pid = getpid();
        rc = client_call(client, &request, NULL, NULL, 0, NULL, err);
    }
    client_close(client);
    return rc;
}

/* Put our libgomp in front of the user's libraries, once. */
static void prepend_library_path(spank_t spank)
{
    char old[32768], path[sizeof(plugin.libgomp) + sizeof(old) + 1];
    size_t length = strlen(plugin.libgomp);

    spank_err_t rc =
        spank_getenv(spank, "LD_LIBRARY_PATH", old, sizeof(old));
    if (rc == ESPANK_NOSPACE) {
        slurm_error("cosched: LD_LIBRARY_PATH is too long, left as it is");
        return;
    }
    if (rc != ESPANK_SUCCESS)
        old[0] = '\0';
    if (strncmp(old, plugin.libgomp, length) == 0 &&
        (old[length] == ':' || old[length] == '\0'))
        return;
    snprintf(path, sizeof(path), "%s%s%s", plugin.libgomp, old[0] ? ":" : "",
             old);
    spank_setenv(spank, "LD_LIBRARY_PATH", path, 1);
}

/* The environment of docs/architecture.md. */
static void set_environment(spank_t spank, const char *socket)
{
    struct job_options options;
    char number[16];
    uint32_t job = 0;

    spank_get_item(spank, S_JOB_ID, &job);
    snprintf(number, sizeof(number), "%u", job);
    spank_setenv(spank, "COSCHED_SOCKET", socket, 1);
    spank_setenv(spank, "COSCHED_JOB", number, 1);
    if (job_options_parse(&options, plugin.value, NULL) == 0 && options.ults) {
        snprintf(number, sizeof(number), "%d", options.ults);
        spank_setenv(spank, "COSCHED_ULTS", number, 1);
    }
    if (access(plugin.libgomp, X_OK) == 0)
        prepend_library_path(spank);
    else
        slurm_error("cosched: %s: %s; OpenMP programs of this job cannot "
                    "change their number of threads", plugin.libgomp,
                    strerror(errno));
}

/* One line in the job's output, not one per task or step. */
static void warn(spank_t spank, const struct errtext *err)
{
    char id[16], warned[16];
    uint32_t job = 0, task = 0;

    spank_get_item(spank, S_JOB_ID, &job);
    spank_get_item(spank, S_TASK_ID, &task);
    snprintf(id, sizeof(id), "%u", job);
    if (task == 0 &&
        strcmp(job_getenv(spank, WARNED, warned, sizeof(warned)), id) != 0)
        slurm_error("cosched: %s; the job runs without co-scheduling",
                    err->text);
    spank_setenv(spank, WARNED, id, 1);
}

void plugin_task(spank_t spank)
{
    char node[256], socket[108];
    struct errtext err = {""};

    if (!requested(spank))
        return;
    /* For %n; this is the task's own process, so nobody else sees it. */
    if (*job_getenv(spank, "SLURMD_NODENAME", node, sizeof(node)))
        setenv("SLURMD_NODENAME", node, 1);
    unsetenv("COSCHED_SOCKET");
    if (client_socket_path(plugin.socket, socket, sizeof(socket), &err) < 0 ||
        admit(spank, socket, &err) < 0) {
        spank_unsetenv(spank, "COSCHED_SOCKET");
        warn(spank, &err);
        return;
    }
    set_environment(spank, socket);
}
