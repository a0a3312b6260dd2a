/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From LIKWID's counts to a sample of the machine, by the formulas. */

#ifndef COSCHED_LIKWID_VALUES_H
#define COSCHED_LIKWID_VALUES_H

/* Concept
 *
 * LIKWID gives a number for each event and CPU.  Counters of a core are the CPU's own; those
 * outside of cores (memory controllers, LLC slices, RAPL) are read through one CPU of their
 * unit, and are 0 for the others.  So numbers are added up over the unit that the event file
 * names ("per"), and the formula is evaluated there:
 *
 *   cpu         metric of a CPU; never shared
 *   llc_domain  a CPU metric goes to the domain's CPUs by their LLC accesses, else by their
 *               cycles; a memory metric to the domain's home node
 *   package     NUMA nodes of the package: by the file's "parts", or evenly; energy: the
 *               package itself
 *
 * A unit whose counters never moved has none that LIKWID reads: its values are NAN, not 0.
 * So are impossible values: negative, or more than a counter can count.
 */

#include <stdbool.h>
#include <stddef.h>

#include "node_agent/counters/counters.h"
#include "node_agent/counters/events.h"
#include "protocol/likwid_message.h"

struct likwid_values;

/* For counts as OPENED promises them; EVENTS and SETUP outlive the values.
 * NULL with errno EPROTO (OPENED does not fit EVENTS or SETUP) or ENOMEM. */
struct likwid_values *likwid_values_new(const struct events *events,
                                        const struct counters_setup *setup,
                                        const struct likwid_opened *opened,
                                        struct errtext *err);

/* Set what COUNTS (BYTES long with its numbers) says in SAMPLE, and lower its
 * coverage to the least counted set's.  -1 with errno EPROTO when the size is
 * wrong; nothing is set then. */
int likwid_values_set(struct likwid_values *values,
                      const struct likwid_counts *counts, size_t bytes,
                      struct sample *sample, struct errtext *err);

/* Whether METRIC has a formula and all of its counters. */
bool likwid_values_can(const struct likwid_values *values,
                       enum events_metric metric);

/* The first counter that METRIC lacks, or NULL. */
const char *likwid_values_lacks(const struct likwid_values *values,
                                enum events_metric metric);

/* Takes NULL. */
void likwid_values_free(struct likwid_values *values);

#endif /* COSCHED_LIKWID_VALUES_H */
