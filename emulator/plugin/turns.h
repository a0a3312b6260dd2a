/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* QEMU's threads stop and go as the quantum has it. */

#ifndef COSCHED_EMULATOR_TURNS_H
#define COSCHED_EMULATOR_TURNS_H

/* Concept
 *
 * QEMU has a thread for each CPU (multi-threaded TCG) and its main loop for devices and timers.
 * The plugin interface tells when a block of code begins, not when a thread sleeps or is woken, so
 * the library calls by which QEMU does that are interposed (LD_PRELOAD):
 *
 *   pthread_cond_wait
 *       A CPU's thread waits for its own condition (the one after the callback vcpu_idle): the CPU
 *       is halted.  It sleeps here, without QEMU's lock, until it was woken and its turn has come.
 *       Any other condition, of a CPU or the main loop: it waits for other CPUs (quantum_block).
 *   pthread_cond_broadcast, pthread_cond_signal
 *       of that condition: QEMU wants the CPU to look up.  Counted at once, in the thread that does
 *       it: no wake-up can be missed between "all are halted" and a jump of time.
 *   ppoll
 *       The main loop has nothing to do until a timer.  Here it lets CPUs run, quantum after
 *       quantum, and returns when a timer is due or a file ready.
 *
 * So the main loop itself conducts, and never runs together with a CPU: what devices do happens
 * between two quanta, at a time that does not depend on the host.
 *
 * A thread that stops lets the next one go itself, without a third one between.
 */

#include <stdbool.h>

#include "emulator/plugin/quantum.h"

/* Called between two quanta, no CPU running, the clock at CYCLES. */
typedef void turns_between_f(uint64_t cycles);

/* Finds the library's own functions.  Returns NULL, or a sentence. */
const char *turns_find(void);

/* Takes over: CPUS of the machine, at most PARALLEL at a time, QUANTUM cycles. */
void turns_start(unsigned cpus, unsigned parallel, uint64_t quantum, turns_between_f *between);

/* The calling thread is CPU's.  Returns whether it is the last: then turns_bind() all. */
bool turns_add(unsigned cpu);

/* CPU's code uses COUNTER, which is 0. */
void turns_bind(unsigned cpu, int64_t *counter);

/* The next condition for which the calling CPU's thread waits is that of being halted. */
void turns_halts(void);

/* A block begins with the budget used up. */
void turns_block(unsigned cpu);

/* The time of the calling thread in cycles: a CPU's own clock, else the quantum's. */
uint64_t turns_clock(void);

/* Between two quanta: what CPU has executed and for how long it was halted, in cycles. */
uint64_t turns_cycles(unsigned cpu);
uint64_t turns_idle_cycles(unsigned cpu);

#endif
