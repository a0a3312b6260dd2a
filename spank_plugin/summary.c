/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Remote context: the line that ends a job's output, if the user wants it. */

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "node_agent/client/client.h"
#include "protocol/follow.h"
#include "protocol/options.h"
#include "spank_plugin/plugin.h"

/* A job that lived so short was over before the agent looked at it twice: its
 * epochs are 50 ms apart. */
#define SHORT_S 0.05

/* Less is not worth a word. */
#define SLOWER 1.005

/* Array elements have numbers below this, NO_VAL in Slurm's headers. */
#define NO_ELEMENT UINT32_C(0xfffffffe)

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
           step == MESSAGE_BATCH_STEP && plugin_is_ours(spank) && asked(spank);
}

/* What the user calls the job: 12, or 12_3 as an element of an array. */
static void name_job(spank_t spank, uint32_t job, char name[32])
{
    uint32_t array = 0, element = 0;

    if (spank_get_item(spank, S_JOB_ARRAY_ID, &array) == ESPANK_SUCCESS &&
        spank_get_item(spank, S_JOB_ARRAY_TASK_ID, &element) ==
            ESPANK_SUCCESS && array && element < NO_ELEMENT)
        snprintf(name, 32, "%u_%u", array, element);
    else
        snprintf(name, 32, "%u", job);
}

/* How the script ended: "" if well. */
static void format_end(spank_t spank, char *text, size_t size)
{
    int status = 0;

    text[0] = '\0';
    if (spank_get_item(spank, S_TASK_EXIT_STATUS, &status) != ESPANK_SUCCESS)
        return;
    if (WIFSIGNALED(status))
        snprintf(text, size, "killed by signal %d, ", WTERMSIG(status));
    else if (WEXITSTATUS(status))
        snprintf(text, size, "exit status %d, ", WEXITSTATUS(status));
}

/* ", alone" or " beside jobs 17, 18" into TEXT. */
static void format_partners(const json_t *job, char *text, size_t size)
{
    json_t *partners = json_object_get(job, "partners"), *id;
    size_t i, used, count = json_array_size(partners);

    used = (size_t)snprintf(text, size, count == 0   ? ", alone"
                                        : count == 1 ? " beside job"
                                                     : " beside jobs");
    json_array_foreach(partners, i, id) {
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s %lld",
                                     i ? "," : "",
                                     (long long)json_integer_value(id));
    }
}

static double number(const json_t *job, const char *key)
{
    return json_number_value(json_object_get(job, key));
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value ? value : "";
}

/* "ran 34.2 s on 1.5 of 2 cores on average" into TEXT. */
static void format_cores(const json_t *job, char *text, size_t size)
{
    double live_s = number(job, "live_s");
    double granted = number(json_object_get(job, "progress"), "granted");

    if (live_s < SHORT_S)
        snprintf(text, size, "too short to be measured");
    else if (granted > 0)
        snprintf(text, size, "ran %.1f s on %.1f of %.0f cores on average", live_s,
                 number(job, "mean_cores"), granted);
    else
        snprintf(text, size, "ran %.1f s on %.1f cores on average", live_s,
                 number(job, "mean_cores"));
}

/* What sharing did to a job that had partners: "; 1.08x slower than alone, waited 0 s for it
 * instead of 240 s", as predicted. */
static void format_effect(const json_t *job, char *text, size_t size)
{
    const json_t *progress = json_object_get(job, "progress");
    double alone_s = number(progress, "alone_s"), ahead_s = number(progress, "ahead_s");
    double live_s = number(job, "live_s");
    size_t partners = json_array_size(json_object_get(job, "partners"));
    int n = 0;

    text[0] = '\0';
    if (!partners || live_s < SHORT_S || alone_s <= 0)
        return;
    if (live_s < SLOWER * alone_s)
        n = snprintf(text, size, "; as fast as alone");
    else
        n = snprintf(text, size, "; %.2fx slower than alone", live_s / alone_s);
    if (ahead_s >= 1 && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, ", waited 0 s for %s instead of %.0f s",
                 partners > 1 ? "them" : "it", ahead_s);
}

/* A line about the program that FOLLOW, of the agent's status, is about, if it was HELD or follows
 * in an unusual way. */
static void tell_why(const json_t *follow, bool held, const char *name)
{
    const char *advice = text(follow, "advice");
    int word = follow_find(text(follow, "word"));

    if (!*text(follow, "sentence") || !(held || word == FOLLOW_KTHREAD))
        return;
    slurm_spank_log("coschedule: job %s: %.60s %s: %.300s.%s%.300s", name,
                    text(follow, "program"),
                    json_is_true(json_object_get(follow, "malleable"))
                        ? "follows" : "does not follow",
                    text(follow, "sentence"), *advice ? " " : "", advice);
}

/* The line about JOB, an entry of the agent's status. */
static void tell(spank_t spank, const json_t *job, const char *name)
{
    char end[48], cores[96], partners[256], effect[128];

    format_end(spank, end, sizeof(end));
    format_partners(job, partners, sizeof(partners));
    format_cores(job, cores, sizeof(cores));
    format_effect(job, effect, sizeof(effect));
    bool held = json_is_true(json_object_get(job, "held"));
    slurm_spank_log("coschedule: job %s: %s%s%s%s%s; coschedreport %s tells more", name, end,
                    cores, partners, held ? ", pinned to its share" : "", effect, name);
    tell_why(json_object_get(job, "follow"), held, name);
}

void plugin_summary(spank_t spank)
{
    struct message_request request = {.op = MESSAGE_STATUS};
    struct client *client = NULL;
    struct errtext err;
    json_t *reply = NULL;
    char socket[108], name[32];
    int rc = -1;

    if (!wanted(spank) ||
        spank_get_item(spank, S_JOB_ID, &request.job) != ESPANK_SUCCESS)
        return;
    name_job(spank, request.job, name);
    if (client_socket_path(plugin.socket, socket, sizeof(socket), &err) == 0)
        client = client_open(socket, plugin.timeout_ms, &err);
    if (client) {
        client_bound_in_all(client);
        rc = client_call(client, &request, &reply, NULL, 0, NULL, &err);
    }
    const json_t *job = json_array_get(json_object_get(reply, "jobs"), 0);
    if (rc < 0)
        slurm_spank_log("coschedule: job %s: no summary: %s", name, err.text);
    else if (job)
        tell(spank, job, name);
    json_decref(reply);
    client_close(client);
}
