/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Asks what the regions are called that jobs spend most of their time in. */

#include "node_agent/daemon/namer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/core/hot.h"
#include "node_agent/core/process.h"
#include "node_agent/daemon/server.h"

#define LINE_MAX_BYTES 160 /* of an answer: a region and its name */
#define QUESTION_MAX   (32 + HOT_MOST * REGION_NAME_MAX)

/* A question that waits for its answer. */
struct question {
    struct namer *namer;
    int fd; /* -1: none */
    uint32_t job;
    uid_t uid;
    uint64_t announced_ns; /* of that job: its number may be used again */
    char region[HOT_MOST][REGION_NAME_MAX];
    size_t regions;
    sd_event_source *read_source, *late_source;
    size_t used;
    char answer[HOT_MOST * LINE_MAX_BYTES + 1];
};

struct namer {
    sd_event *event;
    struct job_table *jobs;
    struct sockaddr_un address;
    uint64_t absent_until_ns;
    struct question question[NAMER_MOST];
};

struct namer *namer_new(sd_event *event, struct job_table *jobs, const char *socket)
{
    struct namer *n = calloc(1, sizeof(*n));

    if (!n)
        return NULL;
    n->event = sd_event_ref(event);
    n->jobs = jobs;
    n->address.sun_family = AF_UNIX;
    if (snprintf(n->address.sun_path, sizeof(n->address.sun_path), "%s.names", socket) >=
        (int)sizeof(n->address.sun_path))
        n->absent_until_ns = UINT64_MAX;
    for (size_t i = 0; i < NAMER_MOST; i++)
        n->question[i] = (struct question){.namer = n, .fd = -1};
    return n;
}

/* ---- answers -------------------------------------------------------------- */

static void end_question(struct question *q)
{
    q->read_source = sd_event_source_disable_unref(q->read_source);
    q->late_source = sd_event_source_disable_unref(q->late_source);
    if (q->fd >= 0)
        close(q->fd);
    q->fd = -1;
}

/* What the answer says of REGION, or "". */
static const char *label_in(char *answer, const char *region)
{
    size_t length = strlen(region);

    for (char *line = answer, *next; line; line = next) {
        if ((next = strchr(line, '\n')))
            *next++ = '\0';
        if (!strncmp(line, region, length) && line[length] == ' ')
            return line + length + 1;
    }
    return "";
}

/* All that was said is here. */
static void take(struct question *q)
{
    struct job *job = job_find(q->namer->jobs, q->job);
    char id[REGION_NAME_MAX], answer[sizeof(q->answer)];

    if (!job || job->announced_ns != q->announced_ns)
        return;
    for (struct region *s = job->regions.first; s; s = s->next)
        for (size_t i = 0; !s->folded && i < q->regions; i++)
            if (!strcmp(region_name(s, id), q->region[i])) {
                memcpy(answer, q->answer, q->used + 1);
                hot_name(s, label_in(answer, id));
            }
    hot_note(&job->record, &job->regions);
}

static int on_answer(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct question *q = arg;
    size_t room = sizeof(q->answer) - 1 - q->used;

    (void)source;
    (void)events;
    ssize_t n = room ? read(fd, q->answer + q->used, room) : -1;
    if (n < 0 && room && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n > 0) {
        q->used += (size_t)n;
        q->answer[q->used] = '\0';
        return 0;
    }
    if (n == 0)
        take(q);
    end_question(q);
    return 0;
}

static int on_late(sd_event_source *source, uint64_t usec, void *arg)
{
    (void)source;
    (void)usec;
    end_question(arg);
    return 0;
}

/* ---- questions -------------------------------------------------------------- */

static bool has(const struct process *p, const struct region *s)
{
    for (uint32_t i = 0; !p->bad && i < p->view->used; i++)
        if (p->view->regions[i].object_id == s->object_id &&
            p->view->regions[i].offset == s->offset)
            return true;
    return false;
}

