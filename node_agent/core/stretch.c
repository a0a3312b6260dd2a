/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Serial stretches: a job uses one core for a while, and others have the rest. */

#include "node_agent/core/stretch.h"

#include "node_agent/core/enforcer.h"
#include "node_agent/core/job.h"

/* The kernel may count a running thread's time from tick to tick. */
#define TICK_NS 10000000

/* A shorter time than this tells ticks, not use. */
#define LEAST_NS UINT64_C(8000000)

/* Begin a window of S at NOW_NS. */
static void begin(struct serial_stretch *s, uint64_t now_ns, uint64_t cpu_ns, uint64_t waited_ns)
{
    s->at_ns = now_ns;
    s->cpu_ns = cpu_ns;
    s->waited_ns = waited_ns;
}

uint64_t stretch_look(struct job *job, uint64_t now_ns)
{
    struct serial_stretch *s = &job->stretch;
    uint64_t elapsed_ns = now_ns - s->at_ns;
    double most_ns = STRETCH_ONE_CORE * (double)elapsed_ns;

    if (now_ns - s->looked_ns < LEAST_NS)
        return s->since_ns;
    s->looked_ns = now_ns;
    /* What a stopped job does not use says nothing. */
    uint64_t cpu_ns =
        job->parked || job->suspended ? STRETCH_UNKNOWN : enforcer_cpu_ns(job);
    if (cpu_ns == STRETCH_UNKNOWN || !s->at_ns || cpu_ns < s->cpu_ns) {
        s->since_ns = s->at_ns = 0;
        s->several = false;
        if (cpu_ns != STRETCH_UNKNOWN)
            begin(s, now_ns, cpu_ns, STRETCH_UNKNOWN);
        return 0;
    }
    double used_ns = (double)(cpu_ns - s->cpu_ns);
    s->several = used_ns > most_ns + (elapsed_ns < STRETCH_WINDOW_NS ? TICK_NS : 0);
    if (s->several) {
        s->since_ns = 0;
        begin(s, now_ns, cpu_ns, STRETCH_UNKNOWN);
        return 0;
    }
    /* To ask each thread takes time: only while the processes as a whole are quiet. */
    if (s->waited_ns == STRETCH_UNKNOWN) {
        begin(s, now_ns, cpu_ns, enforcer_waited_ns(job));
        return s->since_ns;
    }
    if (elapsed_ns < STRETCH_WINDOW_NS)
        return s->since_ns;
    uint64_t waited_ns = enforcer_waited_ns(job);
    /* Who has ended takes its count with it. */
    double kept_ns = waited_ns > s->waited_ns ? (double)(waited_ns - s->waited_ns) : 0;
    /* On a node with other work this may be threads that seldom wake up: no proof of several. */
    if (used_ns + kept_ns > most_ns)
        s->since_ns = 0;
    else if (!s->since_ns)
        s->since_ns = s->at_ns;
    begin(s, now_ns, cpu_ns, waited_ns);
    return s->since_ns;
}

static uint64_t patience_of(const struct serial_stretch *s)
{
    return s->patience_ns ? s->patience_ns : STRETCH_PATIENCE_NS;
}

bool stretch_due(const struct job *job, uint64_t since_ns, uint64_t now_ns)
{
    const struct serial_stretch *s = &job->stretch;

    return !s->lends && since_ns && now_ns - since_ns >= patience_of(s);
}

/* The next time it is to be serial for so long. */
static uint64_t next_patience(const struct serial_stretch *s, uint64_t lent_ns)
{
    uint64_t patience_ns = patience_of(s);

    if (lent_ns >= patience_ns)
        return patience_ns > 2 * STRETCH_PATIENCE_NS ? patience_ns / 2 : STRETCH_PATIENCE_NS;
    return 2 * patience_ns < STRETCH_PATIENCE_MOST_NS ? 2 * patience_ns
                                                      : STRETCH_PATIENCE_MOST_NS;
}

bool stretch_note(struct job *job, uint64_t since_ns, uint64_t now_ns)
{
    struct serial_stretch *s = &job->stretch;

    if (stretch_due(job, since_ns, now_ns)) {
        s->lends = true;
        s->lends_ns = now_ns;
    } else if (!since_ns && s->lends) {
        s->lends = false;
        s->patience_ns = next_patience(s, now_ns - s->lends_ns);
    }
    return s->lends;
}
