/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl: what its commands share. */

#include "node_agent/coschedctl/ctl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int ctl_parse_job(const char *text, uint32_t *job)
{
    char *end;

    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno || value == 0 ||
        value > UINT32_MAX)
        return fail(CTL_USAGE, "%s: not a job id", text);
    *job = (uint32_t)value;
    return 0;
}

int ctl_ask(const struct ctl *ctl, enum message_op op, json_t **reply, int *fd)
{
    struct message_request request = {.op = op, .job = ctl->job};
    struct errtext err = {""};
    int fds[1] = {-1};
    size_t nfds = 0;
    struct client *client = client_open(ctl->socket, CTL_TIMEOUT_MS, &err);

    if (!client)
        return fail(CTL_NO_AGENT, "%s", err.text);
    if (ctl->dir)
        snprintf(request.dir, sizeof(request.dir), "%s", ctl->dir);
    if (ctl->reason)
        snprintf(request.reason, sizeof(request.reason), "%s", ctl->reason);
    int rc = client_call(client, &request, reply, fds, fd ? 1 : 0, &nfds, &err);
    if (rc < 0 && errno == EPERM && message_op_privileged(op) &&
        client_use_munge(client, NULL, NULL) == 0)
        rc = client_call(client, &request, reply, NULL, 0, NULL, &err);
    client_close(client);
    if (rc < 0)
        return fail(errno == ETIMEDOUT || errno == ECONNRESET ? CTL_NO_AGENT
                                                              : CTL_FAILED,
                    "%s: %s", message_op_name(op), err.text);
    json_object_del(*reply, "v");
    json_object_del(*reply, "ok");
    if (fd)
        *fd = nfds ? fds[0] : -1;
    return CTL_OK;
}

const char *ctl_time(double when, char *out, size_t size)
{
    time_t seconds = (time_t)when;
    struct tm local;

    if (!localtime_r(&seconds, &local) ||
        !strftime(out, size, "%Y-%m-%d %H:%M:%S", &local))
        snprintf(out, size, "?");
    return out;
}

int ctl_print_json(json_t *reply)
{
    /* 15 digits: times of day to 10 us, and 1.4 is not 1.3999999999999999. */
    json_dumpf(reply, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    putchar('\n');
    json_decref(reply);
    return CTL_OK;
}

int ctl_print_machine(const struct machine_description *d, const char *file)
{
    json_t *value = machine_json_write(d);
    FILE *out = file ? fopen(file, "we") : stdout;
    int rc = CTL_OK;

    if (!value)
        rc = fail(CTL_FAILED, "out of memory");
    else if (!out)
        rc = fail(CTL_FAILED, "%s: %s", file, strerror(errno));
    else if (json_dumpf(value, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) <
                 0 ||
             fputc('\n', out) == EOF || fflush(out) != 0)
        rc = fail(CTL_FAILED, "%s: %s", file ? file : "standard output",
                  strerror(errno));
    if (out && out != stdout && fclose(out) != 0 && rc == CTL_OK)
        rc = fail(CTL_FAILED, "%s: %s", file, strerror(errno));
    json_decref(value);
    return rc;
}
