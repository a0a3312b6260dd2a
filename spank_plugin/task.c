/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Remote context: a task of a co-scheduled job, just before it starts. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/client/client.h"
#include "common/clock.h"
#include "protocol/cpulist.h"
#include "protocol/job_defaults.h"
#include "protocol/job_library.h"
#include "protocol/options.h"
#include "spank_plugin/plugin.h"

/* Between two tries to reach an agent that is being restarted. */
#define PAUSE_MS 5

/* Set in the job's environment when the warning is out, to the job's id. */
#define WARNED "COSCHED_WARNED"

#define LIBGOMP       "COSCHED_LIBGOMP"
#define CPUS_PER_TASK "SLURM_CPUS_PER_TASK"

/* Copy the job's environment variable NAME; "" when unset or too long. */
static const char *job_getenv(spank_t spank, const char *name, char *buffer,
                              size_t size)
{
    if (spank_getenv(spank, name, buffer, (int)size) != ESPANK_SUCCESS)
        buffer[0] = '\0';
    return buffer;
}

/* The job's id as text in BUFFER. */
static const char *job_id(spank_t spank, char *buffer, size_t size)
{
    uint32_t job = 0;

    spank_get_item(spank, S_JOB_ID, &job);
    snprintf(buffer, size, "%u", job);
    return buffer;
}

/* The job control variable has the options as completed at submission.  With
 * --export=NONE the option's callback is not called here, and it is all there
 * is; else what a step was given comes first. */
bool plugin_is_ours(spank_t spank)
{
    char submitted[MESSAGE_OPTIONS_MAX], value[MESSAGE_OPTIONS_MAX];
    struct job_options options;

    spank_err_t rc = spank_getenv(spank, PLUGIN_CONTROL_JOB, submitted,
                                  sizeof(submitted));
    if (rc == ESPANK_SUCCESS &&
        job_options_parse(&options, submitted, NULL) == 0) {
        job_defaults_complete(plugin.value, submitted, value, sizeof(value),
                              NULL);
        strcpy(plugin.value, value);
    }
    if (rc == ESPANK_SUCCESS || rc == ESPANK_NOSPACE)
        plugin.requested = true;
    return plugin.requested;
}

/* Is NODE the first of the nodes LIST ("n[1-3,7],m2")? */
static bool is_first(const char *list, const char *node)
{
    while (*list && *list != ',') {
        if (*list == '[') { /* the first number of each pair of brackets */
            size_t digits = strcspn(++list, "-,]");
            if (strncmp(list, node, digits) != 0)
                return false;
            node += digits;
            list += strcspn(list, "]");
            list += *list == ']';
        } else if (*list++ != *node++) {
            return false;
        }
    }
    return *node == '\0';
}

/* 0 on the node that keeps the job's record, also where nobody knows. */
static uint32_t node_number(spank_t spank)
{
    char list[4096];
    const char *node = getenv("SLURMD_NODENAME");

    job_getenv(spank, "SLURM_JOB_NODELIST", list, sizeof(list));
    return *list && node && !is_first(list, node);
}

/* Fill the announcement from what Slurm says of the job. */
static int describe(spank_t spank, struct message_request *request,
                    struct errtext *err)
{
    char restarts[16];
    char *cores = NULL;
    uint32_t job = 0;
    uid_t uid = 0;
    uint64_t memory_mb = 0;

    memset(request, 0, sizeof(*request));
    request->op = MESSAGE_ANNOUNCE;
    if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_UID, &uid) != ESPANK_SUCCESS)
        return errtext_set(err, ENOENT, "Slurm does not say which job this is");
    if (spank_get_item(spank, S_JOB_ALLOC_MEM, &memory_mb) == ESPANK_SUCCESS)
        request->memory_mb = memory_mb;
    if (spank_get_item(spank, S_JOB_ALLOC_CORES, &cores) == ESPANK_SUCCESS &&
        cores && strlen(cores) < sizeof(request->cores))
        strcpy(request->cores, cores);
    request->job = job;
    request->uid = uid;
    spank_get_item(spank, S_JOB_STEPID, &request->step);
    request->restarts = (uint32_t)atoi(
        job_getenv(spank, "SLURM_RESTART_COUNT", restarts, sizeof(restarts)));
    request->node = node_number(spank);
    job_getenv(spank, "SLURM_JOB_NAME", request->name, sizeof(request->name));
    strcpy(request->options, plugin.value);
    return 0;
}

