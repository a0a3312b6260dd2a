/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters by LIKWID, from a helper process. */

#ifndef COSCHED_LIKWID_H
#define COSCHED_LIKWID_H

/* Concept
 *
 * LIKWID reads the registers, in the helper coschedd-likwid (likwid_link.h).  What to count
 * and what it means comes from the event sets (events.h, likwid_values.h).
 *
 * open() waits until the helper counts, 15 s at most.  sample() waits 20 ms at most; later
 * counts are dropped and the values are NAN.  A helper that ends, fails or is silent for 5 s is
 * killed, the reason reported once, and another started after a pause that doubles from 1 s
 * to a minute.
 *
 * LIKWID's lock is honoured at each sample: when another user takes it, the helper restores
 * the counters and ends.  Counters that another tool has programmed are left alone, except
 * after the death of a helper of ours, which leaves its own behind.
 *
 * ARGUMENT: "direct" (/dev/cpu/N/msr) or "daemon" (LIKWID's access daemon), default: what
 * there is; and name or path of an event set, default: the processor's.  Several are separated
 * by ",".
 */

#include "node_agent/counters/counters.h"

extern const struct counters_backend counters_likwid;

/* How long things may take, in milliseconds; tests shorten them. */
struct likwid_timing {
    int start;  /* until a helper counts */
    int answer; /* until counts belong to no interval any more */
    int hung;   /* until a helper that owes counts is given up */
    int backoff_min, backoff_max; /* between two helpers */
    int grace;  /* to put the counters back on close() */
    int period; /* of an event set, of several */
};

extern struct likwid_timing likwid_timing;

#endif /* COSCHED_LIKWID_H */
