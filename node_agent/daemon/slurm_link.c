/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's line to Slurm: a helper process, the only one with libslurm. */

#include "node_agent/daemon/slurm_link.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json_writer.h"
#include "common/log.h"
#include "common/spawn.h"

#define BACKOFF_MIN_US UINT64_C(1000000)
#define BACKOFF_MAX_US (60 * BACKOFF_MIN_US)

/* Longest line from the helper; SchedulerParameters are far below. */
#define LINE_MAX_BYTES 65536

struct slurm_link {
    sd_event *event;
    char *program;
    char *node;
    char *records; /* or NULL */
    const struct slurm_link_handler *handler;
    void *arg;
    pid_t pid; /* 0: none */
    int to;    /* helper's standard input, -1: none */
    int from;  /* its standard output */
    sd_event_source *read_source;
    sd_event_source *child_source;
    sd_event_source *restart_source;
    uint64_t backoff_us;
    uint64_t started_ns;
    size_t used;
    char line[LINE_MAX_BYTES];
};

static void helper_start(struct slurm_link *l);

static int on_restart(sd_event_source *source, uint64_t usec, void *arg)
{
    (void)source;
    (void)usec;
    helper_start(arg);
    return 0;
}

static void helper_restart_later(struct slurm_link *l)
{
    l->restart_source = sd_event_source_disable_unref(l->restart_source);
    if (sd_event_add_time_relative(l->event, &l->restart_source,
                                   CLOCK_MONOTONIC, l->backoff_us, 0,
                                   on_restart, l) < 0)
        log_error("%s: out of memory; it is not started again", l->program);
    l->backoff_us *= 2;
    if (l->backoff_us > BACKOFF_MAX_US)
        l->backoff_us = BACKOFF_MAX_US;
}

static void close_pipes(struct slurm_link *l)
{
    l->read_source = sd_event_source_disable_unref(l->read_source);
    if (l->to >= 0)
        close(l->to);
    if (l->from >= 0)
        close(l->from);
    l->to = l->from = -1;
    l->used = 0;
}

static int on_child(sd_event_source *source, const siginfo_t *info, void *arg)
{
    struct slurm_link *l = arg;

    (void)source;
    log_warn("%s ended (%s %d); starting it again in %llu s", l->program,
             info->si_code == CLD_EXITED ? "exit status" : "signal",
             info->si_status,
             (unsigned long long)(l->backoff_us / BACKOFF_MIN_US));
    l->child_source = sd_event_source_disable_unref(l->child_source);
    l->pid = 0;
    close_pipes(l);
    if (clock_ns() - l->started_ns > 60 * NS_PER_S)
        l->backoff_us = BACKOFF_MIN_US; /* it had worked for a while */
    helper_restart_later(l);
    return 0;
}

/* What the helper says of records and comments. */
static void on_record(struct slurm_link *l, const char *event, uint32_t job, uint64_t end_s,
                      uint32_t count, const char *why)
{
    const struct slurm_link_handler *h = l->handler;

    if (!strcmp(event, "kept") && h->kept)
        h->kept(l->arg, job, end_s);
    else if (!strcmp(event, "recorded") && h->recorded)
        h->recorded(l->arg, job, end_s);
    else if (!strcmp(event, "failed") && h->failed)
        h->failed(l->arg, job, end_s, why);
    else if ((!strcmp(event, "waiting") || !strcmp(event, "unkept")) && h->trouble)
        h->trouble(l->arg, event, count, why);
}

static void on_line(struct slurm_link *l, const char *line)
{
    const struct slurm_link_handler *h = l->handler;
    json_error_t error;
    const char *event, *why = "no reason", *comment = "";
    struct slurm_says says = {0};
    json_int_t job = 0, end_s = 0, count = 0, slurm_user = 0;
    int private_jobs = 0;
    json_t *root = json_loads(line, 0, &error);

    if (!root ||
        json_unpack(root, "{s:s, s?b, s?I, s?s, s?s, s?s, s?I, s?I, s?I, s?s, s?s}", "event",
                    &event, "private_jobs", &private_jobs, "slurm_user", &slurm_user,
                    "scheduler_parameters", &says.scheduler_parameters,
                    "partitions", &says.partitions, "others", &says.others,
                    "job", &job, "end", &end_s, "count", &count, "error", &why, "comment",
                    &comment) < 0)
        log_warn("%s wrote what is no event: %.80s", l->program, line);
    else if (!strcmp(event, "config") && h->config) {
        says.private_jobs = private_jobs;
        says.slurm_user = (uid_t)slurm_user;
        h->config(l->arg, &says);
    } else if (!strcmp(event, "absent") && h->absent)
        h->absent(l->arg, why);
    else if (!strcmp(event, "present") && h->absent)
        h->absent(l->arg, NULL);
    else if (!strcmp(event, "job") && h->job)
        h->job(l->arg, (uint32_t)job, comment);
    else
        on_record(l, event, (uint32_t)job, (uint64_t)end_s, (uint32_t)count, why);
    json_decref(root);
}

