/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Why a process follows its job's allotment, or does not: words and sentences.
 */

#ifndef COSCHED_FOLLOW_H
#define COSCHED_FOLLOW_H

/* Concept
 *
 * A process follows when it runs the cooperative libgomp and has attached. What
 * keeps another from that is one of a few things; each has a word, which goes
 * into records (docs/record.md) and JSON, and a sentence and an advice for its
 * user. Many need a detail: a name, which is in the sentence.
 *
 * Details come from the user's processes, so follow_set_detail() is the only
 * way into a finding: few characters, printable ones.
 *
 * Words are for ever: records keep them.  New ones may be added at the end; who
 * reads one that it does not know shows the word.
 */

#include <stdbool.h>
#include <stddef.h>

enum follow {
    FOLLOW_UNKNOWN, /* it cannot be seen; detail: what hinders */
    FOLLOW_YES,
    FOLLOW_KTHREAD,   /* it follows with kernel threads; detail: why */
    FOLLOW_NO_REGION, /* it could, but has begun no parallel region */
    FOLLOW_NO_OPENMP, /* no OpenMP runtime; detail: what else makes threads */
    FOLLOW_STATIC,    /* detail: the runtime that is in the program's file */
    FOLLOW_OTHER,     /* detail: the runtime that it has instead */
    FOLLOW_STOCK,   /* one that could be ours, but is not; detail: its file */
    FOLLOW_REFUSED, /* the user did: libgomp=stock */
    FOLLOW_ENVIRONMENT, /* detail: what its environment lacks */
    FOLLOW_NO_LIBRARY,  /* ours is not in its container; detail: directory */
    FOLLOW_NO_SOCKET,   /* not in its container; detail: path */
    FOLLOW_OLD_GLIBC,   /* detail: the version that the library needs */
    FOLLOW_NEWER,       /* detail: the version of symbols that it wants */
    FOLLOW_REALTIME,    /* its scheduling policy is a real-time one */
    FOLLOW_BROKEN,      /* the file of ours that it found is damaged */
    FOLLOW_WORDS,       /* number of words */
};

#define FOLLOW_DETAIL_MAX 96  /* with its terminating zero */
#define FOLLOW_TEXT_MAX   320 /* sentence and advice, likewise */

struct follow_finding {
    enum follow word;
    bool probably;                  /* by an indication, not by proof */
    char detail[FOLLOW_DETAIL_MAX]; /* or "" */
};

/* The word of FOLLOW: "follows", "kthread", ... */
const char *follow_word(enum follow follow);

/* The finding that WORD names, or -1. */
int follow_find(const char *word);

/* True when such a process is malleable. */
bool follow_is_malleable(enum follow follow);

/* Keep DETAIL, cut to fit: ASCII letters, digits and "._+-/@:, ()"; each other
 * byte becomes "?". */
void follow_set_detail(struct follow_finding *finding, const char *detail);

/* What FINDING says of a process, "it contains libgomp statically", into TEXT.
 */
const char *follow_sentence(const struct follow_finding *finding,
                            char text[FOLLOW_TEXT_MAX]);

/* What its user can do or has to know, with full stop; "" for nothing. */
const char *follow_advice(const struct follow_finding *finding,
                          char text[FOLLOW_TEXT_MAX]);

#endif /* COSCHED_FOLLOW_H */
