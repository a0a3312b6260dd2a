/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Messages between the agent and its helper for LIKWID. */

#ifndef COSCHED_LIKWID_MESSAGE_H
#define COSCHED_LIKWID_MESSAGE_H

/* Concept
 *
 * liblikwid may print, fork, run the atexit handlers of whoever it forked,
 * take a second, hang, or exit its process.  So it lives in a process of its
 * own, coschedd-likwid, which knows nothing but counters:
 *
 *   agent                          helper
 *     start, file descriptor 3 ──>
 *                            <──   HELLO   processor, CPUs online
 *     OPEN  CPUs, event sets ──>
 *                            <──   OPENED  what is counted, or FAILED
 *     SAMPLE                 ──>
 *                            <──   COUNTS  increments since OPENED or the last
 *     ...
 *     close                  ──>           ends
 *
 * FAILED may come instead of any answer, with a reason in one line; the helper
 * then ends.  It answers in order and one at a time.  With several event sets
 * it switches between them by itself, each `period_ns`; COUNTS then has for
 * each set the time in which it was counted.
 *
 * The socket is a stream of messages: a header, then `bytes` of the struct that
 * belongs to its type, in the byte order of the machine.  Its standard output
 * and error are a pipe on which liblikwid may say what it likes.
 *
 * Raise LIKWID_MESSAGE_VERSION with any change of a struct.  Agent and helper
 * are installed together, so nobody speaks two versions: the other is refused.
 */

#include <stdint.h>

#include "protocol/layout.h"

#define LIKWID_MESSAGE_MAGIC UINT32_C(0x6c6b7764)
#define LIKWID_MESSAGE_VERSION 1
#define LIKWID_MESSAGE_FD 3

#define LIKWID_SETS 8
#define LIKWID_SET_BYTES 6144 /* longest list of events, with zero */
#define LIKWID_EVENTS 64      /* most of a set */

enum likwid_message_type {
    LIKWID_HELLO = 1,
    LIKWID_OPEN,
    LIKWID_OPENED,
    LIKWID_FAILED,
    LIKWID_SAMPLE,
    LIKWID_COUNTS,
};

struct likwid_header {
    uint32_t magic;
    uint16_t version;
    uint16_t type;
    uint32_t bytes; /* that follow */
    uint32_t serial; /* of OPEN and SAMPLE; the answer has the same */
};

struct likwid_hello {
    uint32_t family; /* as CPUID says */
    uint32_t model;
    uint32_t intel;  /* 1: Intel; 0: AMD or another */
    char brand[96];  /* of the processor */
    char arch[32];   /* LIKWID's short name, "unknown..." when it knows it not */
    struct cosched_cpuset online;
};

enum likwid_mode { LIKWID_AUTO, LIKWID_DIRECT, LIKWID_DAEMON };

struct likwid_open {
    struct cosched_cpuset cpus; /* those offline are left out */
    uint32_t mode;              /* enum likwid_mode */
    uint32_t sets;              /* 1..LIKWID_SETS */
    uint32_t force; /* 1: counters found in use are our own, of a dead helper */
    uint32_t zero;
    uint64_t period_ns;         /* of one set; of no meaning for one */
    char set[LIKWID_SETS][LIKWID_SET_BYTES]; /* "EVENT:COUNTER:OPTIONS,..." */
};

struct likwid_opened {
    uint32_t mode;     /* in which it works */
    uint32_t cpus;     /* counted */
    uint32_t sets;
    uint32_t events[LIKWID_SETS]; /* of each set */
    uint64_t missing[LIKWID_SETS]; /* bit i: event i cannot be counted */
    int16_t cpu[COSCHED_MAX_CPUS]; /* [cpus] ascending */
};

struct likwid_failed {
    int32_t error; /* an errno: EBUSY lock or counters taken, EACCES ... */
    char text[192];
};

/* Followed by double[cpus][sum of events], in the order of OPENED and the sets;
 * NAN: not counted. */
struct likwid_counts {
    uint64_t running_ns[LIKWID_SETS]; /* of the interval, each set */
    uint64_t interval_ns;
};

/* Longest message. */
#define LIKWID_MESSAGE_BYTES                                       \
    (sizeof(struct likwid_counts) +                                \
     sizeof(double) * COSCHED_MAX_CPUS * LIKWID_SETS * LIKWID_EVENTS)

#endif /* COSCHED_LIKWID_MESSAGE_H */
