/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Virtual time for an agent's parts. */

#ifndef COSCHED_VIRTUAL_TIME_H
#define COSCHED_VIRTUAL_TIME_H

/* Concept
 *
 * Epochs follow each other at once: the same work in each run, for tools that
 * count instructions and slow everything else down.  The program is linked with
 * --wrap of host_now_ns, host_timer_start and host_timer_stop; while virtual_ns
 * is 0 these are the real ones.
 */

#include <stdbool.h>
#include <stdint.h>

/* The time now; 0: time is real. */
extern uint64_t virtual_ns;

/* Go on to the timer that is due first and call it, if that is before END_NS;
 * false when there is none. */
bool virtual_timer_call(uint64_t end_ns);

#endif /* COSCHED_VIRTUAL_TIME_H */
