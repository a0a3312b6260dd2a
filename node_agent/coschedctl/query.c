/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl: the commands that show what the agent knows. */

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/ctl.h"
#include "node_agent/coschedctl/named.h"
#include "node_agent/core/trace_json.h"

/* "a1b2..+1234 known, rho 0.50", "..., compute-bound" or "-". */
static void describe_region(const json_t *region, char *out, size_t size)
{
    if (!json_is_object(region)) {
        snprintf(out, size, "-");
        return;
    }
    int n = snprintf(out, size, "%s %s", ctl_text(region, "region", "-"),
                     ctl_text(region, "state", "-"));
    if (n < 0 || (size_t)n >= size)
        return;
    if (json_is_true(json_object_get(region, "compute_bound")))
        snprintf(out + n, size - (size_t)n, ", compute-bound");
    else if (json_object_get(region, "rho"))
        snprintf(out + n, size - (size_t)n, ", rho %.2f",
                 ctl_number(region, "rho"));
}

/* Name of the user UID, or its number. */
static const char *user_name(double uid, char *out, size_t size)
{
    const struct passwd *user = getpwuid((uid_t)uid);

    snprintf(out, size, "%.0f", uid);
    if (user)
        snprintf(out, size, "%s", user->pw_name);
    return errtext_clean(out);
}

static const char *local_time(double when, char *out, size_t size)
{
    time_t seconds = (time_t)when;
    struct tm local;

    if (!localtime_r(&seconds, &local) ||
        !strftime(out, size, "%Y-%m-%d %H:%M:%S", &local))
        snprintf(out, size, "?");
    return out;
}

static void print_job(FILE *out, const json_t *job)
{
    char region[256], user[10], name[14], near[40] = "";
    const json_t *share = json_object_get(job, "near");

    describe_region(json_object_get(job, "region"), region, sizeof(region));
    if (json_is_number(share))
        snprintf(near, sizeof(near), ", %.0f %% of its pages near", 100 * json_number_value(share));
    /* A job may call itself anything. */
    snprintf(name, sizeof(name), "%s", ctl_text(job, "name", "-"));
    fprintf(out, "%8.0f  %-13s %-9s %-9s %5.0f %6.2f %8.0f  %-11s %s%s\n", ctl_number(job, "job"),
            errtext_clean(name), user_name(ctl_number(job, "uid"), user, sizeof(user)),
            ctl_text(job, "state", "-"), ctl_number(job, "cores"), ctl_number(job, "mean_cores"),
            ctl_number(job, "attached"),
            *ctl_text(job, "cpus", "") ? ctl_text(job, "cpus", "") : "-", region, near);
}

static void print_node(FILE *out, const json_t *reply)
{
    json_t *drained = json_object_get(reply, "drained");
    char since[64], user[32];

    fprintf(out, "node %s, CPUs %s, policy %s, counters %s\n", ctl_text(reply, "node", "-"),
            ctl_text(reply, "cpus", "-"), ctl_text(reply, "policy", "-"),
            ctl_text(reply, "counters", "-"));
    if (!json_is_object(drained))
        return;
    local_time(ctl_number(drained, "since"), since, sizeof(since));
    fprintf(out, "sharing is drained since %s by %s%s%s: every job has what Slurm gave it\n", since,
            user_name(ctl_number(drained, "uid"), user, sizeof(user)),
            *ctl_text(drained, "reason", "-") ? ", " : "", ctl_text(drained, "reason", "-"));
}

int ctl_status(const struct arguments *a)
{
    struct ctl_named named;
    json_t *reply, *job;
    size_t i;
    int rc = ctl_ask(a, MESSAGE_STATUS, &reply, NULL);

    if (rc)
        return rc;
    json_t *jobs = json_object_get(reply, "jobs");
    if (a->job && json_array_size(jobs) == 0) {
        json_decref(reply);
        return fail(CTL_FAILED, "%s: no such job on this node", a->job);
    }
    if (a->json) {
        ctl_name_jobs(jobs);
        return ctl_print_json(reply);
    }
    FILE *out = ctl_named_open(&named);
    if (!out)
        return fail(CTL_FAILED, "status: %s", strerror(errno));
    print_node(out, reply);
    if (json_array_size(jobs))
        fprintf(out, "%8s  %-13s %-9s %-9s %5s %6s %8s  %-11s %s\n", "JOB", "NAME", "USER", "STATE",
                "CORES", "MEAN", "ATTACHED", "CPUS", "REGION");
    json_array_foreach(jobs, i, job)
        print_job(out, job);
    if (ctl_number(reply, "omitted") > 0)
        fprintf(out, "and %.0f more; name a job\n", ctl_number(reply, "omitted"));
    rc = ctl_named_print(&named, a, jobs);
    json_decref(reply);
    return rc;
}

/* "thread 17 to NUMA node 2: of 17 at 2 (300), 12 at 0 (420)" */
static void print_round(FILE *out, const json_t *round)
{
    const json_t *candidate;
    size_t i;

    fprintf(out, "              thread %.0f to NUMA node %.0f: of", ctl_number(round, "thread"),
            ctl_number(round, "node"));
    json_array_foreach(json_object_get(round, "candidates"), i, candidate)
        fprintf(out, "%s %.0f at %.0f (%.4g)", i ? "," : "", ctl_number(candidate, "thread"),
                ctl_number(candidate, "node"), ctl_number(candidate, "cost"));
    putc('\n', out);
}

