/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A trace as text for Perfetto and chrome://tracing. */

#include "node_agent/core/trace_json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "node_agent/core/trace.h"
#include "protocol/cpulist.h"

/* Process numbers in the trace, which sort its tracks. */
#define TRACK_CPUS 1
#define TRACK_JOBS 2

struct writer {
    FILE *out;
    bool comma;
};

static void begin(struct writer *w)
{
    fputs(w->comma ? ",\n" : "\n", w->out);
    w->comma = true;
}

/* A complete event ("X") of NAME on thread TID of process PID.  The agent goes on while its
 * trace is written: what began after the caller looked at the clock has lasted for no time. */
static void span(struct writer *w, int pid, uint32_t tid, const char *name,
                 uint64_t from_ns, uint64_t to_ns)
{
    begin(w);
    /* Not by jansson: that takes 8.5 us an event and this 1.8.  Names are job
     * numbers and our own words, with nothing to escape. */
    fprintf(w->out,
            "{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"name\":\"%s\","
            "\"ts\":%.3f,\"dur\":%.3f}",
            pid, tid, name, (double)from_ns / 1e3,
            to_ns > from_ns ? (double)(to_ns - from_ns) / 1e3 : 0);
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
                           const struct trace_event *e)
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
            "\"ts\":%.3f,\"args\":{\"cores\":%u}}",
            TRACK_JOBS, e->job, (double)e->ns / 1e3, e->cores);
}

/* The state that a job is in, while the events are played back. */
struct stay {
    uint32_t job;
    const struct trace_event *event; /* NULL: none */
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
                      const struct trace_event *e)
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

/* Play back the events number FIRST to END-1. */
static int play(struct writer *w, const struct trace_event *events,
                uint64_t first, uint64_t end, uint32_t job, uint64_t now_ns,
                struct holder *holders)
{
    struct stay *stays = NULL;
    int rc = 0;

    label(w, TRACK_CPUS, "process_name", 0, "CPUs");
    label(w, TRACK_JOBS, "process_name", 0, "jobs");
    for (uint64_t i = first; i < end && rc == 0; i++) {
        const struct trace_event *e = &events[i % TRACE_EVENTS];
        if (job && e->job != job)
            continue;
        if (e->cores == TRACE_IS_STATE)
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

/* Copy RING's events to COPY; those number *FIRST to *END-1 are whole.  The
 * slot that comes next may be in the middle of a change. */
static void copy_events(const struct trace_ring *ring, struct trace_event *copy,
                        uint64_t *first, uint64_t *end)
{
    *end = __atomic_load_n(&ring->count, __ATOMIC_ACQUIRE);
    memcpy(copy, ring->event, sizeof(ring->event));
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    uint64_t after = __atomic_load_n(&ring->count, __ATOMIC_RELAXED);
    *first = after >= TRACE_EVENTS ? after - TRACE_EVENTS + 1 : 0;
    if (*first > *end)
        *first = *end;
}

static int write_ring(const struct trace_ring *ring, uint32_t job,
                      uint64_t now_ns, FILE *out, struct errtext *err)
{
    struct trace_event *copy = malloc(sizeof(ring->event));
    struct holder *holders = calloc(COSCHED_MAX_CPUS, sizeof(*holders));
    struct writer w = {.out = out};
    uint64_t first, end;
    int rc = -1;

    if (copy && holders) {
        copy_events(ring, copy, &first, &end);
        fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", out);
        rc = play(&w, copy, first, end, job, now_ns, holders);
        fputs("\n]}\n", out);
        if (fflush(out) || ferror(out))
            rc = errtext_set(err, errno, "trace: %s", strerror(errno));
    } else {
        errtext_set(err, ENOMEM, "trace: out of memory");
    }
    free(holders);
    free(copy);
    return rc;
}

int trace_json(int fd, uint32_t job, uint64_t now_ns, FILE *out,
               struct errtext *err)
{
    const struct trace_ring *ring;
    struct stat st;

    if (fstat(fd, &st) < 0)
        return errtext_set(err, errno, "trace: %s", strerror(errno));
    if (st.st_size != sizeof(*ring))
        return errtext_set(err, EPROTO, "trace: not one of this version");
    ring = mmap(NULL, sizeof(*ring), PROT_READ, MAP_SHARED, fd, 0);
    if (ring == MAP_FAILED)
        return errtext_set(err, errno, "trace: %s", strerror(errno));
    int rc = ring->magic == TRACE_MAGIC && ring->version == TRACE_VERSION
                 ? write_ring(ring, job, now_ns, out, err)
                 : errtext_set(err, EPROTO, "trace: not one of this version");
    int saved = errno;
    munmap((void *)ring, sizeof(*ring));
    errno = saved;
    return rc;
}
