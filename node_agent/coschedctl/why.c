/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl why: why the processes of a job follow, or do not. */

#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/ctl.h"

/* A look is ended by the agent after 2 s. */
#define LOOK_MS  3000
#define PAUSE_MS 20

static bool same(const json_t *a, const json_t *b)
{
    return !strcmp(ctl_text(a, "program", ""), ctl_text(b, "program", "")) &&
           !strcmp(ctl_text(a, "sentence", ""), ctl_text(b, "sentence", ""));
}

/* How many of PROCESSES from FIRST on are as that one; 0 when one before it is.
 */
static size_t count_same(const json_t *processes, size_t first)
{
    const json_t *p = json_array_get(processes, first);
    size_t count = 0;

    for (size_t i = 0; i < json_array_size(processes); i++) {
        if (!same(p, json_array_get(processes, i)))
            continue;
        if (i < first)
            return 0;
        count++;
    }
    return count;
}

/* A text of the agent's, without what would write to a terminal. */
static const char *clean(const json_t *p, const char *key, char *to,
                         size_t size)
{
    snprintf(to, size, "%s", ctl_text(p, key, ""));
    return errtext_clean(to);
}

static void print_process(const char *job, const json_t *p, size_t count)
{
    char program[64], sentence[512], advice[512], many[32] = "";

    clean(p, "program", program, sizeof(program));
    clean(p, "sentence", sentence, sizeof(sentence));
    clean(p, "advice", advice, sizeof(advice));
    if (count > 1)
        snprintf(many, sizeof(many), "%zu x ", count);
    printf("job %s: %s%s (pid %.0f%s) %s: %s.%s%s\n", job, many,
           *program ? program : "?", ctl_number(p, "pid"),
           count > 1 ? ", ..." : "",
           json_is_true(json_object_get(p, "malleable")) ? "follows"
                                                         : "does not follow",
           sentence, *advice ? " " : "", advice);
}

/* Ask until the look has ended. */
static int ask(const struct arguments *a, json_t **reply)
{
    const struct timespec pause = {0, PAUSE_MS * NS_PER_MS};

    for (int waited_ms = 0;; waited_ms += PAUSE_MS) {
        int rc = ctl_ask(a, MESSAGE_WHY, reply, NULL);
        if (rc || !json_is_true(json_object_get(*reply, "pending")) ||
            waited_ms >= LOOK_MS)
            return rc;
        json_decref(*reply);
        nanosleep(&pause, NULL);
    }
}

int ctl_why(const struct arguments *a)
{
    json_t *reply;

    if (!a->job)
        return fail(CTL_USAGE, "why: needs a job id");
    int rc = ask(a, &reply);
    if (rc)
        return rc;
    if (json_is_true(json_object_get(reply, "pending")))
        fail(0,
             "why: the look at the job's processes takes long; this is of an "
             "earlier one");
    json_object_del(reply, "pending");
    if (a->json)
        return ctl_print_json(reply);
    const json_t *processes = json_object_get(reply, "processes");
    for (size_t i = 0; i < json_array_size(processes); i++) {
        size_t count = count_same(processes, i);
        if (count)
            print_process(a->job, json_array_get(processes, i), count);
    }
    if (!json_array_size(processes))
        printf("job %s: no process of it is there\n", a->job);
    if (ctl_number(reply, "omitted") > 0)
        printf("and %.0f more\n", ctl_number(reply, "omitted"));
    json_decref(reply);
    return CTL_OK;
}