static void print_decision(FILE *out, const json_t *decision)
{
    double when = ctl_number(decision, "time");
    time_t seconds = (time_t)when;
    json_t *share;
    struct tm local;
    char stamp[32];
    size_t i;

    strftime(stamp, sizeof(stamp), "%H:%M:%S", localtime_r(&seconds, &local));
    fprintf(out, "%s.%03d  %s: %s\n", stamp, (int)((when - (double)seconds) * 1e3),
            ctl_text(decision, "trigger", "-"), ctl_text(decision, "text", "-"));
    json_array_foreach(json_object_get(decision, "shares"), i, share)
        if (*ctl_text(share, "region", ""))
            fprintf(out, "              job %.0f in %s: %.0f cores\n", ctl_number(share, "job"),
                    ctl_text(share, "region", ""), ctl_number(share, "cores"));
    json_array_foreach(json_object_get(decision, "rounds"), i, share)
        print_round(out, share);
}

int ctl_last_reason(const struct arguments *a)
{
    struct ctl_named named;
    json_t *reply;
    int rc = ctl_ask(a, MESSAGE_EXPLAIN, &reply, NULL);

    if (rc)
        return rc;
    json_t *decisions = json_object_get(reply, "decisions");
    size_t count = json_array_size(decisions);
    FILE *out = ctl_named_open(&named);
    if (out && count)
        print_decision(out, json_array_get(decisions, count - 1));
    json_decref(reply);
    return ctl_named_print(&named, a, NULL);
}

int ctl_explain(const struct arguments *a)
{
    struct ctl_named named;
    json_t *reply, *decision;
    size_t i;
    int rc = ctl_ask(a, MESSAGE_EXPLAIN, &reply, NULL);

    if (rc)
        return rc;
    if (a->json)
        return ctl_print_json(reply);
    FILE *out = ctl_named_open(&named);
    if (!out)
        return fail(CTL_FAILED, "explain: %s", strerror(errno));
    json_array_foreach(json_object_get(reply, "decisions"), i, decision)
        print_decision(out, decision);
    json_decref(reply);
    return ctl_named_print(&named, a, NULL);
}

/* Write the trace behind FD as text to OUT.  Agents of 0.1 sent the text. */
static int write_trace(const struct arguments *a, int fd, FILE *out)
{
    struct ctl_named named;
    FILE *text = ctl_named_open(&named);

    if (!text)
        return -1;
    /* Without reasons it is a trace, too. */
    struct message_request request = {.op = MESSAGE_EXPLAIN,
                                      .job = (uint32_t)(a->job ? atol(a->job) : 0)};
    json_t *explained = NULL;
    ctl_call(a->socket, NULL, CTL_TIMEOUT_MS, &request, &explained, NULL, NULL);
    struct trace_view view = {.job = request.job, .now_ns = clock_ns()};
    view.decisions = json_object_get(explained, "decisions");
    view.epoch_s = ((double)clock_wall_ns() - (double)view.now_ns) * 1e-9;
    int rc = trace_json(fd, &view, text, NULL);
    int saved = errno;
    json_decref(explained);
    if (rc < 0) {
        ctl_named_drop(&named);
        errno = saved;
        return saved == EPROTO ? fd_copy(fd, fileno(out)) : -1;
    }
    return ctl_named_close(&named, a, NULL, out) || fflush(out) ? -1 : 0;
}

int ctl_trace(const struct arguments *a)
{
    json_t *reply;
    int fd;
    int rc = ctl_ask(a, MESSAGE_TRACE, &reply, &fd);

    if (rc)
        return rc;
    json_decref(reply);
    if (fd < 0)
        return fail(CTL_FAILED, "trace: the agent sent none");
    FILE *out = a->output ? fopen(a->output, "we") : stdout;
    if (!out || write_trace(a, fd, out) < 0)
        rc = fail(CTL_FAILED, "%s: %s", a->output ? a->output : "standard output",
                  strerror(errno));
    if (out && a->output)
        fclose(out);
    close(fd);
    return rc;
}

/* Print the members of a flat REPLY, one a line. */
static int print_members(const struct arguments *a, enum message_op op)
{
    json_t *reply, *value;
    const char *key;
    int rc = ctl_ask(a, op, &reply, NULL);

    if (rc)
        return rc;
    if (a->json)
        return ctl_print_json(reply);
    json_object_foreach(reply, key, value) {
        char *shown = json_dumps(value, JSON_ENCODE_ANY);
        printf("%-20s %s\n", key,
               json_is_string(value) ? json_string_value(value)
                                     : (shown ? shown : "?"));
        free(shown);
    }
    json_decref(reply);
    return CTL_OK;
}

int ctl_config(const struct arguments *a)
{
    json_t *reply, *option;
    size_t i;
    int rc = ctl_ask(a, MESSAGE_CONFIG, &reply, NULL);

    if (rc)
        return rc;
    if (a->json)
        return ctl_print_json(reply);
    printf("%-24s %-16s %s\n", "OPTION", "VALUE", "FROM");
    json_array_foreach(json_object_get(reply, "options"), i, option) {
        char name[64];
        const char *value = ctl_text(option, "value", "-");
        snprintf(name, sizeof(name), "cosched_%s", ctl_text(option, "name", "-"));
        printf("%-24s %-16s %s\n", name, *value ? value : "-",
               ctl_text(option, "from", "-"));
    }
    if (*ctl_text(reply, "partitions", ""))
        printf("partitions: %s\n", ctl_text(reply, "partitions", ""));
    if (*ctl_text(reply, "problems", ""))
        printf("without effect: %s\n", ctl_text(reply, "problems", ""));
    json_decref(reply);
    return CTL_OK;
}

int ctl_ping(const struct arguments *a)
{
    return print_members(a, MESSAGE_PING);
}
