/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The tables that options are parsed by; private to protocol/. */

#ifndef COSCHED_OPTION_TABLE_H
#define COSCHED_OPTION_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/errtext.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define PREFIX "cosched_"
#define ENTRY_MAX 256 /* an entry of the option with its zero */
#define NAMES_MAX 256 /* a list of policies or keys */

enum option_type {
    OPTION_POLICY,   /* char[OPTIONS_POLICY_MAX] */
    OPTION_NAMED,    /* char[OPTIONS_TEXT_MAX], NAME:VALUE;... */
    OPTION_COUNT,    /* int, low..high */
    OPTION_NUMBER,   /* double, low..high tenths */
    OPTION_SWITCH,   /* int, 1: yes, -1: no */
    OPTION_WORD,     /* int: which of the words */
    OPTION_NAME,     /* char[OPTIONS_TEXT_MAX], printable, not empty */
    OPTION_DURATION, /* uint64_t ns, low..high */
};

struct option {
    const char *key;
    enum option_type type;
    size_t offset;
    uint64_t low, high;
    const char *initial; /* default as typed, NULL: unset */
    const char *help;
    const char *words; /* of OPTION_WORD, "a|b|c" for 0, 1, 2 */
};

/* The entry of TABLE (ended by a NULL key) called KEY, or NULL. */
const struct option *option_find(const struct option *table, const char *key);

/* "a, b, c": the keys of TABLE, in TEXT (SIZE bytes). */
const char *option_names(const struct option *table, char *text, size_t size);

/* Set OPTION in the structure at BASE to VALUE as typed after PREFIX.  0, or -1
 * with errno EINVAL, ERR and the structure as it was. */
int option_set(void *base, const struct option *option, const char *prefix,
               const char *value, struct errtext *err);

/* Copy the entry at *REST up to the next comma into ENTRY (ENTRY_MAX bytes) and
 * move behind it.  1, 0 at the end, or -1 with ERR when it is too long. */
int option_next_entry(const char **rest, char *entry, struct errtext *err);

/* Print one line per entry of TABLE. */
void option_help(FILE *out, const struct option *table, const char *prefix);

#endif /* COSCHED_OPTION_TABLE_H */
