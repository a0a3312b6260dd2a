/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* QEMU's clocks show virtual time. */

#ifndef COSCHED_EMULATOR_CLOCK_H
#define COSCHED_EMULATOR_CLOCK_H

/* Concept
 *
 * A plugin may take control of time (qemu_plugin_update_ns), but TCG without icount has no clock
 * to set: the call would wait until the host's clock has got there.  So the clock itself is
 * replaced, at the two places where QEMU reads it:
 *
 *   clock_gettime(CLOCK_MONOTONIC)
 *       interposed; the guest's timers, APIC and HPET go by it
 *   cpu_get_ticks()
 *       the guest's TSC; reads the host's by an instruction, so there is no call to interpose.  Its
 *       first bytes are replaced by a jump to ours.  The TSC counts virtual nanoseconds.
 *
 * QEMU's binary exports cpu_get_ticks for its modules, as Debian builds it. clock_find() looks for
 * it, patches it, calls it and compares; where one step fails it says so, and nothing starts.
 *
 * Each thread sees its own CPU's clock.  They are apart by less than a quantum, so a program that
 * moves may see a step of that size in the TSC, as on a machine whose TSCs are apart by it; Linux
 * does not go back.
 */

#include <stdint.h>

/* Returns NULL, or a sentence. */
const char *clock_find(void);

/* From now on time is virtual: MHZ cycles a microsecond. */
void clock_start(uint64_t mhz);

uint64_t clock_ns(uint64_t cycles);
uint64_t clock_cycles(uint64_t ns); /* rounded up */

/* The host's CLOCK_MONOTONIC. */
uint64_t clock_host_ns(void);

#endif