/* Those of JOB's hot regions of which nobody was asked, and that the process has which has the
 * first of them, into *Q.  That process' pid; 0: there are none. */
static pid_t choose(struct question *q, const struct job *job)
{
    struct region *hot[HOT_MOST];
    size_t count = hot_regions(&job->regions, hot);
    const struct process *of = NULL;

    q->regions = 0;
    for (size_t i = 0; i < count; i++) {
        if (hot[i]->folded || hot[i]->asked)
            continue;
        const struct process *p = job->processes;
        while (p && !has(p, hot[i]))
            p = p->next;
        if (p && (!of || has(of, hot[i]))) {
            of = of ? of : p;
            region_name(hot[i], q->region[q->regions++]);
        }
    }
    return of ? of->pid : 0;
}

/* Send the question; -1: nobody takes it. */
static int send_question(struct question *q, pid_t pid)
{
    char text[QUESTION_MAX];
    size_t used = (size_t)snprintf(text, sizeof(text), "%d %u", (int)pid, (unsigned)q->uid);

    for (size_t i = 0; i < q->regions; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, " %s", q->region[i]);
    text[used++] = '\n';
    q->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (q->fd < 0 ||
        connect(q->fd, (const struct sockaddr *)&q->namer->address,
                sizeof(q->namer->address)) < 0 ||
        send(q->fd, text, used, MSG_NOSIGNAL) != (ssize_t)used)
        return -1;
    return sd_event_add_io(q->namer->event, &q->read_source, q->fd, EPOLLIN, on_answer, q) < 0 ||
                   sd_event_source_set_priority(q->read_source, EVENT_USERS_PRIORITY) < 0 ||
                   sd_event_add_time_relative(q->namer->event, &q->late_source, CLOCK_MONOTONIC,
                                              NAMER_WAIT_NS / NS_PER_US, 0, on_late, q) < 0
               ? -1
               : 0;
}

/* JOB's turn: ask with Q if there is something to ask. */
static void ask(struct question *q, struct job *job, uint64_t now_ns)
{
    struct namer *n = q->namer;

    job->name_pause_ns = job->name_pause_ns ? 2 * job->name_pause_ns : NAMER_FIRST_NS;
    job->name_at_ns = now_ns + job->name_pause_ns;
    pid_t pid = choose(q, job);
    if (!pid)
        return;
    q->job = job->id;
    q->uid = job->uid;
    q->announced_ns = job->announced_ns;
    q->used = 0;
    q->answer[0] = '\0';
    if (send_question(q, pid) < 0) {
        log_debug("names of regions: %s: %s", n->address.sun_path, strerror(errno));
        n->absent_until_ns = now_ns + NAMER_ABSENT_NS;
        end_question(q);
    }
}

/* A free question; NULL: there is none, or UID has one. */
static struct question *free_question(struct namer *n, uid_t uid)
{
    struct question *found = NULL;

    for (size_t i = 0; i < NAMER_MOST; i++)
        if (n->question[i].fd < 0)
            found = &n->question[i];
        else if (n->question[i].uid == uid)
            return NULL;
    return found;
}

void namer_epoch(struct namer *n, uint64_t now_ns)
{
    struct job *due = NULL;
    struct question *q = NULL, *with;

    if (now_ns < n->absent_until_ns)
        return;
    /* Who has waited longest is next. */
    for (struct job *j = n->jobs->first; j; j = j->next) {
        if (!j->processes || !j->regions.count || j->node)
            continue;
        if (!j->name_at_ns)
            j->name_at_ns = now_ns + NAMER_FIRST_NS;
        if (now_ns >= j->name_at_ns && (!due || j->name_at_ns < due->name_at_ns) &&
            (with = free_question(n, j->uid))) {
            due = j;
            q = with;
        }
    }
    if (due)
        ask(q, due, now_ns);
}

void namer_free(struct namer *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < NAMER_MOST; i++)
        end_question(&n->question[i]);
    sd_event_unref(n->event);
    free(n);
}
