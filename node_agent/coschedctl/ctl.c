/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the commands of coschedctl share. */

#include "node_agent/coschedctl/ctl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int ctl_call(const char *socket, const char *munge, int timeout_ms,
             const struct message_request *request, json_t **reply, int *fd,
             struct errtext *err)
{
    int fds[1] = {-1};
    size_t nfds = 0;
    struct client *client = client_open(socket, timeout_ms, err);

    if (!client)
        return -1;
    int rc = client_call(client, request, reply, fds, fd ? 1 : 0, &nfds, err);
    if (rc < 0 && errno == EPERM && message_op_privileged(request->op) &&
        client_use_munge(client, munge, NULL) == 0)
        rc = client_call(client, request, reply, NULL, 0, NULL, err);
    client_close(client);
    if (fd)
        *fd = fds[0];
    return rc < 0;
}

static int parse_job(const char *text, uint32_t *job)
{
    char *end;

    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno || value == 0 ||
        value > UINT32_MAX)
        return fail(CTL_USAGE, "%s: not a job id", text);
    *job = (uint32_t)value;
    return CTL_OK;
}

int ctl_ask(const struct arguments *a, enum message_op op, json_t **reply,
            int *fd)
{
    struct message_request request = {.op = op};
    struct errtext err = {""};

    if (a->job && parse_job(a->job, &request.job) != CTL_OK)
        return CTL_USAGE;
    if (a->file)
        snprintf(request.dir, sizeof(request.dir), "%s", a->file);
    if (a->reason)
        snprintf(request.reason, sizeof(request.reason), "%s", a->reason);
    int rc = ctl_call(a->socket, a->munge, CTL_TIMEOUT_MS, &request, reply, fd,
                      &err);
    if (rc < 0)
        return fail(CTL_NO_AGENT, "%s", err.text);
    if (rc > 0)
        return fail(errno == ETIMEDOUT || errno == ECONNRESET ? CTL_NO_AGENT
                                                              : CTL_FAILED,
                    "%s: %s", message_op_name(op), err.text);
    json_object_del(*reply, "v");
    json_object_del(*reply, "ok");
    return CTL_OK;
}

const char *ctl_text(const json_t *object, const char *key,
                     const char *otherwise)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value ? value : otherwise;
}

double ctl_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

int ctl_write_json(json_t *value, const char *file, int digits)
{
    FILE *out = file ? fopen(file, "we") : stdout;
    bool good = value && out &&
                json_dumpf(value, out, JSON_INDENT(1) |
                                           JSON_REAL_PRECISION(digits)) == 0 &&
                fputc('\n', out) != EOF && fflush(out) == 0;
    int saved = value ? errno : ENOMEM;

    if (out && out != stdout && fclose(out) != 0 && good) {
        good = false;
        saved = errno;
    }
    json_decref(value);
    return good ? CTL_OK
                : fail(CTL_FAILED, "%s: %s", file ? file : "standard output",
                       strerror(saved));
}

int ctl_print_json(json_t *reply)
{
    /* 15 digits: times of day to 10 us, and 1.4 is not 1.3999999999999999. */
    return ctl_write_json(reply, NULL, 15);
}
