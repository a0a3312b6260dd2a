/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl: drain, resume, and the check of a node's health. */

#include <string.h>

#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/ctl.h"

static int operate(const struct arguments *a, enum message_op op)
{
    json_t *reply;
    int rc = ctl_ask(a, op, &reply, NULL);

    if (rc == CTL_OK)
        json_decref(reply);
    return rc;
}

int ctl_drain(const struct arguments *a)
{
    if (a->reason && strlen(a->reason) >= MESSAGE_REASON_MAX)
        return fail(CTL_USAGE, "--reason: longer than %d bytes",
                    MESSAGE_REASON_MAX - 1);
    return operate(a, MESSAGE_DRAIN);
}

int ctl_resume(const struct arguments *a)
{
    return operate(a, MESSAGE_RESUME);
}

/* ---- health --------------------------------------------------------------- */

static int show_health(json_t *reply, bool json)
{
    json_t *problems = json_object_get(reply, "problems"), *problem;
    json_t *drained = json_object_get(reply, "drained");
    bool well = json_array_size(problems) == 0;
    size_t i;

    if (json) {
        json_object_del(reply, "v");
        json_object_del(reply, "ok");
        ctl_print_json(reply);
        return well ? CTL_OK : CTL_FAILED;
    }
    const char *node = json_string_value(json_object_get(reply, "node"));
    printf("%s: coschedd on %s, %lld jobs", well ? "well" : "not quite well",
           node ? node : "?",
           (long long)json_integer_value(json_object_get(reply, "jobs")));
    if (json_is_object(drained)) {
        const char *reason =
            json_string_value(json_object_get(drained, "reason"));
        printf(", sharing is drained%s%s", reason && *reason ? ": " : "",
               reason ? reason : "");
    }
    json_array_foreach(problems, i, problem)
        printf("; %s", json_string_value(problem));
    putchar('\n');
    json_decref(reply);
    return well ? CTL_OK : CTL_FAILED;
}

int ctl_health(const struct arguments *a)
{
    struct message_request request = {.op = MESSAGE_PING};
    struct errtext err = {""};
    json_t *reply = NULL;

    /* Connecting and asking may each take as long. */
    if (ctl_call(a->socket, NULL, (int)(a->timeout_s * 500), &request, &reply,
                 NULL, &err) == 0)
        return show_health(reply, a->json);
    printf("no agent: %s\n", err.text);
    return CTL_NO_AGENT;
}