static int on_output(sd_event_source *source, int fd, uint32_t events,
                     void *arg)
{
    struct slurm_link *l = arg;
    char *newline;

    (void)events;
    ssize_t n = read(fd, l->line + l->used, sizeof(l->line) - 1 - l->used);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        sd_event_source_set_enabled(source, SD_EVENT_OFF); /* it is ending */
        return 0;
    }
    l->used += (size_t)n;
    l->line[l->used] = '\0';
    while ((newline = memchr(l->line, '\n', l->used))) {
        *newline = '\0';
        on_line(l, l->line);
        l->used -= (size_t)(newline + 1 - l->line);
        memmove(l->line, newline + 1, l->used);
    }
    if (l->used == sizeof(l->line) - 1) {
        log_warn("%s wrote a line that is too long", l->program);
        l->used = 0;
    }
    return 0;
}

/* End the helper, which obeys SIGTERM at any time. */
static void helper_end(struct slurm_link *l)
{
    l->child_source = sd_event_source_disable_unref(l->child_source);
    close_pipes(l);
    if (l->pid <= 0)
        return;
    kill(l->pid, SIGTERM);
    while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    l->pid = 0;
}

/* Listen to the helper that was started. */
static int watch(struct slurm_link *l)
{
    /* A helper that does not read must not stop the agent. */
    if (fcntl(l->to, F_SETFL, O_NONBLOCK) < 0 ||
        fcntl(l->from, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    int rc = sd_event_add_io(l->event, &l->read_source, l->from, EPOLLIN,
                             on_output, l);
    return rc < 0 ? rc
                  : sd_event_add_child(l->event, &l->child_source, l->pid,
                                       WEXITED, on_child, l);
}

static void helper_start(struct slurm_link *l)
{
    char node[] = "--node", records[] = "--records";
    char *argv[] = {l->program, node, l->node, l->records ? records : NULL, l->records, NULL};
    int in[2], out[2];

    if (pipe2(in, O_CLOEXEC) < 0) {
        helper_restart_later(l);
        return;
    }
    if (pipe2(out, O_CLOEXEC) < 0) {
        close(in[0]);
        close(in[1]);
        helper_restart_later(l);
        return;
    }
    int rc = spawn_program(argv, (int[]){in[0], out[1], SPAWN_SAME}, 3, &l->pid);
    close(in[0]);
    close(out[1]);
    l->to = in[1];
    l->from = out[0];
    if (rc)
        l->pid = 0;
    else
        rc = -watch(l);
    if (rc > 0) {
        log_warn("%s: %s; no %s for now", l->program, strerror(rc),
                 l->records ? "records" : "slurm.conf");
        helper_end(l);
        helper_restart_later(l);
        return;
    }
    l->started_ns = clock_ns();
    l->handler->ready(l->arg);
}

static struct slurm_link *drop(struct slurm_link *l)
{
    free(l->program);
    free(l->node);
    free(l->records);
    free(l);
    return NULL;
}

struct slurm_link *slurm_link_new(sd_event *event, const char *program,
                                  const char *node, const char *records,
                                  const struct slurm_link_handler *handler,
                                  void *arg)
{
    struct slurm_link *l = calloc(1, sizeof(*l));

    errno = ENOMEM;
    if (!l)
        return NULL;
    if (!(l->program = strdup(program)) || !(l->node = strdup(node)) ||
        (records && !(l->records = strdup(records))))
        return drop(l);
    l->event = event;
    l->handler = handler;
    l->arg = arg;
    l->to = l->from = -1;
    l->backoff_us = BACKOFF_MIN_US;
    /* From the loop, so that the handler sees a complete agent. */
    int rc = sd_event_add_time_relative(event, &l->restart_source, CLOCK_MONOTONIC, 0, 0,
                                        on_restart, l);
    return rc < 0 ? drop(l) : l;
}

/* Send the command ROOT, which is released. */
static int send_command(struct slurm_link *l, json_t *root)
{
    char *line = root ? json_writer_text(root, JSON_COMPACT) : NULL;
    int rc = -1;

    json_decref(root);
    if (line && l->to >= 0) {
        size_t length = strlen(line);
        line[length] = '\n'; /* over the zero: written with its length */
        /* Below PIPE_BUF: all or nothing.  SIGPIPE is ignored by main. */
        if (write(l->to, line, length + 1) == (ssize_t)length + 1)
            rc = 0;
    }
    free(line);
    return rc;
}

bool slurm_link_alive(const struct slurm_link *l)
{
    return l->pid > 0;
}

int slurm_link_comment(struct slurm_link *l, uint32_t job, const char *text)
{
    return send_command(l, json_pack("{s:s, s:I, s:s}", "cmd", "comment", "job",
                                     (json_int_t)job, "text", text));
}

int slurm_link_record(struct slurm_link *l, uint32_t job, const char *text, uint64_t end_s)
{
    return send_command(l, json_pack("{s:s, s:I, s:s, s:I}", "cmd", "record", "job",
                                     (json_int_t)job, "text", text, "end",
                                     (json_int_t)end_s));
}

int slurm_link_collector(struct slurm_link *l, const char *to, const char *munge)
{
    return send_command(l, json_pack("{s:s, s:s, s:s*}", "cmd", "collector", "to", to, "munge",
                                     munge));
}

int slurm_link_ask(struct slurm_link *l, uint32_t job)
{
    return send_command(l, json_pack("{s:s, s:I}", "cmd", "job", "job",
                                     (json_int_t)job));
}

void slurm_link_free(struct slurm_link *l)
{
    if (!l)
        return;
    sd_event_source_disable_unref(l->restart_source);
    /* What it was doing is in our state, to be sent again. */
    helper_end(l);
    drop(l);
}