/* What the agent says of the job. */
struct admission {
    size_t cpus;     /* that Slurm gave it here; 0: not known */
    bool interleave; /* what one thread touches before the first region */
};

/* Announce the job and this process as a task of it. */
static int admit(spank_t spank, const char *socket, int timeout_ms,
                 struct admission *admitted, struct errtext *err)
{
    static struct message_request request; /* too large for some stacks */
    struct client *client = client_open(socket, timeout_ms, err);
    struct cosched_cpuset granted;
    json_t *reply = NULL;
    int rc;

    *admitted = (struct admission){0};
    if (!client)
        return -1;
    client_bound_in_all(client);
    client_use_munge(client, plugin.munge[0] ? plugin.munge : NULL, NULL);
    rc = describe(spank, &request, err);
    if (rc == 0)
        rc = client_call(client, &request, &reply, NULL, 0, NULL, err);
    if (rc == 0) {
        const char *list = json_string_value(json_object_get(reply, "cpus"));
        if (list && cpulist_parse(list, &granted, NULL) == 0)
            admitted->cpus = (size_t)cpuset_count(&granted);
        admitted->interleave = json_is_true(json_object_get(reply, "interleave"));
        json_decref(reply);
        request.op = MESSAGE_TASK;
        request.pid = getpid();
        rc = client_call(client, &request, NULL, NULL, 0, NULL, err);
    }
    client_close(client);
    return rc;
}

/* As admit().  An agent that died a moment ago, or while it was asked, is
 * restarted within milliseconds: its socket is still there.  What was announced
 * to it before is announced again, which is no news. */
static int admit_in_time(spank_t spank, const char *socket, struct admission *admitted,
                         struct errtext *err)
{
    const int64_t until_ms = clock_ms() + plugin.timeout_ms;
    int left_ms = plugin.timeout_ms;

    for (;;) {
        int rc = admit(spank, socket, left_ms, admitted, err);
        int saved = errno;
        left_ms = (int)(until_ms - clock_ms()) - PAUSE_MS;
        if (rc == 0 || left_ms <= 0 ||
            (saved != ECONNREFUSED && saved != ECONNRESET))
            return rc;
        usleep(PAUSE_MS * 1000);
    }
}

/* Set variable NAME of the job. */
static int set_variable(spank_t spank, const char *name, const char *value,
                        struct errtext *err)
{
    spank_err_t rc = spank_setenv(spank, name, value, 1);

    return rc == ESPANK_SUCCESS
               ? 0
               : errtext_set(err, EIO, "%s: %s", name, spank_strerror(rc));
}

/* Is our libgomp here? */
static int find_libgomp(struct errtext *err)
{
    char path[sizeof(plugin.libgomp) + 1 + JOB_LIBRARY_NAME_MAX];
    const char *name;

    for (size_t i = 0; (name = job_library_files[i]); i++) {
        snprintf(path, sizeof(path), "%s/%s", plugin.libgomp, name);
        if (access(path, R_OK) < 0)
            return errtext_set(err, errno, "%.130s: %s", path, strerror(errno));
    }
    return 0;
}

/* Lead the job's programs to our libgomp if ADD, or no longer. */
static int lead_to_libgomp(spank_t spank, bool add, struct errtext *err)
{
    char old[32768], value[sizeof(plugin.libgomp) + sizeof(old) + 32];
    const char *name;

    for (size_t i = 0; (name = job_library_variables[i]); i++) {
        spank_err_t rc = spank_getenv(spank, name, old, sizeof(old));
        if (rc == ESPANK_NOSPACE)
            return errtext_set(err, ENAMETOOLONG, "%s: too long", name);
        int same = job_library_value(i, plugin.libgomp,
                                     rc == ESPANK_SUCCESS ? old : NULL, add,
                                     value, sizeof(value));
        if (same < 0)
            return errtext_set(err, errno, "%s: too long", name);
        if (same == 0 && value[0] && set_variable(spank, name, value, err) < 0)
            return -1;
        if (same == 0 && !value[0])
            spank_unsetenv(spank, name);
    }
    return 0;
}

/* Job scripts say OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK, or 1 where that is
 * unset, as Slurm leaves it unless --cpus-per-task is given: a job that has the
 * whole node to share would run with one thread.  So each task learns how many
 * CPUs it may use.  What a step inherited from its batch script is divided
 * among the step's tasks. */
