/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A trace as text for Perfetto and chrome://tracing. */

#include "node_agent/core/trace_json.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "node_agent/core/trace.h"
#include "protocol/cpulist.h"

/* Process numbers in the trace, which sort its tracks. */
enum track { TRACK_CPUS = 1, TRACK_JOBS, TRACK_DECISIONS, TRACK_USE, TRACKS };

static const char *const track_names[TRACKS] = {
    [TRACK_CPUS] = "CPUs",
    [TRACK_JOBS] = "jobs",
    [TRACK_DECISIONS] = "decisions",
    [TRACK_USE] = "utilisation",
};

/* Colours of jobs, by the names that chrome://tracing has; Perfetto makes its own of the names of
 * spans, which are the same for all of a job's. */
static const char *const colours[] = {
    "thread_state_running", "rail_response", "rail_animation", "rail_idle",
    "thread_state_iowait", "rail_load", "cq_build_running", "thread_state_unknown",
};

struct writer {
    FILE *out;
    uint32_t version; /* of the trace */
    bool comma;
};

static void begin(struct writer *w)
{
    fputs(w->comma ? ",\n" : "\n", w->out);
    w->comma = true;
}

/* A complete event ("X") of NAME on thread TID of process PID.  The agent goes on while its
 * trace is written: what began after the caller looked at the clock has lasted for no time. */
static void span(struct writer *w, int pid, uint32_t tid, const char *name, uint32_t job,
                 uint64_t from_ns, uint64_t to_ns)
{
    begin(w);
    /* Not by jansson: that takes 8.5 us an event and this 1.8.  Names are job
     * numbers and our own words, with nothing to escape. */
    fprintf(w->out,
            "{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"name\":\"%s\",\"cname\":\"%s\","
            "\"ts\":%.3f,\"dur\":%.3f}",
            pid, tid, name, colours[job % (sizeof(colours) / sizeof(*colours))],
            (double)from_ns / 1e3, to_ns > from_ns ? (double)(to_ns - from_ns) / 1e3 : 0);
}

/* NAME, a member called KEY, has VALUE from NS on; one that is not known is left out. */
static void counter(struct writer *w, int pid, const char *name, const char *key, uint64_t ns,
                    double value)
{
    if (!isfinite(value))
        return;
    begin(w);
    fprintf(w->out,
            "{\"ph\":\"C\",\"pid\":%d,\"name\":\"%s\",\"ts\":%.3f,\"args\":{\"%s\":%.6g}}", pid,
            name, (double)ns / 1e3, key, value);
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

/* Sorted as they are numbered, not by name. */
static void sort_at(struct writer *w, int pid, const char *kind, uint32_t tid, uint32_t index)
{
    begin(w);
    fprintf(w->out,
            "{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"name\":\"%s\",\"args\":{\"sort_index\":%u}}",
            pid, tid, kind, index);
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
        sort_at(w, TRACK_CPUS, "thread_sort_index", (uint32_t)cpu, (uint32_t)cpu);
        h->named = true;
    }
    snprintf(name, sizeof(name), "job %u", h->job);
    span(w, TRACK_CPUS, (uint32_t)cpu, name, h->job, h->since_ns, now_ns);
    h->job = 0;
}

static void play_allotment(struct writer *w, struct holder *holders,
                           const struct trace_event *e)
{
    char name[32];
    unsigned held = 0;

    for (int c = 0; c < COSCHED_MAX_CPUS; c++) {
        bool has = cpuset_has(&e->cpus, c);
        if (holders[c].job == e->job && !has)
            end_hold(w, c, &holders[c], e->ns);
        if (has && holders[c].job != e->job) {
            end_hold(w, c, &holders[c], e->ns);
            holders[c].job = e->job;
            holders[c].since_ns = e->ns;
        }
        held += holders[c].job != 0;
    }
    snprintf(name, sizeof(name), "cores of job %u", e->job);
    counter(w, TRACK_JOBS, name, "cores", e->ns, e->cores);
    counter(w, TRACK_USE, "CPUs held", "CPUs", e->ns, held);
}

/* What a job does, while the events are played back. */
struct stay {
    uint32_t job;
    const struct trace_event *event; /* of its state; NULL: none */
    const struct trace_event *speed; /* last; NULL: none */
    struct stay *next;
};

static void end_stay(struct writer *w, struct stay *stay, uint64_t now_ns)
{
    if (stay->event)
        span(w, TRACK_JOBS, stay->job, stay->event->state, stay->job, stay->event->ns, now_ns);
    stay->event = NULL;
}

/* That of JOB in *STAYS, made if need be; NULL when out of memory. */
static struct stay *find_stay(struct writer *w, struct stay **stays, uint32_t job)
{
    struct stay *stay = *stays;
    char name[32];

    while (stay && stay->job != job)
        stay = stay->next;
    if (stay || !(stay = calloc(1, sizeof(*stay))))
        return stay;
    stay->job = job;
    stay->next = *stays;
    *stays = stay;
    snprintf(name, sizeof(name), "job %u", job);
    label(w, TRACK_JOBS, "thread_name", job, name);
    sort_at(w, TRACK_JOBS, "thread_sort_index", job, job);
    return stay;
}

static int play_state(struct writer *w, struct stay **stays, const struct trace_event *e)
{
    struct stay *stay = find_stay(w, stays, e->job);

    if (!stay)
        return -1;
    end_stay(w, stay, e->ns);
    stay->event = e;
    return 0;
}

