/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Who may run, and for how long: virtual time as a state machine. */

#ifndef COSCHED_EMULATOR_QUANTUM_H
#define COSCHED_EMULATOR_QUANTUM_H

/* Concept
 *
 * The host has few cores and the machine many CPUs.  Each CPU has a clock of its own, in cycles,
 * and all of them have to be at the end of a quantum before one goes on to the next: no CPU is
 * ever more than a quantum ahead of another. Between two quanta no CPU runs; then devices get
 * their turn.  A halted CPU holds nobody up; when all are halted, time jumps to the next timer.
 *
 *   RUNS     executes, until its counter reaches 0 or it halts
 *   STOPS    at a block's start, waits for its turn or for the next quantum
 *   HALTED   nothing to do
 *   WOKEN    was halted, has something to do, waits for its turn
 *
 * The counter is all that generated code sees.  It counts up to 0, in every quantum, so that the
 * comparison can be compiled in, and QEMU's zeroed memory stops a CPU before its first block; with
 * `end`, the end of this quantum, it is the CPU's clock:
 *
 *   clock = end + counter
 *
 * holds in each state but HALTED.  The next quantum begins by `end += length` and `counter -=
 * length` for all who stop, which moves no clock.  A CPU that has been charged for more than the
 * rest of its quantum starts the next one so much later, or not at all.
 *
 * `parallel` CPUs run at a time, the one whose clock is least first.  With one, the order of all
 * that CPUs do to each other is given by their clocks and numbers alone: the same in each run.
 *
 * A CPU that another one wakes goes on at the waker's clock.  One that a device wakes goes on at
 * the beginning of the quantum.
 *
 * Excursions.  QEMU at times has all CPUs leave their generated code (exclusive sections, pause).
 * It asks them (quantum_kick) and waits.  A CPU that stops is inside, and would never leave: while
 * somebody waits (quantum_block), those who were asked run on with an empty budget: the block at
 * which they stop, then QEMU takes them out, and at their next block they are back.  The clock
 * stands meanwhile, but for this block.
 *
 * No threads and no locks here: the caller (turns.c) has one lock around everything.
 */

#include <stdbool.h>
#include <stdint.h>

#include "protocol/emulated_counters.h"

enum quantum_state {
    CPU_ABSENT,
    CPU_RUNS,
    CPU_STOPS,
    CPU_HALTED,
    CPU_WOKEN,
};

struct quantum_cpu {
    enum quantum_state state;
    int64_t *counter;
    int64_t mark;          /* the counter when cycles were counted last */
    uint64_t cycles;       /* executed and stalled so far */
    uint64_t idle_cycles;  /* halted so far */
    uint64_t halted_since; /* in cycles */
    int64_t own_counter;   /* during an excursion */
    bool excursion;
    bool kicked; /* asked to leave its code since it was let go last */
};

struct quantum {
    struct quantum_cpu cpu[EMULATED_CPUS];
    unsigned cpus; /* 0..cpus-1 may be there */
    unsigned parallel;
    uint64_t length; /* cycles */
    uint64_t end;    /* of this quantum; between two: the time */
    bool open;       /* a quantum, not between two */
    unsigned present;
    unsigned running; /* RUNS, excursions included */
    unsigned blocked; /* who wait for kicked CPUs */
};

/* CPUs to let go, by number. */
struct quantum_go {
    unsigned count;
    uint8_t cpu[EMULATED_CPUS];
};

/* CPU's clock, in cycles. */
uint64_t quantum_clock(const struct quantum *q, unsigned cpu);

/* A CPU is there, in QEMU's code; its first block stops it.  COUNTER is 0. */
void quantum_add(struct quantum *q, unsigned cpu, int64_t *counter);

/* The counter is at COUNTER from now on. */
void quantum_bind(struct quantum *q, unsigned cpu, int64_t *counter);

/* A running CPU stops at a block, or halts. */
void quantum_stop(struct quantum *q, unsigned cpu);
void quantum_halt(struct quantum *q, unsigned cpu);

/* Somebody wants CPU to look up: the CPU WAKER, or -1 for a device.  A halted one is woken. */
void quantum_kick(struct quantum *q, unsigned cpu, int waker);

/* Somebody waits until kicked CPUs have left their code, or waits no more. */
void quantum_block(struct quantum *q);
void quantum_unblock(struct quantum *q);

/* Adds to GO whom the last calls let go; they run from now on. */
void quantum_turns(struct quantum *q, struct quantum_go *go);

/* Nobody runs, and nobody will before the next quantum. */
bool quantum_over(const struct quantum *q);

/* All are halted, between two quanta. */
bool quantum_idle(const struct quantum *q);

/* Ends a quantum that is over: counts cycles, closes it. */
void quantum_close(struct quantum *q);

/* Begins the next. */
void quantum_open(struct quantum *q);

/* All are halted: time goes on to TIME, in cycles, if that is later. */
void quantum_jump(struct quantum *q, uint64_t time);

#endif
