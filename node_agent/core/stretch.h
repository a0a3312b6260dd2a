/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Serial stretches: a job uses one core for a while, and others have the rest. */

#ifndef COSCHED_STRETCH_H
#define COSCHED_STRETCH_H

/* Concept
 *
 * A job is in a serial stretch while all its attached processes are between parallel regions; a
 * pinned job, while its threads want no more than one core: CPU time, and time for which they
 * waited for a CPU, over a window of STRETCH_WINDOW_NS.  When that has gone on for its patience,
 * the job is serial: it keeps one core, and lends the others.  It has them back as soon as it is
 * seen to use more: the scheduler looks every 10 ms.
 *
 * To lend cores costs moves, at the begin and at the end.  So a job whose stretches end soon after
 * its cores were lent is given twice the patience the next time, STRETCH_PATIENCE_MOST_NS at most.
 *
 * The threads of a pinned job may go on running on the cores that it lends, job->lent: nothing is
 * done to them when it begins to lend, what it starts meanwhile counts the same CPUs as before, and
 * who wakes up need not wait for a decision.
 */

#include <stdbool.h>
#include <stdint.h>

#define STRETCH_WINDOW_NS        UINT64_C(40000000)
#define STRETCH_PATIENCE_NS      UINT64_C(10000000)
#define STRETCH_PATIENCE_MOST_NS UINT64_C(160000000)

/* Who uses no more cores than this uses one: in a window of a fifth of a second (usage.h) user and
 * system time of two processes, one of which takes over from the other, may each be a tick of
 * 10 ms too long. */
#define STRETCH_ONE_CORE 1.25

struct job;

/* All zero: none, and nothing is known. */
struct serial_stretch {
    bool lends;           /* since, */
    uint64_t lends_ns;    /* then */
    uint64_t patience_ns; /* 0: STRETCH_PATIENCE_NS */
    /* of a job without attached processes */
    bool several;         /* it used several cores when last looked at, for sure */
    uint64_t since_ns;    /* begin of the first of the windows in which it wanted one; 0: the last
                             was none */
    uint64_t looked_ns;   /* last */
    uint64_t at_ns;       /* begin of this window; 0: none */
    uint64_t cpu_ns, waited_ns; /* then; STRETCH_UNKNOWN: not read */
};

#define STRETCH_UNKNOWN UINT64_MAX

/* Look at what JOB, of which nothing is attached, uses.  Returns since when it has wanted no more
 * than one core; 0: it wants more, or nobody knows. */
uint64_t stretch_look(struct job *job, uint64_t now_ns);

/* True when JOB, which has been serial since SINCE_NS or is not (0), is to lend its cores now. */
bool stretch_due(const struct job *job, uint64_t since_ns, uint64_t now_ns);

/* JOB has been serial since SINCE_NS, or is not (0).  True when its cores are lent. */
bool stretch_note(struct job *job, uint64_t since_ns, uint64_t now_ns);

#endif /* COSCHED_STRETCH_H */