static int play_speed(struct writer *w, struct stay **stays, const struct trace_event *e)
{
    struct stay *stay = find_stay(w, stays, e->job);
    char name[48];

    if (!stay)
        return -1;
    const struct trace_event *before = stay->speed;
    stay->speed = e;
    if (!before || before->speed.predicted != e->speed.predicted) {
        snprintf(name, sizeof(name), "predicted speed of job %u", e->job);
        counter(w, TRACK_JOBS, name, "relative", e->ns, e->speed.predicted);
    }
    if (!before || e->ns <= before->ns)
        return 0;
    double seconds = (double)(e->ns - before->ns) * 1e-9;
    if (e->speed.barriers >= before->speed.barriers) {
        snprintf(name, sizeof(name), "barriers of job %u", e->job);
        counter(w, TRACK_JOBS, name, "per_s", before->ns,
                (e->speed.barriers - before->speed.barriers) / seconds);
    }
    if (w->version >= 3 && e->speed.waited_s >= before->speed.waited_s) {
        snprintf(name, sizeof(name), "barrier waits of job %u", e->job);
        counter(w, TRACK_JOBS, name, "cores", before->ns,
                (e->speed.waited_s - before->speed.waited_s) / seconds);
    }
    return 0;
}

static void play_use(struct writer *w, const struct trace_event *e)
{
    size_t controllers = e->use.controllers, links = e->use.links;
    char name[48];

    counter(w, TRACK_USE, "computing", "cores", e->ns, (double)e->use.computing);
    for (size_t i = 0; i < controllers + links && i < TRACE_LOADS; i++) {
        snprintf(name, sizeof(name), "%s %zu", i < controllers ? "controller" : "link",
                 i < controllers ? i : i - controllers);
        counter(w, TRACK_USE, name, "utilisation", e->ns, (double)e->use.load[i]);
    }
}

/* A decision of the log as an instant.  Texts are of whoever, so jansson writes them. */
static void play_decision(struct writer *w, const json_t *decision, double epoch_s)
{
    const char *trigger = "", *policy = "", *reason = "";
    json_t *shares = NULL;
    double time_s = 0;

    if (json_unpack((json_t *)decision, "{s:F, s?s, s?s, s?s, s?o}", "time", &time_s, "trigger",
                    &trigger, "policy", &policy, "text", &reason, "shares", &shares) < 0 ||
        time_s < epoch_s)
        return;
    json_t *event = json_pack("{s:s, s:s, s:i, s:i, s:s, s:f, s:{s:s, s:s, s:O*}}", "ph", "i", "s",
                              "t", "pid", TRACK_DECISIONS, "tid", 0, "name",
                              *trigger ? trigger : "decision", "ts", (time_s - epoch_s) * 1e6,
                              "args", "policy", policy, "reason", reason, "shares", shares);
    if (!event)
        return;
    begin(w);
    json_dumpf(event, w->out, JSON_COMPACT);
    json_decref(event);
}

static int play_event(struct writer *w, struct stay **stays, struct holder *holders,
                      const struct trace_event *e)
{
    switch (e->cores) {
    case TRACE_IS_STATE:
        return play_state(w, stays, e);
    case TRACE_IS_SPEED:
        return play_speed(w, stays, e);
    case TRACE_IS_USE:
        play_use(w, e);
        return 0;
    default:
        play_allotment(w, holders, e);
        return 0;
    }
}

/* Play back the events number FIRST to END-1. */
static int play(struct writer *w, const struct trace_event *events, uint64_t first, uint64_t end,
                const struct trace_view *view, struct holder *holders)
{
    struct stay *stays = NULL;
    const json_t *decision;
    size_t d;
    int rc = 0;

    for (int track = TRACK_CPUS; track < TRACKS; track++) {
        label(w, track, "process_name", 0, track_names[track]);
        sort_at(w, track, "process_sort_index", 0, (uint32_t)track);
    }
    for (uint64_t i = first; i < end && rc == 0; i++) {
        const struct trace_event *e = &events[i % TRACE_EVENTS];
        if (!view->job || e->job == view->job)
            rc = play_event(w, &stays, holders, e);
    }
    json_array_foreach(view->decisions, d, decision)
        play_decision(w, decision, view->epoch_s);
    for (int c = 0; c < COSCHED_MAX_CPUS; c++)
        end_hold(w, c, &holders[c], view->now_ns);
    while (stays) {
        struct stay *stay = stays;
        end_stay(w, stay, view->now_ns);
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

static int write_ring(const struct trace_ring *ring, const struct trace_view *view, FILE *out,
                      struct errtext *err)
{
    struct trace_event *copy = malloc(sizeof(ring->event));
    struct holder *holders = calloc(COSCHED_MAX_CPUS, sizeof(*holders));
    struct writer w = {.out = out, .version = ring->version};
    uint64_t first, end;
    int rc = -1;

    if (copy && holders) {
        copy_events(ring, copy, &first, &end);
        fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", out);
        rc = play(&w, copy, first, end, view, holders);
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

int trace_json(int fd, const struct trace_view *view, FILE *out, struct errtext *err)
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
    int rc = ring->magic == TRACE_MAGIC && ring->version >= 1 && ring->version <= TRACE_VERSION
                 ? write_ring(ring, view, out, err)
                 : errtext_set(err, EPROTO, "trace: not one of this version");
    int saved = errno;
    munmap((void *)ring, sizeof(*ring));
    errno = saved;
    return rc;
}
