/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl: drain, resume, and the check of a node's health. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/ctl.h"

#define HEALTH_TIMEOUT_S 2

static int operate(const struct ctl *ctl, enum message_op op)
{
    json_t *reply;
    int rc = ctl_ask(ctl, op, &reply, NULL);

    if (rc == CTL_OK)
        json_decref(reply);
    return rc;
}

int ctl_drain(const struct ctl *ctl)
{
    if (ctl->reason && strlen(ctl->reason) >= MESSAGE_REASON_MAX)
        return fail(CTL_USAGE, "--reason: longer than %d bytes",
                    MESSAGE_REASON_MAX - 1);
    return operate(ctl, MESSAGE_DRAIN);
}

int ctl_resume(const struct ctl *ctl)
{
    return operate(ctl, MESSAGE_RESUME);
}

/* ---- health --------------------------------------------------------------- */

void ctl_health_help(FILE *out)
{
    fputs("  health [--timeout SECONDS] [--json]\n"
          "                                   one line for HealthCheckProgram; "
          "0 well, 1 not\n"
          "                                   quite, 3 no agent answers\n",
          out);
}

/* Is there an agent?  Its reply to "ping" within SECONDS, or NULL with ERR. */
static json_t *ping(const char *socket, double seconds, struct errtext *err)
{
    struct message_request request = {.op = MESSAGE_PING};
    /* Connecting and asking may each take as long. */
    struct client *client = client_open(socket, (int)(seconds * 500), err);
    json_t *reply = NULL;

    if (client && client_call(client, &request, &reply, NULL, 0, NULL, err) < 0)
        reply = NULL;
    client_close(client);
    return reply;
}

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

int ctl_health(const char *socket, int argc, char **argv)
{
    static const struct option options[] = {
        {"help", no_argument, NULL, 'h'},
        {"json", no_argument, NULL, 'j'},
        {"timeout", required_argument, NULL, 't'},
        {"socket", required_argument, NULL, 's'},
        {0},
    };
    double seconds = HEALTH_TIMEOUT_S;
    struct errtext err = {""};
    bool json = false;
    char *end;
    int option;

    optind = 0;
    while ((option = getopt_long(argc, argv, ":hjt:s:", options, NULL)) != -1) {
        switch (option) {
        case 'h':
            ctl_health_help(stdout);
            return CTL_OK;
        case 'j':
            json = true;
            break;
        case 's':
            socket = optarg;
            break;
        case 't':
            seconds = strtod(optarg, &end);
            if (end == optarg || *end || !(seconds >= 0.01 && seconds <= 60))
                return fail(CTL_USAGE, "health: --timeout %s: not from 0.01 "
                            "to 60 seconds", optarg);
            break;
        default:
            return cli_bad_option("health", options, option, argv);
        }
    }
    if (optind < argc)
        return fail(CTL_USAGE, "health: %s: one argument too many",
                    argv[optind]);
    json_t *reply = ping(socket, seconds, &err);
    if (reply)
        return show_health(reply, json);
    printf("no agent: %s\n", err.text);
    return CTL_NO_AGENT;
}
