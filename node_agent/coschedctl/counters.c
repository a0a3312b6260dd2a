/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl: what can be counted on this node, and recording it. */

#include <string.h>
#include <unistd.h>

#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/node.h"

/* The first that `auto` would take. */
static const char *automatic(const json_t *backends)
{
    json_t *one;
    size_t i;

    json_array_foreach(backends, i, one)
        if (json_is_true(json_object_get(one, "auto")) &&
            json_is_true(json_object_get(one, "opens")) &&
            !json_is_false(json_object_get(one, "moves")))
            return json_string_value(json_object_get(one, "name"));
    return "none";
}

/* ---- counters ----------------------------------------------------------- */

static void print_metrics(const json_t *metrics)
{
    const char *name;
    json_t *one;

    json_object_foreach((json_t *)metrics, name, one)
        printf("  %-14s %-7s %s\n", name,
               !json_is_true(json_object_get(one, "can"))     ? "no"
               : json_is_true(json_object_get(one, "shared")) ? "shared"
                                                              : "yes",
               ctl_text(one, "why", ""));
}

static void print_backend(const json_t *one)
{
    const json_t *moves = json_object_get(one, "moves");
    const json_t *metrics = json_object_get(one, "metrics");

    if (!json_is_true(json_object_get(one, "opens")))
        printf("%s: no: %s\n", ctl_text(one, "name", ""), ctl_probe_error(one));
    else
        printf("%s: %s: %s\n", ctl_text(one, "name", ""),
               json_is_false(moves) ? "opens, but its values do not move"
                                    : "works",
               ctl_text(one, "help", ""));
    if (json_is_object(metrics))
        print_metrics(metrics);
}

int ctl_counters(const struct arguments *a)
{
    struct ctl_node node;
    json_t *one;
    size_t i;
    int rc = ctl_node_open(&node, a);

    if (rc)
        return rc;
    json_t *backends = json_array();
    for (i = 0; counters_backends[i]; i++)
        json_array_append_new(backends,
                              ctl_node_probe(&node, counters_backends[i]));
    if (a->json) {
        json_t *all = json_pack("{s:O?, s:s, s:O}", "agent", node.agent,
                                "auto", automatic(backends), "backends",
                                backends);
        rc = ctl_print_json(all);
    } else {
        if (node.agent) {
            printf("The agent counts with %s%s; all that it can measure:\n",
                   ctl_text(node.agent, "counters", ""),
                   json_is_true(json_object_get(node.agent, "calibrated"))
                       ? ""
                       : " (not calibrated)");
            print_metrics(json_object_get(node.agent, "metrics"));
        } else {
            puts(node.silent ? "The agent does not answer."
                             : "There is no agent.");
        }
        printf("\nOf this node's backends, `auto` would now choose %s%s:\n",
               automatic(backends),
               geteuid() ? " for you (root may be able to do more)" : "");
        json_array_foreach(backends, i, one)
            print_backend(one);
    }
    json_decref(backends);
    ctl_node_close(&node);
    return rc;
}

/* ---- record ------------------------------------------------------------- */

int ctl_record(const struct arguments *a)
{
    struct arguments absolute = *a;
    char cwd[MESSAGE_DIR_MAX], dir[2 * MESSAGE_DIR_MAX] = "";
    json_t *reply;

    if (!a->file == !a->stop)
        return fail(CTL_USAGE, "record: needs a directory or --stop");
    if (a->file && a->file[0] == '/')
        snprintf(dir, sizeof(dir), "%s", a->file);
    else if (a->file && !getcwd(cwd, sizeof(cwd)))
        return fail(CTL_FAILED, "%s: %s", a->file, strerror(errno));
    else if (a->file)
        snprintf(dir, sizeof(dir), "%s/%s", cwd, a->file);
    if (strlen(dir) >= MESSAGE_DIR_MAX)
        return fail(CTL_USAGE, "%s: longer than %d bytes", a->file,
                    MESSAGE_DIR_MAX - 1);
    absolute.file = dir;
    int rc = ctl_ask(&absolute, MESSAGE_RECORD, &reply, NULL);
    if (rc)
        return rc;
    printf(a->stop ? "The recording is in %s.\n" : "Recording into %s.\n",
           ctl_text(reply, "dir", ""));
    json_decref(reply);
    return CTL_OK;
}
