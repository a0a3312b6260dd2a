/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Who may run, and for how long: virtual time as a state machine. */

#include "emulator/plugin/quantum.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Counts what has been used since the mark. */
static void settle(struct quantum_cpu *c)
{
    c->cycles += (uint64_t)(*c->counter - c->mark);
    c->mark = *c->counter;
}

static void set_counter(struct quantum_cpu *c, int64_t to)
{
    *c->counter = c->mark = to;
}

static bool waits(const struct quantum_cpu *c)
{
    return c->state == CPU_STOPS || c->state == CPU_WOKEN;
}

uint64_t quantum_clock(const struct quantum *q, unsigned cpu)
{
    const struct quantum_cpu *c = &q->cpu[cpu];
    int64_t counter = *c->counter;

    if (c->excursion)
        counter += c->own_counter;
    return q->end + (uint64_t)counter;
}

void quantum_add(struct quantum *q, unsigned cpu, int64_t *counter)
{
    struct quantum_cpu *c = &q->cpu[cpu];

    *c = (struct quantum_cpu){.state = CPU_RUNS, .counter = counter};
    if (cpu >= q->cpus)
        q->cpus = cpu + 1;
    q->present++;
    q->running++;
}

void quantum_bind(struct quantum *q, unsigned cpu, int64_t *counter)
{
    *counter = *q->cpu[cpu].counter;
    q->cpu[cpu].counter = counter;
}

static void let_go(struct quantum *q, unsigned cpu, struct quantum_go *go)
{
    struct quantum_cpu *c = &q->cpu[cpu];

    c->state = CPU_RUNS;
    c->kicked = false;
    q->running++;
    go->cpu[go->count++] = (uint8_t)cpu;
}

/* What was used on the way counts, as if it had been of the budget. */
static void end_excursion(struct quantum_cpu *c)
{
    if (!c->excursion)
        return;
    settle(c);
    set_counter(c, c->own_counter + *c->counter);
    c->excursion = false;
}

static void begin_excursion(struct quantum *q, unsigned cpu, struct quantum_go *go)
{
    struct quantum_cpu *c = &q->cpu[cpu];

    settle(c);
    c->own_counter = *c->counter;
    c->excursion = true;
    set_counter(c, 0);
    let_go(q, cpu, go);
}

void quantum_stop(struct quantum *q, unsigned cpu)
{
    end_excursion(&q->cpu[cpu]);
    q->cpu[cpu].state = CPU_STOPS;
    q->running--;
}

void quantum_halt(struct quantum *q, unsigned cpu)
{
    struct quantum_cpu *c = &q->cpu[cpu];

    end_excursion(c);
    settle(c);
    c->halted_since = quantum_clock(q, cpu);
    c->state = CPU_HALTED;
    c->kicked = false;
    q->running--;
}

static void wake(struct quantum *q, unsigned cpu, int waker)
{
    struct quantum_cpu *c = &q->cpu[cpu];
    uint64_t time = q->open ? q->end - q->length : q->end;

    if (waker >= 0 && q->cpu[waker].state == CPU_RUNS)
        time = quantum_clock(q, (unsigned)waker);
    time = later(time, c->halted_since);
    c->idle_cycles += time - c->halted_since;
    set_counter(c, (int64_t)(time - q->end));
    c->state = CPU_WOKEN;
}

void quantum_kick(struct quantum *q, unsigned cpu, int waker)
{
    if (q->cpu[cpu].state == CPU_HALTED)
        wake(q, cpu, waker);
    q->cpu[cpu].kicked = true;
}

void quantum_block(struct quantum *q)
{
    q->blocked++;
}

void quantum_unblock(struct quantum *q)
{
    q->blocked--;
}

/* The waiting CPU with budget and the least clock, or -1. */
static int next(const struct quantum *q)
{
    int best = -1;

    for (unsigned i = 0; i < q->cpus; i++)
        if (waits(&q->cpu[i]) && *q->cpu[i].counter < 0 &&
            (best < 0 || *q->cpu[i].counter < *q->cpu[best].counter))
            best = (int)i;
    return best;
}

void quantum_turns(struct quantum *q, struct quantum_go *go)
{
    int cpu;

    for (unsigned i = 0; q->blocked && i < q->cpus; i++)
        if (waits(&q->cpu[i]) && q->cpu[i].kicked)
            begin_excursion(q, i, go);
    while (q->open && q->running < q->parallel && (cpu = next(q)) >= 0)
        let_go(q, (unsigned)cpu, go);
}

bool quantum_over(const struct quantum *q)
{
    return !q->running && (!q->open || next(q) < 0);
}

bool quantum_idle(const struct quantum *q)
{
    for (unsigned i = 0; i < q->cpus; i++)
        if (q->cpu[i].state != CPU_HALTED && q->cpu[i].state != CPU_ABSENT)
            return false;
    return true;
}

void quantum_close(struct quantum *q)
{
    for (unsigned i = 0; i < q->cpus; i++)
        if (q->cpu[i].state != CPU_ABSENT)
            settle(&q->cpu[i]);
    q->open = false;
}

void quantum_open(struct quantum *q)
{
    q->end += q->length;
    for (unsigned i = 0; i < q->cpus; i++)
        if (waits(&q->cpu[i]))
            set_counter(&q->cpu[i], *q->cpu[i].counter - (int64_t)q->length);
    q->open = true;
}

void quantum_jump(struct quantum *q, uint64_t time)
{
    q->end = later(q->end, time);
}
