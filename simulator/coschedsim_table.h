/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Many runs side by side: as text, CSV or JSON. */

#ifndef COSCHED_SIMULATOR_COSCHEDSIM_TABLE_H
#define COSCHED_SIMULATOR_COSCHEDSIM_TABLE_H

#include "simulator/coschedsim.h"

#define TABLE_KEYS 8 /* that vary in a sweep */

struct table {
    const struct arguments *arguments;
    const char *key[TABLE_KEYS];
    size_t keys; /* 0: policies alone are compared */
    json_t *all; /* outcomes with "ntt" and the keys */
    char scenario[128]; /* of the last row */
    size_t rows;
};

/* Print as ARGUMENTS say. */
void table_init(struct table *table, const struct arguments *arguments);

/* Add the OUTCOME of POLICY with VALUE[keys], whose native makespan is
 * NATIVE_S.  0, or an exit status with the reason printed. */
int table_add(struct table *table, const struct outcome *outcome,
              const char *policy, const char *const *value, double native_s);

/* All rows are there, unless STATUS says that they are not: print what is
 * printed at the end.  Returns STATUS, or another one. */
int table_finish(struct table *table, int status);

#endif /* COSCHED_SIMULATOR_COSCHEDSIM_TABLE_H */
