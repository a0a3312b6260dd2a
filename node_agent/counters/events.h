/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Event sets: what to count on a microarchitecture, and what it means. */

#ifndef COSCHED_EVENTS_H
#define COSCHED_EVENTS_H

/* Concept
 *
 * What a processor counts is data: one JSON file per microarchitecture
 * (docs/counters-reference.md, events.schema.json) lists events by LIKWID's names, the
 * counters to put them on, and for each metric of sample.h a formula over the counters.
 *
 * Events that do not fit on the counters together are put into several sets, which take
 * turns.  A counter is a variable of the formulas, by its own name or by "as" where two sets
 * have different events on one counter.  Further variables:
 *
 *     time   length of the interval in seconds
 *     nodes  NUMA nodes of the package
 *
 * A variable whose counter this machine lacks is NAN, or 0 if its event is optional (a
 * channel without memory).  So a metric is NAN, never too small, when a counter is missing.
 */

#include <stdbool.h>
#include <stddef.h>

#include "node_agent/counters/formula.h"
#include "common/errtext.h"

#define EVENTS_SETS 8       /* most sets of a file */
#define EVENTS_SET_EVENTS 64 /* most events of a set */
#define EVENTS_VARIABLES 160 /* most counters of a file, all sets */
#define EVENTS_NAME 64      /* longest name of an event, with zero */
#define EVENTS_MATCHES 4    /* most lines of processors, */
#define EVENTS_MODELS 16    /* and models on each */
#define EVENTS_PARTS 4      /* most NUMA nodes of a package told apart */

enum events_metric {
    EVENTS_CYCLES,
    EVENTS_STALLED,
    EVENTS_INSTRUCTIONS,
    EVENTS_LLC_ACCESSES,
    EVENTS_READ_MISSES,
    EVENTS_LOCAL_MISSES,
    EVENTS_REMOTE_MISSES,
    EVENTS_READS, /* the first of a NUMA node */
    EVENTS_WRITES,
    EVENTS_PREFETCHES,
    EVENTS_ENERGY, /* of a package */
    EVENTS_METRICS,
};

/* Whose counters are added up before the formula is evaluated: the unit that
 * has the counters of its own. */
enum events_per { EVENTS_PER_CPU, EVENTS_PER_LLC_DOMAIN, EVENTS_PER_PACKAGE };

struct events_event {
    char counter[24];
    char event[EVENTS_NAME];
    char options[48]; /* LIKWID's, without the first ":"; "" */
    size_t variable;
};

struct events_set {
    size_t count;
    struct events_event event[EVENTS_SET_EVENTS];
};

struct events_variable {
    char name[24];
    bool optional;
};

struct events_formula {
    struct formula *formula; /* NULL: not measured on this processor */
    enum events_per per;
    char source[96]; /* of the event: a manual, a LIKWID group */
    /* Where a package has several NUMA nodes: parts[n - 1][i] is what node i
     * of n got; NULL: evenly divided. */
    struct formula *parts[EVENTS_PARTS][EVENTS_PARTS];
};

/* Processors that a file is for. */
struct events_match {
    char vendor[16];
    unsigned family;
    size_t models;
    unsigned model[EVENTS_MODELS];
    char brand[32]; /* part of the brand string; "": any */
};

struct events {
    char name[32];   /* LIKWID's short name of the microarchitecture, or ours */
    char title[96];
    char likwid[16]; /* first version of LIKWID that knows the processor */
    size_t matches;
    struct events_match match[EVENTS_MATCHES];
    size_t sets;
    struct events_set *set;
    size_t variables; /* counters; the two others come after them */
    struct events_variable variable[EVENTS_VARIABLES + 2];
    struct events_formula metric[EVENTS_METRICS];
};

/* A processor, by its own words and LIKWID's. */
struct events_cpu {
    const char *vendor; /* "GenuineIntel", "AuthenticAMD" */
    unsigned family;
    unsigned model;
    const char *brand; /* as in /proc/cpuinfo */
    const char *arch;  /* LIKWID's short name; "" when it knows it not */
};

/* Load FILE.  NULL with errno as from open(2), EINVAL or ENOMEM, and a text that
 * names file, place and term as typed:
 *     x.json: metrics.reads.formula: "MBX0": no such counter or variable */
struct events *events_load(const char *file, struct errtext *err);

/* The file of DIRECTORY for CPU: of family and model, of its brand where files
 * share these; else of LIKWID's name, which *NOTE then says.  Files that cannot
 * be read are passed over, *NOTE says so.  NULL with errno ENOENT and the
 * processor's name when there is none. */
struct events *events_choose(const char *directory,
                             const struct events_cpu *cpu,
                             struct errtext *note, struct errtext *err);

/* The names that variables are looked up by, as of formula.h. */
struct formula_names events_names(const struct events *events);

/* "cycles", ..., and the unit of its values: "cycles", "instructions",
 * "requests" or "J". */
const char *events_metric_name(enum events_metric metric);
const char *events_metric_unit(enum events_metric metric);

/* Set SET in LIKWID's words, "EVENT:COUNTER:OPTIONS,...", into TEXT.  Its
 * length, whatever SIZE is. */
size_t events_string(const struct events *events, size_t set, char *text,
                     size_t size);

/* Takes NULL. */
void events_free(struct events *events);

#endif /* COSCHED_EVENTS_H */
