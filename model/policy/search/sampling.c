/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* MOCA's sampling runs: allocations judged by running them. */

#include "model/policy/search/sampling.h"

#include <stdlib.h>
#include <string.h>

/* Of the allocation that is wanted. */
enum phase {
    TO_ASK,   /* it is to be put into effect, */
    ASKED,    /* it should be by now, */
    MEASURES, /* or what has become of it runs since BASE */
    OVER,     /* there is none */
};

struct sampling {
    const struct machine *machine;
    struct evolution *evolution;
    uint64_t key;
    bool begun;   /* with that key */
    enum phase phase;
    size_t looks; /* for what is wanted */
    size_t admitted;
    size_t *wanted;  /* [llc_domains * CHROMOSOME_MAX_JOBS] */
    size_t *running; /* likewise */
    struct policy_counted base[CHROMOSOME_MAX_JOBS];
};

struct sampling *sampling_new(const struct machine *machine)
{
    size_t cells = machine->llc_domains * CHROMOSOME_MAX_JOBS;
    struct sampling *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->machine = machine;
    s->evolution = evolution_new(machine);
    s->wanted = calloc(cells, sizeof(*s->wanted));
    s->running = calloc(cells, sizeof(*s->running));
    if (!s->evolution || !s->wanted || !s->running) {
        sampling_free(s);
        return NULL;
    }
    return s;
}

void sampling_free(struct sampling *s)
{
    if (!s)
        return;
    evolution_free(s->evolution);
    free(s->wanted);
    free(s->running);
    free(s);
}

void sampling_pause(struct sampling *s)
{
    if (s->phase != OVER)
        s->phase = TO_ASK;
}

/* ---- runs --------------------------------------------------------------- */

static void ask(struct sampling *s)
{
    s->phase = evolution_next(s->evolution, s->wanted) ? TO_ASK : OVER;
    s->looks = 0;
}

/* What is in effect, a table of SIZE bytes, runs from now on. */
static void begin_run(struct sampling *s, const struct evolution_input *in,
                      const struct policy_job *jobs, size_t size)
{
    memcpy(s->running, in->start, size);
    for (size_t j = 0; j < in->space->jobs; j++)
        s->base[j] = jobs[j].facts->counted;
    s->phase = MEASURES;
}

/* True when the run is over: then *CPU and *BW are its worth. */
static bool has_run(const struct sampling *s, const struct chromosome_space *space,
                    const struct policy_job *jobs, double *cpu, double *bw)
{
    double computing = 0, serving = 0;
    size_t cores = 0;

    for (size_t i = 0; i < s->machine->llc_domains; i++)
        cores += space->pool[i];
    for (size_t j = 0; j < space->jobs; j++) {
        const struct policy_counted *now = &jobs[j].facts->counted, *base = &s->base[j];
        double us = now->us - base->us;
        if (!(us >= SAMPLING_US))
            return false;
        computing += space->weight[j] * (now->computing_us - base->computing_us) / us;
        serving += (now->serving_us - base->serving_us) / us;
    }
    *cpu = computing / (double)cores;
    *bw = serving / (double)s->machine->numa_nodes;
    return true;
}

/* Go on with the run of what is in effect, a table of SIZE bytes, or to the next one. */
static void step(struct sampling *s, const struct evolution_input *in,
                 const struct policy_job *jobs, size_t size)
{
    double cpu, bw;

    if (s->phase == MEASURES && memcmp(s->running, in->start, size) != 0)
        s->phase = TO_ASK;
    if (s->phase == MEASURES && has_run(s, in->space, jobs, &cpu, &bw)) {
        evolution_admit(s->evolution, s->running, cpu, bw);
        s->admitted++;
        ask(s);
    } else if (++s->looks == SAMPLING_LOOKS) {
        s->phase = OVER;
    }
    if (s->phase == ASKED || (s->phase == TO_ASK && !memcmp(s->wanted, in->start, size)))
        begin_run(s, in, jobs, size);
    else if (s->phase == TO_ASK)
        s->phase = ASKED;
}

enum model_status sampling_look(struct sampling *s, uint64_t key,
                                const struct evolution_input *in,
                                const struct policy_job *jobs, enum sampling_state *state,
                                struct evolution_result *result)
{
    size_t size = s->machine->llc_domains * in->space->jobs * sizeof(*result->layout);
    bool fresh = !s->begun || s->key != key;
    enum model_status status = fresh ? evolution_begin(s->evolution, in)
                                     : evolution_resume(s->evolution, in);

    s->begun = status == MODEL_OK;
    if (!s->begun)
        return status;
    if (fresh) {
        s->key = key;
        s->admitted = 0;
        ask(s);
    }
    if (s->phase != OVER)
        step(s, in, jobs, size);
    *state = s->phase == MEASURES ? SAMPLING_RUNS
             : s->phase == ASKED  ? SAMPLING_ASKS
             : s->admitted        ? SAMPLING_DONE
                                  : SAMPLING_VAIN;
    size_t *layout = result->layout;
    *result = (struct evolution_result){.layout = layout};
    if (s->admitted)
        evolution_best(s->evolution, result);
    if (s->phase != OVER)
        memcpy(layout, s->phase == MEASURES ? s->running : s->wanted, size);
    if (*state != SAMPLING_VAIN)
        evolution_fit(s->evolution, layout);
    return MODEL_OK;
}
