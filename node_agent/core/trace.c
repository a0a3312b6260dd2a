/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Who had which CPU when, for Perfetto and chrome://tracing. */

#include "node_agent/core/trace.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "protocol/cpulist.h"

/* Process numbers in the trace, which sort its tracks. */
#define TRACK_CPUS 1
#define TRACK_JOBS 2

struct event {
    uint64_t ns;
    uint32_t job;
    bool is_state;
    union {
        struct {
            struct cosched_cpuset cpus;
            size_t cores;
        };
        char state[TRACE_STATE];
    };
};

struct trace {
    size_t next;
    size_t count;
    struct event event[TRACE_EVENTS];
};

struct trace *trace_new(void)
{
    return calloc(1, sizeof(struct trace));
}

void trace_free(struct trace *t)
{
    free(t);
}

static struct event *add(struct trace *t, uint64_t now_ns, uint32_t job)
{
    struct event *e = &t->event[t->next];

    t->next = (t->next + 1) % TRACE_EVENTS;
    if (t->count < TRACE_EVENTS)
        t->count++;
    memset(e, 0, sizeof(*e));
    e->ns = now_ns;
    e->job = job;
    return e;
}

/* The I-th oldest event. */
static const struct event *at(const struct trace *t, size_t i)
{
    return &t->event[(t->next + TRACE_EVENTS - t->count + i) % TRACE_EVENTS];
}

void trace_allotment(struct trace *t, uint64_t now_ns, uint32_t job,
                     const struct cosched_cpuset *cpus, size_t cores)
{
    struct event *e = add(t, now_ns, job);

    e->cpus = *cpus;
    e->cores = cores;
}

void trace_state(struct trace *t, uint64_t now_ns, uint32_t job,
                 const char *text)
{
    struct event *e = add(t, now_ns, job);

    e->is_state = true;
    snprintf(e->state, sizeof(e->state), "%s", text);
}

/* ---- writing ------------------------------------------------------------ */

struct writer {
    FILE *out;
    bool comma;
};

static void begin(struct writer *w)
{
    fputs(w->comma ? ",\n" : "\n", w->out);
    w->comma = true;
}

/* A complete event ("X") of NAME on thread TID of process PID. */
static void span(struct writer *w, int pid, uint32_t tid, const char *name,
                 uint64_t from_ns, uint64_t to_ns)
{
    begin(w);
    /* Not by jansson: that takes 8.5 us an event and this 1.8, and the agent must
     * not be silent for a lease.  Names are job numbers and our own words, with
     * nothing to escape. */
    fprintf(w->out,
            "{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"name\":\"%s\","
            "\"ts\":%.3f,\"dur\":%.3f}",
            pid, tid, name, (double)from_ns / 1e3,
            (double)(to_ns - from_ns) / 1e3);
}

static void label(struct writer *w, int pid, const char *kind, uint32_t tid,
                  const char *name)
{
    begin(w);
    fprintf(w->out,
            "{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"name\":\"%s\","
            "\"args\":{\"name\":\"%s\"}}",
            pid, tid, kind, name);
}

/* Who has a CPU, while the events are played back. */
struct holder {
    uint32_t job; /* 0: nobody */
    uint64_t since_ns;
    bool named;
};

static void end_hold(struct writer *w, int cpu, struct holder *h,
                     uint64_t now_ns)
{
    char name[32];

    if (!h->job)
        return;
    if (!h->named) {
        snprintf(name, sizeof(name), "CPU %d", cpu);
        label(w, TRACK_CPUS, "thread_name", (uint32_t)cpu, name);
        h->named = true;
    }
    snprintf(name, sizeof(name), "job %u", h->job);
    span(w, TRACK_CPUS, (uint32_t)cpu, name, h->since_ns, now_ns);
    h->job = 0;
}

static void play_allotment(struct writer *w, struct holder *holders,
                           const struct event *e)
{
    for (int c = 0; c < COSCHED_MAX_CPUS; c++) {
        bool has = cpuset_has(&e->cpus, c);
        if (holders[c].job == e->job && !has)
            end_hold(w, c, &holders[c], e->ns);
        if (has && holders[c].job != e->job) {
            end_hold(w, c, &holders[c], e->ns);
            holders[c].job = e->job;
            holders[c].since_ns = e->ns;
        }
    }
    begin(w);
    fprintf(w->out,
            "{\"ph\":\"C\",\"pid\":%d,\"name\":\"cores of job %u\","
            "\"ts\":%.3f,\"args\":{\"cores\":%zu}}",
            TRACK_JOBS, e->job, (double)e->ns / 1e3, e->cores);
}

/* The state that a job is in, while the events are played back. */
struct stay {
    uint32_t job;
    const struct event *event; /* NULL: none */
    struct stay *next;
};

static void end_stay(struct writer *w, struct stay *stay, uint64_t now_ns)
{
    if (stay->event)
        span(w, TRACK_JOBS, stay->job, stay->event->state, stay->event->ns,
             now_ns);
    stay->event = NULL;
}

static int play_state(struct writer *w, struct stay **stays,
                      const struct event *e)
{
    struct stay *stay = *stays;

    while (stay && stay->job != e->job)
        stay = stay->next;
    if (!stay) {
        char name[32];
        if (!(stay = calloc(1, sizeof(*stay))))
            return -1;
        stay->job = e->job;
        stay->next = *stays;
        *stays = stay;
        snprintf(name, sizeof(name), "job %u", e->job);
        label(w, TRACK_JOBS, "thread_name", e->job, name);
    }
    end_stay(w, stay, e->ns);
    stay->event = e;
    return 0;
}

static int play(struct writer *w, const struct trace *t, uint32_t job,
                uint64_t now_ns, struct holder *holders)
{
    struct stay *stays = NULL;
    int rc = 0;

    label(w, TRACK_CPUS, "process_name", 0, "CPUs");
    label(w, TRACK_JOBS, "process_name", 0, "jobs");
    for (size_t i = 0; i < t->count && rc == 0; i++) {
        const struct event *e = at(t, i);
        if (job && e->job != job)
            continue;
        if (e->is_state)
            rc = play_state(w, &stays, e);
        else
            play_allotment(w, holders, e);
    }
    for (int c = 0; c < COSCHED_MAX_CPUS; c++)
        end_hold(w, c, &holders[c], now_ns);
    while (stays) {
        struct stay *stay = stays;
        end_stay(w, stay, now_ns);
        stays = stay->next;
        free(stay);
    }
    return rc;
}

int trace_write(const struct trace *t, uint32_t job, uint64_t now_ns,
                struct errtext *err)
{
    struct holder *holders = calloc(COSCHED_MAX_CPUS, sizeof(*holders));
    int fd = memfd_create("cosched-trace", MFD_CLOEXEC);
    int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    struct writer w = {.out = copy < 0 ? NULL : fdopen(copy, "w")};
    int rc = -1;

    if (holders && w.out) {
        fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", w.out);
        rc = play(&w, t, job, now_ns, holders);
        fputs("\n]}\n", w.out);
        rc |= ferror(w.out);
        if (fclose(w.out) || rc)
            rc = errtext_set(err, ENOSPC, "trace: cannot write it");
        else if (lseek(fd, 0, SEEK_SET) < 0)
            rc = errtext_set(err, errno, "trace: %s", strerror(errno));
    } else {
        if (copy >= 0)
            close(copy);
        errtext_set(err, ENOMEM, "trace: out of memory");
    }
    free(holders);
    if (rc < 0 && fd >= 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        fd = -1;
    }
    return rc < 0 ? -1 : fd;
}