static void set_cpus_per_task(spank_t spank, size_t cpus)
{
    char text[24], whole[24];
    uint32_t tasks = 1;

    if (!cpus)
        return;
    snprintf(whole, sizeof(whole), "%zu", cpus);
    job_getenv(spank, CPUS_PER_TASK, text, sizeof(text));
    if (text[0] && strcmp(text, whole) != 0)
        return;
    if (spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks) !=
            ESPANK_SUCCESS ||
        tasks < 1)
        tasks = 1;
    snprintf(text, sizeof(text), "%zu", cpus > tasks ? cpus / tasks : 1);
    spank_setenv(spank, CPUS_PER_TASK, text, 1);
}

/* Whose environment has this task, as far as co-scheduling is concerned? */
enum origin {
    NOBODY,    /* nothing of ours in it */
    THIS_JOB,  /* a step of an admitted job */
    OTHER_JOB, /* submitted from within a co-scheduled job */
};

static enum origin origin(spank_t spank)
{
    char job[16], id[16];

    if (spank_getenv(spank, "COSCHED_JOB", job, sizeof(job)) ==
        ESPANK_ENV_NOEXIST)
        return NOBODY;
    job_getenv(spank, "COSCHED_JOB", job, sizeof(job));
    return strcmp(job, job_id(spank, id, sizeof(id))) == 0 ? THIS_JOB
                                                           : OTHER_JOB;
}

/* The environment of docs/architecture.md. */
static int set_environment(spank_t spank, const char *socket, const struct admission *admitted,
                           struct errtext *err)
{
    struct job_options options;
    char number[16];

    set_cpus_per_task(spank, admitted->cpus);
    if (job_options_parse(&options, plugin.value, NULL) < 0)
        job_options_init(&options);
    /* Within the job, a script may refuse it for one program. */
    if ((options.libgomp || origin(spank) != THIS_JOB) &&
        set_variable(spank, LIBGOMP, options.libgomp ? "stock" : "coop", err) <
            0)
        return -1;
    if (set_variable(spank, "COSCHED_SOCKET", socket, err) < 0 ||
        set_variable(spank, "COSCHED_JOB",
                     job_id(spank, number, sizeof(number)), err) < 0)
        return -1;
    if (options.ults) {
        snprintf(number, sizeof(number), "%d", options.ults);
        if (set_variable(spank, "COSCHED_ULTS", number, err) < 0)
            return -1;
    }
    if (admitted->interleave && set_variable(spank, "COSCHED_MEMORY", "interleave", err) < 0)
        return -1;
    if (!options.libgomp && find_libgomp(err) < 0)
        return -1;
    return lead_to_libgomp(spank, !options.libgomp, err);
}

/* One line in the job's output, not one per task or step. */
static void warn(spank_t spank, const struct errtext *err, const char *effect)
{
    char id[16], warned[16];
    uint32_t task = 0;

    job_id(spank, id, sizeof(id));
    spank_get_item(spank, S_TASK_ID, &task);
    if (task == 0 &&
        strcmp(job_getenv(spank, WARNED, warned, sizeof(warned)), id) != 0)
        slurm_error("cosched: %s; %s", err->text, effect);
    spank_setenv(spank, WARNED, id, 1);
}

/* Take out what would lead programs of this job to the agent. */
static void disinherit(spank_t spank)
{
    struct errtext err;

    spank_unsetenv(spank, "COSCHED_JOB");
    spank_unsetenv(spank, "COSCHED_SOCKET");
    lead_to_libgomp(spank, false, &err);
}

void plugin_task(spank_t spank)
{
    char socket[108]; /* sun_path of a Unix socket's address */
    struct errtext err = {""};
    struct admission admitted;

    if (!plugin_is_ours(spank)) {
        if (origin(spank) == OTHER_JOB)
            disinherit(spank);
        return;
    }
    /* %n is taken from this process's environment, which slurmd made.  The
     * job's has the same variable, but by the user's word only. */
    if (client_socket_path(plugin.socket, socket, sizeof(socket), &err) < 0 ||
        admit_in_time(spank, socket, &admitted, &err) < 0) {
        /* A step of an admitted job attaches when the agent is back. */
        if (origin(spank) != THIS_JOB)
            disinherit(spank);
        warn(spank, &err, "the job runs without co-scheduling");
    } else if (set_environment(spank, socket, &admitted, &err) < 0) {
        warn(spank, &err,
             "OpenMP programs of the job cannot change their "
             "number of threads");
    }
}
